"""Strings and beams, randomly excited (paper 1)."""

# Class of the systems whose section `system` has this key.
SYSTEM = {"field": "fields.field_system:FieldSystem"}
