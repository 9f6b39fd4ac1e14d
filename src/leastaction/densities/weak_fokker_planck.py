"""Weak form of the stationary Fokker–Planck equation: means of the generator 𝓛.

In a stationary state E[𝓛 φ] = 0 for every test function φ. Along a path of length T,
Itô's formula leaves the mean of 𝓛 φ as a stochastic integral, up to 1/T, so that its
covariance is known (Itô isometry):

.. math::

    \\operatorname{Cov} = \\frac1T \\sum_i θ_i
        E[B_i\\,∂_{\\dot q} φ_m\\,∂_{\\dot q} φ_n] .

On a histogram the test functions are products of bumps (1 − ξ²)⁴ around equally spaced
centres; their support ends where the histogram ends, so that nothing is cut. A sum over
cells, Σ P_s f(x_s), differs from the mean by the second moment of a cell. Sheppard's
correction P_s − Δ_h P_s / 24 takes it off the probabilities, with the five-point
difference Δ_h, conservative at the edges.

Of means of monomials, the test functions are monomials: so are their derivatives, and
with polynomial terms every mean is one of the recorded moments, without cells.
"""

from collections.abc import Mapping
from functools import lru_cache, partial

import numpy as np
import xarray as xr

from leastaction.core.multi_index import multi_indices
from leastaction.densities.contracts import CELLS, CONTRACTS, coarsened, shares

# Of 1 − ξ²: the second derivative of a bump has a continuous slope.
BUMP_EXPONENT = 4


