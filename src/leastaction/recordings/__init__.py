"""A user's tables, and the law in words."""

# Class of a model that was saved with such a dataset beside it.
SAVED_WITH = {"observations": ".law:LawPage.of_parts"}
