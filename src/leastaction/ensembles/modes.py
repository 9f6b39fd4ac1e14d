"""Modal analysis of a law: natural frequencies, damping ratios, mode shapes, spectra.

About an equilibrium q₀ the law is M q̈ + C q̇ + K (q − q₀) = S Ẇ. Its modes solve the
quadratic eigenvalue problem (λ² M + λ C + K) φ = 0 (Meirovitch, Analytical Methods in
Vibrations, 1967), with

.. math::  ω = |λ| , \\qquad ζ = −\\mathrm{Re}\\,λ / |λ| .

Errors of both follow from those of the coefficients by the delta method. In a wide
motion a nonlinear law stands for the linear one that misses its forces least in the
mean over the Gaussian motion that this linear law has itself: statistical linearisation
(Roberts, Spanos, Random Vibration and Statistical Linearization, 1990).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from scipy.linalg import solve_continuous_lyapunov

from leastaction.core.compiled import evaluator
from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.model import IdentifiedModel

# Displacement, over the rms of the motion, that slopes are taken over.
SMALL = 1e-4
# Steps to an equilibrium, and of statistical linearisation.
MOST_STEPS = 50
SETTLED = 1e-6
# Growth, or decay, over the largest rate that counts as none.
UNDAMPED = 1e-7
# Points of the motion, of a low-discrepancy sequence.
POINTS = 4096
# Frequencies that sampling folds into the band, on each side of it.
FOLDS = 3
# Part of a standard error over which modes are differentiated.
DIFFERENCE = 1e-2
# Kind of a mode that is one of a structure.
STRUCTURAL = "mode"


@dataclass(frozen=True)
class Linear:
    """M, C and K, shape (dof, dof), and the equilibrium, shape (dof,)."""

    inertia: np.ndarray
    damping: np.ndarray
    stiffness: np.ndarray
    equilibrium: np.ndarray

    @cached_property
    def rates(self) -> np.ndarray:
        """Matrix A of the state (q − q₀, q̇)."""
        n = len(self.inertia)
        force = np.hstack([self.stiffness, self.damping])
        lower = -np.linalg.solve(self.inertia, force)
        return np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), lower])

    @property
    def growth(self) -> float:
        """Largest real part of λ over the largest λ: negative if all is damped."""
        values = np.linalg.eigvals(self.rates)
        return float(values.real.max() / np.abs(values).max())

    def modes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Frequencies (Hz), damping ratios and shapes (mode, dof), by frequency.

        A shape has the largest entry one. A mode that is damped beyond ζ = 1 has two
        real λ, and none of it is listed.

        Examples
        --------
        >>> one = Linear(*(np.array([[x]]) for x in (1.0, 0.4, 4.0)), np.zeros(1))
        >>> frequency, damping, shape = one.modes()
        >>> print(frequency.round(3), damping.round(3), shape.real)
        [0.318] [0.1] [[1.]]
        """
        values, vectors = np.linalg.eig(self.rates)
        order = np.flatnonzero(values.imag > 1e-9 * np.abs(values))
        order = order[np.argsort(np.abs(values[order]))]
        size, shapes = np.abs(values[order]), vectors[: len(self.inertia), order].T
        largest = np.abs(shapes).argmax(axis=1)
        shapes = shapes / shapes[np.arange(len(order)), largest][:, None]
        return size / (2 * np.pi), -values[order].real / size, shapes


