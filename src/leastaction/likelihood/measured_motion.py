"""A recorded motion as a linear state-space model about a reference path.

Of M(q; c) q̈ = F(q, q̇, t; c) + S w with white w, positions y = q + e are measured in
every row. One step of Runge and Kutta's method with variational equations from every
row of a path gives the model of :mod:`.augmented_kalman_filter`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from leastaction.ensembles.after_selection import STRETCHES
from leastaction.likelihood.augmented_kalman_filter import LinearModel
from leastaction.trajectories.variational_equations import VariationalEquations

# Start variances over those of the motion: ten times leaves a start free, and its
# logarithm well scaled.
START_VARIANCE = 10.0
# Share of rows in which a mass matrix may be indefinite: rows of a spike, or where the
# smoothed path is off.
LARGEST_INDEFINITE_SHARE = 0.01
# Steps of a row in which dry friction turns: two in its width w, while the velocity
# moves by w, and no more than memory has nodes for. Two cars and a buffer, rows of 10
# ms, w of 1 mm/s: ℓ at the truth is 600 too small with 16 steps; with up to 256 the law
# is that with up to 64.
STEPS_OF_WIDTH, MOST_STEPS_OF_REVERSAL = 2, 64


@dataclass(frozen=True)
class MeasuredMotion:
    """Rows of all trajectories, one after the other."""

    equations: VariationalEquations
    y: np.ndarray  # positions, (row, dof); NaN where there are none
    parts: Sequence[slice]  # rows of each trajectory
    dt: float
    steps: int = 2  # of the integrator between rows
    # Input at the begin and the middle of every step, by the number of steps.
    force: Callable[[int], np.ndarray] | None = None
    # Variance of the noise of the sensors over their common one, (row, dof).
    relative_R: np.ndarray | float = 1.0
    dry: Sequence[int] = ()  # candidates that are dry friction

    @property
    def dof(self) -> int:
        """Number of coordinates."""
        return self.y.shape[1]

    @cached_property
    def begin(self) -> np.ndarray:
        """Whether a row is the first one of its trajectory."""
        first = np.zeros(len(self.y), dtype=bool)
        first[[part.start for part in self.parts]] = True
        return first

    @cached_property
    def block(self) -> np.ndarray:
        """Stretch of every row; all have the same number of rows."""
        return np.arange(len(self.y)) * STRETCHES // len(self.y)

    def with_width(self, width: float) -> "MeasuredMotion":
        """The motion with another velocity within which friction turns."""
        return replace(self, equations=replace(self.equations, width=width))

    @np.errstate(all="ignore")  # of motions that escape
    def linearised(
        self, path: np.ndarray, c: np.ndarray, active: np.ndarray
    ) -> tuple[LinearModel, float]:
        """Model of deviations from `path`, (row, 2 dof), and from `active` of `c`.

        With it comes the share of rows whose mass matrix is not positive definite;
        motions that escape over one row have an infinite model.
        """
        n = self.dof
        force = None if self.force is None else self.force(self.steps)
        # The force ends with the last row, of which no flow is wanted.
        rows = np.minimum(np.arange(len(self.y)), len(self.y) - 2)
        how = self.dt, self.steps, force, rows
        flow = self.equations.flow(path, c, active, *how)
        sharp, steps = self._reversals(path, c)
        if len(sharp):
            force = None if self.force is None else self.force(steps)
            how = self.dt, steps, force, rows[sharp]
            finer = self.equations.flow(path[sharp], c, active, *how)
            for values, of_sharp in zip(flow, finer, strict=True):
                values[sharp] = of_sharp
        end, by_all, mobility = flow
        last = np.append(self.begin[1:], True)
        end[last], by_all[last] = 0.0, 0.0
        d = end - np.roll(path, -1, axis=0)
        d[last] = 0.0
        A, B = by_all[:, :, : 2 * n], np.ascontiguousarray(by_all[:, :, 2 * n :])
        A = np.ascontiguousarray(A)
        Q = self._of_white_force(A, mobility)
        motion = np.concatenate([path[:, :n].std(axis=0), path[:, n:].std(axis=0)])
        model = LinearModel(
            self.y - path[:, :n],
            self.begin,
            self.block,
            A,
            B,
            d,
            Q,
            START_VARIANCE * np.maximum(motion**2, 1e-300),
            np.broadcast_to(self.relative_R, self.y.shape).copy(),
        )
        return model, self._indefinite(mobility)

    def _reversals(self, path: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, int]:
        """Rows in which a dry friction turns between steps, and steps that follow it.

        Of a coordinate, or of the difference of two.
        """
        n, width = self.dof, self.equations.width
        if not np.any(c[list(self.dry)]):
            return np.zeros(0, dtype=int), self.steps
        v = path[:, n:]
        i, j = np.triu_indices(n, 1)
        v = np.hstack([v, v[:, i] - v[:, j]])
        then = np.roll(v, -1, axis=0)
        turns = (v * then <= 0) | (np.minimum(abs(v), abs(then)) < width)
        widths = np.where(turns, abs(then - v) / width, 0.0).max(axis=1)
        needed = STEPS_OF_WIDTH * widths
        sharp = np.flatnonzero((needed > self.steps) & ~np.append(self.begin[1:], True))
        most = np.clip(needed[sharp].max(initial=1.0), 1.0, MOST_STEPS_OF_REVERSAL)
        return sharp, 2 ** int(np.ceil(np.log2(most)))

    def _of_white_force(self, A, mobility):
        """Q of a white generalised force of every coordinate, (row, dof, 2n, 2n).

        ∫ Φ G Gᵀ Φᵀ over a row by Simpson's rule, G = (0, M⁻¹); of Φ from its middle the
        root of A is taken, (1 + X)^½ = 1 + X/2 − X²/8.
        """
        n = self.dof
        X = A - np.eye(2 * n)
        half = np.eye(2 * n) + X / 2 - X @ X / 8
        G = np.concatenate([np.zeros_like(mobility), mobility], axis=1)
        covariance = 0.0
        for weight, phi in ((1 / 6, A), (4 / 6, half), (1 / 6, None)):
            moved = G if phi is None else phi @ G
            covariance = covariance + weight * np.einsum("kai,kbi->kiab", moved, moved)
        return np.ascontiguousarray(self.dt * covariance)

    def is_definite(self, path: np.ndarray, c: np.ndarray) -> bool:
        """Whether the mass matrix of c is positive definite along a path."""
        nothing = np.zeros(0, dtype=int)
        return self.linearised(path, c, nothing)[1] <= LARGEST_INDEFINITE_SHARE

    def _indefinite(self, mobility) -> float:
        if not np.isfinite(mobility).all():
            return 1.0
        lowest = np.linalg.eigvalsh(mobility + mobility.transpose(0, 2, 1))[:, 0]
        return float((lowest <= 0).mean())


def smoothness_model(y: np.ndarray, begin: np.ndarray, dt: float) -> LinearModel:
    """Model of one coordinate whose jerk is white noise: no law at all."""
    rows = len(y)
    A = np.array([[1.0, dt, dt**2 / 2], [0.0, 1.0, dt], [0.0, 0.0, 1.0]])
    Q = np.array(
        [
            [dt**5 / 20, dt**4 / 8, dt**3 / 6],
            [dt**4 / 8, dt**3 / 3, dt**2 / 2],
            [dt**3 / 6, dt**2 / 2, dt],
        ]
    )
    known = y[np.isfinite(y)]
    size = max(np.ptp(known), 1e-300)
    rate = np.abs(np.diff(known)).max() / dt
    sizes = np.array([size, max(rate, size / (rows * dt)), 2 * rate / dt + size])
    return LinearModel(
        (y - known.mean())[:, None],
        begin,
        np.zeros(rows, dtype=int),
        np.broadcast_to(A, (rows, 3, 3)).copy(),
        np.zeros((rows, 3, 0)),
        np.zeros((rows, 3)),
        np.broadcast_to(Q, (rows, 1, 3, 3)).copy(),
        START_VARIANCE * sizes**2,
        np.ones((rows, 1)),
    )
