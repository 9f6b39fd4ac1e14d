"""Longer segments: neighbours are merged while their motion stays within the noise."""

from dataclasses import dataclass

import numpy as np

from leastaction.trajectories.multiple_shooting import (
    Fit,
    allowed_rise,
    fit_jointly,
    fit_states,
)
from leastaction.trajectories.segments import (
    Positions,
    Segments,
    enough_steps,
    joined,
    least_noise,
    start_states,
    voters,
)

# χ² per degree of freedom up to which a merged segment is tried at all.
GENEROUS = 4.0


@dataclass(frozen=True)
class Level:
    """A fit at one length of segments.

    Attributes
    ----------
    positions
        With the noise and the steps that the fit used.
    fit
        The fit.
    """

    positions: Positions
    fit: Fit

    @property
    def missing(self) -> int:
        """Merges that are missing to whole trajectories."""
        trajectories = len(self.positions.q) // self.positions.samples
        return len(self.fit.segments) - trajectories

    @property
    def reached(self) -> float:
        """Mean length of a segment over the length of a trajectory."""
        return float(self.fit.segments.length.mean() / self.positions.samples)


def with_noise(positions: Positions, fit: Fit) -> Positions:
    """Positions weighted by the noise that the fit leaves, coordinate by coordinate.

    If all segments are lost, the fit says nothing about the noise, which stays.
    """
    dof = positions.dof
    vote = voters(fit.chi2, fit.segments, dof) & ~fit.barred
    if not vote.any():
        return positions
    free = fit.segments.length[vote].sum() - 2 * vote.sum() - len(fit.active) / dof
    square = fit.square[vote].sum(axis=0) / max(free, 1)
    sigma = np.maximum(np.sqrt(square), least_noise(positions.q))
    return positions.with_(sigma=sigma)


def rescued(
    positions: Positions, segments: Segments, c: np.ndarray, chi2: np.ndarray
) -> tuple[Segments, np.ndarray]:
    """Segments beyond 4 χ² per degree of freedom start anew; the better fit stays."""
    stuck = np.flatnonzero(~(chi2 < GENEROUS * segments.freedom(positions.dof)))
    if not len(stuck):
        return segments, chi2
    again, lower = fit_states(positions, start_states(positions, segments[stuck], c), c)
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

    Returns
    -------
    list of Level
        One for each length, the given one first.
    """
    positions = with_noise(positions, fit)
    fit = fit_jointly(positions, fit.segments, fit.c, fit.active)
    levels = [Level(positions, fit)]
    shift, idle = 0, 0
    while idle < 2 and len(fit.segments) > len(positions.q) // positions.samples:
        parts, merged = _neighbours(fit.segments, positions.samples, shift)
        if not len(parts):
            idle, shift = idle + 1, 1 - shift
            continue
        positions = enough_steps(positions, merged, fit.c)
        trial, chi2 = fit_states(positions, merged, fit.c)
        trial, chi2 = _backward(positions, fit, parts, trial, chi2)
        good = chi2 < GENEROUS * trial.freedom(positions.dof)
        if good.any():
            fit, undone = _merged(positions, fit, parts[good], trial[good])
        grown = good.any() and undone < good.sum()
        idle, shift = (0, 0) if grown else (idle + 1, 1 - shift)
        if grown:
            positions = with_noise(positions, fit)
            levels.append(Level(positions, fit))
    return levels


def _backward(positions, fit, parts, merged, chi2) -> tuple[Segments, np.ndarray]:
    """Start merged segments that do not fit from the second part, back in time."""
    dof = positions.dof
    stuck = np.flatnonzero(~(chi2 < GENEROUS * merged.freedom(dof)))
    if not len(stuck):
        return merged, chi2
    rows = fit.segments.length[parts[stuck, 0]]
    begin = _states_at(positions, fit.segments[parts[stuck, 1]], fit.c, rows, -1.0)
    again, lower = fit_states(positions, merged[stuck].at(begin), fit.c)
    better = lower < chi2[stuck]
    state, chi2 = merged.state.copy(), chi2.copy()
    state[stuck[better]], chi2[stuck[better]] = again.state[better], lower[better]
    return merged.at(state), chi2


def _merged(positions, fit, parts, merged) -> tuple[Fit, int]:
    """Fit with `merged` in place of their `parts`; merges that cost too much undone."""
    dof = positions.dof
    single = np.setdiff1d(np.arange(len(fit.segments)), parts.ravel())
    whole = joined([fit.segments[single], merged])
    new = fit_jointly(positions, whole, fit.c, fit.active)
    place = np.searchsorted(new.segments.first, merged.first)
    allowed = allowed_rise(dof)
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
    begin = np.searchsorted(trajectory, trajectory)
    order = np.arange(len(segments)) - begin
    left = np.flatnonzero(order % 2 == shift)
    left = left[left + 1 < len(segments)]
    left = left[trajectory[left + 1] == trajectory[left]]
    parts = np.stack([left, left + 1], axis=1)
    merged = Segments(
        segments.first[left],
        segments.length[left] + segments.length[left + 1],
        segments.state[left],
    )
    return parts, merged


def divided(positions: Positions, fit: Fit) -> Segments | None:
    """Segments, those divided that fit too much worse than their halves at the same c.

    A state can be stuck in a local minimum that the sum over all samples hides.

    Returns
    -------
    Segments or None
        None if no segment is to be divided.
    """
    segments, dof = fit.segments, positions.dof
    half = segments.length // 2
    long = np.flatnonzero(half >= 4 * dof)
    if not len(long):
        return None
    chosen, half = segments[long], half[long]
    middle = _states_at(positions, chosen, fit.c, half)
    first, one = fit_states(
        positions, Segments(chosen.first, half, chosen.state), fit.c
    )
    second = Segments(chosen.first + half, chosen.length - half, middle)
    second, other = fit_states(positions, second, fit.c)
    stuck = fit.chi2[long] > one + other + allowed_rise(dof)
    if not stuck.any():
        return None
    kept = np.setdiff1d(np.arange(len(segments)), long[stuck])
    return joined([segments[kept], first[stuck], second[stuck]])


def _states_at(positions, segments, c, row, direction=1.0) -> np.ndarray:
    """State of each motion `row` samples after (before) the start of the segment."""
    with np.errstate(all="ignore"):
        path = positions.equations.rollout(
            segments.state,
            c,
            direction * positions.dt,
            int(row.max()) + 1,
            positions.steps,
        )
    return np.nan_to_num(path[np.arange(len(segments)), row])
