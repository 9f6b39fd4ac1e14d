"""How well a Lagrangian predicts accelerations."""

import numpy as np

from leastaction.core.compiled import kernel
from leastaction.trajectories.library_equations import LibraryEquations

# Sums over candidates are formed for a block of samples, innermost and contiguous.
KERNEL = """
BLOCK = 32


@njit(cache=True, nogil=True)
def errors(supports, coefficients, mass, force, qddot, scale, limit, error):
    samples, dof = qddot.shape
    m, f = np.empty((BLOCK, dof, dof)), np.empty((BLOCK, dof))
    masses, forces = m.reshape(-1), f.reshape(-1)
    for s in range(supports.shape[0]):
        for first in range(0, samples, BLOCK):
            count = min(BLOCK, samples - first)
            m[:], f[:] = 0.0, 0.0
            for i in range(supports.shape[1]):
                k, c = supports[s, i], coefficients[s, i]
                column = force[k, first : first + count].reshape(-1)
                for n in range(len(column)):
                    forces[n] -= c * column[n]
                column = mass[k, first : first + count].reshape(-1)
                for n in range(len(column)):
                    masses[n] += c * column[n]
            for n in range(count):
                square = 0.0
                if solve(m[n], f[n]):
                    for a in range(dof):
                        rest = (qddot[first + n, a] - f[n, a]) / scale[a]
                        square += rest**2 / dof
                else:
                    square = 1.0
                error[s] += min(square, 1.0) / samples
            if error[s] > limit:
                break


@njit(cache=True, nogil=True)
def solve(m, f):
    dof = len(f)
    for a in range(dof):
        pivot = a
        for b in range(a + 1, dof):
            if abs(m[b, a]) > abs(m[pivot, a]):
                pivot = b
        if not abs(m[pivot, a]) > 0.0:
            return False
        for b in range(dof):
            m[a, b], m[pivot, b] = m[pivot, b], m[a, b]
        f[a], f[pivot] = f[pivot], f[a]
        for b in range(a + 1, dof):
            factor = m[b, a] / m[a, a]
            for c in range(a, dof):
                m[b, c] -= factor * m[a, c]
            f[b] -= factor * f[a]
    for a in range(dof - 1, -1, -1):
        for b in range(a + 1, dof):
            f[a] -= m[a, b] * f[b]
        f[a] /= m[a, a]
    return True
"""


class AccelerationError:
    """Clipped relative error of the accelerations that candidates predict.

    .. math::

        e(c) = \\left\\langle \\min\\left(1,\\ \\frac{1}{n} \\sum_a
        (q̈_a − [M(c)^{-1}(Q − f(c))]_a)^2 / s_a^2 \\right) \\right\\rangle

    The clip lets no singular sample decide; a singular mass matrix counts as one.

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
        Input Q, shape (sample, dof); None if there is none. It is the column −Q after
        all others.
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
        if force is not None:
            mass = np.concatenate([mass, np.zeros_like(mass[..., :1])], axis=-1)
            rest = np.concatenate([rest, -force[..., None]], axis=-1)
        # columns first: what one support needs is read in one sweep
        self.mass = np.ascontiguousarray(np.moveaxis(mass, -1, 0))
        self.force = np.ascontiguousarray(np.moveaxis(rest, -1, 0))
        self.qddot = np.ascontiguousarray(qddot, dtype=float)
        self.scale = np.where(scale > 0, scale, 1.0)
        self.errors = kernel(KERNEL, {}).errors

    def __call__(
        self, supports: np.ndarray, coefficients: np.ndarray, limit: float = np.inf
    ) -> np.ndarray:
        """Error of supports of one size.

        Parameters
        ----------
        supports, coefficients
            Positions within `columns`, and c, shape (support, size).
        limit
            Where the error is certainly above it, the sum is not finished.
        """
        found = np.zeros(len(supports))
        self.errors(
            np.ascontiguousarray(supports),
            np.ascontiguousarray(coefficients),
            self.mass,
            self.force,
            self.qddot,
            self.scale,
            limit,
            found,
        )
        return found
