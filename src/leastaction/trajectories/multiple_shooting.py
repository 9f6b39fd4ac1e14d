"""Least squares of segments of motion, whose initial states are free."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from leastaction.trajectories.variational_equations import VariationalEquations

# Windows (samples, degree) of the local polynomials that start a segment.
POLYNOMIAL_WINDOWS = ((3, 1), (4, 2), (6, 1), (8, 2), (12, 3), (20, 3), (40, 4))
MOST_STEPS_PER_SAMPLE = 16
# A fit has converged when an undamped step would lower χ² by less than this, in units
# of the median χ² per degree of freedom if that is larger than one.
CONVERGED_DECREASE = 0.05
FIRST_DAMPING = 1e-3
LARGEST_DAMPING = 1e8


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
