"""J, R, B and H of a port-Hamiltonian equation as unknowns: coefficients and gauge.

.. math::  \\dot x = (J - R)\\, \\nabla H(x) + B u , \\qquad
           y = B^T \\nabla H(x) , \\qquad  H = \\sum_k c_k φ_k(x)

The gradients of the candidates are combinations of few functions g of the states,
:math:`\\nabla H = C(c)\\, g(x)`. Data determine the coefficients

.. math::  F(θ) = \\big( (J - R)\\, C,\\; B,\\; B^T C \\big)

of ẋ = W g + B u and y = Y g. Which θ = (J, R, B, c) give the same F is a gauge freedom:
with regular J − R and another energy of the same equation, ∇H' = S ∇H, every S with
S K = K Sᵀ for all Hessians K of H on the data gives J' − R' = (J − R) S⁻¹. Its
dimension is that of the null space of ∂F/∂θ, which does not depend on the noise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from leastaction.core.expressions import parse, symbol, to_text
from leastaction.ports.dae import compiled

UNKNOWN = "?"
# Kinds of unknowns, in the order in which the sparsest representative drops them.
CROSS, COUPLED_LOSS, STRUCTURE, DISSIPATION, PORT, ENERGY = range(6)
# Singular values below this share of the largest one are zero.
RANK_TOLERANCE = 1e-8
# Times that rows and columns of a Jacobian are divided by their norms, for any units.
SWEEPS = 20
# And those below so many times what errors of the unknowns make of a zero.
ERRORS_OF_ZERO = 2.0


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidates φ of H, and the functions g that their gradients consist of."""

    states: tuple[str, ...]
    terms: tuple[sp.Expr, ...]

    @classmethod
    def of(cls, states: Sequence[str], texts: Sequence[str]) -> "Candidates":
        """Candidates of their texts."""
        return cls(tuple(states), tuple(parse(text, states) for text in texts))

    @cached_property
    def _gradients(self) -> tuple[list[sp.Expr], np.ndarray]:
        """Functions g, and T with ∂φ_k/∂x_i = Σ_l T_kil g_l."""
        places: dict[sp.Expr, int] = {}
        entries = []
        for k, term in enumerate(self.terms):
            for i, name in enumerate(self.states):
                slope = sp.expand(sp.diff(term, symbol(name)))
                for part in sp.Add.make_args(slope):
                    number, function = part.as_coeff_Mul()
                    if number != 0:
                        place = places.setdefault(function, len(places))
                        entries.append((k, i, place, float(number)))
        tensor = np.zeros((len(self.terms), len(self.states), len(places)))
        for k, i, place, number in entries:
            tensor[k, i, place] += number
        return list(places), tensor

    @property
    def tensor(self) -> np.ndarray:
        """T of ∇φ_k = T_k g, shape (term, state, function)."""
        return self._gradients[1]

    @property
    def functions(self) -> list[str]:
        """Functions g as text."""
        return [to_text(function) for function in self._gradients[0]]

    @property
    def several(self) -> np.ndarray:
        """Whether a candidate holds more than one state, shape (term,)."""
        return np.array([len(term.free_symbols) > 1 for term in self.terms])

    @cached_property
    def values(self) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """Function of states (point, state): g, and ∂g/∂x (point, function, state)."""
        x = [symbol(name) for name in self.states]
        g = self._gradients[0]
        count = len(g)
        both = compiled([x], [*g, *sp.Matrix(g).jacobian(x)], (count * (1 + len(x)),))

        def at(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            result = both(points)
            return result[:, :count], result[:, count:].reshape(-1, count, len(x))

        return at

    @cached_property
    def energies(self) -> Callable[[np.ndarray], np.ndarray]:
        """Function of states (point, state): candidates (point, term)."""
        x = [symbol(name) for name in self.states]
        return compiled([x], self.terms, (len(self.terms),))


@dataclass(frozen=True, eq=False)
class PortStructure:
    """What is known of J, R, B and H, and the coefficients of what is not.

    Every matrix is affine in the unknowns θ: a known part and one pattern per unknown.
    """

    candidates: Candidates
    known: tuple[np.ndarray, np.ndarray, np.ndarray]  # of J, R and B
    # The same of every unknown, shape (unknown, ...); zero for those of H.
    patterns: tuple[np.ndarray, np.ndarray, np.ndarray]
    names: tuple[str, ...]  # of the unknowns; those of H come last
    kinds: np.ndarray
    outputs: bool  # whether y is measured
    # Typical ∂²H/∂x_i², whatever the units of the states, shape (state,).
    stiffness: np.ndarray

    @classmethod
    def of(
        cls,
        candidates: Candidates,
        ports: int,
        structure="unknown",
        dissipation="unknown",
        port="unknown",
        outputs: bool = True,
        stiffness: np.ndarray | None = None,
    ) -> "PortStructure":
        """Structure of what is given: a word, or a matrix of numbers and ``"?"``.

        The `stiffness` is one for every state if absent.

        Examples
        --------
        >>> motor = Candidates.of(["phi", "p"], ["phi**2", "p**2", "phi*p"])
        >>> PortStructure.of(motor, 1, dissipation="diagonal").names[:5]
        ('J_12', 'R_11', 'R_22', 'B_11', 'B_21')

        Raises
        ------
        ValueError
            If a matrix has another shape, or is not skew (J) or symmetric (R).
        """
        n = len(candidates.states)
        known = (
            ("J", _entries("structure", structure, (n, n), -1), -1),
            ("R", _entries("dissipation", dissipation, (n, n), 1), 1),
            ("B", _entries("port", port, (n, ports), 0), 0),
        )
        result: list[tuple[int, str, int, np.ndarray]] = []
        for which, (letter, matrix, sign) in enumerate(known):
            for i, k in np.argwhere(np.isnan(matrix)):
                if sign and k < i:
                    continue
                pattern = np.zeros(matrix.shape)
                if sign:
                    pattern[k, i] = sign
                pattern[i, k] = 1.0
                kind = (STRUCTURE, DISSIPATION, PORT)[which]
                kind = COUPLED_LOSS if which == 1 and i != k else kind
                result.append((which, f"{letter}_{i + 1}{k + 1}", kind, pattern))
        count = len(result) + len(candidates.terms)
        patterns = tuple(np.zeros((count, *m.shape)) for _, m, _ in known)
        for place, (which, _, _, pattern) in enumerate(result):
            patterns[which][place] = pattern
        kinds = np.where(candidates.several, CROSS, ENERGY)
        return cls(
            candidates,
            tuple(np.nan_to_num(matrix) for _, matrix, _ in known),
            patterns,
            (*(name for _, name, _, _ in result), *map(to_text, candidates.terms)),
            np.array([*(kind for *_, kind, _ in result), *kinds]),
            bool(outputs),
            np.ones(n) if stiffness is None else np.asarray(stiffness),
        )

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.candidates.states)

    @property
    def inner(self) -> int:
        """Number of unknowns of J, R and B, which come before those of H."""
        return len(self.names) - len(self.candidates.terms)

    @cached_property
    def _affine(self) -> tuple[np.ndarray, np.ndarray]:
        """Known parts of J, R and B in one row, and those of every unknown."""
        patterns = [one.reshape(len(one), -1) for one in self.patterns]
        return np.concatenate([one.ravel() for one in self.known]), np.hstack(patterns)

    @cached_property
    def _slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of J − R and of C by every unknown."""
        tensor = self.candidates.tensor
        of_c = np.zeros((len(self.names), *tensor.shape[1:]))
        of_c[self.inner :] = tensor
        return self.patterns[0] - self.patterns[1], of_c

    def matrices(self, theta: np.ndarray) -> tuple[np.ndarray, ...]:
        """J, R, B and C of the unknowns."""
        known, patterns = self._affine
        n, tensor = self.states, self.candidates.tensor
        row = known + theta @ patterns
        j, r = row[: 2 * n**2].reshape(2, n, n)
        c = np.dot(theta[None, self.inner :], tensor.reshape(len(tensor), -1))
        return j, r, row[2 * n**2 :].reshape(n, -1), c.reshape(tensor.shape[1:])

    def coefficients(self, theta: np.ndarray) -> np.ndarray:
        """F: the entries of (J − R) C, of B, and if measured of Bᵀ C."""
        j, r, b, c = self.matrices(theta)
        measured = [(b.T @ c).ravel()] if self.outputs else []
        return np.concatenate([((j - r) @ c).ravel(), b.ravel(), *measured])

    def jacobian(self, theta: np.ndarray) -> np.ndarray:
        """∂F/∂θ, shape (coefficient, unknown)."""
        j, r, b, c = self.matrices(theta)
        (of_loss, of_c), of_b, count = self._slopes, self.patterns[2], len(self.names)
        rows = [of_loss @ c + (j - r) @ of_c, of_b]
        if self.outputs:
            rows.append(np.swapaxes(of_b, 1, 2) @ c + b.T @ of_c)
        return np.hstack([row.reshape(count, -1) for row in rows]).T

    def start(self) -> np.ndarray:
        """Unknowns of H = Σ k_i x_i²/2, as far as its terms are candidates."""
        theta = np.zeros(len(self.names))
        names = (symbol(name) ** 2 for name in self.candidates.states)
        squares = dict(zip(names, self.stiffness, strict=True))
        for k, term in enumerate(self.candidates.terms, self.inner):
            number, power = term.as_coeff_Mul()
            theta[k] = squares.get(power, 0.0) / (2 * float(number))
        return theta

    def hessians(self, theta: np.ndarray, points: np.ndarray) -> np.ndarray:
        """∂²H/∂x_i∂x_j over √(k_i k_j), shape (point, state, state)."""
        result = self.matrices(theta)[3] @ self.candidates.values(points)[1]
        return result / np.sqrt(np.outer(self.stiffness, self.stiffness))

    def without_units(self, matrix: np.ndarray) -> np.ndarray:
        """J, R or patterns of them times √(k_i k_j): of √k_i x_i, in 1/s."""
        return matrix * np.sqrt(np.outer(self.stiffness, self.stiffness))


def _entries(name: str, entries, shape: tuple[int, int], sign: int) -> np.ndarray:
    """Entries of a matrix, NaN where it is unknown; `sign` −1 if skew, 1 if symmetric.

    Zero on the diagonal of a skew one, whatever its entry.
    """
    if isinstance(entries, str):
        unknown = np.eye(*shape, dtype=bool) | (entries == "unknown")
        result = np.where(unknown & (entries != "none"), np.nan, 0.0)
    else:
        sizes = {len(entries), *(len(row) for row in entries)}
        if len(entries) != shape[0] or any(len(row) != shape[1] for row in entries):
            raise ValueError(f"{name} has rows of {sizes} entries, expected {shape}")
        numbers = [[np.nan if e == UNKNOWN else e for e in row] for row in entries]
        result = np.array(numbers, dtype=float).reshape(shape)
    if sign < 0:
        result[np.diag_indices(shape[0])] = 0.0
    if sign and not np.array_equal(result, sign * result.T, equal_nan=True):
        kind = "skew-symmetric" if sign < 0 else "symmetric"
        raise ValueError(
            f"{name} is {entries}, which is not {kind}; mend it, or write '?' for what "
            "is unknown"
        )
    return result


def gauge_basis(
    structure: PortStructure,
    theta: np.ndarray,
    free: np.ndarray | None = None,
    nearby: Sequence[np.ndarray] = (),
) -> np.ndarray:
    """Null vectors of ∂F/∂θ, shape (direction, unknown): moves that data do not see.

    The arguments are those of :func:`gauge_dim`.
    """
    free = np.ones(theta.size, dtype=bool) if free is None else np.asarray(free)
    slopes = structure.jacobian(theta)[:, free]
    rows, columns = np.ones(len(slopes)), np.ones(slopes.shape[1])
    for _ in range(SWEEPS):
        sizes = np.linalg.norm(slopes / np.outer(rows, columns), axis=1)
        rows *= np.where(sizes > 0, sizes, 1.0)
        sizes = np.linalg.norm(slopes / np.outer(rows, columns), axis=0)
        columns *= np.where(sizes > 0, sizes, 1.0)
    scale = np.outer(np.where(slopes.any(axis=1), rows, np.inf), columns)
    _, sizes, vectors = np.linalg.svd(slopes / scale, full_matrices=True)
    reached = np.full(len(vectors), RANK_TOLERANCE * sizes.max(initial=0.0))
    for other in nearby:
        change = (structure.jacobian(other)[:, free] - slopes) / scale
        moved = np.linalg.norm(change @ vectors.T, axis=0)
        reached = np.maximum(reached, ERRORS_OF_ZERO * moved)
    null = np.pad(sizes, (0, len(vectors) - len(sizes))) <= reached
    basis = np.zeros((int(null.sum()), theta.size))
    basis[:, free] = vectors[null] / columns
    return basis


def gauge_dim(
    structure: PortStructure,
    theta: np.ndarray,
    free: np.ndarray | None = None,
    nearby: Sequence[np.ndarray] = (),
) -> int:
    """Dimension of the gauge freedom at the unknowns θ: what data leave open.

    The nullity of ∂F/∂θ. Where it is zero, exact data determine J, R, B and H up to
    isolated alternatives; without outputs at least the scale of H is open. Evaluate it
    at a pruned model: superfluous small terms of H make it too small.

    Parameters
    ----------
    structure, theta
        What is known and the candidates; unknowns, exactly zero where pruned.
    free
        Unknowns that may move; all if absent.
    nearby
        Other values of θ that its errors allow, which break the symmetry of an exact H:
        a singular value of the Jacobian counts as zero below twice what the Jacobian of
        one of these does to its vector.

    Examples
    --------
    A linear system with one port, J, R, B and H unknown:

    >>> motor = Candidates.of(["phi", "p"], ["phi**2", "p**2", "phi*p"])
    >>> theta = np.array([-0.5, 1.0, 0.0, 0.2, 1.0, 0.0, 1.0, 2.0, 0.0])
    >>> gauge_dim(PortStructure.of(motor, 1), theta)
    1
    >>> gauge_dim(PortStructure.of(motor, 1, outputs=False), theta)
    3
    """
    return len(gauge_basis(structure, theta, free, nearby))


def equations_between_coefficients(
    structure: PortStructure, theta: np.ndarray, free: np.ndarray | None = None
) -> tuple[int, int]:
    """Coefficients F that do not vanish, and equations that structure imposes on them.

    A fit without structure has m such coefficients, one with structure the m' = rank
    ∂F/∂θ free ones; of a maximum likelihood the mean squares of the errors that noise
    makes of the motions and outputs are as m to m'. The arguments are those of
    :func:`gauge_dim`.

    Examples
    --------
    Without an equation, structure says no more of the motions than which terms they
    have:

    >>> motor = Candidates.of(["phi", "p"], ["phi**2", "p**2"])
    >>> theta = np.array([-0.5, 1.0, 0.0, 0.2, 1.0, 0.0, 1.0, 2.0])
    >>> equations_between_coefficients(PortStructure.of(motor, 1), theta, theta != 0)
    (6, 0)
    """
    free = np.ones(theta.size, dtype=bool) if free is None else np.asarray(free)
    moved = structure.jacobian(theta)[:, free].any(axis=1)
    count = int((moved | (structure.coefficients(theta) != 0)).sum())
    return count, count - int(free.sum()) + gauge_dim(structure, theta, free)
