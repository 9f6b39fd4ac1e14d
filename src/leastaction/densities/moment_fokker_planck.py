"""Weak form of the stationary Fokker–Planck equation with monomials over samples.

The same equations as those of :mod:`leastaction.densities.weak_fokker_planck`, for any
number of degrees of freedom,

.. math::

    E\\Big[\\sum_a \\dot q_a ∂_{q_a} φ + a_a ∂_{\\dot q_a} φ
        + \\tfrac12 \\sum_{ab} B_{ab} ∂_{\\dot q_a} ∂_{\\dot q_b} φ\\Big] = 0,

with monomials φ. Their derivatives are monomials again, so with polynomial terms every
mean is one of the recorded moments, without cells and without quadrature.
"""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.multi_index import multi_indices
from leastaction.densities.contracts import CONTRACTS
from leastaction.densities.fokker_planck import equation_of
from leastaction.densities.weak_fokker_planck import moments_dataset


def monomial_functions(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Exponents of the test functions, and the scale of each coordinate of the state.

    The scale is the root mean square.
    """
    powers = observations["exponent"].values
    mean = observations["moment"].mean("batch").values[0]
    second = [
        np.flatnonzero((powers == 2 * e).all(1))[0] for e in np.eye(powers.shape[1])
    ]
    return CONTRACTS["monomial_tests"].dataset(
        {
            "test_exponent": _tests(powers.shape[1], settings["degree"]),
            "scale": np.sqrt(mean[second]),
        },
        {name: observations[name] for name in ("replicate", "state")},
    )


def _tests(state: int, degree: int) -> np.ndarray:
    """Exponents of monomials with a velocity; the others hold no coefficient."""
    powers = multi_indices(state, degree)
    return powers[powers[:, state // 2 :].any(axis=1)]


class DegreeError(ValueError):
    """A mean that is not among the recorded moments."""


def moment_fokker_planck(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Means of the generator's terms on every test function, and their noise.

    Test functions are in units of the scale of the state, so that their moments are of
    one order.

    Raises
    ------
    DegreeError
        If a term is no polynomial, or a mean has a higher degree than the recorded
        moments.
    """
    equation = equation_of(library, observations)
    recorded = _Moments(
        observations.variables["exponent"].values,
        observations.variables["moment"].values[0],
    )
    tests = derivatives.variables["test_exponent"].values
    size = np.prod(derivatives.variables["scale"].values[0] ** tests, axis=1)
    dof = equation.dof
    velocity = [dof + a for a in range(dof)]
    batches, terms = len(recorded.means), len(equation.terms)
    moments = np.zeros((batches, len(tests), terms))
    noise = np.zeros((terms, len(tests), len(tests)))
    mean_square = np.zeros((dof, len(equation.volatility)))
    for a, v in enumerate(velocity):
        factor, rest = _derivative(tests, a)
        raised = rest + np.eye(2 * dof, dtype=int)[v]
        moments[:, :, 0] += factor * recorded(raised, factor)
    for i, term in enumerate(equation.terms):
        for a, v in enumerate(velocity):
            factor, rest = _derivative(tests, v)
            for power, c in _polynomial(term.acceleration[a], equation):
                moments[:, :, i] += c * factor * recorded(rest + power, factor)
        if term.kind != "volatility":
            continue
        a, j = term.position
        once, rest = _derivative(tests, dof + a)
        twice, less = _derivative(rest, dof + a)
        twice = twice * once
        pair = once[:, None] * once
        for power, c in _polynomial(term.diffusion[a, a], equation):
            moments[:, :, i] += 0.5 * c * twice * recorded(less + power, twice)
            both = rest[:, None] + rest + power
            noise[i] += c * pair * recorded(both, pair).mean(axis=0)
            one = np.asarray(power)[None]
            mean_square[a, j] += c * recorded(one, np.ones(1)).mean()
    moments /= size[:, None]
    noise /= size[:, None] * size
    duration = float(observations.variables["duration"].values[0].sum())
    return moments_dataset(
        equation, observations, moments, noise, mean_square, duration
    )


class _Moments:
    """Recorded means, looked up by exponents."""

    def __init__(self, powers: np.ndarray, means: np.ndarray):
        self.means = means
        self.degree = int(powers.sum(axis=1).max())
        self._base = (self.degree + 1) ** np.arange(powers.shape[1])
        keys = powers @ self._base
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def __call__(self, powers: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Means of shape (batch, ...) of monomials of shape (..., state).

        Where `factor` vanishes the exponents mean nothing, and the result is zero.
        """
        used = factor != 0
        highest = int(powers.sum(axis=-1)[used].max(initial=0))
        if highest > self.degree:
            raise DegreeError(
                f"moments up to the degree {highest} are needed, but those up to "
                f"{self.degree} are recorded; raise simulate.moments.degree, or lower "
                "differentiate.degree"
            )
        keys = np.where(used, powers @ self._base, 0)
        place = self._order[np.searchsorted(self._keys, keys)]
        return np.where(used, self.means[:, place], 0.0)


def _derivative(powers: np.ndarray, state: int) -> tuple[np.ndarray, np.ndarray]:
    """Factor and exponents of the derivative of monomials of shape (..., state)."""
    factor = powers[..., state].astype(float)
    lower = powers.copy()
    lower[..., state] = np.maximum(lower[..., state] - 1, 0)
    return factor, lower


def _polynomial(expression: sp.Expr, equation) -> list[tuple[tuple[int, ...], float]]:
    """Exponents and coefficients of a polynomial in the state."""
    return list(_terms_of(expression, equation.library.coordinates))


@lru_cache(maxsize=512)
def _terms_of(expression: sp.Expr, coordinates: tuple[str, ...]):
    if expression == 0:
        return ()
    state = (*symbols(coordinates), *symbols(velocity_names(coordinates)))
    try:
        polynomial = sp.Poly(expression, *state)
    except sp.PolynomialError:
        raise DegreeError(
            f"{expression} is no polynomial in the state; moments of samples know "
            "polynomials only"
        ) from None
    return tuple((power, float(c)) for power, c in polynomial.terms())
