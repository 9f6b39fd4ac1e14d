"""Figures, one of each name."""
