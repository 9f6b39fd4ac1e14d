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
    """Positions of one trajectory, and how motions are fitted to them."""

    equations: VariationalEquations
    q: np.ndarray  # (sample, dof)
    dt: float  # between samples, s
    sigma: np.ndarray  # noise by coordinate
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
        """Motions from the states of segments, (segment, samples, 2 dof)."""
        steps = steps or self.steps
        force = None if self.force is None else self.force(steps)
        how = self.dt, samples, steps, force, segments.first, segments.length
        with np.errstate(all="ignore"):
            path = self.equations.rollout(segments.state, c, *how)
        return path


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


def joined(parts: Sequence[Segments]) -> Segments:
    """All segments of `parts`, in order."""
    arrays = zip(*((s.first, s.length, s.state) for s in parts), strict=True)
    segments = Segments(*map(np.concatenate, arrays))
    return segments[np.argsort(segments.first, kind="stable")]


def misfit(positions: Positions, segments: Segments, c: np.ndarray) -> tuple:
    """Motions of segments, their rows, and (measured − motion)/σ, zero behind an end.

    The last is χ² of every segment, infinite where the motion escapes.
    """
    samples = int(segments.length.max())
    path = positions.rollout(segments, c, samples)
    inside = np.arange(samples) < segments.length[:, None]
    rows = np.where(inside, segments.first[:, None] + np.arange(samples), -1)
    with np.errstate(all="ignore"):
        error = (positions.q[rows] - path[..., : positions.dof]) / positions.sigma
        error[~inside] = 0.0
        chi2 = (error**2).sum(axis=(1, 2))
    return path, rows, error, np.where(np.isfinite(chi2), chi2, np.inf)


