"""Positions only, no candidates (paper 3)."""
