"""Randomly excited motions of a few coordinates (paper 1)."""
