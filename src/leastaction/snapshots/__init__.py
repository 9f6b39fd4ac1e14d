"""Positions only, no candidates."""
