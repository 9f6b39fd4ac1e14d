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
from functools import cached_property, lru_cache

import numpy as np

from leastaction.ensembles.state_space import StateSpace, Structure

# Differences are taken over this part of what matters of a parameter, and once the
# information is known, over this part of a standard error, along its principal axes.
DIFFERENCE = 1e-4
PART_OF_ERROR = 0.05
# Principal axes are new if the information along them has a larger condition.
LARGEST_CONDITION = 1e6
# Largest difference along an axis, of what matters of a parameter.
LARGEST_DIFFERENCE = 1e-2
# Eigenvalues of the information, normalised to a unit diagonal, that count as none.
SINGULAR = 1e-8
# Scoring ends if what a step can gain is below this: 0.05 standard errors.
LEAST_DECREMENT = 3e-3
MOST_STEPS = 40
# Gain of ℓ that is still reckoned with, over gᵀI⁻¹g: four times that of a parabola.
MOST_GAIN = 2.0
# Corrections of a step that follows a curved canyon.
MOST_BENDS = 25
LARGEST_LOG_STEP = 1.0
VALUES_KEPT = 16
# Levenberg's damping, of a unit diagonal.
FIRST_DAMPING, LEAST_DAMPING = 1e-3, 1e-9
# Variance of a sensor, of that of an innovation, that scoring begins with at least.
LEAST_NOISE = 1e-3
# The same of a sensor that is as good as exact.
NO_NOISE = 1e-6
# The same of a random force, in standard errors, where a step gains less than this: ℓ
# is even in it, so its slope and its information vanish together.
NO_FORCE, NEAR_MAXIMUM = 0.1, 10.0
# Correlation time, in samples, at which that of a white force is tested.
MEMORY_OF_TEST = 0.5


@dataclass(frozen=True, eq=False)
class Fit:
    """A maximum ℓ = `value` of the likelihood by a filter of an `order`.

    `gradient` and `information` are along `axes`, (parameter, axis): principal axes of
    the information. A parameter without any is not on an axis. A `total` covariance
    holds what selection and coloured innovations add.
    """

    structure: Structure
    theta: np.ndarray
    value: float
    axes: np.ndarray
    gradient: np.ndarray
    information: np.ndarray
    converged: bool
    order: int = 2
    total: np.ndarray | None = None

    @cached_property
    def covariance(self) -> np.ndarray:
        """The total, or inverse information; infinite of parameters without any."""
        if self.total is not None:
            return self.total
        inverse, size = normalised_inverse(self.information)
        result = self.axes @ (inverse / np.outer(size, size)) @ self.axes.T
        unknown = ~self.axes.any(axis=1)
        result[unknown, unknown] = np.inf
        return result

    @property
    def remaining(self) -> float:
        """Standard errors that a further step would move the parameters by."""
        inverse, size = normalised_inverse(self.information)
        slope = self.gradient / size
        return float(np.sqrt(max(slope @ inverse @ slope, 0.0)))

    @property
    def wald(self) -> np.ndarray:
        """z² of every free coefficient."""
        count = len(self.structure.columns)
        variance = np.diag(self.covariance)[:count]
        return self.theta[:count] ** 2 / variance

    @property
    def condition(self) -> float:
        """Condition number of the information with a unit diagonal."""
        known = self.axes.any(axis=1)
        covariance = self.covariance[np.ix_(known, known)]
        size = np.sqrt(np.diag(covariance))
        return float(np.linalg.cond(covariance / np.outer(size, size)))


