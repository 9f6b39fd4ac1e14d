r"""Symmetries of a learned Lagrangian: affine generators, and what decides about them.

A field ξ(q) = b + A q is a Noether symmetry of L = Σ c_f φ_f if L changes along it by a
total derivative only,

.. math::  X L = ξ·\frac{∂L}{∂q} + (A \dot q)·\frac{∂L}{∂\dot q} = \frac{dF(q)}{dt},
           \qquad I = p·ξ(q) - F(q) = \text{const}.

X L is linear in θ = (b, A) and in c. On n samples of a motion, with the total
derivatives of all polynomials F up to a degree projected out, R θ = P X L, the
violation of θ is a generalised Rayleigh quotient,

.. math::

    ν^2 = \frac{θ^T S θ}{θ^T N_1 θ}, \quad S = \frac{R^T R}{n}, \quad
    θ^T N_1 θ = ω^2 \langle (p·ξ)^2 \rangle,

with p in the gauge of least momenta and ω the rate of the motion. If L has the
symmetry, ν² is a sum of squares of normal errors, which follow from the posterior of c;
with λ the eigenvalues of their covariance it is nearly g χ² with k degrees of freedom
(Satterthwaite 1946), g = Σλ²/Σλ and k = (Σλ)²/Σλ². A symmetry passes if ν is below the
quantile of that at `PROBABILITY`, the bound. It is *found* if the bound is below the
`resolution`, else *undecided*: L is symmetric to within the bound. The bound is that of
L itself, which the motion need not determine; where L can be learned with the symmetry
and without, their odds decide, and the violation is that of a quadratic potential that
the data leave to L with the symmetry: it is found if that is below the resolution, and
denied if that is beyond its bound, by odds alone never. Per period 2π/ω the momentum
p·ξ changes by at most 2πν of its rms.

The discrete counterpart, L_d(q₀, q₁) of the midpoint rule, has exactly the affine
symmetries of L, since the rule commutes with affine maps; there
h X L = ξ(q₀)·∇₁L_d + ξ(q₁)·∇₂L_d and h dF/dt = F(q₁) − F(q₀).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.multi_index import multi_indices

# That a symmetry is not denied: three standard errors of one normal error.
PROBABILITY = 0.9973
# Logarithm of odds that decide (Jeffreys 1961).
DECISIVE = float(np.log(100))
# Change of a momentum in a period, over its rms, of which nothing is known.
MOST_CHANGE = 1.0
# Entries that a generator is brought to where the data allow it, the largest being 1.
READABLE = (0.0, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 1.0)
# Relative singular values below this are round-off.
ROUND_OFF = 1e-10
# A violation is the root of a sum of squares: this is round-off.
LEAST_BOUND = 1e-6
# Degree of F for a law of written terms, and bound below which a symmetry is found.
GAUGE_DEGREE, RESOLUTION = 4, 5e-3


@dataclass(frozen=True)
class Symmetry:
    """Generator ξ(q) = b + A q with the numbers that decide whether L has it.

    Attributes
    ----------
    offset, matrix
        b, shape (dof,), and A, shape (dof, dof), the largest entry ±1.
    violation, bound
        ν, and what it would be allowed without the symmetry being denied.
    decided
        Whether the bound is below the required resolution; where L was learned with
        the symmetry, whether violation and bound together are.
    log_odds
        Logarithm of the evidence of L with this symmetry over that of L without, which
        then decides; NaN if these were not compared.
    """

    offset: np.ndarray
    matrix: np.ndarray
    violation: float
    bound: float
    decided: bool
    log_odds: float = np.nan

    @property
    def verdict(self) -> str:
        """``found``, ``undecided``, or ``not found`` of the nearest that L denies."""
        compared = not np.isnan(self.log_odds)
        unlikely = self.log_odds < -DECISIVE or not compared
        if unlikely and self.violation >= self.bound:
            return "not found"
        likely = self.log_odds > DECISIVE or not compared
        return "found" if likely and self.decided else "undecided"

    @property
    def change(self) -> float:
        """Largest change of p·ξ over its rms in a period 2π/ω that is compatible."""
        return 2 * np.pi * (self.violation + self.bound)

    @property
    def is_open(self) -> bool:
        """Whether nothing is known: undecided, and p·ξ may change by its rms."""
        return self.verdict == "undecided" and self.change >= MOST_CHANGE

    @property
    def kind(self) -> str:
        """Translation, rotation, skew rotation, or affine map."""
        a = self.matrix
        if not a.any():
            return "translation"
        if np.array_equal(a, -a.T):
            return "rotation"
        values = np.linalg.eigvals(a)
        turning = np.abs(values.real).max() < 1e-6 * np.abs(values.imag).max()
        return "skew rotation" if turning else "affine map"

    @property
    def entries(self) -> tuple[float, ...]:
        """Those of b, then of A row by row."""
        return *self.offset.tolist(), *self.matrix.ravel().tolist()

    def field(self, q: np.ndarray) -> np.ndarray:
        """ξ at positions (..., dof)."""
        return self.offset + q @ self.matrix.T

    def described(
        self, coordinates: Sequence[str], momenta: Sequence[str] | None = None
    ) -> str:
        """One line: what is conserved, and the number that decides."""
        quantity = f"{self.noether(coordinates, momenta)} ({self.kind})"
        numbers = f"violation {self.violation:.1g} where {self.bound:.1g} is allowed"
        if not np.isnan(self.log_odds):
            numbers += f", log odds {self.log_odds:.3g}"
        change = f"changes by at most {100 * self.change:.2g} % of its rms per period"
        if self.is_open:
            change = "of which nothing is known: it may change by its rms in a period"
        return {
            "found": f"conserved: {quantity}, {change}, {numbers}",
            "undecided": f"undecided: {quantity}, {change}",
            "not found": f"no affine symmetry: the nearest has a {numbers}",
        }[self.verdict]

    def noether(
        self, coordinates: Sequence[str], momenta: Sequence[str] | None = None
    ) -> str:
        """Noether quantity p·ξ without F, in words of `momenta` (``p_x`` ...)."""
        momenta = momenta or [f"p_{name}" for name in coordinates]
        terms = [*zip(self.offset, momenta, strict=True)]
        for p, row in zip(momenta, self.matrix, strict=True):
            terms += [(a, f"{q}*{p}") for q, a in zip(coordinates, row, strict=True)]
        return signed_sum(sorted(terms, key=lambda one: one[0] < 0))


def signed_sum(terms) -> str:
    """Sum of (number, text) as one reads it.

    >>> signed_sum([(1.0, "x*p_y"), (-0.25, "y*p_x"), (0.0, "p_x")])
    'x*p_y - 0.25*y*p_x'
    """
    shown = ""
    for number, text in terms:
        size = "" if abs(number) == 1 else f"{abs(number):.4g}*"
        if number != 0:
            shown += f" {'-' if number < 0 else '+'} {size}{text}"
    lead = "-" if shown.startswith(" -") else ""
    return lead + shown[3:] or "0"


def change_along(
    q: np.ndarray, qdot: np.ndarray, gradient: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """X_a φ_f of dof translations, then dof² linear maps, all of the size `scale`.

    Shape (sample, generator, function), from states (sample, dof) and the `gradient`
    ∂φ_f/∂(q, q̇), (2 dof, sample, function). The generators are e_i s_i and e_i s_i
    q_j/s_j: nothing depends on units.
    """
    count, n = q.shape
    by_q, by_v = gradient[:n], gradient[n:]
    change = np.empty((count, n + n * n, gradient.shape[-1]))
    for i in range(n):
        change[:, i] = scale[i] * by_q[i]
        for j in range(n):
            moved = q[:, j, None] * by_q[i] + qdot[:, j, None] * by_v[i]
            change[:, n + n * i + j] = scale[i] / scale[j] * moved
    return change


def sizes_along(
    q: np.ndarray, momenta: np.ndarray, scale: np.ndarray, rate: float, degree: int
) -> np.ndarray:
    """ω p·ξ_a of the generators of `change_along`, shape (sample, generator).

    The momenta (sample, dof) are brought to the gauge p − ∇F(q) of least squares.
    """
    _, gradients = polynomials(q, scale, degree)
    columns = gradients.swapaxes(1, 2).reshape(-1, gradients.shape[1])
    gauge = np.linalg.lstsq(columns, momenta.ravel(), rcond=None)[0]
    least = momenta - (columns @ gauge).reshape(momenta.shape)
    turned = least[:, :, None] * scale[:, None] * (q / scale)[:, None, :]
    return rate * np.hstack([least * scale, turned.reshape(len(q), -1)])


def polynomials(q: np.ndarray, scale: np.ndarray, degree: int):
    """Monomials of q/s up to a degree, and their gradients.

    Shapes (sample, polynomial) and (sample, polynomial, dof); the constant is left out.
    """
    powers = multi_indices(q.shape[1], degree)[1:]
    x = q / scale
    values = np.prod(x[:, None] ** powers, axis=-1)
    gradients = np.empty((*values.shape, q.shape[1]))
    for i in range(q.shape[1]):
        lower = powers.copy()
        lower[:, i] = np.maximum(lower[:, i] - 1, 0)
        lowered = np.prod(x[:, None] ** lower, axis=-1)
        gradients[..., i] = powers[:, i] * lowered / scale[i]
    return values, gradients


class Invariance:
    """Which generators leave an L unchanged: the generalised eigenproblem of ν².

    Parameters
    ----------
    scale
        s, shape (dof,).
    change
        X_a φ_f, shape (sample, generator, function); see :func:`change_along`.
    total
        Total derivatives of polynomials F, shape (sample, polynomial).
    size
        ω p·ξ_a, shape (sample, generator); see :func:`sizes_along`.
    coefficients, factor
        c, shape (function,), and F of its posterior covariance FᵀF, (direction,
        function).
    truncation
        Change of c where the series of terms is cut, shape (function,).

    Raises
    ------
    ValueError
        If there are not more samples than generators and polynomials.
    """

    def __init__(
        self,
        scale: np.ndarray,
        change: np.ndarray,
        total: np.ndarray,
        size: np.ndarray,
        coefficients: np.ndarray,
        factor: np.ndarray,
        truncation: np.ndarray | float = 0.0,
    ):
        count, generators, _ = change.shape
        least = total.shape[1] + generators
        if count <= least:
            raise ValueError(
                f"symmetries need more than {least} samples of the motion, got "
                f"{count}; record more"
            )
        self.scale = scale
        left, singular, _ = np.linalg.svd(total, full_matrices=False)
        left = left[:, singular > ROUND_OFF * singular[0]]
        flat = change.reshape(count, -1)
        projected = (flat - left @ (left.T @ flat)).reshape(change.shape)
        residual = projected @ coefficients
        self._violation = residual.T @ residual / count
        self._spread = projected @ factor.T
        cut = projected @ np.broadcast_to(truncation, coefficients.shape)
        square = size.T @ size / len(size)
        self._size = square + ROUND_OFF * np.diag(np.diag(square))
        self._allowed = cut.T @ cut / count + LEAST_BOUND**2 * self._size

    def readings(self, resolution: float) -> list[list[Symmetry]]:
        """The nearest generator, then a basis of those that pass if they are several.

        The nearest alone if more pass than any L has: then that says nothing. Nor does
        one that passes though its momentum changes by its rms in a period, 2πν ≥ 1,
        which a basis would mix with symmetries. Each in several readings, the simplest
        first, as it was computed last: :func:`simplest`. `resolution` is the bound
        below which a symmetry is found.
        """
        n = len(self.scale)
        vectors = self._nearest_within(np.eye(n + n * n))
        selected = []
        for theta in vectors:
            violation, bound = self._numbers(theta)
            if violation >= min(bound, MOST_CHANGE / (2 * np.pi)):
                break
            selected.append(theta)
        several = 1 < len(selected) <= most_symmetries(n)
        spanning = [vectors[0], *(_echelon(np.array(selected)) if several else ())]
        return [self._readings(theta, resolution) for theta in spanning]

    def isometries(self, resolution: float) -> list[list[Symmetry]]:
        """Readings of the nearest translation, and of that with a rotation, that pass.

        A wide bound hides them among maps that no L has.
        """
        n = len(self.scale)
        columns, none = list(np.eye(n + n * n)[:n]), np.zeros(n)
        for i, j in combinations(range(n), 2):
            turn = np.zeros((n, n))
            turn[i, j], turn[j, i] = -1.0, 1.0
            columns.append(self._scaled(none, turn))
        some = (np.array(columns[:count]).T for count in (n, len(columns)))
        nearest = (self._nearest_within(each)[0] for each in some)
        return [self._readings(t, resolution) for t in nearest if self._passes(t)]

    def measured(self, symmetry: Symmetry) -> Symmetry:
        """The same generator with its violation of this L, and the bound of that."""
        theta = self._scaled(symmetry.offset, symmetry.matrix)
        violation, bound = self._numbers(theta)
        return replace(symmetry, violation=violation, bound=bound)

    def along(self, symmetry: Symmetry) -> np.ndarray:
        """P X L of each direction of the posterior, (sample, direction)."""
        theta = self._scaled(symmetry.offset, symmetry.matrix)
        return np.einsum("sad,a->sd", self._spread, theta)

    def _nearest_within(self, some: np.ndarray) -> np.ndarray:
        """Generators θ that are sums of columns, the least violation first."""
        from scipy.linalg import eigh  # slow to import, and seldom needed

        violation, size = (some.T @ m @ some for m in (self._violation, self._size))
        return (some @ eigh(violation, size)[1]).T

    def _numbers(self, theta: np.ndarray) -> tuple[float, float]:
        """ν and its bound of a generator θ, shape (generator,), in scaled units."""
        size = theta @ self._size @ theta
        spread = np.einsum("sad,a->sd", self._spread, theta)
        noise = sum_of_squares_quantile(spread.T @ spread / len(spread))
        square = theta @ self._violation @ theta, theta @ self._allowed @ theta + noise
        return tuple(float(np.sqrt(max(value, 0.0) / size)) for value in square)

    def _passes(self, theta: np.ndarray) -> bool:
        violation, bound = self._numbers(theta)
        return violation < bound

    def _scaled(self, offset: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """θ of b and A."""
        s = self.scale
        return np.concatenate([offset / s, (matrix * s / s[:, None]).ravel()])

    def _physical(self, theta: np.ndarray) -> np.ndarray:
        """(b, A) of θ in one vector, the largest entry 1."""
        s, n = self.scale, len(self.scale)
        offset, matrix = theta[:n] * s, theta[n:].reshape(n, n) * s[:, None] / s
        generator = np.concatenate([offset, matrix.ravel()])
        # The size of an entry of b is that of b/s, of A that of A.
        weight = np.concatenate([np.abs(theta[:n]), np.abs(matrix.ravel())])
        return generator / generator[np.argmax(weight)]

    def _readings(self, theta: np.ndarray, resolution: float) -> list[Symmetry]:
        """Simple b and A near θ: isometries of entries ±1, readable numbers, θ."""
        n, generator = len(self.scale), self._physical(theta)
        offset, matrix = self._readable(generator)
        turning, still = np.sign(np.trunc(matrix - matrix.T)), np.zeros(n)
        candidates = [(still, turning), (still, matrix), (offset, matrix)]
        if not matrix.any():
            candidates.insert(0, (np.sign(offset), matrix))
        if turning.any():
            about = np.append(self._best_offset(turning), turning)
            candidates.insert(1, self._readable(about / np.abs(about).max()))
        if matrix.any():
            candidates.append((self._best_offset(matrix), matrix))
        candidates.append((generator[:n], generator[n:].reshape(n, n)))
        result = {}
        for one in candidates:
            if any(part.any() for part in one):
                violation, bound = self._numbers(self._scaled(*one))
                symmetry = Symmetry(
                    *_leading_positive(*one), violation, bound, bound < resolution
                )
                result.setdefault(symmetry.entries, symmetry)
        return list(result.values())

    def _readable(self, generator: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nearest readable b and A of numbers up to 1."""
        n = len(self.scale)
        nearest = np.array([_nearest(value) for value in generator])
        return nearest[:n], nearest[n:].reshape(n, n)

    def _best_offset(self, matrix: np.ndarray) -> np.ndarray:
        """Offset b with the smallest violation beside a given A."""
        n = len(self.scale)
        rest = self._scaled(np.zeros(n), matrix)
        pulled = self._violation[:n] @ rest
        return -self.scale * np.linalg.pinv(self._violation[:n, :n]) @ pulled


