"""The stationary Fokker–Planck equation of data: its residual, and its weak form.

As published (Yoshida and Yamanaka 2020, eqs. 17–21) every term has a column of central
differences,

.. math::

    r = \\sum_i θ_i r_i, \\qquad
    r_i = -D_{\\dot q}(a_i p) + \\tfrac12 D_{\\dot q} D_{\\dot q}(B_i p),

with −D_q(q̇ p) in the reference, and the sum of squares over the cells is the quadratic
form θᵀ G θ. Paper: eq. (7) integrates over the domain, but the numbers printed are
those of a sum without the area of a cell. Products of *different* batches are kept
apart, too: their counts are independent, so their mean has no noise in it
(:mod:`leastaction.densities.residual_least_squares`).

Recommended is the weak form. In a stationary state E[𝓛 φ] = 0 for the generator

.. math::

    𝓛 φ = \\sum_a \\dot q_a ∂_{q_a} φ + a_a ∂_{\\dot q_a} φ
        + \\tfrac12 \\sum_{ab} B_{ab} ∂_{\\dot q_a} ∂_{\\dot q_b} φ .

The density is not differentiated, and no estimate divides noise by a small h. Along a
path of length T, Itô's formula leaves the mean of 𝓛 φ as a stochastic integral, up to
1/T, so that its covariance is known (Itô isometry):

.. math::

    \\operatorname{Cov} = \\frac1T \\sum_i θ_i
        E[B_i\\,∂_{\\dot q} φ_m\\,∂_{\\dot q} φ_n] .

Test functions are bumps on the cells of a histogram, or monomials, for any number of
degrees of freedom: their derivatives are monomials again, so with polynomial terms
every mean is one of the recorded moments, without cells and without quadrature.
"""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.densities.fokker_planck import equation_dataset, equation_of


