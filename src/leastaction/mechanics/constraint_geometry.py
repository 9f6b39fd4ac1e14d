"""Known constraints g(x) = 0, with first and second derivatives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from leastaction.mechanics.expressions import parse, symbol


@dataclass(frozen=True, eq=False)
class ConstraintGeometry:
    """Constraints as functions of states.

    Attributes
    ----------
    texts
        g, one expression each.
    value, first, second
        g (point, constraint), and at one state ∂g (constraint, state) and ∂²g
        (constraint, state, state).
    """

    texts: tuple[str, ...]
    value: Callable[[np.ndarray], np.ndarray]
    first: Callable[[np.ndarray], np.ndarray]
    second: Callable[[np.ndarray], np.ndarray]

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
        value = sp.lambdify([x], list(g), "numpy")
        first = sp.lambdify([x], list(g.jacobian(x)), "numpy")
        hessians = [entry for e in g for entry in sp.hessian(e, x)]
        second = sp.lambdify([x], hessians, "numpy")

        def values(points: np.ndarray) -> np.ndarray:
            found = np.empty((len(points), len(texts)))
            for i, one in enumerate(value(points.T)):
                found[:, i] = one
            return found

        return cls(
            texts=tuple(texts),
            value=values,
            first=lambda point: np.array(first(point), float).reshape(shape),
            second=lambda point: np.array(second(point), float).reshape(*shape, len(x)),
        )

    def derivatives(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂g and ∂²g at one state."""
        return self.first(point), self.second(point)
