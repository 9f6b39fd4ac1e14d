"""Library of implicit equations of motion, and the true relations within it.

An implicit equation of coordinate a is a linear relation Σ c_k Θ_k(q, q̇, q̈, Q) = 0
between candidates, some of which hold accelerations (Kaheman et al. 2020). The recorded
input of coordinate ``x`` is called ``x_input``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp

from leastaction.core.compiled import evaluator
from leastaction.core.euler_lagrange import acceleration_names, symbols, velocity_names
from leastaction.core.expressions import parse, to_text
from leastaction.core.gauge import exact_relations
from leastaction.core.library import candidates
from leastaction.core.system import System


@dataclass(frozen=True)
class ImplicitLibrary:
    """Candidates Θ_k(q, q̇, q̈, Q) of the implicit equation of every coordinate.

    `terms` are all candidates, each affine in q̈, `members` the positions of those of
    each coordinate's equation.
    """

    coordinates: tuple[str, ...]
    terms: tuple[sp.Expr, ...]
    members: tuple[tuple[int, ...], ...]

    @classmethod
    def from_config(cls, config: Mapping, coordinates: Sequence[str]):
        """Library of the `implicit` part of `library`: {coordinate: [recipe entries]}.

        ValueError unless each coordinate has an equation, with a candidate that holds
        its acceleration, and all candidates are affine in q̈.
        """
        recipes = json.dumps(config.get("implicit", {}))
        return _library(recipes, tuple(coordinates))

    @cached_property
    def names(self) -> list[str]:
        """Candidates as text."""
        return [to_text(term) for term in self.terms]

    def position(self, text: str) -> int:
        """Position of a candidate; ValueError if it is none."""
        rates = velocity_names(self.coordinates), acceleration_names(self.coordinates)
        names = [*self.coordinates, *input_names(self.coordinates)]
        term = parse(text, [*names, *rates[0], *rates[1]])
        if term not in self.terms:
            raise ValueError(
                f"{text!r} is no candidate of library.implicit; these are {self.names}"
            )
        return self.terms.index(term)

    @cached_property
    def qddot(self) -> tuple[sp.Symbol, ...]:
        """Symbols of the accelerations."""
        return symbols(acceleration_names(self.coordinates))

    def left_hand_sides(self, equation: int) -> list[int]:
        """Candidates of an equation that hold the acceleration of its coordinate."""
        acceleration = self.qddot[equation]
        return [k for k in self.members[equation] if self.terms[k].has(acceleration)]

    @cached_property
    def evaluate(self):
        """``evaluate(q, qdot, qddot, force=None)``, (sample, dof) to (sample, term)."""
        return self._evaluator(self.terms)

    @cached_property
    def slopes(self):
        """Return ∂Θ_k/∂q̈_a at samples, shape (sample, dof, term)."""
        dof = len(self.coordinates)
        parts = [sp.diff(term, x) for x in self.qddot for term in self.terms]
        compiled = self._evaluator(parts)

        def slopes(*motion):
            return compiled(*motion).reshape(-1, dof, len(self.terms))

        return slopes

    def _evaluator(self, expressions: Sequence[sp.Expr]):
        """Function of q, q̇, q̈ and Q; to the compiler Q are coordinates at rest."""
        names = (*self.coordinates, *input_names(self.coordinates))
        compiled = evaluator(expressions, names)

        def evaluate(q, qdot, qddot, force=None):
            rest = np.zeros_like(q)
            parts = (q, rest if force is None else force), (qdot, rest), (qddot, rest)
            q, qdot, qddot = (np.concatenate(pair, axis=1) for pair in parts)
            return compiled(q, qdot, qddot=qddot)

        return evaluate

    def truth(self, system: System, equation: int) -> np.ndarray:
        """Basis of all true relations in an equation, shape (relation, member).

        Accelerations are replaced by M⁻¹ F of `system`, and everything is multiplied by
        det M; what vanishes identically is the null space of a matrix of exact numbers.
        Inputs that no candidate holds are zero. The space has one dimension if there is
        one true equation, more if some candidates are redundant, none if the library
        cannot express the law.
        """
        mass, forces = (
            sp.nsimplify(system.evaluated(part), rational=True)
            for part in (system.mass_matrix, system.forces)
        )
        determinant = sp.expand(mass.det())
        inputs = symbols(input_names(self.coordinates))
        held = [any(term.has(x) for term in self.terms) for x in inputs]
        forces += sp.Matrix([x if h else 0 for x, h in zip(inputs, held, strict=True)])
        scaled = (mass.adjugate() * forces).applyfunc(sp.expand)
        columns = []
        for k in self.members[equation]:
            rest = self.terms[k].subs(dict.fromkeys(self.qddot, 0))
            column = rest * determinant
            for x, value in zip(self.qddot, scaled, strict=True):
                column += sp.diff(self.terms[k], x) * value
            columns.append(sp.expand(column))
        relations = exact_relations([(column,) for column in columns])
        basis = np.zeros((len(relations), len(columns)))
        for row, (k, parts) in zip(basis, relations.items(), strict=True):
            row[k] = 1.0
            for i, weight in parts.items():
                row[i] = -float(weight)
        return basis


def input_names(coordinates: Sequence[str]) -> tuple[str, ...]:
    """Names of the generalised external forces of coordinates."""
    return tuple(f"{name}_input" for name in coordinates)


@lru_cache(maxsize=32)
def _library(text: str, coordinates: tuple[str, ...]) -> ImplicitLibrary:
    recipes = json.loads(text)
    if set(recipes) != set(coordinates):
        raise ValueError(
            f"library.implicit has equations for {sorted(recipes)}; the "
            f"coordinates are {list(coordinates)}"
        )
    accelerations = acceleration_names(coordinates)
    qddot = symbols(accelerations)
    names = (*coordinates, *velocity_names(coordinates), *accelerations)
    names += input_names(coordinates)
    terms, members = [], []
    for name, qddot_a in zip(coordinates, qddot, strict=True):
        functions = candidates(recipes[name], names)
        if not any(term.has(qddot_a) for term in functions):
            raise ValueError(f"library.implicit.{name}: no candidate has {qddot_a}")
        for term in functions:
            if any(sp.diff(term, x).has(*qddot) for x in qddot):
                where = f"library.implicit.{name}"
                raise ValueError(f"{where}: {term} is not linear in the accelerations")
        terms += [term for term in functions if term not in terms]
        members.append(tuple(terms.index(term) for term in functions))
    return ImplicitLibrary(coordinates, tuple(terms), tuple(members))


def true_relation(
    support: Sequence[int], basis: np.ndarray, left: Sequence[int]
) -> np.ndarray | None:
    """Coefficients (member,) of the true equation with exactly the terms of `support`.

    There is one if one relation of the `basis` (:meth:`ImplicitLibrary.truth`), and
    only one, holds between them, all of them take part in it, and it determines the
    acceleration, which the members `left` hold. So any multiple of the equation of
    motion is accepted, and any equivalent form; a term too many or too few is not. Else
    None.
    """
    if not set(support) & set(left) or not len(basis):
        return None
    weights = np.eye(len(basis))
    outside = np.setdiff1d(np.arange(basis.shape[1]), support)
    if outside.size:
        _, values, rows = np.linalg.svd(basis[:, outside].T, full_matrices=True)
        rank = int((values > 1e-9 * max(values.max(initial=0.0), 1.0)).sum())
        weights = rows[rank:]
    if len(weights) != 1:
        return None
    relation = weights[0] @ basis
    small = np.abs(relation) <= 1e-9 * np.abs(relation).max()
    return None if small[list(support)].any() else np.where(small, 0.0, relation)
