"""External inputs: generalised forces given as functions of time."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import sympy as sp

from leastaction.core.expressions import parse, symbol
from leastaction.core.system import System


def input_expressions(
    system: System, inputs: Mapping[str, str], drawn: Sequence[str] = ()
) -> list[sp.Expr]:
    """Generalised force of every coordinate.

    Raises
    ------
    ValueError
        If an input is not arithmetic over ``time``, parameters and drawn names, or its
        coordinate is unknown.
    """
    wrong = sorted(set(inputs) - set(system.coordinates))
    if wrong:
        raise ValueError(
            f"input: {wrong} are not coordinates; these are {list(system.coordinates)}"
        )
    known = ["time", *system.parameters, *drawn]
    return [parse(inputs.get(name, "0"), known) for name in system.coordinates]


def input_force(system: System, inputs: Mapping, drawn: Sequence[str]) -> Callable:
    """Generalised force at given times, shape (time, dof)."""
    names = [symbol("time"), *(symbol(name) for name in drawn)]
    functions = [
        sp.lambdify(names, system.evaluated(e), "numpy")
        for e in input_expressions(system, inputs, drawn)
    ]

    def force(time: np.ndarray, values: tuple) -> np.ndarray:
        columns = [np.broadcast_to(f(time, *values), time.shape) for f in functions]
        return np.stack(columns, axis=-1)

    return force
