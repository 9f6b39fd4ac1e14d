"""Style and text of figures."""
