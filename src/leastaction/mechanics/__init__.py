"""Symbolic core: expressions, Lagrangian mechanics, libraries, compiled code."""
