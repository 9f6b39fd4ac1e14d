"""Segments of motion that are merged as long as the noise allows, or divided.

The longer a segment, the better its coefficients are known, and the stricter it tests
their structure; but a fit over a long segment needs good coefficients to begin with.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from leastaction.trajectories.multiple_shooting import (
    Fit,
    Positions,
    Segments,
    allowed_rise,
    enough_steps,
    fit_jointly,
    fit_states,
    joined,
    least_noise,
    start_states,
    voters,
)

# χ² per degree of freedom up to which a merged segment is tried at all: coefficients
# from shorter segments are not good enough yet for one.
TRIED_MISFIT = 4.0


@dataclass(frozen=True)
class Level:
    """A fit at one length of segments."""

    positions: Positions  # with the noise and the steps that it used
    fit: Fit

    @property
    def reached(self) -> float:
        """Mean length of a segment over the length of a trajectory."""
        return float(self.fit.segments.length.mean() / self.positions.samples)


def with_noise(positions: Positions, fit: Fit) -> Positions:
    """Positions weighted by the noise that the fit leaves, unless all are lost."""
    dof = positions.dof
    vote = voters(fit.chi2, fit.segments, dof) & ~fit.barred
    if not vote.any():
        return positions
    free = fit.segments.length[vote].sum() - 2 * vote.sum() - len(fit.active) / dof
    square = fit.square[vote].sum(axis=0) / max(free, 1)
    sigma = np.maximum(np.sqrt(square), least_noise(positions.q))
    return replace(positions, sigma=sigma)


def rescued(
    positions: Positions,
    segments: Segments,
    c: np.ndarray,
    chi2: np.ndarray,
    begun=None,
) -> tuple[Segments, np.ndarray]:
    """Segments beyond 4 χ² per degree of freedom start anew; the better fit stays.

    They start as ``begun(stuck)`` says, else by local polynomials.
    """
    stuck = np.flatnonzero(~(chi2 < TRIED_MISFIT * segments.freedom(positions.dof)))
    if not len(stuck):
        return segments, chi2
    new = begun(stuck) if begun else start_states(positions, segments[stuck], c)
    again, lower = fit_states(positions, new, c)
    better = lower < chi2[stuck]
    state, chi2 = segments.state.copy(), chi2.copy()
    state[stuck[better]], chi2[stuck[better]] = again.state[better], lower[better]
    return segments.at(state), chi2


def lengthen(positions: Positions, fit: Fit) -> list[Level]:
    """Merge neighbouring segments until no more merge stays within the noise.

    A merge is tried with the coefficients given (its χ² may be up to 4 per degree of
    freedom, since they are not good enough yet), all are fitted jointly, and those
    merges are undone whose χ² rose by more than 2 dof + 6 √(4 dof) over the two
    separate fits. So each trajectory finds its own length, and a wrong structure finds
    none.
    """
    positions = with_noise(positions, fit)
    fit = fit_jointly(positions, fit.segments, fit.c, fit.active)
    levels = [Level(positions, fit)]
    shift, idle = 0, 0
    while idle < 2 and len(fit.segments) > positions.trajectories:
        parts, merged = _neighbours(fit.segments, positions.samples, shift)
        if not len(parts):
            idle, shift = idle + 1, 1 - shift
            continue
        positions = enough_steps(positions, merged, fit.c)
        trial, chi2 = fit_states(positions, merged, fit.c)
        backward = partial(_backward, positions, fit, parts, merged)
        trial, chi2 = rescued(positions, trial, fit.c, chi2, backward)
        good = chi2 < TRIED_MISFIT * trial.freedom(positions.dof)
        if good.any():
            fit, undone = _merged(positions, fit, parts[good], trial[good])
        grown = good.any() and undone < good.sum()
        idle, shift = (0, 0) if grown else (idle + 1, 1 - shift)
        if grown:
            positions = with_noise(positions, fit)
            levels.append(Level(positions, fit))
    return levels


def _backward(positions, fit, parts, merged, stuck) -> Segments:
    """Start merged segments that do not fit from the second part, back in time."""
    rows = fit.segments.length[parts[stuck, 0]]
    second = fit.segments[parts[stuck, 1]]
    return merged[stuck].at(_states_at(positions, second, fit.c, rows, -1.0))


def _merged(positions, fit, parts, merged) -> tuple[Fit, int]:
    """Fit with `merged` in place of their `parts`; merges that cost too much undone."""
    single = np.setdiff1d(np.arange(len(fit.segments)), parts.ravel())
    whole = joined([fit.segments[single], merged])
    new = fit_jointly(positions, whole, fit.c, fit.active)
    place = np.searchsorted(new.segments.first, merged.first)
    allowed = allowed_rise(positions.dof)
    bad = new.chi2[place] - fit.chi2[parts].sum(axis=1) > allowed
    bad |= new.barred[place]
    if bad.any():  # the coefficients have moved: compare at the new ones
        apart, chi2 = fit_states(positions, fit.segments[parts[bad].ravel()], new.c)
        rise = new.chi2[place[bad]] - chi2.reshape(-1, 2).sum(axis=1)
        still = rise > allowed
        still |= new.barred[place[bad]]
        bad[np.flatnonzero(bad)[~still]] = False
        apart = apart[np.repeat(still, 2)]
    if bad.any():
        kept = np.setdiff1d(np.arange(len(new.segments)), place[bad])
        whole = joined([new.segments[kept], apart])
        new = fit_jointly(positions, whole, new.c, fit.active)
    return new, int(bad.sum())


def _neighbours(segments: Segments, samples: int, shift: int):
    """Pairs of neighbours in a trajectory, and the segments that they would make."""
    trajectory = segments.first // samples
    order = np.arange(len(segments)) - np.searchsorted(trajectory, trajectory)
    same = trajectory[1:] == trajectory[:-1]
    left = np.flatnonzero(same & (order[:-1] % 2 == shift))
    parts = np.stack([left, left + 1], axis=1)
    length = segments.length[left] + segments.length[left + 1]
    return parts, Segments(segments.first[left], length, segments.state[left])


def divided(positions: Positions, fit: Fit) -> Segments | None:
    """Segments, those divided that fit too much worse than their halves at the same c.

    A state can be stuck in a local minimum that the sum over all samples hides.
    """
    segments, dof = fit.segments, positions.dof
    half = segments.length // 2
    long = np.flatnonzero(half >= 4 * dof)
    if not len(long):
        return None
    chosen, half = segments[long], half[long]
    middle = _states_at(positions, chosen, fit.c, half)
    first = Segments(chosen.first, half, chosen.state)
    second = Segments(chosen.first + half, chosen.length - half, middle)
    (first, one), (second, other) = (
        fit_states(positions, part, fit.c) for part in (first, second)
    )
    stuck = fit.chi2[long] > one + other + allowed_rise(dof)
    if not stuck.any():
        return None
    kept = np.delete(np.arange(len(segments)), long[stuck])
    return joined([segments[kept], first[stuck], second[stuck]])


def _states_at(positions, segments, c, row, direction=1.0) -> np.ndarray:
    """State of each motion `row` samples after (before) the start of the segment."""
    how = direction * positions.dt, int(row.max()) + 1, positions.steps
    with np.errstate(all="ignore"):
        path = positions.equations.rollout(segments.state, c, *how)
    return np.nan_to_num(path[np.arange(len(segments)), row])
