"""Compiled evaluation of many expressions at many states at once."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import sympy as sp

from leastaction.core.compiled import assigned, assignments, kernel, unpack
from leastaction.core.euler_lagrange import (
    acceleration_names,
    symbols,
    velocity_names,
)

KERNEL = """
@njit(cache=True, nogil=True)
def evaluate(q, qdot, qddot, parameters, values):
    {parameters}
    for n in range(q.shape[0]):
        {state}
        {values}
"""


def evaluator(
    expressions: Sequence[sp.Expr],
    coordinates: Sequence[str],
    parameters: Sequence[str] = (),
) -> Callable[..., np.ndarray]:
    """Compile `expressions` in (q, q̇, q̈) and parameters into one function.

    Returns
    -------
    callable
        ``evaluate(q, qdot, parameter_values=(), qddot=None)`` with `q`, `qdot` and, if
        an expression holds an acceleration, `qddot` of shape (samples, dof); the result
        has shape (samples, expression).
    """
    functions = _functions(tuple(expressions), tuple(coordinates), tuple(parameters))
    none = np.empty((0, 0))

    def evaluate(q, qdot, parameter_values=(), qddot=None):
        values = np.empty((q.shape[0], len(expressions)))
        functions.evaluate(
            np.ascontiguousarray(q, dtype=float),
            np.ascontiguousarray(qdot, dtype=float),
            none if qddot is None else np.ascontiguousarray(qddot, dtype=float),
            np.asarray(parameter_values, dtype=float),
            values,
        )
        return values

    return evaluate


@lru_cache(maxsize=64)
def _functions(expressions, coordinates, parameters):
    """Compiled code, which every replicate asks for again."""
    accelerations = acceleration_names(coordinates)
    accelerated = any(e.has(*symbols(accelerations)) for e in expressions)
    channels = ("q", "qdot", "qddot")[: 3 if accelerated else 2]
    names = [*coordinates, *velocity_names(coordinates)]
    names += accelerations if accelerated else ()
    places = [f"{c}[n, {i}]" for c in channels for i in range(len(coordinates))]
    return kernel(
        KERNEL,
        {
            "parameters": unpack(parameters, "parameters"),
            "state": assigned(names, places),
            "values": assignments(
                [f"values[n, {i}]" for i in range(len(expressions))],
                expressions,
                "shared_",
            ),
        },
    )
