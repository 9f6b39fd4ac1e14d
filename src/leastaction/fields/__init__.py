"""Strings and beams, randomly excited."""

# Class of the systems whose section `system` has this key.
SYSTEM = {"field": ".field_system:FieldSystem"}
