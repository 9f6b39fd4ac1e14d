"""Innovations likelihood of a state-space model: Fisher scoring, errors, score tests.

A filter turns parameters θ into innovations e and their variances V, sample by sample
and sensor by sensor. All else sees only these (Schweppe 1965; Gupta and Mehra 1974):

.. math::  ℓ = -\\tfrac12 Σ (e^2/V + \\log V) , \\qquad
           g_i = Σ \\left(-\\frac{e\\, ∂_i e}{V}
                 + \\frac{∂_i V}{2V} \\Bigl(\\frac{e^2}{V} - 1\\Bigr)\\right) , \\qquad
           I_{ij} = Σ \\left(\\frac{∂_i e\\, ∂_j e}{V}
                 + \\frac{∂_i V\\, ∂_j V}{2 V^2}\\right) .

I is positive semi-definite by construction and needs no second derivative. Standard
errors are those of I⁻¹. A candidate that is absent is tested without a fit, by its
score (Rao 1948), z² = (g_j − I_ja I_aa⁻¹ g_a)² / (I_jj − I_ja I_aa⁻¹ I_aj).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leastaction.core.compiled import evaluator
from leastaction.ensembles.state_space import StateSpace, Structure

# Differences are taken over this part of what matters of a parameter.
DIFFERENCE = 1e-4
# Scoring ends if what a step can gain is below this: 0.05 standard errors.
LEAST_DECREMENT = 3e-3
MOST_STEPS = 60
LARGEST_LOG_STEP = 1.0
# A sensor whose noise is below this part of an innovation is as good as exact.
LEAST_NOISE = 1e-3
# Eigenvalues of the information, normalised to a unit diagonal, that count as none.
SINGULAR = 1e-10
# Correlation time, in samples, at which that of a white force is tested.
MEMORY_OF_TEST = 0.5
# Points at which the forces of candidates are compared.
POINTS = 256


@dataclass(frozen=True)
class Fit:
    """A maximum of the likelihood.

    Attributes
    ----------
    structure, theta
        Parameters; see :mod:`leastaction.ensembles.state_space`.
    value
        ℓ.
    gradient, information
        g and I.
    converged
        Whether a further step could gain less than a tenth of a nat.
    order
        Order of the extended Kalman filter.
    """

    structure: Structure
    theta: np.ndarray
    value: float
    gradient: np.ndarray
    information: np.ndarray
    converged: bool
    order: int = 2

    @property
    def covariance(self) -> np.ndarray:
        """Inverse information; infinite variance of parameters without any."""
        inverse, size = normalised_inverse(self.information)
        return inverse / np.outer(size, size)

    @property
    def wald(self) -> np.ndarray:
        """z² of every free coefficient."""
        count = len(self.structure.columns)
        variance = np.diag(self.covariance)[:count]
        return self.theta[:count] ** 2 / variance

    @property
    def condition(self) -> float:
        """Condition number of the information with a unit diagonal."""
        size = np.sqrt(np.diag(self.information))
        seen = size > 0
        scaled = self.information[np.ix_(seen, seen)] / np.outer(size[seen], size[seen])
        return float(np.linalg.cond(scaled)) if seen.all() else np.inf


def normalised_inverse(information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pseudo-inverse of I with a unit diagonal, and the roots of the diagonal."""
    size = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
    scaled = information / np.outer(size, size)
    values, vectors = np.linalg.eigh(scaled)
    kept = np.where(values > SINGULAR, values, np.inf)
    return (vectors / kept) @ vectors.T, size