def normalised_inverse(information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pseudo-inverse of I with a unit diagonal, and the roots of the diagonal."""
    size = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
    scaled = information / np.outer(size, size)
    values, vectors = np.linalg.eigh(scaled)
    usable = np.where(values > SINGULAR, values, np.inf)
    return (vectors / usable) @ vectors.T, size


def once(of_record):
    """The same function of the number of a record, which keeps the last value."""
    return lru_cache(maxsize=1)(of_record)


def _is_between(levels: Sequence[float], low: float, high: float) -> bool:
    """Whether `low` and `high` are between the same two levels, or below all."""
    return any(high < x for x in levels) and not any(low < x <= high for x in levels)


class Likelihood:
    """Likelihood of the records of a state-space model."""

    def __init__(self, model: StateSpace):
        self.model = model
        # Coefficient of every candidate whose force is that of the given inertia.
        inertia, forces = model.forces_of_motion()
        self.force_of_motion = inertia
        self.typical = inertia / np.where(forces > 0, forces, inertia)
        self.samples = model.samples
        self._around = None, ()
        self._values: dict[tuple, tuple] = {}

    def scale(self, structure: Structure, theta: np.ndarray) -> np.ndarray:
        """What matters of each parameter."""
        coefficients, entries, _ = self.model.places(structure)
        result = np.ones(len(theta))
        result[coefficients] = self.typical[list(structure.columns)]
        result[entries] = np.abs(theta[entries]).max()
        if structure.late:
            result[self._lag(structure)] = self.model.moment
        return result

    def _lag(self, structure: Structure) -> int:
        """Where the lag of recorded forces is in θ: after their gain."""
        return self.model.places(structure)[2].stop + 1

    def value(self, structure: Structure, theta: np.ndarray, order: int = 2):
        """ℓ, the mean of e²/V, and mean V by channel; −∞ where a filter diverges.

        The last few are kept: a start is compared with others, scaled, then scored.
        """
        model = self.model
        key = structure, theta.tobytes(), order, model.steps, model.width
        if key not in self._values:
            if len(self._values) == VALUES_KEPT:
                del self._values[next(iter(self._values))]
            self._values[key] = self._value(structure, theta, order)
        return self._values[key]

    def _value(self, structure: Structure, theta: np.ndarray, order: int):
        of_record = self.model.innovations(structure, theta, order)
        total, squares, count, variance = 0.0, 0.0, 0, 0.0
        for number in range(len(self.model.records)):
            result = of_record(number)
            if result is None:
                return -np.inf, np.nan, np.nan
            e, V = result
            ratio = e * e / V
            total -= 0.5 * float(np.sum(ratio + np.log(V)))
            squares += float(ratio.sum())
            count += int(np.count_nonzero(e))
            variance = variance + np.where(e != 0, V, 0.0).sum(axis=0)
        if not np.isfinite(total):
            return -np.inf, np.nan, np.nan
        return total, squares / count, variance / self.samples

    def pieces(
        self,
        structure: Structure,
        theta: np.ndarray,
        axes: np.ndarray,
        order: int = 2,
        absent: Sequence[int] = (),
        memory: bool = False,
        per_sample: list | None = None,
    ):
        """ℓ, and g and I along axes at θ, then for columns `absent` from the structure.

        After them, with `memory`, the correlation time of a force that is white. Axes
        are as long as the differences to be taken. To `per_sample` are added √V, e/√V
        and its slopes of each record.
        """
        count = len(structure.columns)
        tasks = []
        for axis in axes.T:
            ends = [(structure, theta + x) for x in (axis, -axis)]
            tasks.append((*ends, 2.0))
        linear, still = self.model.linear, {True: (structure, theta)}
        for column in absent:
            wider = replace(structure, columns=(*structure.columns, column))
            step = DIFFERENCE * self.typical[column]
            # Slopes at zero are those from it: a nonlinear filter is run there once.
            alike = bool(linear[column] or not linear[list(structure.columns)].all())
            zero = still.setdefault(alike, (wider, np.insert(theta, count, 0.0)))
            tasks.append(((wider, np.insert(theta, count, step)), zero, step))
        if memory:
            time = MEMORY_OF_TEST * self.model.dt
            coloured = replace(structure, coloured=True), np.append(theta, np.log(time))
            tasks.append((coloured, still[True], time))
        shared = {
            id(end): once(self.model.innovations(*end, order)) for end in still.values()
        }
        base = shared[id(still[True])]
        runs = [
            (
                *(
                    shared.get(id(end)) or self.model.innovations(*end, order)
                    for end in ends
                ),
                width,
            )
            for *ends, width in tasks
        ]
        value, gradient = 0.0, np.zeros(len(runs))
        information = np.zeros((len(runs), len(runs)))
        for number in range(len(self.model.records)):
            result = base(number)
            sides = [(up(number), down(number), width) for up, down, width in runs]
            if result is None or any(a is None or b is None for a, b, _ in sides):
                return -np.inf, gradient, information
            e, V = (x.ravel() for x in result)
            root = np.sqrt(V)
            slopes = np.empty((len(runs), 2, len(e)))
            for one, (up, down, width) in zip(slopes, sides, strict=True):
                one[0] = (up[0] - down[0]).ravel() / width / root
                one[1] = (up[1] - down[1]).ravel() / width / V / np.sqrt(2)
            ratio = e / root
            if per_sample is not None:
                per_sample.append((root, ratio, slopes))
            value -= 0.5 * float(np.sum(ratio**2 + np.log(V)))
            gradient += (
                slopes[:, 1] @ ((ratio**2 - 1) / np.sqrt(2)) - slopes[:, 0] @ ratio
            )
            flat = slopes.reshape(len(runs), -1)
            information += flat @ flat.T
        if not np.isfinite(information).all():
            value = -np.inf
        return value, gradient, information

    def profiled(self, structure: Structure, theta: np.ndarray, order: int = 2):
        """θ with all variances multiplied by the mean of e²/V: a wide basin."""
        value, ratio, _ = self.value(structure, theta, order)
        if not np.isfinite(value):
            return theta, value
        moved = theta.copy()
        _, entries, noise = self.model.places(structure)
        moved[entries] *= np.sqrt(ratio)
        moved[noise] += 0.5 * np.log(ratio)
        better, *_ = self.value(structure, moved, order)
        return (moved, better) if better > value else (theta, value)

    def fit(
        self,
        structure: Structure,
        theta: np.ndarray,
        order: int = 2,
        levels: Sequence[float] = (),
    ) -> Fit:
        """Maximum by Fisher scoring with Levenberg's damping.

        The noise scale is profiled first: off in stiffness by 10 %, a start has a
        likelihood 10⁶ nats down in a canyon; inflated noise makes it wide. Steps follow
        the floor of a curved one. Where only matters which `levels` of ℓ the maximum is
        above, rising ones, scoring ends once that is seen, unless it is above all.
        """
        damping = FIRST_DAMPING
        theta, _ = self.profiled(structure, theta, order)
        theta = self._raised(structure, theta, order)
        free = self._free(structure, theta, order)
        axes = np.diag(DIFFERENCE * self.scale(structure, theta))[:, free]
        nothing = -np.inf, axes, np.zeros(len(free)), np.eye(len(free))
        result = Fit(structure, theta, *nothing, False, order)
        for _ in range(MOST_STEPS):
            free_now = self._free(structure, theta, order)
            if len(free_now) < len(free):
                free = free_now
                axes = np.diag(DIFFERENCE * self.scale(structure, theta))[:, free]
            per_sample: list = []
            value, gradient, information = self.pieces(
                structure, theta, axes, order, per_sample=per_sample
            )
            if not np.isfinite(value):
                break
            inverse, size = normalised_inverse(information)
            matrix, slope = information / np.outer(size, size), gradient / size
            decrement = slope @ inverse @ slope
            settled = decrement < LEAST_DECREMENT
            converged = bool(settled and np.linalg.cond(matrix) < LARGEST_CONDITION)
            result = Fit(
                structure, theta, value, axes, gradient, information, converged, order
            )
            if converged or _is_between(levels, value, value + MOST_GAIN * decrement):
                break
            turned = self._principal(structure, theta, axes, matrix, size)
            if settled:
                axes = turned
                continue
            if decrement < NEAR_MAXIMUM and (
                determined := self._determined(result)
            ) < set(free):
                free = np.array(sorted(determined))
                axes = np.diag(DIFFERENCE * self.scale(structure, theta))[:, free]
                continue
            theta, better, damping = self._step(result, damping, per_sample)
            if not better > value:
                break
            axes, damping = turned, max(damping / 80, LEAST_DAMPING)
        return result

    def _determined(self, fit: Fit) -> set[int]:
        """Parameters on an axis of a fit, less forces that are as good as none."""
        entries = self.model.places(fit.structure)[1]
        free = fit.axes.any(axis=1)
        error = np.sqrt(np.diag(fit.covariance))
        free[entries] &= np.abs(fit.theta[entries]) > NO_FORCE * error[entries]
        return set(np.flatnonzero(free).tolist())

    def _step(self, fit: Fit, damping: float, per_sample):
        """θ and ℓ after a step from `fit` that gains, and the damping after it."""
        structure, axes = fit.structure, fit.axes
        _, size = normalised_inverse(fit.information)
        matrix = fit.information / np.outer(size, size)
        slope = fit.gradient / size
        better, foreseen = -np.inf, np.inf
        while not better > fit.value and foreseen > LEAST_DECREMENT:
            step = np.linalg.solve(matrix + damping * np.eye(len(size)), slope) / size
            step = self._short(structure, axes, step)
            moved = fit.theta + axes @ step
            moved, better = self.profiled(structure, moved, fit.order)
            foreseen = slope @ (step * size)
            if not better > fit.value - foreseen:
                moved, better = self._bent(fit, step, per_sample)
            damping *= 8
        return moved, better, damping

    def _short(self, structure: Structure, axes, step) -> np.ndarray:
        """A step along axes, so short that no logarithm changes by more than one.

        Nor a lag by more than a part of the shortest period.
        """
        moved = axes @ step
        logarithms = list(moved[self.model.places(structure)[2]])
        logarithms += [moved[-1]] * structure.coloured
        if structure.late:
            logarithms.append(moved[self._lag(structure)] / self.model.moment)
        largest = np.abs(logarithms).max()
        return step * min(1.0, LARGEST_LOG_STEP / max(largest, LARGEST_LOG_STEP))

    def _bent(self, fit: Fit, step, per_sample):
        """θ and ℓ at the end of a step that follows the floor of a curved canyon.

        What e(θ + step) has beyond its slopes is taken back along them until ℓ is more
        than it was: a Gauss–Newton iteration in which the slopes stay. What is left
        across the canyon upsets what is along it, so ℓ need not rise at once.
        """
        inverse, size = normalised_inverse(fit.information)
        along, first = step, -np.inf
        for _ in range(MOST_BENDS):
            theta = fit.theta + fit.axes @ along
            of_record = self.model.innovations(fit.structure, theta, fit.order)
            value, beyond = 0.0, np.zeros(len(step))
            for number, (root, ratio, slopes) in enumerate(per_sample):
                ended = of_record(number)
                if ended is None:
                    return theta, -np.inf
                e, V = (x.ravel() for x in ended)
                value -= 0.5 * float(np.sum(e * e / V + np.log(V)))
                slopes = slopes[:, 0]
                beyond += slopes @ (e / root - ratio - along @ slopes)
            if not first <= value <= fit.value:
                break
            first = value if np.isinf(first) else first
            along = step - inverse @ (beyond / size) / size
            along = self._short(fit.structure, fit.axes, along)
        return theta, value

    def _principal(self, structure: Structure, theta, axes, matrix, size) -> np.ndarray:
        """Principal axes of the information, as long as part of a standard error.

        Where displacements are exact to 10⁻⁵, one combination of stiffnesses is known a
        million times better than another; only differences along axes tell both.
        """
        values, vectors = np.linalg.eigh(matrix)
        lengths = PART_OF_ERROR / np.sqrt(np.maximum(values, SINGULAR))
        turned = (axes / size) @ vectors * lengths
        part = np.abs(turned) / self.scale(structure, theta)[:, None]
        return turned / np.maximum(part.max(axis=0) / LARGEST_DIFFERENCE, 1.0)

    def _raised(self, structure: Structure, theta: np.ndarray, order: int):
        """θ with noise that is just too low to be seen raised, if that is likelier."""
        result, noise = theta.copy(), self.model.places(structure)[2]
        value, _, variance = self.value(structure, theta, order)
        if not np.isfinite(value):
            return theta
        lowest = 0.5 * np.log(LEAST_NOISE * variance)
        result[noise] = np.maximum(result[noise], lowest)
        return result if self.value(structure, result, order)[0] > value else theta

    def _free(self, structure: Structure, theta, order: int) -> np.ndarray:
        """Parameters that move: no noise that is far below innovations."""
        free = np.ones(len(theta), dtype=bool)
        noise = self.model.places(structure)[2]
        variance = self.value(structure, theta, order)[2]
        free[noise] = ~(np.exp(2 * theta[noise]) < NO_NOISE * variance)
        return np.flatnonzero(free)

    def around(self, fit: Fit, absent: Sequence[int], memory: bool = False):
        """Pieces at a maximum; those last asked for are kept."""
        key = fit, tuple(absent), memory
        if self._around[0] != key:
            at = fit.structure, fit.theta, fit.axes, fit.order
            self._around = key, self.pieces(*at, absent, memory)
        return self._around[1]

    def joint(self, fit: Fit, absent: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Slopes g and I of the parameters themselves, then of absent columns.

        Of parameters that are on an axis of the fit; the others do not matter.
        """
        _, g, information = self.around(fit, absent)
        count, new = fit.axes.shape[1], len(absent)
        back = np.zeros((count + new, len(fit.theta) + new))
        back[:count, : len(fit.theta)] = np.linalg.pinv(fit.axes)
        back[count:, len(fit.theta) :] = np.eye(new)
        return back.T @ g, back.T @ information @ back

    def scores(
        self, fit: Fit, absent: Sequence[int], memory: bool = False
    ) -> np.ndarray:
        """Rao's z of every absent column, and of a correlation time with `memory`."""
        if not len(absent) and not memory:
            return np.zeros(0)
        entry, information, _ = self.entries(fit, absent, memory)
        return entry * np.sqrt(information)

    def entries(self, fit: Fit, absent: Sequence[int], memory: bool):
        """What every absent column would be in the law, to second order.

        Its value, the information on it beside all parameters, and what it would move
        them by, shape (column, parameter). Zero where there is no information.
        """
        _, g, information = self.around(fit, absent, memory)
        known = np.arange(fit.axes.shape[1])
        new = np.arange(len(known), len(g))
        inverse, size = normalised_inverse(information[np.ix_(known, known)])
        cross = information[np.ix_(new, known)] / size
        score = g[new] - cross @ inverse @ (g[known] / size)
        variances = information[new, new]
        left = variances - np.einsum("ja,ab,jb->j", cross, inverse, cross)
        determined = left > SINGULAR * np.maximum(variances, np.finfo(float).tiny)
        entry = np.divide(score, left, out=np.zeros_like(score), where=determined)
        moves = -entry[:, None] * (cross @ inverse / size) @ fit.axes.T
        return entry, np.where(determined, left, 0.0), moves
