"""Randomly excited motions of a few coordinates."""
