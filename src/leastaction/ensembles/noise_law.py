"""Noise that depends on the state, as the increments show it without a model."""

from collections.abc import Sequence

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.evaluator import evaluator
from leastaction.core.expressions import parse, symbol
from leastaction.core.variance_function import step_average

# Smallest g² in the weights, in units of its mean. A square vanishes on a line only,
# and the average over a step does not; another law may be negative by error.
FLOOR = {True: 1e-8, False: 1e-2}


class NoiseLaw:
    """g²(q, q̇) of each degree of freedom: weights of the moments, Itô correction.

    Attributes
    ----------
    varies
        Whether g depends on the state in any equation.
    parameters, values
        Names and values of the coefficients in :meth:`ito_correction`.
    """

    def __init__(self, derivatives: xr.Dataset, coordinates: Sequence[str]):
        self._coordinates = tuple(coordinates)
        state = (*coordinates, *velocity_names(coordinates))
        texts = [str(name) for name in derivatives["volatility_term"].values]
        terms = [parse(text, state) for text in texts]
        law = derivatives["squared_volatility"].values[0]
        varying = [i for i, term in enumerate(terms) if term.free_symbols]
        self._each = law[:, varying].any(axis=1)
        self.varies = bool(self._each.any())
        self.parameters: list[str] = []
        self.values: list[float] = []
        if not self.varies:
            return
        self._mean = np.diag(derivatives["realised_covariation"].values[0])
        self._square = derivatives["perfect_square"].values[0].astype(bool)
        self._squares = []
        for a, row in enumerate(law):
            square = sp.Integer(0)
            for i in np.flatnonzero(row):
                self.parameters.append(f"noise_{a}_{i}")
                self.values.append(float(row[i]))
                square += symbol(self.parameters[-1]) * terms[i]
            self._squares.append(square)
        evaluate = evaluator(self._squares, coordinates, self.parameters)
        self._evaluate = lambda q, qdot: evaluate(q, qdot, self.values)

    def weights(self, q, qdot, start: int, stop: int) -> np.ndarray:
        """⟨g²⟩/g² averaged over the steps start ... stop − 1, shape (step, dof).

        Known before the noise of the step: the path is extrapolated from two samples.
        """
        now = np.arange(start, stop)
        before = np.maximum(now - 1, 0)
        average = step_average(
            self._evaluate, (q[before], qdot[before]), (q[now], qdot[now])
        )
        floor = np.where(self._square, FLOOR[True], FLOOR[False]) * self._mean
        weights = self._mean / np.maximum(average, floor)
        weights[:, ~self._each] = 1.0
        return weights

    def ito_correction(self, momenta: Sequence[sp.Expr]) -> list[sp.Expr]:
        """Drift of each momentum, ½ Σ_b g_b ∂(M_ab g_b)/∂q̇_b with M_ab = ∂p_a/∂q̇_b.

        Stratonovich noise obeys d(∂L/∂q̇) − ∂L/∂q dt = S ∘ dW with S = M g; in Itô's
        sense this is S dW + ½ Σ_b g_b ∂S/∂q̇_b dt (Wong and Zakai 1965), linear in the
        candidates of L once g² is known. Each process drives its own velocity.

        Parameters
        ----------
        momenta
            ∂D_i/∂q̇_a, dof by dof.
        """
        corrections = []
        velocities = symbols(velocity_names(self._coordinates))
        for momentum in momenta:
            total = sp.Integer(0)
            for v, square in zip(velocities, self._squares, strict=True):
                mass = sp.diff(momentum, v)
                total += sp.diff(mass, v) * square + mass * sp.diff(square, v) / 2
            corrections.append(total / 2)
        return corrections