def normal_equations(
    positions: Positions, segments: Segments, c: np.ndarray, active: Sequence[int] = ()
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """JᵀWJ, JᵀWe and χ² of every segment; a lost one has zeros and infinity.

    Unknowns of a segment are its state and the `active` coefficients. The flow over
    every sample gives J: S_{k+1} = A_k S_k + (0, B_k).
    """
    path, rows, error, chi2 = misfit(positions, segments, c)
    count, samples, states = path.shape
    force = None if positions.force is None else positions.force(positions.steps)
    active = np.asarray(active, dtype=int)
    # The flow from the last row, which is behind every end, has no force of its own.
    begins = np.minimum(rows[:, :-1], len(positions.q) - 2).ravel()
    how = active, positions.dt, positions.steps, force, begins
    with np.errstate(all="ignore"):
        flow = positions.equations.flow(path[:, :-1].reshape(-1, states), c, *how)[1]
        flow = flow.reshape(count, samples - 1, states, -1)
        S = np.zeros((count, samples, *flow.shape[2:]))
        S[:, 0, :, :states] = np.eye(states)
        for k in range(samples - 1):
            S[:, k + 1] = flow[:, k, :, :states] @ S[:, k]
            S[:, k + 1, :, states:] += flow[:, k, :, states:]
        J = S[:, :, : positions.dof] / positions.sigma[:, None]
        J[rows < 0] = 0.0
        J = J.reshape(count, -1, J.shape[-1])
        h, g = (
            J.transpose(0, 2, 1) @ J,
            np.einsum("skj,sk->sj", J, error.reshape(count, -1)),
        )
    lost = ~(np.isfinite(chi2) & np.isfinite(h).all((1, 2)) & np.isfinite(g).all(1))
    h[lost], g[lost], chi2[lost] = 0.0, 0.0, np.inf
    return h, g, chi2


def split(positions: Positions, duration: float) -> Segments:
    """Equal segments of about `duration` (s), at least 4 dof samples; no states yet."""
    samples, dof = positions.q.shape
    count = max(int(samples // max(duration / positions.dt, 4 * dof)), 1)
    edges = np.linspace(0, samples, count + 1).round().astype(int)
    return Segments(edges[:-1], np.diff(edges), np.zeros((count, 2 * dof)))


def start_states(positions: Positions, segments: Segments, c: np.ndarray) -> Segments:
    """States from local polynomials through the samples at the start of each segment.

    The window whose motion fits the segment best is taken, one by one.
    """
    states = [_local_polynomial(positions, segments, *w) for w in POLYNOMIAL_WINDOWS]
    chi2 = [misfit(positions, segments.at(state), c)[-1] for state in states]
    return segments.at(np.array(states)[np.argmin(chi2, 0), np.arange(len(segments))])


def _local_polynomial(positions, segments, count, degree):
    """Value and rate, at the first row, of polynomials through samples around it."""
    samples = len(positions.q)
    count = min(count, samples)
    degree = min(degree, count - 1)
    row = segments.first
    offset = row - np.clip(row - count // 2, 0, samples - count)
    state = np.empty((len(segments), 2 * positions.dof))
    for place in np.unique(offset):
        here = np.flatnonzero(offset == place)
        time = (np.arange(count) - place) * positions.dt
        fit = np.linalg.pinv(np.vander(time, degree + 1, increasing=True))[:2]
        rows = (row[here] - place)[:, None] + np.arange(count)
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
    dof = positions.dof
    coarse, steps = positions.rollout(chosen, c, samples), positions.steps
    while steps < MOST_STEPS_PER_SAMPLE:
        fine = positions.rollout(chosen, c, samples, 2 * steps)
        with np.errstate(all="ignore"):
            moved = np.abs((fine - coarse)[..., :dof] / positions.sigma).max(axis=2)
        moved = np.where(inside, np.nan_to_num(moved, nan=1e9), 0.0).max(axis=1)
        if np.quantile(moved, 0.95) < tolerance:
            break
        steps, coarse = 2 * steps, fine
    return replace(positions, steps=steps)


def fit_states(
    positions: Positions, segments: Segments, c: np.ndarray, most: int = 8
) -> tuple[Segments, np.ndarray]:
    """Levenberg–Marquardt for the state of each segment alone, c given; and χ²."""
    h, g, chi2 = normal_equations(positions, segments, c)
    state = segments.state.copy()
    damping = np.zeros(len(segments))
    for _ in range(most):
        predicted = np.einsum("si,si->s", g, _solve(h, g[..., None])[..., 0])
        freedom = (segments.length - 2) * positions.dof
        scale = np.maximum(chi2 / np.maximum(freedom, 1), 1.0)
        open_ = predicted > CONVERGED_DECREASE / 10 * scale
        open_ = np.flatnonzero(open_ & (damping < LARGEST_DAMPING))
        if not len(open_):
            break
        step = _solve(_damped(h[open_], damping[open_]), g[open_][..., None])[..., 0]
        trial = segments[open_].at(state[open_] + step)
        h_new, g_new, chi2_new = normal_equations(positions, trial, c)
        better = chi2_new < chi2[open_]
        accepted, refused = open_[better], open_[~better]
        state[accepted], chi2[accepted] = trial.state[better], chi2_new[better]
        h[accepted], g[accepted] = h_new[better], g_new[better]
        damping[accepted] = np.where(
            damping[accepted] > 1e-4, damping[accepted] / 10, 0.0
        )
        damping[refused] = np.maximum(damping[refused] * 10, FIRST_DAMPING)
    return segments.at(state), chi2


def eliminated(
    h: np.ndarray, g: np.ndarray, free: int
) -> tuple[np.ndarray, np.ndarray]:
    """Schur complement of the first `free` unknowns, segment by segment.

    H₂₂ − H₂₁ H₁₁⁻¹ H₁₂ and g₂ − H₂₁ H₁₁⁻¹ g₁.
    """
    cross = h[:, :free, free:]
    both = np.concatenate([cross, g[:, :free, None]], axis=2)
    rest = np.swapaxes(cross, 1, 2) @ _solve(h[:, :free, :free], both)
    return h[:, free:, free:] - rest[:, :, :-1], g[:, free:] - rest[:, :, -1]


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