def most_symmetries(dof: int) -> int:
    """As many as a metric has, that of the kinetic energy: n(n+1)/2."""
    return dof * (dof + 1) // 2


def simplest(readings: Sequence[Symmetry]) -> Symmetry:
    """The first reading of a generator that is not denied; the last if all are."""
    passed = (one for one in readings if one.violation < one.bound)
    return next(passed, readings[-1])


def sum_of_squares_quantile(covariance: np.ndarray) -> float:
    """Quantile at `PROBABILITY` of |x|² for normal x (Satterthwaite 1946).

    >>> round(sum_of_squares_quantile(np.eye(1)), 2)  # three standard errors
    9.0
    >>> round(sum_of_squares_quantile(np.eye(100)), 1)
    143.8
    """
    from scipy.special import gammaincinv  # slow to import, and seldom needed

    trace, square = np.trace(covariance), float((covariance**2).sum())
    if not square > 0:
        return 0.0
    degrees = trace**2 / square
    return float(2 * square / trace * gammaincinv(degrees / 2, PROBABILITY))


def _nearest(value: float) -> float:
    """Nearest readable number."""
    best = min(READABLE, key=lambda number: abs(number - abs(value)))
    return float(np.copysign(best, value)) if best else 0.0


def _leading_positive(offset: np.ndarray, matrix: np.ndarray):
    """The sign that makes the entry of the last row, or the first offset, positive."""
    entries = np.concatenate([matrix[::-1].ravel(), offset])
    lead = entries[np.flatnonzero(np.abs(entries) > 1e-9)[0]]
    return (offset, matrix) if lead > 0 else (-offset + 0.0, -matrix + 0.0)


