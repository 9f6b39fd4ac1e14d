"""Stage `validate`: roll out the truth and the model side by side."""

from leastaction.validate.rollout import validate

__all__ = ["validate"]
