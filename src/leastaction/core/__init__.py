"""What at least three families use."""
