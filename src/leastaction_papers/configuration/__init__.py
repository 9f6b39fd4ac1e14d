"""Examples, variants and overrides: what a YAML file may say."""
