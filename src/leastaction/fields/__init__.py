"""Strings and beams, randomly excited (paper 1)."""