def bump_functions(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Corrected probabilities of every batch, and bumps with their derivatives."""
    data = coarsened(observations, settings["bins"])
    q, qdot = (
        bumps(data.variables[n].values, settings["centres"], settings["half_width"])
        for n in CELLS
    )
    return CONTRACTS["density_tests"].dataset(
        {
            "probability": sheppard(shares(data)),
            "duration": data.variables["duration"],
            "bump_q": q,
            "bump_qdot": qdot,
        },
        {name: data.variables[name] for name in ("replicate", *CELLS)},
    )


def sheppard(probability: np.ndarray) -> np.ndarray:
    """Probabilities of cells, shape (..., q_bin, qdot_bin), corrected to O(h⁴)."""
    corrected = probability.copy()
    for axis in (-2, -1):
        cells = corrected.swapaxes(axis, -1)
        flux = np.diff(probability.swapaxes(axis, -1)) / 24
        cells[..., 0] -= flux[..., 0]
        cells[..., 1:-1] -= np.diff(flux)
        cells[..., -1] += flux[..., -1]
    return corrected


def bumps(cells: np.ndarray, centres: int, half_width: float) -> np.ndarray:
    """Bumps (1 − ξ²)⁴ and two derivatives at the cells, shape (order, bump, bin).

    Equally spaced, of a `half_width` over that of the domain, which they fill exactly.
    """
    half = (cells[-1] - cells[0] + (cells[1] - cells[0])) / 2
    middle = (cells[-1] + cells[0]) / 2
    width = half_width * half
    centre = middle + (half - width) * np.linspace(-1, 1, centres)
    xi = (cells - centre[:, None]) / width
    rest = np.clip(1 - xi**2, 0.0, None)
    m = BUMP_EXPONENT
    slope = -2 * m * xi * rest ** (m - 1)
    curvature = 4 * m * (m - 1) * xi**2 * rest ** (m - 2) - 2 * m * rest ** (m - 1)
    return np.stack([rest**m, slope / width, curvature / width**2])


def weak_fokker_planck(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Means of the generator's terms on every product of bumps, and their noise."""
    from leastaction.densities.fokker_planck import terms_on_cells  # imports SymPy

    equation, terms_there = terms_on_cells(observations, derivatives, library)
    velocity, acceleration, diffusion = terms_there
    variables = derivatives.variables
    probability = variables["probability"].values[0]
    position, rate = variables["bump_q"].values, variables["bump_qdot"].values

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
    duration = [variables["duration"].values[0].sum()]
    values = {"moment": moments, "noise_gram": noise, "duration": duration}
    kinetic = velocity.ravel() ** 2 @ total / total.sum()
    values["velocity_square"] = [[kinetic]]
    values["test_name"] = _places(observations, derivatives, position[0], rate[0])
    return equation.dataset("generator_moments", observations, mean_square, values)


def _places(observations, derivatives: xr.Dataset, *bumps: np.ndarray) -> np.ndarray:
    """Where each product of bumps is, in the order of the moments."""
    q, qdot = (
        derivatives[cells].values[bump.argmax(axis=1)]
        for cells, bump in zip(CELLS, bumps, strict=True)
    )
    (name,) = observations["dof"].values
    return np.array(
        [f"about {name} = {a:.2g}, {name}dot = {b:.2g}" for a in q for b in qdot]
    )


def monomial_functions(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Exponents of the test functions, and the root mean square of each coordinate.

    Monomials without a velocity are left out: they hold no coefficient.
    """
    powers = observations["exponent"].values
    state = powers.shape[1]
    mean = observations["moment"].mean("batch").values[0]
    second = [np.flatnonzero((powers == 2 * e).all(1))[0] for e in np.eye(state)]
    tests = multi_indices(state, settings["degree"])
    return CONTRACTS["monomial_tests"].dataset(
        {
            "test_exponent": tests[tests[:, state // 2 :].any(axis=1)],
            "scale": np.sqrt(mean[second]),
        },
        {name: observations[name] for name in ("replicate", "state")},
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
    from leastaction.densities.fokker_planck import equation_of  # imports SymPy

    equation = equation_of(library, observations["dof"].values)
    variables, dof = observations.variables, equation.dof
    means = variables["moment"].values[0]
    recorded = partial(_recorded, variables["exponent"].values, means)
    tests = derivatives.variables["test_exponent"].values
    size = np.prod(derivatives.variables["scale"].values[0] ** tests, axis=1)
    moments = np.zeros((len(means), len(tests), len(equation.terms)))
    noise = np.zeros((len(equation.terms), len(tests), len(tests)))
    mean_square = np.zeros((dof, len(equation.volatility)))
    for a in range(dof):
        factor, rest = _derivative(tests, a)
        raised = rest + np.eye(2 * dof, dtype=int)[dof + a]
        moments[:, :, 0] += factor * recorded(raised, factor)
    for i, term in enumerate(equation.terms):
        for a in range(dof):
            factor, rest = _derivative(tests, dof + a)
            for power, c in _polynomial(term.acceleration[a], equation.state):
                moments[:, :, i] += c * factor * recorded(rest + power, factor)
        if term.kind != "volatility":
            continue
        a, j = term.position
        once, rest = _derivative(tests, dof + a)
        twice, less = _derivative(rest, dof + a)
        twice = twice * once
        pair = once[:, None] * once
        for power, c in _polynomial(term.diffusion[a, a], equation.state):
            moments[:, :, i] += 0.5 * c * twice * recorded(less + power, twice)
            both = rest[:, None] + rest + power
            noise[i] += c * pair * recorded(both, pair).mean(axis=0)
            mean_square[a, j] += c * recorded(np.array([power]), np.ones(1)).mean()
    values = {
        "moment": moments / size[:, None],
        "noise_gram": noise / (size[:, None] * size),
        "duration": [float(variables["duration"].values[0].sum())],
        "velocity_square": derivatives.variables["scale"].values[:, dof:] ** 2,
        "test_name": [_monomial(test, equation.state) for test in tests],
    }
    return equation.dataset("generator_moments", observations, mean_square, values)


def _monomial(exponents: np.ndarray, state: tuple) -> str:
    """Monomial in words, such as ``x^2 xdot``."""
    powers = zip(map(str, state), exponents, strict=True)
    return " ".join(f"{x}^{n}" if n > 1 else x for x, n in powers if n)


def _recorded(
    powers: np.ndarray, means: np.ndarray, requested: np.ndarray, factor: np.ndarray
) -> np.ndarray:
    """Means (batch, ...) of monomials `requested` (..., state); zero where `factor` is.

    The exponents mean nothing there. `means` (batch, monomial) are those of `powers`.
    """
    used, degree = factor != 0, int(powers.sum(axis=1).max())
    highest = int(requested.sum(axis=-1)[used].max(initial=0))
    if highest > degree:
        raise DegreeError(
            f"moments up to the degree {highest} are needed, but those up to "
            f"{degree} are recorded; raise simulate.moments.degree, or lower "
            "differentiate.degree"
        )
    base = (degree + 1) ** np.arange(powers.shape[1])
    keys = powers @ base
    order = np.argsort(keys)
    keys_asked = np.where(used, requested @ base, 0)
    place = order[np.searchsorted(keys, keys_asked, sorter=order)]
    return np.where(used, means[:, place], 0.0)


def _derivative(powers: np.ndarray, state: int) -> tuple[np.ndarray, np.ndarray]:
    """Factor and exponents of the derivative of monomials of shape (..., state)."""
    factor = powers[..., state].astype(float)
    lower = powers.copy()
    lower[..., state] = np.maximum(lower[..., state] - 1, 0)
    return factor, lower


@lru_cache(maxsize=512)
def _polynomial(expression, state: tuple):
    """Exponents and coefficients of a polynomial in the symbols of the state."""
    import sympy as sp

    if expression == 0:
        return ()
    try:
        polynomial = sp.Poly(expression, *state)
    except sp.PolynomialError:
        raise DegreeError(
            f"{expression} is no polynomial in the state; moments of samples know "
            "polynomials only"
        ) from None
    return tuple((power, float(c)) for power, c in polynomial.terms())