def _echelon(vectors: np.ndarray) -> np.ndarray:
    """Basis of the same space with as many zeros as elimination gives."""
    from scipy.linalg import qr

    _, _, order = qr(vectors, pivoting=True, mode="economic")
    return np.linalg.solve(vectors[:, order[: len(vectors)]], vectors)


def symmetries_of_terms(
    terms: Sequence[sp.Expr],
    coefficients: np.ndarray,
    errors: np.ndarray,
    q: np.ndarray,
    qdot: np.ndarray,
    state: Sequence[sp.Symbol],
) -> list[Symmetry]:
    """Affine symmetries of L = Σ c_f φ_f(q, q̇), a sum of written terms.

    `errors` of c are taken as independent; states `q`, `qdot` (sample, dof) of the
    motion say how large things are; `state` are the symbols of q, then of q̇.
    """
    n, count = q.shape[1], len(q)
    columns = list(np.hstack([q, qdot]).T)
    slopes = np.empty((2 * n, len(terms), count))
    for i, s in enumerate(state):
        for f, term in enumerate(terms):
            slope = sp.lambdify(state, sp.diff(term, s), "numpy")
            slopes[i, f] = slope(*columns)
    gradient = slopes.swapaxes(1, 2)
    scale = q.std(axis=0)
    rate = float(np.sqrt(np.mean((qdot.std(axis=0) / scale) ** 2)))
    change = change_along(q, qdot, gradient, scale)
    total = total_rates(q, qdot, scale)
    momenta = (gradient[n:] @ coefficients).T
    size = sizes_along(q, momenta, scale, rate, GAUGE_DEGREE)
    known = np.diag(np.nan_to_num(errors))
    problem = Invariance(scale, change, total, size, coefficients, known)
    readings = problem.readings(RESOLUTION)
    return [simplest(some) for some in readings[1:] or readings]


def total_rates(q: np.ndarray, qdot: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Rates dF/dt of the monomials F of q/s, and of t; shape (sample, polynomial)."""
    _, gradients = polynomials(q, scale, GAUGE_DEGREE)
    rates = np.einsum("sfi,si->sf", gradients, qdot)
    return np.hstack([rates, np.ones((len(q), 1))])


def symmetries_of(dataset: xr.Dataset) -> list[Symmetry]:
    """Symmetries of one replicate and case, none if they were not looked for."""
    if "symmetry_offset" not in dataset:
        return []
    names = [field.name for field in fields(Symmetry)]
    arrays = [dataset[f"symmetry_{name}"].values for name in names]
    result = (Symmetry(*values) for values in zip(*arrays, strict=True))
    return [one for one in result if np.isfinite(one.offset).all()]
