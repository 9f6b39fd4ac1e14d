"""Wrong calls of public methods are refused with the arguments that are expected."""

import functools
import inspect
from collections.abc import Callable
from typing import TypeVar

C = TypeVar("C", bound=type)


def states_arguments(cls: C) -> C:
    """Class whose public methods state their arguments when these do not fit.

    >>> @states_arguments
    ... class Law:
    ...     def simulate(self, q, qdot, time, force=None): ...
    >>> Law().simulate([1.0, 0.0], [0.0, 0.1])
    Traceback (most recent call last):
        ...
    TypeError: simulate: missing a required argument: 'time'; \
expected simulate(q, qdot, time, force=None)
    """
    for name, method in list(vars(cls).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(cls, name, _stating(name, method))
    return cls


def _stating(name: str, method: Callable) -> Callable:
    signature = inspect.signature(method)
    own = list(signature.parameters.values())[1:]
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in own]
    expected = f"{name}{inspect.Signature(bare)}"

    @functools.wraps(method)
    def call(*args, **named):
        try:
            signature.bind(*args, **named)
        except TypeError as error:
            raise TypeError(f"{name}: {error}; expected {expected}") from None
        return method(*args, **named)

    return call
