"""Inputs of a port-Hamiltonian system, as functions of time."""

from collections.abc import Callable, Mapping

import numpy as np
import sympy as sp

from leastaction.core.expressions import parse, symbol, unknown


def input_function(system, written: Mapping) -> Callable[[np.ndarray], np.ndarray]:
    """u(t) of times (time,) as an array (time, port).

    Parameters
    ----------
    system
        With `inputs` and `parameters`.
    written
        By input, an expression in `time` and the parameters; zero where none is given.

    Raises
    ------
    ValueError
        If an input is unknown or an expression is no good.
    """
    for name in written:
        if name not in system.inputs:
            raise ValueError(f"input: {unknown('input', name, system.inputs)}")
    names = ["time", *system.parameters]
    expressions = [
        system.evaluated(parse(written.get(name, "0"), names)) for name in system.inputs
    ]
    compiled = sp.lambdify(symbol("time"), expressions, "numpy")

    def at(time: np.ndarray) -> np.ndarray:
        time = np.asarray(time, dtype=float)
        columns = [np.broadcast_to(value, time.shape) for value in compiled(time)]
        return np.stack(columns, axis=1) if columns else np.zeros((time.size, 0))

    return at
