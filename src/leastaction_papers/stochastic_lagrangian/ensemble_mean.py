"""Euler–Lagrange equations of the ensemble mean: the recipe of Tripura et al.

Differentiation in time commutes with the ensemble mean, so the momenta ∂D/∂q̇ are
averaged first and differenced once (Algorithm 1). The library of eqs. (14–16) and
thresholded least squares (:mod:`leastaction.core.sparse_regression`) give the
Lagrangian, the mean square of the residual the volatility (eqs. 20–22).

Paper: with the central difference that the paper prescribes, dt E[R²] tends to ½ σ²,
not to σ², because one residual averages two independent increments. The published
volatility is therefore low by √½. The library of eq. (22) has no constant, although the
squared volatility of an additive noise *is* a constant; thresholded least squares on it
then returns combinations of terms that imitate one.
"""

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.contracts import check, time_step
from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.core.expressions import to_text
from leastaction.core.library import Library
from leastaction.core.sparse_regression import stlsq
from leastaction.ensembles.squared_increments import Residual
from leastaction_papers.stochastic_lagrangian.contracts import CONTRACTS

# So that what is made of them fits the processor's cache.
SAMPLES_PER_BATCH = 500
RESIDUALS_PER_BATCH = 1000


def differentiate(
    observations: xr.Dataset, settings: Mapping, library: Mapping
) -> xr.Dataset:
    """Ensemble means d/dt E[∂D/∂q̇] and E[∂D/∂q] of every candidate, at interior times.

    .. math::

        \\frac{d}{dt} E[∂D/∂q̇](t_k) ≈ (E[∂D/∂q̇](t_{k+1}) − E[∂D/∂q̇](t_{k−1})) / 2 dt

    Paper: eq. (23) prints the stencil of a second derivative for the first one; the
    central first difference is meant. The released code keeps the two ends as well,
    with one-sided differences of second order (setting `ends`).
    """
    terms = Library.from_config(library, observations["dof"].values)
    coordinates, n = terms.coordinates, len(terms.terms)
    expressions = [e for row in (*terms.momenta, *terms.forces) for e in row]
    present = [i for i, expression in enumerate(expressions) if expression != 0]
    evaluate = evaluator([expressions[i] for i in present], coordinates)
    q, qdot = observations["q"].values[0], observations["qdot"].values[0]
    total = np.zeros((q.shape[1], len(present)))
    for path, rate in zip(q, qdot, strict=True):
        for start in range(0, len(total), SAMPLES_PER_BATCH):
            at = slice(start, start + SAMPLES_PER_BATCH)
            total[at] += evaluate(path[at], rate[at])
    mean = np.zeros((q.shape[1], len(expressions)))
    mean[:, present] = total / q.shape[0]
    momentum, force = mean.reshape(-1, 2, len(coordinates), n).transpose(1, 2, 0, 3)
    time = observations["time"].values
    if settings["ends"]:
        samples = slice(None)
        rate = np.gradient(momentum, time_step(observations), axis=1, edge_order=2)
    else:
        samples = slice(1, -1)
        rate = (momentum[:, 2:] - momentum[:, :-2]) / (time[2:] - time[:-2])[:, None]
    return CONTRACTS["ensemble_derivatives"].dataset(
        {
            "momentum_rate": rate,
            "generalised_force": np.ascontiguousarray(force[:, samples]),
        },
        coords={
            "replicate": observations["replicate"],
            "dof": list(coordinates),
            "time": ("time", time[samples], observations["time"].attrs),
            "term": terms.names,
        },
    )


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Columns θ_i = d/dt E[∂D_i/∂q̇] − E[∂D_i/∂q] and the kinetic column as target.

    The equation is θ c = −target, where the reference term has coefficient one.
    """
    check(derivatives, "ensemble_derivatives")
    terms = Library.from_config(library, derivatives["dof"].values)
    columns = (
        derivatives["momentum_rate"].values[0]
        - derivatives["generalised_force"].values[0]
    )
    status = np.array(terms.status)
    used = status != "reference"
    if settings["remove_null_candidates"]:
        used = status == "independent"
    kinetic = columns @ (terms.fixed / terms.reference_coefficient)
    return CONTRACTS["regression"].dataset(
        {
            "theta": np.where(used, columns, 0.0),
            "target": -kinetic,
            "used": used.astype("int8"),
            "status": terms.status,
            "equivalent": terms.freedom.equivalent,
            "given": terms.fixed,
        },
        coords={
            "replicate": derivatives["replicate"],
            "dof": derivatives["dof"],
            "term": terms.names,
        },
    )


def identify(library: xr.Dataset, settings: Mapping) -> LagrangianEstimate:
    """Lagrangian by sequential thresholded least squares (Algorithm 3).

    Every degree of freedom is a regression of its own ("for each particle"), and L is
    put together from them. A candidate that several equations contain, such as a
    coupling spring, gets the mean of its coefficients there.

    Paper: the threshold acts on the raw coefficients relative to q̇² (not to ½ q̇²), so
    its meaning changes with the unit of every candidate. Eq. (18) adds the Lagrangians
    of the particles, which would count a coupling twice. The released code takes a
    coupling from the first equation that keeps it (setting `shared`).

    There are no standard errors: the paper has none. With several degrees of freedom
    `by_equation` holds the coefficients that each equation gave.
    """
    check(library, "regression")
    theta, target = library["theta"].values[0], library["target"].values[0]
    used = np.flatnonzero(library["used"].values)
    fixed = library["given"].values
    scale = fixed[fixed != 0][0]
    by_equation, present = np.zeros((2, len(theta), theta.shape[2]))
    for a, (columns, right) in enumerate(zip(theta, target, strict=True)):
        nonzero = [i for i in used if columns[:, i].any()]
        present[a, nonzero] = 1
        by_equation[a, nonzero] = scale * stlsq(
            columns[:, nonzero], right, settings["threshold"], settings.get("rcond")
        )
    if settings["shared"] == "first":
        keeper = (by_equation != 0).argmax(axis=0)
        coefficients = np.take_along_axis(by_equation, keeper[None], axis=0)[0]
    else:
        coefficients = by_equation.sum(axis=0) / np.maximum(present.sum(axis=0), 1)
    coefficients[fixed != 0] = fixed[fixed != 0]
    return LagrangianEstimate(
        terms=[str(term) for term in library["term"].values],
        coefficients=coefficients,
        std=np.full(coefficients.size, np.nan),
        status=list(library["status"].values),
        equivalent=list(library["equivalent"].values),
        by_equation=by_equation if len(theta) > 1 else None,
    )


def mean_square_residual(
    observations: xr.Dataset,
    estimate: LagrangianEstimate,
    settings: Mapping,
    library: Mapping,
) -> VolatilityEstimate:
    """Volatility as the paper writes it, and as its printed numbers were made.

    `volatility` is the root of the time average of dt E[R²]. The diagnostic
    ``volatility_of_lagrangian`` regresses dt E[L²], the square of the *value* of the
    Lagrangian, on q² and takes half the root of the coefficient. That reproduces the
    printed 1.03 and 0.11 if the support is right (for Duffing it gives 1.14), and
    hardly depends on σ.
    """
    square, of_lagrangian, position_square, regress, terms = _mean_squares(
        observations, estimate, settings, library
    )
    slope = (of_lagrangian @ position_square) / np.square(position_square).sum(axis=0)
    about = "half the root of the regression of dt E[L^2] on q^2"
    return _without_errors(
        np.sqrt(square.mean(axis=0)),
        terms,
        np.array([regress(of_dof) for of_dof in square.T]),
        volatility_of_lagrangian=(0.5 * np.sqrt(slope), "as volatility", about),
    )


def mean_square_lagrangian(
    observations: xr.Dataset,
    estimate: LagrangianEstimate,
    settings: Mapping,
    library: Mapping,
) -> VolatilityEstimate:
    """Volatility ½√β_a, where dt E[L²] = Σ_j β_j g_j with β_a the coefficient of q_a².

    Paper: eq. (20) has the square of the Euler–Lagrange residual. The released code
    regresses the square of the *value* of the Lagrangian instead, by thresholded least
    squares on the candidates of the volatility, and prints half the root of what it
    finds for q². This number hardly depends on σ (errata 19, 24, 31).

    ValueError if the square of a coordinate is no candidate.
    """
    _, of_lagrangian, _, regress, terms = _mean_squares(
        observations, estimate, settings, library
    )
    squares = [f"{name}**2" for name in observations["dof"].values]
    missing = [square for square in squares if square not in terms]
    if missing:
        raise ValueError(f"library.volatility lacks {', '.join(missing)}")
    beta = regress(of_lagrangian)
    root = np.sqrt(np.maximum(beta[[terms.index(name) for name in squares]], 0))
    return _without_errors(0.5 * root, terms, np.tile(beta, (len(squares), 1)))


def _without_errors(volatility, terms, coefficients, **diagnostics):
    """Constant volatilities, and the regression of their squares on `terms`."""
    return VolatilityEstimate(
        volatility=volatility,
        std=np.full(len(volatility), np.nan),
        terms=terms,
        coefficients=coefficients,
        coefficient_std=np.full_like(coefficients, np.nan),
        constant=np.ones(len(volatility), dtype=bool),
        diagnostics=diagnostics,
    )


def _mean_squares(
    observations: xr.Dataset,
    estimate: LagrangianEstimate,
    settings: Mapping,
    library: Mapping,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Callable, list[str]]:
    """Means dt E[R²], dt E[L²], E[q²] at interior times.

    After them the thresholded regression on E[g_j], and the candidates g_j.
    """
    coordinates = [str(name) for name in observations["dof"].values]
    without_damping = {k: v for k, v in library.items() if k != "dissipation"}
    residual = Residual(without_damping, coordinates)
    terms = residual.volatility_terms
    regressors = evaluator(list(terms), coordinates)
    q, qdot = observations["q"].values[0], observations["qdot"].values[0]
    inner, dof, dt = q.shape[1] - 2, q.shape[2], time_step(observations)
    square, position_square = np.zeros((2, inner, dof))
    of_lagrangian, mean = np.zeros(inner), np.zeros((inner, len(terms)))
    for path, rate in zip(q, qdot, strict=True):
        for start in range(0, inner, RESIDUALS_PER_BATCH):
            at = slice(start, start + RESIDUALS_PER_BATCH)
            x, v = (s[start : start + RESIDUALS_PER_BATCH + 2] for s in (path, rate))
            r, lagrangian = residual.central(x, v, dt, estimate.coefficients)
            square[at] += np.square(r)
            of_lagrangian[at] += np.square(lagrangian)
            position_square[at] += np.square(x[1:-1])
            mean[at] += regressors(x[1:-1], v[1:-1])
    square *= dt / len(q)
    of_lagrangian *= dt / len(q)
    position_square /= len(q)
    varying = [i for i, term in enumerate(terms) if term.free_symbols]
    columns = mean[:, varying] / len(q)

    def regress(target: np.ndarray) -> np.ndarray:
        coefficients = np.zeros(len(terms))
        coefficients[varying] = stlsq(columns, target, settings["threshold"])
        return coefficients

    names = [to_text(term) for term in terms]
    return square, of_lagrangian, position_square, regress, names
