"""Being moved."""
