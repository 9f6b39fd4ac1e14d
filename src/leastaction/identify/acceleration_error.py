"""How well a Lagrangian predicts accelerations."""

import numpy as np

from leastaction.mechanics.library_equations import LibraryEquations


class AccelerationError:
    """Clipped relative error of the accelerations that candidates predict.

    .. math::

        e(c) = \\left\\langle \\min\\left(1,\\ \\frac{1}{n} \\sum_a
        (q̈_a − [M(c)^{-1}(Q − f(c))]_a)^2 / s_a^2 \\right) \\right\\rangle

    The clip lets no singular sample decide, and a singular mass matrix counts as one.

    Parameters
    ----------
    equations
        Compiled columns.
    columns
        Positions of the columns that supports refer to.
    q, qdot, qddot
        Samples, shape (sample, dof).
    scale
        s, shape (dof,): standard deviation of q̈.
    force
        Input Q, shape (sample, dof); None if there is none.
    """

    def __init__(
        self,
        equations: LibraryEquations,
        columns: np.ndarray,
        q: np.ndarray,
        qdot: np.ndarray,
        qddot: np.ndarray,
        scale: np.ndarray,
        force: np.ndarray | None = None,
    ):
        mass, rest = equations.mass_and_force(q, qdot, columns)
        if force is not None:  # its pseudo-column is the last: A c - Q = 0
            mass = np.concatenate([mass, np.zeros_like(mass[..., :1])], axis=-1)
            rest = np.concatenate([rest, -force[..., None]], axis=-1)
        # columns first: a support then is a block of memory
        self.mass = np.ascontiguousarray(np.moveaxis(mass, (3, 1, 2), (0, 1, 2)))
        self.force = np.ascontiguousarray(np.moveaxis(rest, (2, 1), (0, 1)))
        self.qddot, self.scale = qddot.T, scale[:, None]

    def __call__(self, supports: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """e of supports of one size, shape (support, size)."""
        return np.array(
            [self.one(s, c) for s, c in zip(supports, coefficients, strict=True)]
        )

    def one(self, support: np.ndarray, coefficients: np.ndarray) -> float:
        """e of one support."""
        mass = sum(c * self.mass[k] for k, c in zip(support, coefficients, strict=True))
        force = sum(
            c * self.force[k] for k, c in zip(support, coefficients, strict=True)
        )
        with np.errstate(all="ignore"):
            error = (_solve(mass, force) + self.qddot) / self.scale
            square = (error**2).mean(0)
        return float(np.where(square < 1, square, 1.0).mean())


def _solve(mass: np.ndarray, force: np.ndarray) -> np.ndarray:
    """M⁻¹ f by sample, shapes (dof, dof, sample) and (dof, sample)."""
    if len(force) == 1:
        return force / mass[0]
    if len(force) == 2:
        (a, b), (c, d) = mass
        determinant = a * d - b * c
        return np.stack([d * force[0] - b * force[1], a * force[1] - c * force[0]]) / (
            determinant
        )
    matrices = np.moveaxis(mass, 2, 0)
    singular = np.linalg.cond(matrices) > 1e12
    matrices = np.where(singular[:, None, None], np.nan, matrices)
    return np.linalg.solve(matrices, force.T[..., None])[..., 0].T
