"""The story of the papers on one page: what each does, what we find, at what cost."""
