"""Port-Hamiltonian differential-algebraic system, stated as text, derived symbolically.

.. math::  E \\dot x = (J - R)\\, z(x) + B u, \\qquad y = B^T z(x), \\qquad
           E^T z = \\nabla H ,

with constant :math:`J = -J^T`, :math:`R = R^T \\ge 0` (Mehrmann and Morandin 2019;
Zaspel and Günther 2024, eqs. 1 and 2). A chart gives the states in minimal coordinates;
what it leaves out (algebraic states, multipliers) follows from the equation itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import sympy as sp

from leastaction.mechanics.differentiation_index import differentiation_index
from leastaction.mechanics.expressions import check_name, parse, symbol
from leastaction.mechanics.port_dae import PortDae, constraint_geometry

ROUNDING = 1e-9
# Points at which an identity is tested by number.
POINTS = 7


class PortHamiltonianError(ValueError):
    """A system that is not port-Hamiltonian, or whose states do not follow from it."""


@dataclass(frozen=True, eq=False)
class PortHamiltonianSystem:
    """One system: matrices, efforts, energy, and the chart of its solutions.

    Attributes
    ----------
    states, inputs
        Names of x and u.
    parameters
        Value of every other name.
    flow, structure, dissipation, port
        E, J, R and B; entries may hold parameters.
    efforts
        z(x), one expression per state.
    hamiltonian
        H(x).
    constraint
        Expressions in the states that vanish along every solution.
    chart
        By state, its expression in minimal coordinates.
    coordinates
        Minimal coordinates ξ; without a chart, the states that E differentiates.
    """

    states: tuple[str, ...]
    inputs: tuple[str, ...]
    parameters: Mapping[str, float]
    flow: sp.Matrix
    structure: sp.Matrix
    dissipation: sp.Matrix
    port: sp.Matrix
    efforts: sp.Matrix
    hamiltonian: sp.Expr
    constraint: tuple[sp.Expr, ...] = ()
    chart: Mapping[str, sp.Expr] = field(default_factory=dict)
    coordinates: tuple[str, ...] = ()

    # The same question that systems of coordinates answer: there is no random force.
    wiener_processes = 0

    @classmethod
    def from_config(cls, config: Mapping) -> "PortHamiltonianSystem":
        """System described by a `system` section with `states`.

        Raises
        ------
        ValueError
            If a name or an expression is no good, a matrix has the wrong shape, or the
            system is not port-Hamiltonian (:meth:`check`).
        """
        states, inputs = tuple(config["states"]), tuple(config.get("inputs") or {})
        parameters = {k: float(v["value"]) for k, v in config["parameters"].items()}
        written = config.get("chart") or {}
        own = tuple(written.get("coordinates") or {})
        names = [*states, *inputs, *parameters, *own]
        for name in names:
            check_name(name)
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)}: declared twice; rename one of them")
        constants, known = list(parameters), [*states, *parameters]
        count, ports = len(states), len(inputs)
        efforts = _matrix(config, "efforts", known, (count, 1))
        chart = {
            state: parse(text, [*own, *constants])
            for state, text in (written.get("states") or {}).items()
        }
        flow = _matrix(config, "flow", constants, (count, count))
        if not own:
            own = tuple(s for i, s in enumerate(states) if any(flow[:, i]))
            chart = {name: symbol(name) for name in own}
        strange = sorted(set(chart) - set(states))
        if strange:
            raise ValueError(f"chart: {', '.join(strange)} is no state of {states}")
        system = cls(
            states=states,
            inputs=inputs,
            parameters=parameters,
            flow=flow,
            structure=_matrix(config, "structure", constants, (count, count)),
            dissipation=_matrix(config, "dissipation", constants, (count, count)),
            port=_matrix(config, "port", constants, (count, ports)),
            efforts=efforts,
            hamiltonian=parse(config["hamiltonian"], known),
            constraint=tuple(parse(t, known) for t in config.get("constraint") or ()),
            chart=chart,
            coordinates=own,
        )
        system.check()
        return system

    def evaluated(self, expression):
        """`expression` (or a matrix) with the numbers of the parameters."""
        numbers = {symbol(k): sp.Float(v, 17) for k, v in self.parameters.items()}
        return expression.subs(numbers)

    def number(self, name: str) -> np.ndarray:
        """Matrix `flow`, `structure`, `dissipation` or `port` as an array."""
        matrix = self.evaluated(getattr(self, name))
        return np.array(matrix.tolist(), dtype=float).reshape(matrix.shape)

    @property
    def transformation(self) -> np.ndarray:
        """A = J − R, shape (row, effort)."""
        return self.number("structure") - self.number("dissipation")

    def check(self) -> None:
        """Check that the system is port-Hamiltonian and its chart solves it.

        Raises
        ------
        PortHamiltonianError
            Listing everything: J not skew, R not symmetric and positive semidefinite,
            A singular, E that is not diag(D, 0) up to the order of the states,
            Eᵀz ≠ ∇H on the solutions, a constraint that the chart does not keep, rates
            that the equation does not determine.
        """
        problems = list(self._matrix_problems())
        if not problems:
            problems += self._chart_problems()
        if problems:
            raise PortHamiltonianError("; ".join(problems))

    def _matrix_problems(self):
        if self.structure != -self.structure.T:
            yield f"structure J is not skew-symmetric: {self.structure.tolist()}"
        resistance = self.number("dissipation")
        values = np.linalg.eigvalsh(resistance)
        if not np.allclose(resistance, resistance.T) or values.min() < -ROUNDING:
            yield (
                "dissipation R must be symmetric and positive semidefinite; its "
                f"eigenvalues are {values}"
            )
        size = np.linalg.svd(self.transformation, compute_uv=False)
        if size[-1] < ROUNDING * size[0]:
            yield "J - R is singular: efforts in its kernel cannot be identified"
        flow = self.number("flow")
        rows, columns = flow.any(axis=1), flow.any(axis=0)
        if (rows != columns).any() or np.linalg.matrix_rank(flow) < rows.sum():
            yield "flow E must be diag(D, 0) with regular D, up to the order of states"

    def _chart_problems(self):
        points = self._points()
        u = np.linspace(-0.7, 0.9, POINTS)[:, None] * np.ones(len(self.inputs))
        matrix, right = self._rate_equations(points, u)
        solved = self._solve(matrix, right)
        left = np.einsum("kij,kj->ki", matrix, solved) - right
        scale = 1 + np.abs(right).max()
        if np.linalg.matrix_rank(matrix).min() < matrix.shape[2]:
            yield (
                "the equation does not determine the rates of "
                f"{', '.join(self.coordinates)} and {', '.join(self.left_out) or '-'}"
            )
        elif np.abs(left).max() > ROUNDING * scale:
            row = int(np.abs(left).max(axis=0).argmax())
            yield f"the chart does not solve row {row + 1} of the equation"
        else:
            x = self.states_at(points, u)
            for text, values in zip(self.constraint, self.constraint_at(x).T, strict=True):
                if np.abs(values).max() > ROUNDING:
                    yield f"the chart does not keep the constraint {text} = 0"
            worst = np.abs(self.gradient_defect(x)).max()
            if worst > ROUNDING * scale:
                yield f"E^T z differs from the gradient of H by {worst:.3g}"

    def _points(self) -> np.ndarray:
        """Generic points of the chart, shape (POINTS, coordinate); all positive."""
        count = len(self.coordinates)
        i = np.arange(POINTS)[:, None] + 1
        return 0.2 + np.mod(i * np.sqrt(2.0 + np.arange(count)), 1.0)

    @cached_property
    def differential(self) -> np.ndarray:
        """Places of the states that E differentiates."""
        return np.flatnonzero(self.number("flow").any(axis=0))

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """States that the chart leaves out: the equation gives them."""
        return tuple(s for s in self.states if s not in self.chart)

    @cached_property
    def _numeric(self) -> dict:
        """Compiled functions of all states, and of (ξ, u)."""
        x = [symbol(s) for s in self.states]
        xi = [symbol(c) for c in self.coordinates]
        u = [symbol(n) for n in self.inputs]
        w = [symbol(s) for s in self.left_out]
        inside = {symbol(s): e for s, e in self.chart.items()}
        rates = [sp.Dummy() for _ in xi]
        place = sp.Matrix([inside.get(s, s) for s in x])
        motion = place.jacobian(xi) * sp.Matrix(rates)
        balance = (
            self.flow * motion
            - (self.structure - self.dissipation) * self.efforts.subs(inside)
            - self.port * sp.Matrix(u)
        )
        unknowns = [*rates, *w]
        matrix = balance.jacobian(unknowns)
        if matrix.has(*unknowns):
            raise PortHamiltonianError(
                f"the equation is not linear in {', '.join(self.left_out)}, which the "
                "chart leaves out; give them in the chart"
            )
        right = -balance.subs(dict.fromkeys(unknowns, 0))
        gradient = sp.Matrix([self.hamiltonian]).jacobian(x).T

        def compiled(arguments, expression):
            flat = list(self.evaluated(sp.Matrix([expression])))
            return sp.lambdify(arguments, flat, "numpy", cse=True)

        return {
            "efforts": compiled([x], self.efforts),
            "jacobian": compiled([x], self.efforts.jacobian(x)),
            "hamiltonian": compiled([x], self.hamiltonian),
            "gradient": compiled([x], gradient),
            "constraint": compiled([x], sp.Matrix(self.constraint)),
            "chart": compiled([xi], sp.Matrix([inside.get(s, 0) for s in x])),
            "matrix": compiled([xi, u], matrix),
            "right": compiled([xi, u], right),
        }

    def _call(self, name: str, shape: tuple, x: np.ndarray, *more) -> np.ndarray:
        """Function of points (point, argument) as an array (point, *shape)."""
        values = self._numeric[name](x.T, *(m.T for m in more))
        found = np.empty((len(x), len(values)))
        for i, value in enumerate(values):
            found[:, i] = value
        return found.reshape(len(x), *shape)

    def efforts_at(self, x: np.ndarray) -> np.ndarray:
        """z of states, shape (point, effort)."""
        return self._call("efforts", (len(self.states),), x)

    def jacobian_at(self, x: np.ndarray) -> np.ndarray:
        """∂z/∂x of states, shape (point, effort, state)."""
        return self._call("jacobian", (len(self.states),) * 2, x)

    def hamiltonian_at(self, x: np.ndarray) -> np.ndarray:
        """H of states, shape (point,)."""
        return self._call("hamiltonian", (), x)

    def gradient_defect(self, x: np.ndarray) -> np.ndarray:
        """Eᵀz − ∇H at states, shape (point, state): zero on every solution."""
        gradient = self._call("gradient", (len(self.states),), x)
        return self.efforts_at(x) @ self.number("flow") - gradient

    def constraint_at(self, x: np.ndarray) -> np.ndarray:
        """Constraints at states, shape (point, constraint)."""
        if not self.constraint:
            return np.zeros((len(x), 0))
        return self._call("constraint", (len(self.constraint),), x)

    def _rate_equations(self, xi, u) -> tuple[np.ndarray, np.ndarray]:
        rows = len(self.states)
        unknowns = len(self.coordinates) + len(self.left_out)
        matrix = self._call("matrix", (rows, unknowns), xi, u)
        return matrix, self._call("right", (rows,), xi, u)

    @staticmethod
    def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Solution of every consistent system with more rows than unknowns."""
        normal = np.einsum("kij,kil->kjl", matrix, matrix)
        return np.linalg.solve(normal, np.einsum("kij,ki->kj", matrix, right)[..., None])[
            ..., 0
        ]

    def rates(self, xi: np.ndarray, u: np.ndarray) -> np.ndarray:
        """dξ/dt of points (point, coordinate) under inputs (point, port)."""
        return self._solve(*self._rate_equations(xi, u))[:, : len(self.coordinates)]

    def states_at(self, xi: np.ndarray, u: np.ndarray) -> np.ndarray:
        """All states of points of the chart, shape (point, state)."""
        x = self._call("chart", (len(self.states),), xi)
        if self.left_out:
            found = self._solve(*self._rate_equations(xi, u))
            places = [self.states.index(name) for name in self.left_out]
            x[:, places] = found[:, len(self.coordinates) :]
        return x

    @cached_property
    def index(self) -> int:
        """Differentiation index."""
        return differentiation_index(self)

    @cached_property
    def dae(self) -> PortDae:
        """The system as numbers, to be simulated or coupled like an identified one."""
        texts = [str(self.evaluated(e)) for e in self.constraint]
        return PortDae(
            states=self.states,
            flow=self.number("flow"),
            structure=self.number("structure"),
            dissipation=self.number("dissipation"),
            port=self.number("port"),
            efforts=self.efforts_at,
            jacobian=self.jacobian_at,
            hamiltonian=self.hamiltonian_at,
            constraint=constraint_geometry(self.states, texts),
        )

    def __str__(self) -> str:
        lines = [f"Port-Hamiltonian system of index {self.index}", "Efforts"]
        lines += [
            f"  z_{i + 1} = {self.evaluated(e)}" for i, e in enumerate(self.efforts)
        ]
        lines += ["Hamiltonian", f"  {self.evaluated(self.hamiltonian)}"]
        return "\n".join(lines)


def _matrix(config: Mapping, name: str, names: Sequence, shape: tuple) -> sp.Matrix:
    rows = config[name]
    rows = [row if isinstance(row, list) else [row] for row in rows]
    sizes = (len(rows), len(rows[0]) if rows else 0)
    if sizes != shape or any(len(row) != shape[1] for row in rows):
        raise ValueError(f"{name} has shape {sizes}, expected {shape}")
    return sp.Matrix([[parse(entry, names) for entry in row] for row in rows])