class Motion:
    """M(q) and the force f(q, q̇) of a law, compiled once for all its coefficients.

    `model` is one replicate of what the step ``innovations_likelihood`` found.
    """

    def __init__(self, model: xr.Dataset):
        self.model = IdentifiedModel(with_nearest(model))
        self.dataset = self.model.dataset
        system = self.model.system
        self.names, self.dof = list(system.parameters), system.dof
        self.values = system.parameter_values
        self._evaluate = evaluator(
            [*system.mass_matrix, *system.forces], system.coordinates, self.names
        )
        terms = self.dataset["dissipation_term"].values
        self.dry = [f"d_{i}" for i, t in enumerate(terms) if "abs(" in str(t)]

    def _at(self, q, qdot, values):
        """M, shape (samples, dof, dof), and f, shape (samples, dof)."""
        result, n = self._evaluate(q, qdot, values), self.dof
        return result[:, : n * n].reshape(-1, n, n), result[:, n * n :]

    def about_equilibrium(self, values: np.ndarray | None = None) -> Linear | None:
        """Law about the equilibrium next to the mean; None if there is no stable one.

        Dry friction |q̇|, which has no slope at rest, is left out.
        """
        values = (self.values if values is None else values).copy()
        values[[name in self.dry for name in self.names]] = 0.0
        q, size = self.mean.copy(), SMALL * self.scale
        for _ in range(MOST_STEPS):
            linear = self._slopes(q, size, values)
            force = self._at(q[None], np.zeros((1, self.dof)), values)[1][0]
            step = np.linalg.lstsq(linear.stiffness, force, rcond=None)[0]
            if not np.isfinite(step).all():
                return None
            q = q + np.clip(step, -3 * self.scale, 3 * self.scale)
            if np.all(np.abs(step) < SETTLED * self.scale):
                return linear if linear.growth < UNDAMPED else None
        return None

    def _slopes(self, q, size, values) -> Linear:
        n = self.dof
        steps, rest = np.diag(size), np.zeros((n, n))
        moved, moving = np.vstack([steps, rest]), np.vstack([rest, steps])
        up, down = (self._at(q + s * moved, s * moving, values)[1] for s in (1, -1))
        slopes = (up - down).T / 2
        stiffness, damping = -slopes[:, :n] / size, -slopes[:, n:] / size
        inertia = self._at(q[None], np.zeros((1, n)), values)[0][0]
        return Linear(inertia, damping, stiffness, q)

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean position, where sensors of positions tell it; else zero."""
        return self._positions()[0]

    @cached_property
    def scale(self) -> np.ndarray:
        """Rms of the motion by coordinate; one where no sensor tells it."""
        return self._positions()[1]

    def _positions(self):
        data = self.dataset
        still = ~(
            data["sensor_velocity"].any("dof") | data["sensor_acceleration"].any("dof")
        )
        sensed = data["sensor_position"].values[still.values]
        y = data["measured"].values[:, still.values]
        y = y[np.isfinite(y).all(axis=1)]
        if not len(sensed) or not len(y):
            return np.zeros(self.dof), np.ones(self.dof)
        inverse = np.linalg.pinv(sensed)
        spread = (y @ inverse.T).std(axis=0)
        determined = spread > 0
        spread = np.where(
            determined, spread, spread[determined].max() if determined.any() else 1.0
        )
        return inverse @ y.mean(axis=0), spread

    def equivalent(self) -> Linear | None:
        """Linear law of the same random motion; that of the equilibrium to begin with.

        None if that has no stationary motion, as without damping.
        """
        linear = self.about_equilibrium()
        force = self.dataset["noise_covariance"].values
        points = _normal_points(2 * self.dof)
        if linear is None or linear.growth > -UNDAMPED:
            return None
        for _ in range(MOST_STEPS):
            before = linear
            covariance = self.covariance(linear, force)
            root = np.linalg.cholesky(
                covariance + SMALL**2 * np.diag(np.diag(covariance))
            )
            states = points @ root.T
            q = linear.equilibrium + states[:, : self.dof]
            inertia, f = self._at(q, states[:, self.dof :], self.values)
            # By Stein's lemma the slope of least error is that of the regression on it.
            slopes = -np.linalg.lstsq(states, f - f.mean(axis=0), rcond=None)[0].T
            stiffness, damping = np.hsplit(slopes, 2)
            at_rest = linear.equilibrium
            linear = Linear(inertia.mean(axis=0), damping, stiffness, at_rest)
            if linear.growth > -UNDAMPED:
                return None
            change = np.abs(linear.rates - before.rates).max()
            if change < 1e-4 * np.abs(linear.rates).max():
                break
        return linear

    def covariance(self, linear: Linear, force: np.ndarray) -> np.ndarray:
        """Stationary covariance of (q, q̇) under white forces of covariance S Sᵀ."""
        n, inverse = self.dof, np.linalg.inv(linear.inertia)
        noise = np.zeros((2 * n, 2 * n))
        noise[n:, n:] = inverse @ force @ inverse.T
        # In its own unit of time: q and q̇ of a fast motion differ by powers of ten.
        speed = np.abs(np.linalg.eigvals(linear.rates)).max()
        size = np.repeat([1.0, speed], n)
        rates = linear.rates / size[:, None] * size
        scale = np.outer(size, size)
        result = solve_continuous_lyapunov(rates / speed, -noise / scale / speed)
        return result * scale


def with_nearest(model: xr.Dataset) -> xr.Dataset:
    """The model with the absent candidate that selection leaves a deviation of.

    Its coefficient is as good as zero, but it counts in the errors of modes.
    """
    model = model.copy()
    labels = [str(name) for name in model["parameter"].values]
    variance = np.diag(model["parameter_covariance"].values)
    spread = dict(zip(labels, variance, strict=True))
    for prefix, dim, name in (
        ("L", "term", "coefficient_estimate"),
        ("D", "dissipation_term", "dissipation_coefficient_estimate"),
    ):
        values = model[name].values
        terms = [f"{prefix}: {term}" for term in model[dim].values]
        absent = (values == 0) & ([spread.get(term, 0.0) > 0 for term in terms])
        model[name] = model[name].copy(
            data=np.where(absent, np.finfo(float).tiny, values)
        )
        if prefix == "L":
            model["support"] = model["support"].copy(
                data=np.where(absent, 1, model["support"].values)
            )
    return model


def _normal_points(dimension: int) -> np.ndarray:
    """Points of a normal distribution, evenly spread and symmetric."""
    from scipy.stats import norm, qmc

    engine = qmc.Sobol(dimension, scramble=False)
    points = norm.ppf(engine.random(POINTS) + 0.5 / POINTS)
    return np.concatenate([points, -points])


def modes(model: xr.Dataset) -> xr.Dataset | None:
    """Natural frequencies, damping ratios and shapes about the equilibrium.

    Of one replicate of what the step ``innovations_likelihood`` found: over `mode`, by
    frequency, what :func:`~leastaction.ensembles.output_modes.output_modes` has, with
    shapes over (mode, dof); `sensed_real`, `sensed_imaginary` are those of the sensors,
    over (mode, channel). None if the law has no stable equilibrium near the mean of the
    motion.
    """
    motion = Motion(model)
    linear = motion.about_equilibrium()
    if linear is None:
        return None
    frequency, damping, shapes = linear.modes()
    value = _in_a_row(frequency, damping, shapes)
    places, covariance = _free(motion)
    slopes = np.zeros((len(places), len(value)))
    errors = np.sqrt(np.diag(covariance))
    for k, (place, error) in enumerate(zip(places, errors, strict=True)):
        step = np.zeros(len(motion.names))
        step[place] = DIFFERENCE * error
        ends = [motion.about_equilibrium(motion.values + s * step) for s in (1, -1)]
        if None in ends or not error:
            continue
        result = [_in_a_row(*end.modes()) for end in ends]
        if all(len(one) == len(value) for one in result):
            slopes[k] = (result[0] - result[1]) / (2 * step[place])
    variance = np.einsum("ki,kl,li->i", slopes, covariance, slopes)
    std = np.sqrt(np.maximum(variance, 0.0))
    count = len(frequency)
    damped = np.abs(damping) > UNDAMPED
    ratio, of_ratio = (np.where(damped, x, 0.0) for x in (damping, std[count:][:count]))
    low, high = interval_of_ratio(ratio, of_ratio)
    rates = 2 * np.pi * frequency * (1j * np.sqrt(1 - damping**2) - damping)
    position, velocity, acceleration = (
        model[f"sensor_{kind}"].values
        for kind in ("position", "velocity", "acceleration")
    )
    s = rates[:, None]
    sensed = shapes @ position.T + s * (shapes @ velocity.T)
    sensed = sensed + s**2 * (shapes @ acceleration.T)
    largest = np.take_along_axis(sensed, np.abs(sensed).argmax(axis=1)[:, None], axis=1)
    # Of a mode with nodes at all sensors round-off is left.
    round_off = np.sqrt(np.finfo(float).eps) * np.abs(sensed).max(initial=0.0)
    unseen = np.abs(largest) <= round_off
    sensed = np.where(unseen, 0.0, sensed / np.where(unseen, 1.0, largest))
    of_shape = std[2 * count :].reshape(2, *shapes.shape)
    of_shape[:, np.abs(shapes - 1) < np.finfo(float).eps] = 0.0  # the largest entry
    half = NORMAL_QUANTILE * std[:count]
    of_mode, of_dof, of_channel = ("mode",), ("mode", "dof"), ("mode", "channel")
    return xr.Dataset(
        {
            "frequency": (of_mode, frequency),
            "frequency_std": (of_mode, std[:count]),
            "frequency_low": (of_mode, frequency - half),
            "frequency_high": (of_mode, frequency + half),
            "damping_ratio": (of_mode, ratio),
            "damping_ratio_std": (of_mode, of_ratio),
            "damping_ratio_low": (of_mode, low),
            "damping_ratio_high": (of_mode, high),
            "shape_real": (of_dof, shapes.real),
            "shape_imaginary": (of_dof, shapes.imag),
            "shape_real_std": (of_dof, of_shape[0]),
            "shape_imaginary_std": (of_dof, of_shape[1]),
            "sensed_real": (of_channel, sensed.real),
            "sensed_imaginary": (of_channel, sensed.imag),
            "phase_collinearity": (of_mode, [phase_collinearity(x) for x in shapes]),
            "kind": (of_mode, np.full(count, STRUCTURAL, dtype=object)),
        },
        {"mode": np.arange(1, count + 1), "dof": motion.model.dataset["dof"].values},
    )


def phase_collinearity(shape: np.ndarray) -> float:
    """Modal phase collinearity: one of a real shape, times any complex number.

    Source: Pappa, Elliott, Schenk, J. Guidance 16 (1993) 275, with the mean left in.

    >>> round(phase_collinearity(np.array([1, -0.5, 2]) * (1 + 1j)), 12)
    1.0
    """
    x, y = shape.real, shape.imag
    both = (x @ x - y @ y) ** 2 + 4 * (x @ y) ** 2
    return float(both / (x @ x + y @ y) ** 2)


def interval_of_ratio(ratio: np.ndarray, std: np.ndarray):
    """Ends of the 95 % intervals of damping ratios.

    The variance of a ratio is proportional to it, ζ/ωT of a record of length T, so that
    the error of its root does not depend on it. One that is below its standard error s
    has the error of one whose likeliest value is s, s/2 without its bias.

    >>> low, high = interval_of_ratio(np.array([0.01]), np.array([0.003]))
    >>> print(low.round(4), high.round(4))
    [0.005] [0.0167]
    """
    ratio = np.abs(ratio)
    root = np.sqrt(ratio)
    least = np.maximum(np.sqrt(np.maximum(ratio, std / 2)), np.finfo(float).tiny)
    half = NORMAL_QUANTILE * std / 2 / least
    return np.maximum(root - half, 0.0) ** 2, (root + half) ** 2


def _in_a_row(frequency, damping, shapes) -> np.ndarray:
    """Frequencies, damping ratios, real and imaginary parts of shapes."""
    parts = shapes.real.ravel(), shapes.imag.ravel()
    return np.concatenate([frequency, damping, *parts])


def _free(motion: Motion) -> tuple[list[int], np.ndarray]:
    """Places of estimated coefficients of L and D among the parameters; covariance."""
    data = motion.dataset
    labels = [str(name) for name in data["parameter"].values]
    known = {
        f"{prefix}: {term}": f"{letter}_{i}"
        for letter, prefix, dim in (("c", "L", "term"), ("d", "D", "dissipation_term"))
        for i, term in enumerate(data[dim].values)
    }
    rows = [k for k, label in enumerate(labels) if known.get(label) in motion.names]
    places = [motion.names.index(known[labels[k]]) for k in rows]
    return places, data["parameter_covariance"].values[np.ix_(rows, rows)]


def transfer(linear: Linear, dataset: xr.Dataset, frequency, dt: float) -> np.ndarray:
    """From generalised forces to channels, shape (frequency, channel, dof).

    An accelerometer in a white force shows its mean over a step; one on shaking ground,
    such as ``x1ddot + ground``, also that of the ground, a, of force −M 1 a.
    """
    omega = 2 * np.pi * np.asarray(frequency)[:, None, None]
    dynamic = linear.stiffness + 1j * omega * linear.damping - omega**2 * linear.inertia
    position, velocity, acceleration = (
        dataset[f"sensor_{kind}"].values
        for kind in ("position", "velocity", "acceleration")
    )
    white = float(dataset["correlation_time_estimate"]) == 0
    mean = np.sinc(omega * dt / (2 * np.pi)) if white else 1.0
    shaken = ["ground" in str(name) for name in dataset["channel"].values]
    ground = np.where(shaken, acceleration.sum(axis=1), 0.0) / linear.inertia.sum()
    sensed = (
        position
        + 1j * omega * velocity
        - omega**2 * acceleration * np.where(np.array(shaken)[:, None], 1.0, mean)
    )
    return sensed @ np.linalg.inv(dynamic) - ground[:, None]


def force_density(dataset: xr.Dataset, frequency: Sequence[float]) -> np.ndarray:
    """One-sided spectral density of the random forces, shape (frequency, dof, dof).

    2 S Sᵀ of white ones, 2 S Sᵀ / (1 + (ωτ)²) with a correlation time τ.
    """
    memory = (
        2 * np.pi * np.asarray(frequency) * float(dataset["correlation_time_estimate"])
    )
    return 2 * dataset["noise_covariance"].values / (1 + memory**2)[:, None, None]


def noise_density(dataset: xr.Dataset, dt: float) -> np.ndarray:
    """One-sided spectral density of the noise of records, shape (channel,).

    They are means of some samples of the sensors.
    """
    variance = dataset["sensor_noise_estimate"].values ** 2
    return 2 * dt * variance / int(dataset["samples_averaged"])


def spectral_density(
    linear: Linear, dataset: xr.Dataset, frequency: np.ndarray, dt: float
) -> np.ndarray:
    """One-sided spectral density of sampled channels, shape (frequency, channel).

    What sampling folds into the band and the noise of the sensors are in it.
    """
    total = noise_density(dataset, dt)
    for fold in range(-FOLDS, FOLDS + 1):
        f = np.abs(frequency + fold / dt)
        H = transfer(linear, dataset, f, dt)
        S = force_density(dataset, f)
        total = total + np.einsum("fca,fab,fcb->fc", H, S, H.conj()).real
    return total
