"""Port-Hamiltonian differential-algebraic system, stated as text, derived symbolically.

.. math::  E \\dot x = (J - R)\\, z(x) + B u, \\qquad y = B^T z(x), \\qquad
           E^T z = \\nabla H ,

with constant :math:`J = -J^T`, :math:`R = R^T \\ge 0` (Mehrmann and Morandin 2019;
Zaspel and Günther 2024, eqs. 1 and 2). A chart gives the states in minimal coordinates;
what it leaves out (algebraic states, multipliers) follows from the equation itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from leastaction.core.expressions import check_name, parse, symbol, unknown
from leastaction.ports.dae import Constraint, PortDae, compiled, linearised

# Points at which an identity is tested, and what round-off makes of an equality there.
POINTS_OF_IDENTITIES, RELATIVE_ROUNDOFF = 7, 1e-9

HIGHEST_INDEX = 6
# Of the numbers of a printed equation.
DIGITS = 6


class PortHamiltonianError(ValueError):
    """A system that is not port-Hamiltonian, or whose states do not follow from it."""


@dataclass(frozen=True, eq=False)
class PortHamiltonianSystem:
    """One system: matrices, efforts, energy, and the chart of its solutions."""

    states: tuple[str, ...]  # x
    inputs: tuple[str, ...]  # u
    parameters: Mapping[str, float]  # value of every other name
    flow: sp.Matrix  # E, J, R and B; entries hold parameters, those of R states, too
    structure: sp.Matrix
    dissipation: sp.Matrix
    port: sp.Matrix
    efforts: sp.Matrix  # z(x)
    hamiltonian: sp.Expr  # H(x)
    constraint: tuple[sp.Expr, ...]  # expressions that vanish along every solution
    chart: Mapping[str, sp.Expr]  # by state, its expression in minimal coordinates
    coordinates: tuple[str, ...]  # minimal ones ξ; without a chart, states under E

    # The same question that systems of coordinates answer: there is no random force.
    wiener_processes = 0

    @classmethod
    def from_config(cls, config: Mapping) -> "PortHamiltonianSystem":
        """System described by a `system` section with `states`.

        Raises
        ------
        ValueError
            If a name or an expression is invalid, or a matrix has the wrong shape.
        PortHamiltonianError
            Listing everything: J not skew, R not symmetric and positive semidefinite,
            E that is not diag(D, 0) up to the order of the states, Eᵀz ≠ ∇H on the
            solutions, a constraint that the chart does not keep, rates that the
            equation does not determine.
        """
        states, inputs = tuple(config["states"]), tuple(config.get("inputs") or {})
        parameters = {k: float(v["value"]) for k, v in config["parameters"].items()}
        written = config.get("chart") or {}
        own_states = tuple(written.get("coordinates") or {})
        names = [*states, *inputs, *parameters, *own_states]
        for name in names:
            check_name(name)
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)}: declared twice; rename one of them")
        known, count = [*states, *parameters], len(states)
        chart = {
            state: parse(text, [*own_states, *parameters])
            for state, text in (written.get("states") or {}).items()
        }
        flow = _matrix(config, "flow", parameters, count)
        if not own_states:
            own_states = tuple(s for i, s in enumerate(states) if any(flow[:, i]))
            chart = {name: symbol(name) for name in own_states}
        others = sorted(set(chart) - set(states))
        if others:
            raise ValueError(f"chart: {', '.join(others)} is no state of {states}")
        system = cls(
            states=states,
            inputs=inputs,
            parameters=parameters,
            flow=flow,
            structure=_matrix(config, "structure", parameters, count),
            dissipation=_matrix(config, "dissipation", known, count),
            port=_matrix(config, "port", parameters, len(inputs)),
            efforts=_matrix(config, "efforts", known, 1),
            hamiltonian=parse(config["hamiltonian"], known),
            constraint=tuple(parse(t, known) for t in config.get("constraint") or ()),
            chart=chart,
            coordinates=own_states,
        )
        problems = [*_matrix_problems(system)] or [*_chart_problems(system)]
        if problems:
            raise PortHamiltonianError("; ".join(problems))
        return system

    def evaluated(self, expression):
        """`expression` (or a matrix) with the numbers of the parameters."""
        numbers = {symbol(k): sp.Float(v, 17) for k, v in self.parameters.items()}
        return expression.subs(numbers)

    @property
    def constraint_texts(self) -> list[str]:
        """Constraints as text, with the numbers of the parameters."""
        return [str(self.evaluated(e)) for e in self.constraint]

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """States that the chart leaves out: the equation gives them."""
        return tuple(s for s in self.states if s not in self.chart)

    def numbers(self, matrix: sp.Matrix) -> np.ndarray:
        """A matrix without states, as numbers."""
        result = np.array(self.evaluated(matrix).tolist(), dtype=float)
        return result.reshape(matrix.shape)

    def _compiled(self, names: Sequence, matrix: sp.Matrix, shape=()) -> Callable:
        arguments = [[symbol(name) for name in group] for group in names]
        return compiled(arguments, self.evaluated(matrix), shape)

    @property
    def constant(self) -> bool:
        """Whether R holds no state."""
        return not self.dissipation.has(*map(symbol, self.states))

    @cached_property
    def effort_values(self) -> Callable[[np.ndarray], np.ndarray]:
        """Efforts z of states (point, state)."""
        return self._compiled([self.states], self.efforts, (len(self.states),))

    @cached_property
    def dissipation_values(self) -> Callable[[np.ndarray], np.ndarray]:
        """R of states (point, state), shape (point, row, effort)."""
        shape = self.dissipation.shape
        return self._compiled([self.states], self.dissipation, shape)

    @cached_property
    def dae(self) -> PortDae:
        """The system as numbers, to be simulated or coupled like an identified one.

        Raises
        ------
        PortHamiltonianError
            If R depends on the states.
        """
        if not self.constant:
            raise PortHamiltonianError(
                "the dissipation depends on the states; simulate it by driven_motions"
            )
        x = [symbol(s) for s in self.states]
        slopes = self.evaluated(self.efforts.jacobian(x))
        matrices = (self.flow, self.structure, self.dissipation, self.port)
        return PortDae(
            self.states,
            *map(self.numbers, matrices),
            linearised=linearised(x, self.evaluated(self.efforts), slopes),
            hamiltonian=self._compiled([self.states], sp.Matrix([self.hamiltonian])),
            constraint=Constraint.of(self.states, self.constraint_texts),
        )

    @cached_property
    def _chart(self) -> Callable[[np.ndarray], np.ndarray]:
        """States of ξ, zero where the chart leaves them out."""
        places = sp.Matrix([self.chart.get(s, 0) for s in self.states])
        return self._compiled([self.coordinates], places, (len(self.states),))

    @property
    def _pushed(self) -> sp.Matrix:
        """B u; zero without inputs."""
        u = list(map(symbol, self.inputs))
        return self.port * sp.Matrix(len(u), 1, u)

    @cached_property
    def _rate_equations(self) -> tuple[Callable, Callable]:
        """Matrix and right side of ξ and u that dξ/dt and the states left out solve."""
        inside = {symbol(s): e for s, e in self.chart.items()}
        rates = [sp.Dummy() for _ in self.coordinates]
        place = sp.Matrix([inside.get(symbol(s), symbol(s)) for s in self.states])
        motion = place.jacobian([symbol(c) for c in self.coordinates])
        balance = (
            self.flow * (motion * sp.Matrix(rates))
            - (self.structure - self.dissipation) * self.efforts.subs(inside)
            - self._pushed
        )
        unknowns = [*rates, *map(symbol, self.left_out)]
        matrix = balance.jacobian(unknowns)
        if matrix.has(*unknowns):
            raise PortHamiltonianError(
                f"the equation is not linear in {', '.join(self.left_out)}, which the "
                "chart leaves out; give them in the chart"
            )
        right = -balance.subs(dict.fromkeys(unknowns, 0))
        names = self.coordinates, self.inputs
        return (
            self._compiled(names, matrix, matrix.shape),
            self._compiled(names, right, (len(self.states),)),
        )

    def _solution(self, xi: np.ndarray, u: np.ndarray) -> np.ndarray:
        """dξ/dt and the states left out, shape (point, unknown)."""
        matrix, right = self._rate_equations
        return _solved(matrix(xi, u), right(xi, u))

    def rates(self, xi: np.ndarray, u: np.ndarray) -> np.ndarray:
        """dξ/dt of points (point, coordinate) under inputs (point, port)."""
        return self._solution(xi, u)[:, : len(self.coordinates)]

    def states_at(self, xi: np.ndarray, u: np.ndarray) -> np.ndarray:
        """All states of points of the chart, shape (point, state)."""
        x = self._chart(xi)
        if self.left_out:
            places = [self.states.index(name) for name in self.left_out]
            x[:, places] = self._solution(xi, u)[:, len(self.coordinates) :]
        return x

    @cached_property
    def index(self) -> int:
        """Differentiation index: 1 plus the times algebraic rows are differentiated.

        The rows 0 = g(x_d, x_a, u) give x_a if their Jacobian by x_a is regular. Rows
        that hold no x_a are replaced by their derivative along ẋ_d = D⁻¹ f until it is.
        Inputs are kept out of it: constraints hold none.

        Raises
        ------
        ValueError
            If none is found up to 6.
        """
        flow = self.numbers(self.flow)
        differential = flow.any(axis=0)
        if differential.all():
            return 0
        x = [symbol(name) for name in self.states]
        d, a = (np.flatnonzero(of).tolist() for of in (differential, ~differential))
        right = (self.structure - self.dissipation) * self.efforts
        right = self.evaluated(right + self._pushed)
        speed = sp.Matrix(flow[np.ix_(d, d)]).inv() * right.extract(d, [0])
        inner, outer = [x[i] for i in d], [x[i] for i in a]
        algebraic = [right[i] for i in a]
        names = map(symbol, [*self.states, *self.inputs])
        generic = {s: sp.Float(0.3 + 0.1 * i) for i, s in enumerate(names)}
        for index in range(1, HIGHEST_INDEX + 1):
            slopes = sp.Matrix(algebraic).jacobian(outer)
            numbers = np.array(slopes.subs(generic).tolist(), dtype=float)
            size = np.linalg.svd(numbers, compute_uv=False)
            if size[-1] > RELATIVE_ROUNDOFF * max(1.0, size[0]):
                return index
            algebraic = [
                g if any(slopes[k, :]) else (sp.Matrix([g]).jacobian(inner) * speed)[0]
                for k, g in enumerate(algebraic)
            ]
        raise ValueError(f"no differentiation index up to {HIGHEST_INDEX} was found")

    def __str__(self) -> str:
        def shown(expression: sp.Expr | sp.Matrix) -> str:
            result = self.evaluated(expression)
            numbers = {x: sp.Float(x, DIGITS) for x in result.atoms(sp.Float)}
            result = result.xreplace(numbers)
            rows = result.tolist() if isinstance(result, sp.MatrixBase) else result
            return sp.sstr(rows, full_prec=False)

        z = (f"  z_{i} = {shown(e)}" for i, e in enumerate(self.efforts, 1))
        lines = [f"Port-Hamiltonian system of index {self.index}", "Efforts", *z]
        lines += ["Hamiltonian", f"  {shown(self.hamiltonian)}", "Matrices"]
        names = {"J": self.structure, "R": self.dissipation, "B": self.port}
        lines += [f"  {name} = {shown(matrix)}" for name, matrix in names.items()]
        return "\n".join(lines)


def _matrix(config: Mapping, name: str, names, columns: int) -> sp.Matrix:
    """Matrix with a row per state; a row of one entry may be a scalar."""
    rows = [row if isinstance(row, list) else [row] for row in config[name]]
    shape = (len(config["states"]), columns)
    sizes = (len(rows), len(rows[0]) if rows else 0)
    if sizes != shape or any(len(row) != columns for row in rows):
        raise ValueError(f"{name} has shape {sizes}, expected {shape}")
    return sp.Matrix([[parse(entry, names) for entry in row] for row in rows])


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solution of consistent systems (point, row, unknown), more rows than unknowns."""
    normal = np.einsum("kij,kil->kjl", matrix, matrix)
    moment = np.einsum("kij,ki->kj", matrix, right)
    return np.linalg.solve(normal, moment[..., None])[..., 0]


