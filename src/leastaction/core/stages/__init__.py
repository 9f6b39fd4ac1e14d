"""The stages by name of the method."""
