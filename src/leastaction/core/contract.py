"""What a dataset promises to the stage that reads it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Contract:
    """What a dataset promises.

    Attributes
    ----------
    made_by
        Stage (and method) whose output it is, named in error messages.
    variables
        Dimensions of each variable, in order.
    finite
        Variables in which a NaN or an infinity is an error.
    may_be_empty
        Variables that may have a dimension without entries.
    swept
        Whether the dimensions of a sweep over noise may stand after `replicate`.
    """

    made_by: str
    variables: Mapping[str, tuple[str, ...]]
    finite: tuple[str, ...] = ()
    may_be_empty: tuple[str, ...] = ()
    swept: bool = True
