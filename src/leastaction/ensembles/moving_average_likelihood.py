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

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.fft import dst
from scipy.optimize import minimize, nnls

from leastaction.core.contracts import time_step
from leastaction.core.estimate import LagrangianEstimate, VolatilityEstimate
from leastaction.core.euler_lagrange import velocity_names
from leastaction.core.expressions import to_text
from leastaction.core.library import candidates
from leastaction.ensembles.residual import Linearised, NoisyResidual
from leastaction.ensembles.sensor_noise import (
    INTEGRATED_WALK,
    LONGEST_MEMORY,
    deviation,
    last_significant,
)

# θ times the memory in samples, below which the spectrum of sensor noise is flat.
LARGEST_FLAT_ANGLE = 0.3
MOST_SCORING_STEPS = 100
# Relative change of V at which the scoring stops, and smallest V over its mean.
RELATIVE_CHANGE = 1e-10


@dataclass(frozen=True)
class Noise:
    """Random force and sensor noise of each degree of freedom.

    Attributes
    ----------
    covariance
        S Sᵀ, shape (dof, dof).
    error
        Standard error of its diagonal.
    diagnostics
        As of :class:`VolatilityEstimate`.
    """

    covariance: np.ndarray
    error: np.ndarray
    diagnostics: Mapping[str, tuple[np.ndarray, str, str]]


@dataclass(frozen=True)
class Fit:
    """Maximum of a likelihood.

    Attributes
    ----------
    parameters
        θ ≥ 0, shape (parameter,).
    covariance
        Inverse of the information, shape (parameter, parameter).
    variance
        V_j, shape (frequency,).
    """

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
    dt = time_step(observations)
    q = observations["q"].values[0]
    model = NoisyResidual(library, coordinates, estimate.coefficients)
    if "qdot" in observations:
        v = observations["qdot"].values[0]
        residual = model.of_velocities(q, v, dt)
        noise = from_velocities(residual, model.linearised(q, v), q, dt)
    else:
        linear = model.linearised(q, None)
        residual = model.of_displacements(q, dt, linear.mass)
        noise = from_displacements(residual, linear, q, dt)
    variance = np.diag(noise.covariance)
    terms, position = _constant(library, coordinates)
    beta, beta_std = np.zeros((2, len(variance), len(terms)))
    beta[:, position], beta_std[:, position] = variance, noise.error
    with np.errstate(divide="ignore"):
        std = noise.error / (2 * np.sqrt(variance))
    return VolatilityEstimate(
        volatility=np.sqrt(variance),
        std=std,
        terms=terms,
        coefficients=beta,
        coefficient_std=beta_std,
        constant=np.full(len(variance), True),
        diagnostics=noise.diagnostics,
        covariance=noise.covariance,
    )


def from_velocities(
    residual: np.ndarray, linear: Linearised, q: np.ndarray, dt: float
) -> Noise:
    """Noise from the residual of velocities, shape (dof, path, step).

    Parameters
    ----------
    linear
        Mass and stiffness along the data.
    q
        Coordinates, shape (path, samples, dof): they tell their own sensor noise.
    """
    spectra = sine_transform(residual)
    memory = residual_memory(spectra, 1)
    paths = _by_dof(q)
    s_q = np.array([deviation(path, memory, INTEGRATED_WALK) for path in paths])
    theta = frequencies(spectra.shape[-1])
    theta = theta[: _band(theta, memory)]
    shrink = 4 * np.sin(theta / 2) ** 2
    shapes = np.stack([np.full(theta.shape, dt), shrink])
    square = np.square(linear.slope) + linear.scatter
    spectra = spectra[..., : len(theta)]

    def through_force(a, b):
        stiffness = linear.slope[a] * linear.slope[b] if a != b else square[a]
        return dt**2 / 4 * (stiffness @ s_q**2) * (4 - shrink)

    fits = [
        fit_spectrum(np.mean(one**2, axis=0), one.shape[0], shapes, through_force(a, a))
        for a, one in enumerate(spectra)
    ]
    covariance, error = _covariance(spectra, shapes, fits, through_force)
    sensor = np.array([fit.parameters[1] for fit in fits])
    s_v = np.sqrt(sensor / np.square(linear.mass).sum(axis=1))
    with np.errstate(divide="ignore"):
        ratio = np.sqrt(sensor / (np.diag(covariance) * dt))
    return Noise(
        covariance,
        error,
        {
            "position_noise_estimate": (s_q, "units of q", "sensor noise of q"),
            "velocity_noise_estimate": (s_v, "units of qdot", "sensor noise of qdot"),
            "noise_ratio": (
                ratio,
                "1",
                "sensor noise over one increment of the random force",
            ),
            "noise_memory": _memory_entry(memory, len(fits)),
        },
    )


