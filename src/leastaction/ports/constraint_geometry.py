"""Known constraints g(x) = 0, with first and second derivatives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from leastaction.core.expressions import parse, symbol


@dataclass(frozen=True, eq=False)
class ConstraintGeometry:
    """Constraints as functions of states.

    Attributes
    ----------
    texts
        g, one expression each.
    value, first, second
        g, ∂g and ∂²g of states (point, state), shape (point, constraint, ...).
    derivatives
        ∂g and ∂²g at one state (state,), without the dimension of points.
    """

    texts: tuple[str, ...]
    value: Callable[[np.ndarray], np.ndarray]
    first: Callable[[np.ndarray], np.ndarray]
    second: Callable[[np.ndarray], np.ndarray]
    derivatives: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

    @classmethod
    def from_text(
        cls, states: Sequence[str], texts: Sequence[str]
    ) -> "ConstraintGeometry":
        """Compile expressions in `states`.

        Raises
        ------
        ExpressionError
            If a text is not arithmetic over the states.
        """
        x = [symbol(name) for name in states]
        g = sp.Matrix([parse(text, states) for text in texts])
        shape = (len(texts), len(x))
        first = sp.lambdify([x], list(g.jacobian(x)), "numpy")
        hessians = [entry for e in g for entry in sp.hessian(e, x)]
        second = sp.lambdify([x], hessians, "numpy")

        def derivatives(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return (
                np.array(first(point), dtype=float).reshape(shape),
                np.array(second(point), dtype=float).reshape(*shape, len(x)),
            )

        return cls(
            texts=tuple(texts),
            value=_of_points(sp.lambdify([x], list(g), "numpy"), shape[:1]),
            first=_of_points(first, shape),
            second=_of_points(second, (*shape, len(x))),
            derivatives=derivatives,
        )


def _of_points(function: Callable, shape: tuple[int, ...]) -> Callable:
    def at(points: np.ndarray) -> np.ndarray:
        values = function(points.T)
        found = np.empty((len(points), len(values)))
        for i, value in enumerate(values):
            found[:, i] = value
        return found.reshape(len(points), *shape)

    return at
