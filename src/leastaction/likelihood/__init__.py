"""One likelihood of a recorded motion: filter, fit, terms and intervals (README)."""
