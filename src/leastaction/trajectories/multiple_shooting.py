"""Least squares of segments of motion: states alone, or states and coefficients."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import NamedTuple

import numpy as np

from leastaction.trajectories.variational_equations import VariationalEquations

# Windows (samples, degree) of the local polynomials that start a segment.
POLYNOMIAL_WINDOWS = ((3, 1), (4, 2), (6, 1), (8, 2), (12, 3), (20, 3), (40, 4))
MOST_STEPS_PER_SAMPLE = 16
# χ² per value beyond which a segment counts no further: one alone decides nothing.
MOST_MISFIT_PER_VALUE = 25.0
# A segment this many times worse than the median has no say about coefficients.
MOST_MISFIT_OF_VOTER = 9.0
# Noise below this fraction of a coordinate is that of no sensor, and no step of ours is
# short enough for it; 1 / σ² must stay finite.
LEAST_RELATIVE_NOISE = 1e-9
# A fit has converged when an undamped step would lower χ² by less than this, in units
# of the median χ² per degree of freedom if that is larger than one.
CONVERGED_DECREASE = 0.05
FIRST_DAMPING = 1e-3
# Differences that show the noise, and how far two orders of them may disagree.
HIGHEST_DIFFERENCE, AGREEMENT = 10, 0.02
LARGEST_DAMPING = 1e8
# A merge must not raise χ² by more than its mean plus this many standard deviations.
DEVIATIONS_OF_RISE = 6.0
# Fraction of the segments that may lose their vote because they are stuck.
LARGEST_BARRED_SHARE = 0.05


@dataclass(frozen=True)
class Positions:
    """Positions of trajectories of equal length, and how motions are fitted to them."""

    equations: VariationalEquations
    q: np.ndarray  # (trajectory · sample, dof), one trajectory after the other
    samples: int  # of one trajectory
    dt: float  # between samples, s
    # Noise by coordinate, (dof,) or (row, dof); a segment has that of its first row.
    sigma: np.ndarray
    steps: int = 1  # of the integrator between samples
    # Input at the begin and the middle of every step, by the number of steps.
    force: Callable[[int], np.ndarray] | None = None
    vote: float = MOST_MISFIT_OF_VOTER  # see :func:`voters`
    least_change: float = 0.0  # of Σ χ², relative; a step that changes less ends a fit

    @property
    def dof(self) -> int:
        """Number of coordinates."""
        return self.q.shape[1]

    def rollout(
        self, segments: "Segments", c: np.ndarray, samples: int, steps: int = 0
    ) -> np.ndarray:
        """Positions of motions from the states of segments, (segment, samples, dof)."""
        steps = steps or self.steps
        force = None if self.force is None else self.force(steps)
        how = self.dt, samples, steps, force, segments.first, segments.length
        with np.errstate(all="ignore"):
            path = self.equations.rollout(segments.state, c, *how)
        return path[:, :, : self.dof]

    @property
    def trajectories(self) -> int:
        """Number of trajectories."""
        return len(self.q) // self.samples

    def some(self, trajectories: Sequence[int]) -> "Positions":
        """Return the positions of some trajectories."""
        q = self.q.reshape(-1, self.samples, self.dof)[trajectories]
        return replace(self, q=np.ascontiguousarray(q.reshape(-1, self.dof)))


@dataclass(frozen=True)
class Segments:
    """Segments in the order of their first rows."""

    first: np.ndarray  # row in Positions
    length: np.ndarray  # number of rows
    state: np.ndarray  # (q, q̇) at the first row, (segment, 2 dof)

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, chosen) -> "Segments":
        return Segments(self.first[chosen], self.length[chosen], self.state[chosen])

    def at(self, state: np.ndarray) -> "Segments":
        """Return the same segments with other states."""
        return Segments(self.first, self.length, state)

    def freedom(self, dof: int) -> np.ndarray:
        """Degrees of freedom of each misfit, samples less free values."""
        return np.maximum(self.length * dof - 2 * dof, 1)


def joined(parts: Sequence[Segments]) -> Segments:
    """All segments of `parts`, in order."""
    arrays = zip(*((s.first, s.length, s.state) for s in parts), strict=True)
    whole = Segments(*map(np.concatenate, arrays))
    return whole[np.argsort(whole.first, kind="stable")]


def normal_equations(
    positions: Positions,
    segments: Segments,
    c: np.ndarray,
    active: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """JᵀWJ, JᵀWe, χ² and Σe² of every segment; a lost one has zeros and infinity."""
    sigma = positions.sigma
    weight = 1 / (sigma if sigma.ndim == 1 else sigma[segments.first]) ** 2
    force = None if positions.force is None else positions.force(positions.steps)
    data = positions.q, segments.first, segments.length, segments.state
    how = weight, positions.dt, positions.steps, force
    with np.errstate(all="ignore"):
        h, g, square = positions.equations.normal_equations(*data, c, active, *how)
        chi2 = (square * weight).sum(axis=1)
        lost = ~np.isfinite(chi2)
        if active is not None:
            lost |= ~np.isfinite(h).all(axis=(1, 2)) | ~np.isfinite(g).all(axis=1)
            h[lost], g[lost] = 0.0, 0.0
    chi2[lost] = np.inf
    return h, g, chi2, square


def capped(chi2: np.ndarray, segments: Segments, dof: int, scale: float = 1.0) -> float:
    """Σ χ² with each segment capped, at 25 · `scale` per value."""
    most = MOST_MISFIT_PER_VALUE * scale * dof * segments.length
    return float(np.minimum(chi2, most).sum())


def misfit_scale(chi2: np.ndarray, segments: Segments, dof: int) -> float:
    """Median χ² per degree of freedom, at least one."""
    return max(float(np.median(chi2 / segments.freedom(dof))), 1.0)


def voters(
    chi2: np.ndarray, segments: Segments, dof: int, most: float = MOST_MISFIT_OF_VOTER
) -> np.ndarray:
    """Segments that have a say about the coefficients; a lost one never has."""
    ratio = chi2 / segments.freedom(dof)
    return np.isfinite(chi2) & (ratio <= most * max(np.median(ratio), 1e-300))


def split(positions: Positions, duration: float) -> Segments:
    """Equal segments of about `duration` (s), at least 4 dof samples; no states yet."""
    samples, dof = positions.samples, positions.dof
    wanted = max(duration / positions.dt, 4 * dof)
    count = max(int(samples // wanted), 1)
    edges = np.linspace(0, samples, count + 1).round().astype(int)
    begins = np.arange(positions.trajectories) * samples
    first = (begins[:, None] + edges[:-1]).ravel()
    length = np.tile(np.diff(edges), positions.trajectories)
    return Segments(first, length, np.zeros((len(first), 2 * dof)))


def start_states(positions: Positions, segments: Segments, c: np.ndarray) -> Segments:
    """States from local polynomials through the samples at the start of each segment.

    The window whose motion fits the segment best is taken, one by one.
    """
    states = [_local_polynomial(positions, segments, *w) for w in POLYNOMIAL_WINDOWS]
    chi2 = [normal_equations(positions, segments.at(state), c)[2] for state in states]
    return segments.at(np.array(states)[np.argmin(chi2, 0), np.arange(len(segments))])


def _local_polynomial(positions, segments, count, degree):
    """Value and rate, at the first row, of polynomials through samples around it."""
    samples = positions.samples
    count = min(count, samples)
    degree = min(degree, count - 1)
    row = segments.first % samples
    offset = row - np.clip(row - count // 2, 0, samples - count)
    state = np.empty((len(segments), 2 * positions.dof))
    for place in np.unique(offset):
        here = np.flatnonzero(offset == place)
        time = (np.arange(count) - place) * positions.dt
        fit = np.linalg.pinv(np.vander(time, degree + 1, increasing=True))[:2]
        rows = (segments.first[here] - place)[:, None] + np.arange(count)
        value = np.einsum("km,smd->skd", fit, positions.q[rows])
        state[here] = value.reshape(len(here), -1)
    return state


def noise_level(q: np.ndarray) -> np.ndarray:
    """Standard deviation of white noise by differences of rising order (Rice 1984).

    For q of shape (trajectory, time, dof), shape (dof,). The lowest order is taken
    whose σ is nearly that of the next one.
    """
    sigma = []
    for order in range(2, min(HIGHEST_DIFFERENCE + 1, q.shape[1] - 1)):
        difference = np.diff(q, order, axis=1)
        sigma.append(np.sqrt(np.mean(difference**2, (0, 1)) / comb(2 * order, order)))
    sigma = np.array(sigma)
    agree = np.abs(sigma[1:] / np.maximum(sigma[:-1], 1e-300) - 1) < AGREEMENT
    order = np.where(agree.any(axis=0), agree.argmax(axis=0), len(sigma) - 1)
    return np.maximum(sigma[order, np.arange(q.shape[2])], least_noise(q))


def least_noise(q: np.ndarray) -> np.ndarray:
    """Lowest σ that positions of shape (..., dof) are weighted by."""
    size = np.abs(q.reshape(-1, q.shape[-1])).max(axis=0)
    return LEAST_RELATIVE_NOISE * np.where(size > 0, size, 1.0)


def enough_steps(
    positions: Positions, segments: Segments, c: np.ndarray, tolerance: float = 0.1
) -> Positions:
    """Steps per sample so that halving them moves no position by more than this · σ.

    One segment in twenty may differ by more: a lost one needs no accuracy.
    """
    chosen = segments[:: max(len(segments) // 100, 1)]
    samples = int(chosen.length.max())
    inside = np.arange(samples) < chosen.length[:, None]
    sigma = positions.sigma
    sigma = sigma if sigma.ndim == 1 else sigma[chosen.first][:, None]
    coarse, steps = positions.rollout(chosen, c, samples), positions.steps
    while steps < MOST_STEPS_PER_SAMPLE:
        fine = positions.rollout(chosen, c, samples, 2 * steps)
        with np.errstate(all="ignore"):
            moved = np.abs((fine - coarse) / sigma).max(axis=2)
        moved = np.where(inside, np.nan_to_num(moved, nan=1e9), 0.0).max(axis=1)
        if np.quantile(moved, 0.95) < tolerance:
            break
        steps, coarse = 2 * steps, fine
    return replace(positions, steps=steps)


@dataclass(frozen=True)
class Fit:
    """Segments and coefficients that fit the positions."""

    segments: Segments  # with fitted states
    c: np.ndarray  # coefficients of all candidates
    chi2: np.ndarray  # of each segment
    square: np.ndarray  # Σe² of each segment and coordinate
    schur: np.ndarray  # information about the active ones, states eliminated
    active: np.ndarray  # coefficients that were fitted
    converged: bool  # an undamped step would change nothing, and someone votes
    barred: np.ndarray  # segments that no step could follow; they had no vote


def fit_states(
    positions: Positions, segments: Segments, c: np.ndarray, most: int = 8
) -> tuple[Segments, np.ndarray]:
    """Levenberg–Marquardt for the state of each segment alone, c given; and χ²."""
    none = np.zeros(0, dtype=int)
    h, g, chi2, _ = normal_equations(positions, segments, c, none)
    state, chi2 = segments.state.copy(), chi2.copy()
    damping = np.zeros(len(segments))
    for _ in range(most):
        predicted = np.einsum("si,si->s", g, _solve(h, g[..., None])[..., 0])
        scale = np.maximum(chi2 / segments.freedom(positions.dof), 1.0)
        open_ = predicted > CONVERGED_DECREASE / 10 * scale
        open_ = np.flatnonzero(open_ & (damping < LARGEST_DAMPING))
        if not len(open_):
            break
        step = _solve(_damped(h[open_], damping[open_]), g[open_][..., None])[..., 0]
        trial = segments[open_].at(state[open_] + step)
        h_new, g_new, chi2_new, _ = normal_equations(positions, trial, c, none)
        better = chi2_new < chi2[open_]
        taken, refused = open_[better], open_[~better]
        state[taken], chi2[taken] = trial.state[better], chi2_new[better]
        h[taken], g[taken] = h_new[better], g_new[better]
        damping[taken] = np.where(damping[taken] > 1e-4, damping[taken] / 10, 0.0)
        damping[refused] = np.maximum(damping[refused] * 10, FIRST_DAMPING)
    return segments.at(state), chi2


def fit_jointly(
    positions: Positions,
    segments: Segments,
    c: np.ndarray,
    active: np.ndarray,
    most: int = 15,
) -> Fit:
    """Levenberg–Marquardt for all states and the active coefficients together.

    The states are eliminated segment by segment (Schur complement), which leaves one
    system of the size of `active`. A segment that gets worse in a step is fitted again,
    its state alone, at the new coefficients. Hopeless segments have no vote, and those
    lose it that keep all others from a step: a chaotic one may be stuck.
    """
    dof = positions.dof
    h, g, chi2, square = normal_equations(positions, segments, c, active)
    damping = 0.0
    barred = np.zeros(len(segments), dtype=bool)

    def solved(damping: float = 0.0) -> Solved:
        vote = voters(chi2, segments, dof, positions.vote) & ~barred
        return solve_voting(h, g, 2 * dof, vote, damping)

    for _ in range(most):
        system, scale = solved(), misfit_scale(chi2, segments, dof)
        small = CONVERGED_DECREASE * scale
        if system.predicted < small or damping > LARGEST_DAMPING:
            break
        if damping:
            system = solved(damping)
        c_new = c.copy()
        c_new[active] += system.step
        trial = segments.at(segments.state + system.state_step)
        new = normal_equations(positions, trial, c_new, active)
        for origin in (trial, segments):
            worse = np.flatnonzero(~(new[2] <= chi2 + scale))
            if not len(worse):
                break
            again, _ = fit_states(positions, origin[worse], c_new)
            redone = normal_equations(positions, again, c_new, active)
            won = redone[2] < new[2][worse]
            trial.state[worse[won]] = again.state[won]
            for old, part in zip(new, redone, strict=True):
                old[worse[won]] = part[won]
        gain = _gain(chi2, new[2], segments, dof, ~barred)
        if not gain > 0:
            stuck = barred | (new[2] > chi2 + scale * allowed_rise(dof))
            if stuck.mean() <= LARGEST_BARRED_SHARE:
                of_others = _gain(chi2, new[2], segments, dof, ~stuck)
                if of_others > 0:
                    gain, barred = of_others, stuck
        if gain > 0:
            segments, c = trial, c_new
            h, g, chi2, square = new
            damping = damping / 10 if damping > 1e-4 else 0.0
        else:
            damping = max(10 * damping, FIRST_DAMPING)
        if abs(gain) < positions.least_change:
            break
    system = solved()
    small = CONVERGED_DECREASE * misfit_scale(chi2, segments, dof)
    converged = bool(system.voters and system.predicted < small)
    return Fit(
        segments, c, chi2, square, system.schur, np.asarray(active), converged, barred
    )


def allowed_rise(dof: int) -> float:
    """Rise of χ² that the loss of one state allows: 2 dof + 6 √(4 dof)."""
    return 2 * dof + DEVIATIONS_OF_RISE * np.sqrt(4 * dof)


def _gain(old, new, segments, dof, counted) -> float:
    """Relative decrease of Σ χ² of the counted segments, each capped."""
    scale, some = misfit_scale(old, segments, dof), segments[counted]
    before, after = (capped(x[counted], some, dof, scale) for x in (old, new))
    return (before - after) / max(before, 1e-300)


class Solved(NamedTuple):
    """System of the coefficients, states eliminated, and its solution."""

    schur: np.ndarray
    right: np.ndarray
    step: np.ndarray
    state_step: np.ndarray  # by segment
    predicted: float  # decrease of χ²
    voters: int


def solve_voting(
    h: np.ndarray, g: np.ndarray, free: int, vote: np.ndarray, damping: float = 0.0
) -> Solved:
    """Eliminate the first `free` unknowns of each segment; solve what voters say."""
    solved, schur, right = eliminated(h, g, free, damping)
    schur, right = schur[vote].sum(axis=0), right[vote].sum(axis=0)
    schur = (schur + schur.T) / 2
    step = solve_scaled(schur + damping * np.diag(np.diag(schur)), right)
    states = solved[:, :, -1] - solved[:, :, :-1] @ step
    gain = np.einsum("si,si->", g[vote][:, :free], solved[vote][:, :, -1])
    predicted = float(gain + right @ step)
    return Solved(schur, right, step, states, predicted, int(vote.sum()))


def eliminated(
    h: np.ndarray, g: np.ndarray, free: int, damping: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Schur complement of the first `free` unknowns, segment by segment.

    H₁₁⁻¹ (H₁₂, g₁), shape (segment, free, rest + 1); H₂₂ − H₂₁ H₁₁⁻¹ H₁₂; and
    g₂ − H₂₁ H₁₁⁻¹ g₁.
    """
    cross = h[:, :free, free:]
    both = np.concatenate([cross, g[:, :free, None]], axis=2)
    own = _damped(h[:, :free, :free], np.full(len(h), damping))
    solved = _solve(own, both)
    rest = np.swapaxes(cross, 1, 2) @ solved
    return solved, h[:, free:, free:] - rest[:, :, :-1], g[:, free:] - rest[:, :, -1]


def solve_scaled(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Least-squares solution of a symmetric system with unknowns of any unit."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    normal = matrix / np.outer(scale, scale)
    return np.linalg.lstsq(normal, right / scale, rcond=1e-13)[0] / scale


def _damped(h: np.ndarray, damping: np.ndarray) -> np.ndarray:
    diagonal = np.einsum("sii->si", h) * damping[:, None]
    return h + diagonal[:, :, None] * np.eye(h.shape[1])


def _solve(h: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve scaled systems, one per segment; a lost segment stays where it is."""
    scale = np.sqrt(np.maximum(np.einsum("sii->si", h), 0.0))
    empty = ~(scale > 0)
    scale = np.where(empty, 1.0, scale)
    normal = h / (scale[:, :, None] * scale[:, None, :])
    normal = normal + (1e-13 + empty[:, :, None]) * np.eye(h.shape[1])
    return np.linalg.solve(normal, right / scale[:, :, None]) / scale[:, :, None]
