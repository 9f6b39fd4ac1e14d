"""Stage `simulate`: observations of a known system."""

from leastaction.simulate.ensemble import simulate

__all__ = ["simulate"]
