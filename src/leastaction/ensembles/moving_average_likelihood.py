"""Volatility by the exact likelihood of noisy residuals.

Likelihoods of noisy diffusions go back to Aït-Sahalia, Mykland and Zhang (2005). With
the identified force removed, the residual of velocities with sensor noise is the MA(1)
process r_k = ∫S dW + M(e_{k+1} − e_k), plus what sensor noise of the coordinates
does through the stiffness K. In the sine basis its variance is

.. math::  V_j = σ² dt + s² λ_j + \\tfrac14 dt² \\sum_b K_{ab}² s_{q,b}² (4 − λ_j) ,
           \\qquad λ_j = 4 \\sin² \\frac{πj}{2(N+1)} .

The mean square, V averaged over j, would give σ √(1 + 2ξ²). From displacements alone,
r_k = M Δ²q_k − dt² F_k (Numerov) and

.. math::  V_j = σ² dt³ (1 − λ_j/6)
           + \\sum_b s_{q,b}² (M_{ab} λ_j + dt² G_{ab} (1 − λ_j/12))² ,
           \\quad G = ∂F/∂q ,

with both ends of the path exact. Sensor noise with a memory is flat only at low
frequencies; then θ < 0.3/lag is used.

*Why sines.* N samples of an MA(1) process have a tridiagonal Toeplitz covariance
matrix, and the sine transform DST-I diagonalises every such matrix exactly, with the
eigenvalues γ_0 + 2 γ_1 cos θ_j, θ_j = πj/(N + 1). So the exact likelihood is a sum over
independent coefficients I_j with the variance V_j = Σ_a θ_a A_{aj} + C_j, the same on
every path. For a second difference of white noise the covariance is the *square* of
such a matrix plus b²s² at both ends; that part has rank one on even and on odd j, and
the Sherman–Morrison formula keeps the likelihood exact.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import sympy as sp
import xarray as xr
from scipy.fft import dst
from scipy.optimize import minimize, nnls

from leastaction.core.contracts import time_step
from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.expressions import to_text
from leastaction.ensembles.sensor_noise import (
    INTEGRATED_WALK,
    LONGEST_MEMORY,
    deviation,
    last_significant,
)
from leastaction.ensembles.squared_increments import Residual

# θ times the memory in samples, below which the spectrum of sensor noise is flat.
LARGEST_FLAT_ANGLE = 0.3
# Samples at which mass and stiffness are averaged: enough for any average.
MOST_LINEARISED = 20_000
MOST_SCORING_STEPS = 100
# Relative change of V at which the scoring stops, and smallest V over its mean.
RELATIVE_CHANGE = 1e-10
# Units and meanings of what is found of the sensor noise.
NOISE = {
    "position_noise_estimate": ("units of q", "sensor noise of q"),
    "velocity_noise_estimate": ("units of qdot", "sensor noise of qdot"),
    "noise_ratio": ("1", "sensor noise over one increment of the random force"),
    "noise_memory": ("1", "memory of the sensor noise in samples"),
}


class Fit(NamedTuple):
    """Maximum of a likelihood: θ ≥ 0, the inverse of the information, and V_j."""

    parameters: np.ndarray
    covariance: np.ndarray
    variance: np.ndarray


def identify(
    observations: xr.Dataset,
    estimate: LagrangianEstimate,
    settings: Mapping,
    library: Mapping,
) -> VolatilityEstimate:
    """Constant volatility and sensor noise by maximum likelihood.

    σ with its standard error by Fisher's information, S Sᵀ between degrees of freedom,
    and as diagnostics the sensor noise, its memory, and ξ. The volatility is taken for
    a constant; its other candidates are not tried.
    """
    coordinates = [str(name) for name in observations["dof"].values]
    dt, q = time_step(observations), observations["q"].values[0]
    c = estimate.coefficients
    residual = Residual(library, coordinates, np.flatnonzero(c))
    if "qdot" in observations:
        v = observations["qdot"].values[0]
        linear = _linearised(residual, c, q, v)
        rows = np.concatenate([r for *_, r in residual.windows(q, v, dt, c)])
        rows = np.ascontiguousarray(rows.T).reshape(len(coordinates), len(q), -1)
        covariance, error, noise = _from_velocities(rows, linear, q, dt)
    else:
        linear = _linearised(residual, c, q, np.zeros_like(q))
        rows = _of_displacements(residual, c, q, dt, linear[0])
        covariance, error, noise = _from_displacements(rows, linear, q, dt)
    variance = np.diag(covariance)
    terms, position = _constant(residual.volatility_terms)
    beta = np.zeros((2, len(variance), len(terms)))
    beta[..., position] = variance, error
    with np.errstate(divide="ignore"):
        std = error / (2 * np.sqrt(variance))
    return VolatilityEstimate(
        volatility=np.sqrt(variance),
        std=std,
        terms=terms,
        coefficients=beta[0],
        coefficient_std=beta[1],
        constant=np.full(len(variance), True),
        diagnostics={name: (value, *NOISE[name]) for name, value in noise.items()},
        covariance=covariance,
    )


def _linearised(residual: Residual, c, q: np.ndarray, v: np.ndarray):
    """Along the data, mean of M = ∂²L/∂q̇∂q̇, mean and variance of G = ∂²L/∂q∂q."""
    pairs = [symbols(f(residual.coordinates)) for f in (velocity_names, tuple)]
    hessians = [
        sp.diff(residual.lagrangian, a, b) for pair in pairs for a in pair for b in pair
    ]
    dof = q.shape[-1]
    q, v = q.reshape(-1, dof), v.reshape(-1, dof)
    every = max(1, len(q) // MOST_LINEARISED)
    values = residual.compiled(hessians)(q[::every], v[::every], c)
    both = values.reshape(-1, 2, dof, dof)
    mean = both.mean(axis=0)
    return mean[0], mean[1], both[:, 1].var(axis=0)


def _of_displacements(residual: Residual, c, q, dt: float, mass) -> np.ndarray:
    """M Δ²q − dt² (F₊ + 10 F + F₋)/12, shape (dof, path, samples − 2).

    The force is that at rest: terms that depend on velocities are left out.
    """
    at_rest = dict.fromkeys(symbols(velocity_names(residual.coordinates)), 0)
    force_at = residual.compiled([f.subs(at_rest) for f in residual.forces])
    result = np.empty((q.shape[2], len(q), q.shape[1] - 2))
    for i, x in enumerate(q):
        force = force_at(x, np.zeros_like(x), c)
        numerov = force[1:-1] + np.diff(force, n=2, axis=0) / 12
        result[:, i] = (np.diff(x, n=2, axis=0) @ mass.T - dt**2 * numerov).T
    return result


def _from_velocities(residual: np.ndarray, linear, q: np.ndarray, dt: float):
    """S Sᵀ, errors of its diagonal and `NOISE` from the residual of velocities."""
    spectra, theta, memory, s_q = _spectra(residual, q, 1)
    mass, slope, scatter = linear
    shrink = 4 * np.sin(theta / 2) ** 2
    shapes = np.stack([np.full(theta.shape, dt), shrink])
    square = np.square(slope) + scatter

    def through_force(a, b):
        stiffness = slope[a] * slope[b] if a != b else square[a]
        return dt**2 / 4 * (stiffness @ s_q**2) * (4 - shrink)

    fits = [
        fit_spectrum(np.mean(one**2, axis=0), one.shape[0], shapes, through_force(a, a))
        for a, one in enumerate(spectra)
    ]
    covariance, error = _covariance(spectra, shapes, fits, through_force)
    sensor = np.array([fit.parameters[1] for fit in fits])
    s_v = np.sqrt(sensor / np.square(mass).sum(axis=1))
    with np.errstate(divide="ignore"):
        ratio = np.sqrt(sensor / (np.diag(covariance) * dt))
    noise = {
        "position_noise_estimate": s_q,
        "velocity_noise_estimate": s_v,
        "noise_ratio": ratio,
        "noise_memory": np.full(len(fits), memory),
    }
    return covariance, error, noise


def _from_displacements(residual: np.ndarray, linear, q: np.ndarray, dt: float):
    """As :func:`_from_velocities`, from the residual of displacements."""
    spectra, theta, memory, s_q = _spectra(residual, q, 2)
    mass, slope, scatter = linear
    shrink = 4 * np.sin(theta / 2) ** 2
    numerov = 1 - shrink / 12
    walk = dt**3 * (1 - shrink / 6)
    fits, sensor = [], []
    for a, one in enumerate(spectra):
        share = np.square(s_q / s_q[a]) if s_q[a] > 0 else np.eye(len(s_q))[a]
        each = mass[a][:, None] * shrink + dt**2 * slope[a][:, None] * numerov
        each = np.square(each) + dt**4 * scatter[a][:, None] * numerov**2
        sensor.append(share @ each)
        at_ends = share @ np.square(mass[a] - dt**2 * slope[a] / 12)
        shapes, ends = np.stack([walk, sensor[a]]), np.array([0.0, at_ends])
        fits.append(fit_with_ends(one, shapes, ends, residual.shape[-1]))
    shapes = np.stack([walk, np.mean(sensor, axis=0)])
    nothing = np.zeros(len(theta))
    covariance, error = _covariance(spectra, shapes, fits, lambda a, b: nothing)
    noise = {
        "position_noise_estimate": np.sqrt([fit.parameters[1] for fit in fits]),
        "noise_memory": np.full(len(fits), memory),
    }
    return covariance, error, noise


def _spectra(residual: np.ndarray, q: np.ndarray, order: int):
    """DST-I of the residual where sensor noise is flat, θ there, memory, noise of q.

    The residual, shape (dof, path, sample), has differences of sensor noise of `order`.
    """
    spectra = sine_transform(residual)
    lags = min(LONGEST_MEMORY + order - 1, spectra.shape[-1] - 1)
    last = [
        last_significant(autocovariance_of(np.mean(one**2, axis=0), lags), one.size)
        for one in spectra
    ]
    memory = max(1, max(last) - (order - 1))
    theta = frequencies(spectra.shape[-1])
    if memory > 1:
        theta = theta[theta < LARGEST_FLAT_ANGLE / memory]
    paths = np.ascontiguousarray(np.moveaxis(q, -1, 0))
    s_q = np.array([deviation(path, memory, INTEGRATED_WALK) for path in paths])
    return spectra[..., : len(theta)], theta, memory, s_q


def _covariance(spectra, shapes, fits: list[Fit], known):
    """S Sᵀ with the covariances between degrees of freedom, and errors of variances."""
    dof = len(fits)
    covariance = np.diag([fit.parameters[0] for fit in fits])
    for a in range(dof):
        for b in range(a):
            value = cross_spectrum(
                np.mean(spectra[a] * spectra[b], axis=0),
                shapes,
                known(a, b),
                (fits[a].variance, fits[b].variance),
            )[0]
            limit = np.sqrt(covariance[a, a] * covariance[b, b])
            covariance[a, b] = covariance[b, a] = np.clip(value, -limit, limit)
    return covariance, np.array([np.sqrt(fit.covariance[0, 0]) for fit in fits])


def _constant(terms: Sequence[sp.Expr]) -> tuple[list[str], int]:
    """Candidates of σ² with the constant among them, and where that is."""
    numbers = [i for i, term in enumerate(terms) if term.is_number and term != 0]
    texts = [to_text(term) for term in terms]
    return (texts, numbers[0]) if numbers else (["1", *texts], 0)


def sine_transform(residual: np.ndarray) -> np.ndarray:
    """Orthonormal DST-I along the last axis."""
    return dst(residual, type=1, norm="ortho", axis=-1)


def frequencies(count: int) -> np.ndarray:
    """θ_j = πj/(N + 1), j = 1 ... N."""
    return np.pi * np.arange(1, count + 1) / (count + 1)


def fit_spectrum(
    power: np.ndarray, paths: int, shapes: np.ndarray, known: np.ndarray
) -> Fit:
    """Maximum likelihood of V = Σ θ_a A_a + C by Fisher scoring.

    For a variance that is linear in θ a scoring step is a least-squares fit with the
    weights 1/V², and θ ≥ 0 makes it a non-negative one. `power` is a mean over paths.
    """
    variance = np.full(power.shape, power.mean()) + known
    for _ in range(MOST_SCORING_STEPS):
        scale = np.linalg.norm(shapes / variance, axis=1)
        columns = (shapes / variance).T / scale
        found, _ = nnls(columns, (power - known) / variance)
        new = np.maximum(found / scale @ shapes + known, RELATIVE_CHANGE * power.mean())
        change = np.max(np.abs(new / variance - 1))
        variance = new
        if change < RELATIVE_CHANGE:
            break
    size = np.linalg.norm(shapes / variance, axis=1)
    scaled = shapes / variance / size[:, None]
    inverse = np.linalg.pinv(scaled @ scaled.T, hermitian=True)
    return Fit(found / scale, 2 / paths * inverse / np.outer(size, size), variance)


def fit_with_ends(
    coefficients: np.ndarray, shapes: np.ndarray, ends: np.ndarray, count: int
) -> Fit:
    """Maximum likelihood of V = Σ θ_a A_a with Σ θ_a B_a added at both ends of a path.

    `coefficients` are the DST-I of `count` samples at the first frequencies, by path.
    """
    paths, size = coefficients.shape
    theta = frequencies(count)[:size]
    power = np.mean(np.square(coefficients), axis=0)
    on_diagonal = shapes + ends[:, None] * 4 * np.sin(theta) ** 2 / (count + 1)
    start = fit_spectrum(power, paths, on_diagonal, np.zeros(size))
    lowest = RELATIVE_CHANGE * power.mean() / on_diagonal.mean(axis=1)
    first = np.log(np.maximum(start.parameters, lowest))
    edge = np.sqrt(2 / (count + 1)) * np.sin(theta)
    parities = (slice(0, None, 2), slice(1, None, 2))
    pieces = [np.ascontiguousarray(coefficients[:, one]) for one in parities]

    def minus_two_log(log_parameters):
        values = np.exp(log_parameters)
        variance = values @ shapes
        total = paths * np.sum(np.log(variance) + power / variance)
        for one, piece in zip(parities, pieces, strict=True):
            weight = edge[one] / variance[one]
            corner = 1 + 2 * (values @ ends) * (edge[one] @ weight)
            total += paths * np.log(corner)
            total -= 2 * (values @ ends) / corner * np.sum(np.square(piece @ weight))
        return total

    step = np.sqrt(np.diag(start.covariance)) / np.exp(first)
    step = np.clip(step, 1e-4, 0.5)
    simplex = np.vstack([first, first + np.diag(step)])
    options = {"initial_simplex": simplex, "xatol": 1e-5, "fatol": 1e-4}
    best = minimize(minus_two_log, first, method="Nelder-Mead", options=options).x
    curvature = _hessian(minus_two_log, best, step / 4) / 2
    jacobian = np.diag(np.exp(best))
    covariance = jacobian @ np.linalg.pinv(curvature) @ jacobian
    return Fit(np.exp(best), covariance, np.exp(best) @ shapes)


def cross_spectrum(
    power: np.ndarray,
    shapes: np.ndarray,
    known: np.ndarray,
    variances: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Covariances θ of two residuals, Σ θ_a A_a + C, by weighted least squares.

    `power` is the mean over the paths of the product of their coefficients.
    """
    weight = 1 / np.sqrt(variances[0] * variances[1])
    return np.linalg.lstsq((shapes * weight).T, (power - known) * weight)[0]


def autocovariance_of(power: np.ndarray, lags: int) -> np.ndarray:
    """Residual autocovariance at 0 ... `lags` from the mean power of the DST-I."""
    theta = frequencies(len(power))
    return np.array([np.mean(power * np.cos(h * theta)) for h in range(lags + 1)])


def _hessian(function, point, step) -> np.ndarray:
    """Second derivatives by central differences."""
    rows = np.diag(step)
    mixed = [
        function(point + a + b)
        - function(point + a - b)
        - function(point - a + b)
        + function(point - a - b)
        for a in rows
        for b in rows
    ]
    return np.reshape(mixed, rows.shape) / (4 * np.outer(step, step))
