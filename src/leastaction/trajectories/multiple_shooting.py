"""Least squares of segments of motion: states alone, or states and coefficients."""

from dataclasses import dataclass

import numpy as np

from leastaction.trajectories.segments import (
    Positions,
    Segments,
    capped,
    misfit_scale,
    normal_equations,
    voters,
)

# A fit has converged when an undamped step would lower χ² by less than this.
TOLERANCE = 0.05
FIRST_DAMPING = 1e-3
LARGEST_DAMPING = 1e8
# A merge must not raise χ² by more than its mean plus this many standard deviations.
DEVIATIONS = 6.0
# Fraction of the segments that may lose their vote because they are stuck.
MOST_BARRED = 0.05


@dataclass(frozen=True)
class Fit:
    """Segments and coefficients that fit the positions.

    Attributes
    ----------
    segments
        With fitted states.
    c
        Coefficients of all candidates.
    chi2, square
        χ² and Σe² (by coordinate) of each segment.
    schur
        Information about the active coefficients, states eliminated.
    active
        Coefficients that were fitted.
    converged
        Whether an undamped step would change nothing; no fit without a vote is.
    barred
        Segments that no step could follow; they had no vote.
    """

    segments: Segments
    c: np.ndarray
    chi2: np.ndarray
    square: np.ndarray
    schur: np.ndarray
    active: np.ndarray
    converged: bool
    barred: np.ndarray

    def cost(self, dof: int, scale: float = 1.0) -> float:
        """Σ χ² with each segment capped, at 25 · `scale` per value."""
        return capped(self.chi2, self.segments, dof, scale)


def fit_states(
    positions: Positions, segments: Segments, c: np.ndarray, most: int = 8
) -> tuple[Segments, np.ndarray]:
    """Levenberg–Marquardt for the state of each segment alone, c given.

    Returns
    -------
    segments, chi2
    """
    none = np.zeros(0, dtype=int)
    h, g, chi2, _ = normal_equations(positions, segments, c, none)
    state, chi2 = segments.state.copy(), chi2.copy()
    damping = np.zeros(len(segments))
    for _ in range(most):
        predicted = np.einsum("si,si->s", g, _solve(h, g[..., None])[..., 0])
        open_ = np.flatnonzero(
            (predicted > TOLERANCE / 10) & (damping < LARGEST_DAMPING)
        )
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
    dof, free = positions.dof, 2 * positions.dof
    h, g, chi2, square = normal_equations(positions, segments, c, active)
    damping = 0.0
    barred = np.zeros(len(segments), dtype=bool)
    for _ in range(most):
        vote = voters(chi2, segments, dof, positions.vote) & ~barred
        system = Eliminated.from_normal(h, g, free, vote)
        if system.predicted < TOLERANCE or damping > LARGEST_DAMPING:
            break
        if damping:
            system = Eliminated.from_normal(h, g, free, vote, damping)
        c_new = c.copy()
        c_new[active] += system.step
        trial = segments.at(segments.state + system.state_step)
        new = normal_equations(positions, trial, c_new, active)
        worse = np.flatnonzero(~(new[2] <= chi2 + 1.0))
        for origin in (trial, segments):
            if not len(worse):
                break
            again, _ = fit_states(positions, origin[worse], c_new)
            redone = normal_equations(positions, again, c_new, active)
            won = redone[2] < new[2][worse]
            trial.state[worse[won]] = again.state[won]
            for old, part in zip(new, redone, strict=True):
                old[worse[won]] = part[won]
            worse = worse[~(new[2][worse] <= chi2[worse] + 1.0)]
        gained = _gained(chi2, new[2], segments, dof, ~barred)
        if not gained:
            stuck = barred | (new[2] > chi2 + allowed_rise(dof))
            if stuck.mean() <= MOST_BARRED:
                gained = _gained(chi2, new[2], segments, dof, ~stuck)
                barred = stuck if gained else barred
        if gained:
            segments, c = trial, c_new
            h, g, chi2, square = new
            damping = damping / 10 if damping > 1e-4 else 0.0
        else:
            damping = max(10 * damping, FIRST_DAMPING)
    vote = voters(chi2, segments, dof, positions.vote) & ~barred
    system = Eliminated.from_normal(h, g, free, vote)
    converged = bool(vote.any() and system.predicted < TOLERANCE)
    return Fit(
        segments, c, chi2, square, system.schur, np.asarray(active), converged, barred
    )


def allowed_rise(dof: int) -> float:
    """Rise of χ² that the loss of one state allows: 2 dof + 6 √(4 dof)."""
    return 2 * dof + DEVIATIONS * np.sqrt(4 * dof)


def _gained(old, new, segments, dof, counted) -> bool:
    """Whether Σ χ² of the counted segments, each capped, is lower."""
    scale = misfit_scale(old, segments, dof)
    counted_segments = segments[counted]
    before, after = (
        capped(chi2[counted], counted_segments, dof, scale) for chi2 in (old, new)
    )
    return after < before


@dataclass(frozen=True)
class Eliminated:
    """Normal equations with the states eliminated.

    Attributes
    ----------
    schur, right
        System of the coefficients.
    step, state_step
        Solution, by coefficient and by segment.
    predicted
        Decrease of χ² that the step promises.
    """

    schur: np.ndarray
    right: np.ndarray
    step: np.ndarray
    state_step: np.ndarray
    predicted: float

    @classmethod
    def from_normal(
        cls, h: np.ndarray, g: np.ndarray, free: int, vote: np.ndarray, damping=0.0
    ) -> "Eliminated":
        """Eliminate the first `free` unknowns of each segment."""
        cross = h[:, :free, free:]
        both = np.concatenate([cross, g[:, :free, None]], axis=2)
        own = _damped(h[:, :free, :free], np.full(len(h), damping))
        solved = _solve(own, both)
        transposed = np.swapaxes(cross[vote], 1, 2)
        rest = transposed @ solved[vote]
        schur = (h[vote][:, free:, free:] - rest[:, :, :-1]).sum(axis=0)
        right = (g[vote][:, free:] - rest[:, :, -1]).sum(axis=0)
        schur = (schur + schur.T) / 2
        step = solve_scaled(schur + damping * np.diag(np.diag(schur)), right)
        states = solved[:, :, -1] - solved[:, :, :-1] @ step
        gain = np.einsum("si,si->", g[vote][:, :free], solved[vote][:, :, -1])
        return cls(schur, right, step, states, float(gain + right @ step))


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
