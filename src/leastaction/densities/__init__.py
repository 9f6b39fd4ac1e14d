"""A stationary probability density (paper 4)."""