def _generic_points(size: int) -> np.ndarray:
    """Points (point, `size`) between 0.2 and 1.2, by irrational √(k + ½), k ≥ 2."""
    i = np.arange(POINTS_OF_IDENTITIES)[:, None]
    return 0.2 + np.mod((i + 1) * np.sqrt(2.5 + np.arange(size)), 1.0)


def _matrix_problems(system: PortHamiltonianSystem) -> Iterator[str]:
    if system.structure != -system.structure.T:
        yield f"structure J is not skew-symmetric: {system.structure.tolist()}"
    flow = system.numbers(system.flow)
    resistance = system.dissipation_values(_generic_points(len(system.states)))
    values = np.linalg.eigvalsh(resistance)
    turned = np.swapaxes(resistance, 1, 2)
    if not np.allclose(resistance, turned) or values.min() < -RELATIVE_ROUNDOFF:
        yield (
            "dissipation R must be symmetric and positive semidefinite; its "
            f"eigenvalues are {values[0]}"
        )
    rows, columns = flow.any(axis=1), flow.any(axis=0)
    if (rows != columns).any() or np.linalg.matrix_rank(flow) < rows.sum():
        yield "flow E must be diag(D, 0) with regular D, up to the order of states"


def _chart_problems(system: PortHamiltonianSystem) -> Iterator[str]:
    """Whether the chart solves the equation, at generic points with ξ > 0."""
    both = _generic_points(len(system.coordinates) + len(system.inputs))
    points, u = np.split(both, [len(system.coordinates)], axis=1)
    matrix, right = (of(points, u) for of in system._rate_equations)
    scale = 1 + np.abs(right).max()
    if np.linalg.matrix_rank(matrix).min() < matrix.shape[2]:
        yield (
            "the equation does not determine the rates of "
            f"{', '.join([*system.coordinates, *system.left_out])}"
        )
        return
    left = np.einsum("kij,kj->ki", matrix, _solved(matrix, right)) - right
    if np.abs(left).max() > RELATIVE_ROUNDOFF * scale:
        row = int(np.abs(left).max(axis=0).argmax())
        yield f"the chart does not solve row {row + 1} of the equation"
        return
    x = system.states_at(points, u)
    constraint = Constraint.of(system.states, system.constraint_texts)
    if constraint is not None:
        worst = np.abs(constraint.value(x)).max(axis=0)
        for text, value in zip(system.constraint, worst, strict=True):
            if value > RELATIVE_ROUNDOFF:
                yield f"the chart does not keep the constraint {text} = 0"
    energy = sp.Matrix([system.hamiltonian])
    gradient = energy.jacobian([symbol(s) for s in system.states])
    of_energy = system._compiled([system.states], gradient, (len(system.states),))
    flow = system.numbers(system.flow)
    worst = np.abs(system.effort_values(x) @ flow - of_energy(x)).max()
    if worst > RELATIVE_ROUNDOFF * scale:
        yield f"E^T z differs from the gradient of H by {worst:.3g}"


def input_function(
    system, written: Mapping, drawn: Mapping[sp.Symbol, float] | None = None
) -> Callable[[np.ndarray], np.ndarray]:
    """u(t) of times (time,) as an array (time, port), zero where none is `written`.

    Expressions may hold the symbols that were `drawn` beside time and parameters.
    """
    for name in written:
        if name not in system.inputs:
            raise ValueError(f"input: {unknown('input', name, system.inputs)}")
    drawn = drawn or {}
    names = ["time", *system.parameters, *map(str, drawn)]
    texts = [parse(written.get(name, "0"), names) for name in system.inputs]
    inputs = [system.evaluated(text).subs(drawn) for text in texts]
    at = compiled([[symbol("time")]], inputs, (len(inputs),))
    return lambda time: at(np.asarray(time, dtype=float)[:, None])
