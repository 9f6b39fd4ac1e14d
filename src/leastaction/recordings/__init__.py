"""A user's tables, and the law in words."""
