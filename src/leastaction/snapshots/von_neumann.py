"""Von Neumann stability of a discrete Lagrangian density, as linear inequalities.

Waves :math:`e^{i(θj - ωn dt)}` about a uniform field have cos ω dt = −J₀/(2J₁), with
the symbol J₀(θ), J₁(θ) of the linearised discrete Euler–Lagrange equation
(:meth:`~leastaction.snapshots.discrete_density.StencilBasis.symbol`), which is linear
in the coefficients b. No wave grows, and every step has one solution, if

.. math::  -J_1 \\ge ε/dt^2, \\qquad -2aJ_1 - J_0 \\ge 0, \\qquad -2J_1 + J_0 \\ge 0

with a = 1 (Richtmyer and Morton 1967, section 4.7, of leapfrog schemes). Data say
little about waves that they do not contain, and a fit may break this there. The stable
b that the posterior b ~ N(b̂, FᵀF) prefers is b̂ + Fᵀy with the y of least norm, a
problem of least distance programming that non-negative least squares solves (Lawson and
Hanson 1974, chapter 23). About a uniform field at which the potential is concave long
waves do grow; there a is the cos ω dt > 1 of the uniform wave, as fitted: no wave grows
faster.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from leastaction.snapshots.discrete_density import DiscreteDensity, StencilBasis

# Uniform fields about which waves must not grow, and the largest of them over max|u|.
BASES, LARGEST_BASE = 5, 0.8
# Of −J₁ dt², below which a step has no safe solution.
LEAST_MASS = 1e-2
# A cosine this much beyond 1 is round-off.
ROUND_OFF = 1e-9
# Probability of a stable fit as far from the data, below which it is refused: that of
# five standard deviations of a normal variable.
LEAST_PROBABILITY = 5.7e-7


@dataclass(frozen=True)
class Waves:
    """Waves that must not grow.

    Attributes
    ----------
    base
        Uniform fields, shape (base,).
    theta
        Angles k dx of all waves of the nodes, shape (angle,).
    """

    base: np.ndarray
    theta: np.ndarray

    @classmethod
    def of(cls, u: np.ndarray) -> "Waves":
        """Waves of the nodes of snapshots u (..., node), and their range."""
        largest = LARGEST_BASE * np.abs(u).max()
        nodes = u.shape[-1]
        theta = 2 * np.pi / nodes * np.arange(nodes // 2 + 1)
        return cls(np.linspace(-largest, largest, BASES), theta)

    def growth(self, density: DiscreteDensity) -> np.ndarray:
        """a, the larger of 1 and cos ω dt of the uniform wave, shape (base, 1)."""
        (j0,), (j1,) = (j.T for j in density.symbol(self.base, np.zeros(1)))
        with np.errstate(divide="ignore", invalid="ignore"):
            cosine = -j0 / (2 * j1)
        return np.where(j1 < 0, np.maximum(cosine, 1.0), 1.0)[:, None]

    def excess(self, density: DiscreteDensity) -> float:
        """How far |cos ω dt| is beyond its bound; infinite without a mass."""
        j0, j1 = density.symbol(self.base, self.theta)
        if (j1 * density.basis.time_step**2 > -LEAST_MASS / 2).any():
            return np.inf
        cosine = -j0 / (2 * j1)
        return float(np.maximum(cosine - self.growth(density), -1 - cosine).max())


def inequalities(
    density: DiscreteDensity, waves: Waves
) -> tuple[np.ndarray, np.ndarray]:
    """G and h of the stability conditions G b ≥ h, times dt²."""
    basis = density.basis
    j0, j1 = basis.time_step**2 * basis.symbol(waves.base, waves.theta)
    growth = waves.growth(density)[..., None]
    rows = np.concatenate([-j1, -2 * growth * j1 - j0, -2 * j1 + j0])
    least = np.zeros(rows.shape[:2])
    least[: len(j1)] = LEAST_MASS
    return rows.reshape(-1, basis.size), least.ravel()


def least_distance(rows: np.ndarray, least: np.ndarray) -> np.ndarray | None:
    """Return the y of least norm with `rows` y ≥ `least`; None if there is none.

    >>> least_distance(np.array([[1.0, 1.0]]), np.array([2.0]))
    array([1., 1.])
    """
    from scipy.optimize import nnls  # slow to import

    size = np.linalg.norm(rows, axis=1)
    size[size == 0] = 1.0
    system = np.vstack([(rows / size[:, None]).T, least / size])
    target = np.zeros(len(system))
    target[-1] = 1.0
    weights, rest = nnls(system, target, maxiter=30 * system.shape[1])
    residual = system @ weights - target
    if rest < np.sqrt(np.finfo(float).eps):
        return None
    return -residual[:-1] / residual[-1]


def stabilised(
    basis: StencilBasis, coefficients: np.ndarray, factor: np.ndarray, waves: Waves
) -> tuple[np.ndarray, float]:
    """Stable coefficients nearest to b̂ in the posterior FᵀF, and |y|.

    b̂ itself, and 0, if it is stable; b̂ and infinity if no stable ones are probable.
    """
    density = DiscreteDensity(basis, coefficients)
    if waves.excess(density) <= ROUND_OFF:
        return coefficients, 0.0
    rows, least = inequalities(density, waves)
    y = least_distance(rows @ factor.T, least - rows @ coefficients)
    if y is None or chdtrc(len(factor), y @ y) < LEAST_PROBABILITY:
        return coefficients, np.inf
    moved = coefficients + y @ factor
    if waves.excess(DiscreteDensity(basis, moved)) > ROUND_OFF:
        return coefficients, np.inf
    return moved, float(np.linalg.norm(y))
