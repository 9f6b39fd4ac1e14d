"""Noisy motions without random force."""