class Likelihood:
    """Likelihood of the records of a state-space model.

    Parameters
    ----------
    model
        The state-space model.
    """

    def __init__(self, model: StateSpace):
        self.model = model
        self.typical = self._typical_coefficients()
        self.samples = sum(len(r.y) for r in model.records)

    def _typical_coefficients(self) -> np.ndarray:
        """Coefficient of every candidate whose force is that of the given inertia."""
        library, scale = self.model.library, self.model.scale
        n = self.model.dof
        forces = [e for term in library.terms for e in library.equations_of(term)]
        forces += [
            -library.forces[a][len(library.terms) + j]
            for j in range(len(library.dissipation))
            for a in range(n)
        ]
        phase = np.random.default_rng(0).uniform(0, 2 * np.pi, (POINTS, n))
        q = np.sqrt(2) * scale[:n] * np.cos(phase)
        v = -np.sqrt(2) * scale[n:] * np.sin(phase)
        acceleration = -q * np.square(scale[n:] / scale[:n])
        values = evaluator(forces, library.coordinates)(q, v, (), acceleration)
        size = np.sqrt(np.mean(np.square(values).reshape(POINTS, -1, n), axis=(0, 2)))
        whole = sum(abs(value) * size[i] for i, value in library.references)
        return whole / np.where(size > 0, size, whole)

    def differences(self, structure: Structure, theta: np.ndarray) -> np.ndarray:
        """Half widths of central differences, by parameter."""
        count = len(structure.columns)
        entries = len(structure.entries(self.model.dof))
        found = np.full(len(theta), DIFFERENCE)
        found[:count] *= self.typical[list(structure.columns)]
        root = theta[count : count + entries]
        found[count : count + entries] *= np.abs(root).max()
        return found

    def value(self, structure: Structure, theta: np.ndarray, order: int = 2):
        """ℓ, and the mean of e²/V; −∞ where a filter diverges."""
        of_record = self.model.innovations(structure, theta, order)
        total, squares, count = 0.0, 0.0, 0
        for number in range(len(self.model.records)):
            found = of_record(number)
            if found is None:
                return -np.inf, np.nan
            e, V = found
            ratio = e * e / V
            total -= 0.5 * float(np.sum(ratio + np.log(V)))
            squares += float(ratio.sum())
            count += int(np.count_nonzero(e))
        return (total, squares / count) if np.isfinite(total) else (-np.inf, np.nan)

    def pieces(
        self,
        structure: Structure,
        theta: np.ndarray,
        order: int = 2,
        absent: Sequence[int] = (),
        memory: bool = False,
    ):
        """ℓ, g and I at θ; columns `absent` from the structure come last.

        After them, with `memory`, the correlation time of a force that is white.
        """
        count = len(structure.columns)
        tasks = []
        for i, step in enumerate(self.differences(structure, theta)):
            ends = [(structure, _moved(theta, i, x)) for x in (step, -step)]
            tasks.append((*ends, 2 * step))
        for column in absent:
            wider = replace(structure, columns=(*structure.columns, column))
            step = DIFFERENCE * self.typical[column]
            ends = [(wider, np.insert(theta, count, x)) for x in (step, -step)]
            tasks.append((*ends, 2 * step))
        if memory:
            time = MEMORY_OF_TEST * self.model.dt
            coloured = replace(structure, coloured=True), np.append(theta, np.log(time))
            tasks.append((coloured, (structure, theta), time))
        base = self.model.innovations(structure, theta, order)
        runs = [
            (*(self.model.innovations(*end, order) for end in ends), width)
            for *ends, width in tasks
        ]
        value, gradient = 0.0, np.zeros(len(runs))
        information = np.zeros((len(runs), len(runs)))
        for number in range(len(self.model.records)):
            found = base(number)
            sides = [(up(number), down(number), width) for up, down, width in runs]
            if found is None or any(a is None or b is None for a, b, _ in sides):
                return -np.inf, gradient, information
            e, V = (x.ravel() for x in found)
            root = np.sqrt(V)
            slopes = np.empty((len(runs), 2, len(e)))
            for one, (up, down, width) in zip(slopes, sides, strict=True):
                one[0] = (up[0] - down[0]).ravel() / width / root
                one[1] = (up[1] - down[1]).ravel() / width / V / np.sqrt(2)
            ratio = e / root
            value -= 0.5 * float(np.sum(ratio**2 + np.log(V)))
            gradient += (
                slopes[:, 1] @ ((ratio**2 - 1) / np.sqrt(2)) - slopes[:, 0] @ ratio
            )
            flat = slopes.reshape(len(runs), -1)
            information += flat @ flat.T
        return value, gradient, information

    def profiled(self, structure: Structure, theta: np.ndarray, order: int = 2):
        """θ with all variances multiplied by the mean of e²/V: a wide basin."""
        value, ratio = self.value(structure, theta, order)
        if not np.isfinite(value):
            return theta, value
        moved = theta.copy()
        count = len(structure.columns)
        entries = len(structure.entries(self.model.dof))
        channels = len(self.model.channels.names)
        moved[count : count + entries] *= np.sqrt(ratio)
        moved[count + entries : count + entries + channels] += 0.5 * np.log(ratio)
        better, _ = self.value(structure, moved, order)
        return (moved, better) if better > value else (theta, value)

    def fit(self, structure: Structure, theta: np.ndarray, order: int = 2) -> Fit:
        """Maximum by Fisher scoring with Levenberg's damping.

        The noise scale is profiled first: off in stiffness by 10 %, a start has a
        likelihood 10⁶ nats down in a canyon; inflated noise makes it wide.
        """
        theta, value = self.profiled(structure, theta, order)
        damping, converged = 1e-3, False
        place = len(structure.columns) + len(structure.entries(self.model.dof))
        for _ in range(MOST_STEPS):
            value, gradient, information = self.pieces(structure, theta, order)
            if not np.isfinite(value):
                break
            free = self._free(structure, theta, information)
            inverse, size = normalised_inverse(information[np.ix_(free, free)])
            slope = gradient[free] / size
            if slope @ inverse @ slope < LEAST_DECREMENT:
                converged = True
                break
            matrix = information[np.ix_(free, free)] / np.outer(size, size)
            moved = False
            while damping < 1e8:
                step = np.zeros(len(theta))
                damped = matrix + damping * np.eye(len(free))
                step[free] = np.linalg.solve(damped, slope) / size
                step[place:] = np.clip(
                    step[place:], -LARGEST_LOG_STEP, LARGEST_LOG_STEP
                )
                tried, better = self.profiled(structure, theta + step, order)
                if better > value:
                    theta, moved, damping = tried, True, max(damping / 10, 1e-9)
                    break
                damping *= 8
            if not moved:
                break
        return Fit(structure, theta, value, gradient, information, converged, order)

    def _free(self, structure: Structure, theta: np.ndarray, information) -> np.ndarray:
        """Parameters that move: not the noise of a sensor that is as good as exact."""
        place = len(structure.columns) + len(structure.entries(self.model.dof))
        free = np.ones(len(theta), dtype=bool)
        channels = len(self.model.channels.names)
        of_noise = np.diag(information)[place : place + channels]
        free[place : place + channels] = of_noise > 2 * LEAST_NOISE**2 * self.samples
        return np.flatnonzero(free)

    def scores(
        self, fit: Fit, absent: Sequence[int], memory: bool = False
    ) -> np.ndarray:
        """Rao's z of every absent column, and of a correlation time with `memory`."""
        if not len(absent) and not memory:
            return np.zeros(0)
        _, g, information = self.pieces(
            fit.structure, fit.theta, fit.order, absent, memory
        )
        known = self._free(fit.structure, fit.theta, information)
        new = np.arange(len(fit.theta), len(g))
        inverse, size = normalised_inverse(information[np.ix_(known, known)])
        cross = information[np.ix_(new, known)] / size
        score = g[new] - cross @ inverse @ (g[known] / size)
        own = information[new, new]
        variance = own - np.einsum("ja,ab,jb->j", cross, inverse, cross)
        told = variance > SINGULAR * np.maximum(own, np.finfo(float).tiny)
        return np.where(told, score / np.sqrt(np.where(told, variance, 1.0)), 0.0)


def _moved(theta: np.ndarray, place: int, step: float) -> np.ndarray:
    found = theta.copy()
    found[place] += step
    return found