def from_displacements(
    residual: np.ndarray, linear: Linearised, q: np.ndarray, dt: float
) -> Noise:
    """Noise from the residual of displacements, shape (dof, path, step)."""
    spectra = sine_transform(residual)
    memory = residual_memory(spectra, 2)
    paths = _by_dof(q)
    s_q = np.array([deviation(path, memory, INTEGRATED_WALK) for path in paths])
    count = spectra.shape[-1]
    theta = frequencies(count)
    theta = theta[: _band(theta, memory)]
    shrink = 4 * np.sin(theta / 2) ** 2
    numerov = 1 - shrink / 12
    walk = dt**3 * (1 - shrink / 6)
    spectra = spectra[..., : len(theta)]
    fits, positions, all_shapes = [], [], []
    for a, one in enumerate(spectra):
        share = np.square(s_q / s_q[a]) if s_q[a] > 0 else np.eye(len(s_q))[a]
        mass, slope = linear.mass[a][:, None], linear.slope[a][:, None]
        each = np.square(mass * shrink + dt**2 * slope * numerov)
        each += dt**4 * linear.scatter[a][:, None] * numerov**2
        shapes = np.stack([walk, share @ each])
        at_ends = share @ np.square(linear.mass[a] - dt**2 * linear.slope[a] / 12)
        fits.append(fit_with_ends(one, shapes, np.array([0.0, at_ends]), count))
        positions.append(np.sqrt(fits[a].parameters[1]))
        all_shapes.append(shapes)
    shapes = np.stack([walk, np.mean([one[1] for one in all_shapes], axis=0)])
    nothing = np.zeros(len(theta))
    covariance, error = _covariance(spectra, shapes, fits, lambda a, b: nothing)
    return Noise(
        covariance,
        error,
        {
            "position_noise_estimate": (
                np.array(positions),
                "units of q",
                "sensor noise of q",
            ),
            "noise_memory": _memory_entry(memory, len(fits)),
        },
    )


def residual_memory(spectra: np.ndarray, order: int) -> int:
    """Memory of the sensor noise, samples, from the autocovariance of the residual.

    Parameters
    ----------
    spectra
        DST-I of the residual, shape (dof, path, frequency).
    order
        Of the difference of sensor noise that the residual contains.
    """
    lags = min(LONGEST_MEMORY + order - 1, spectra.shape[-1] - 1)
    last = [
        last_significant(autocovariance_of(np.mean(one**2, axis=0), lags), one.size)
        for one in spectra
    ]
    return max(1, max(last) - (order - 1))


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


def _band(theta: np.ndarray, memory: int) -> int:
    """Number of frequencies at which the sensor noise is flat."""
    return (
        len(theta) if memory == 1 else int(np.sum(theta < LARGEST_FLAT_ANGLE / memory))
    )


def _by_dof(q: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(q, -1, 0))


def _memory_entry(memory: int, dof: int):
    return np.full(dof, memory), "1", "memory of the sensor noise in samples"


def _constant(library: Mapping, coordinates) -> tuple[list[str], int]:
    """Candidates of σ² with the constant among them, and where that is."""
    names = (*coordinates, *velocity_names(coordinates))
    terms = list(candidates(library["volatility"], names))
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
    weights 1/V²; the constraint θ ≥ 0 makes it a non-negative one.

    Parameters
    ----------
    power
        Mean over the paths of the squared coefficients, shape (frequency,).
    paths
        Their number.
    shapes, known
        A, shape (parameter, frequency), and C, shape (frequency,).
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
    return Fit(found / scale, _information_inverse(shapes, variance, paths), variance)


def fit_with_ends(
    coefficients: np.ndarray, shapes: np.ndarray, ends: np.ndarray, count: int
) -> Fit:
    """Maximum likelihood of V = Σ θ_a A_a with Σ θ_a B_a added at both ends of a path.

    Parameters
    ----------
    coefficients
        DST-I of the residual at the first frequencies, shape (path, frequency).
    shapes
        A, shape (parameter, frequency).
    ends
        B, shape (parameter,).
    count
        N, samples of a path.
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
    best = minimize(
        minus_two_log,
        first,
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "xatol": 1e-5, "fatol": 1e-4},
    ).x
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

    Parameters
    ----------
    power
        Mean over the paths of the product of the coefficients, shape (frequency,).
    variances
        V of each residual.
    """
    weight = 1 / np.sqrt(variances[0] * variances[1])
    solution, *_ = np.linalg.lstsq(
        (shapes * weight).T, (power - known) * weight, rcond=None
    )
    return solution


def autocovariance_of(power: np.ndarray, lags: int) -> np.ndarray:
    """Residual autocovariance at 0 ... `lags` from the mean power of the DST-I."""
    theta = frequencies(len(power))
    return np.array([np.mean(power * np.cos(h * theta)) for h in range(lags + 1)])


def _information_inverse(shapes, variance, paths) -> np.ndarray:
    scaled = shapes / variance
    size = np.linalg.norm(scaled, axis=1)
    scaled = scaled / size[:, None]
    inverse = np.linalg.pinv(scaled @ scaled.T, hermitian=True)
    return 2 / paths * inverse / np.outer(size, size)


def _hessian(function, point, step) -> np.ndarray:
    count = len(point)
    result = np.empty((count, count))
    for a in range(count):
        for b in range(count):
            da, db = step[a] * np.eye(count)[a], step[b] * np.eye(count)[b]
            result[a, b] = (
                function(point + da + db)
                - function(point + da - db)
                - function(point - da + db)
                + function(point - da - db)
            ) / (4 * step[a] * step[b])
    return result
