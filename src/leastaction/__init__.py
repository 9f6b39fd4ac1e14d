"""leastaction."""
