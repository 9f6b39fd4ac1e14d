"""Noisy motions without random force (paper 2)."""