def stationary_residual(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Inner products of the columns of all terms, of each two batches."""
    equation = equation_of(library, observations["dof"].values)
    given = derivatives.variables
    on_cells = equation.on_cells(given["q_bin"].values, given["qdot_bin"].values)
    density = given["density"].values[0]
    columns = _residual_columns(
        density,
        given["difference_q"].values,
        given["difference_qdot"].values,
        *on_cells,
    )
    batches, terms = columns.shape[:2]
    rows = columns.reshape(batches * terms, -1)
    gram = (rows @ rows.T).reshape(batches, terms, batches, terms).swapaxes(1, 2)
    diffusion = on_cells[2][[t.kind == "volatility" for t in equation.terms]]
    total = density.mean(axis=0)
    mean_square = np.einsum("tij,ij->t", diffusion, total) / total.sum()
    return equation_dataset(
        "stationary_residual", equation, observations, mean_square, {"gram": gram}
    )


def _residual_columns(
    density, difference_q, difference_qdot, velocity, acceleration, diffusion
) -> np.ndarray:
    """Column of every term, shape (batch, term, q_bin, qdot_bin)."""
    along_qdot = np.ascontiguousarray(difference_qdot.T)
    each = density[:, None]
    # Paper: the diffusive current is differenced like any other, so the second
    # derivative is a difference of a difference.
    columns = (0.5 * diffusion * each) @ along_qdot @ along_qdot
    columns -= (acceleration * each) @ along_qdot
    columns[:, 0] -= difference_q @ (velocity * density)
    return columns


def weak_fokker_planck(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Means of the generator's terms on every product of bumps, and their noise."""
    equation = equation_of(library, observations["dof"].values)
    given = derivatives.variables
    velocity, acceleration, diffusion = equation.on_cells(
        given["q_bin"].values, given["qdot_bin"].values
    )
    probability = given["probability"].values[0]
    position, rate = given["bump_q"].values, given["bump_qdot"].values

    def along_qdot(weight, order):
        return (weight * probability[:, None]) @ rate[order].T

    means = along_qdot(acceleration, 1) + 0.5 * along_qdot(diffusion, 2)
    moments = position[0] @ means
    moments[:, 0] += (position[1] @ along_qdot(velocity, 0))[:, 0]
    batches, terms = moments.shape[:2]
    moments = moments.reshape(batches, terms, -1).swapaxes(1, 2)
    slopes = position[0][:, None, :, None] * rate[1][None, :, None, :]
    slopes = slopes.reshape(moments.shape[1], -1)
    total = probability.mean(axis=0).ravel()
    noise = np.zeros((terms, len(slopes), len(slopes)))
    noisy = [i for i, t in enumerate(equation.terms) if t.kind == "volatility"]
    for i in noisy:
        noise[i] = (slopes * (diffusion[i].ravel() * total)) @ slopes.T
    mean_square = np.array([diffusion[i].ravel() @ total for i in noisy]) / total.sum()
    duration = [given["duration"].values[0].sum()]
    values = {"moment": moments, "noise_gram": noise, "duration": duration}
    return equation_dataset(
        "generator_moments", equation, observations, mean_square, values
    )


class DegreeError(ValueError):
    """A mean that is not among the recorded moments."""


def moment_fokker_planck(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Means of the generator's terms on every monomial, and their noise.

    Test functions are in units of the scale of the state, so that their moments are of
    one order.

    Raises
    ------
    DegreeError
        If a term is no polynomial, or a mean has a higher degree than the recorded
        moments.
    """
    equation = equation_of(library, observations["dof"].values)
    given = observations.variables
    recorded = _Moments(given["exponent"].values, given["moment"].values[0])
    tests = derivatives.variables["test_exponent"].values
    size = np.prod(derivatives.variables["scale"].values[0] ** tests, axis=1)
    dof, coordinates = equation.dof, equation.library.coordinates
    moments = np.zeros((len(recorded.means), len(tests), len(equation.terms)))
    noise = np.zeros((len(equation.terms), len(tests), len(tests)))
    mean_square = np.zeros((dof, len(equation.volatility)))
    for a in range(dof):
        factor, rest = _derivative(tests, a)
        raised = rest + np.eye(2 * dof, dtype=int)[dof + a]
        moments[:, :, 0] += factor * recorded(raised, factor)
    for i, term in enumerate(equation.terms):
        for a in range(dof):
            factor, rest = _derivative(tests, dof + a)
            for power, c in _polynomial(term.acceleration[a], coordinates):
                moments[:, :, i] += c * factor * recorded(rest + power, factor)
        if term.kind != "volatility":
            continue
        a, j = term.position
        once, rest = _derivative(tests, dof + a)
        twice, less = _derivative(rest, dof + a)
        twice = twice * once
        pair = once[:, None] * once
        for power, c in _polynomial(term.diffusion[a, a], coordinates):
            moments[:, :, i] += 0.5 * c * twice * recorded(less + power, twice)
            both = rest[:, None] + rest + power
            noise[i] += c * pair * recorded(both, pair).mean(axis=0)
            one = np.asarray(power)[None]
            mean_square[a, j] += c * recorded(one, np.ones(1)).mean()
    values = {
        "moment": moments / size[:, None],
        "noise_gram": noise / (size[:, None] * size),
        "duration": [float(given["duration"].values[0].sum())],
    }
    return equation_dataset(
        "generator_moments", equation, observations, mean_square, values
    )


class _Moments:
    """Recorded means, looked up by exponents."""

    def __init__(self, powers: np.ndarray, means: np.ndarray):
        self.means = means
        self._degree = int(powers.sum(axis=1).max())
        self._base = (self._degree + 1) ** np.arange(powers.shape[1])
        keys = powers @ self._base
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def __call__(self, powers: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Means (batch, ...) of monomials (..., state); zero where `factor` vanishes.

        The exponents mean nothing there.
        """
        used = factor != 0
        highest = int(powers.sum(axis=-1)[used].max(initial=0))
        if highest > self._degree:
            raise DegreeError(
                f"moments up to the degree {highest} are needed, but those up to "
                f"{self._degree} are recorded; raise simulate.moments.degree, or lower "
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


@lru_cache(maxsize=512)
def _polynomial(expression: sp.Expr, coordinates: tuple[str, ...]):
    """Exponents and coefficients of a polynomial in the state."""
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
