"""Port-Hamiltonian differential-algebraic system, stated as text, derived symbolically.

.. math::  E \\dot x = (J - R)\\, z(x) + B u, \\qquad y = B^T z(x), \\qquad
           E^T z = \\nabla H ,

with constant :math:`J = -J^T`, :math:`R = R^T \\ge 0` (Mehrmann and Morandin 2019;
Zaspel and Günther 2024, eqs. 1 and 2). A chart gives the states in minimal coordinates;
what it leaves out (algebraic states, multipliers) follows from the equation itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import sympy as sp

from leastaction.core.expressions import check_name, parse, symbol, unknown
from leastaction.ports.dae import PortDae, constraint_geometry
from leastaction.ports.system_checks import (
    PortHamiltonianError,
    check_port_system,
    differentiation_index,
    solved,
)


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
            If a name or an expression is invalid, a matrix has the wrong shape, or the
            system is not port-Hamiltonian
            (:func:`~leastaction.ports.system_checks.check_port_system`).
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
        unknown_states = sorted(set(chart) - set(states))
        if unknown_states:
            raise ValueError(
                f"chart: {', '.join(unknown_states)} is no state of {states}"
            )
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
        check_port_system(system)
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
        """Efforts z of states, shape (point, effort)."""
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

    def rate_equations(
        self, xi: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Matrix and right side, one row per state, that dξ/dt and the rest solve."""
        rows = len(self.states)
        unknowns = len(self.coordinates) + len(self.left_out)
        matrix = self._call("matrix", (rows, unknowns), xi, u)
        return matrix, self._call("right", (rows,), xi, u)

    def rates(self, xi: np.ndarray, u: np.ndarray) -> np.ndarray:
        """dξ/dt of points (point, coordinate) under inputs (point, port)."""
        return solved(*self.rate_equations(xi, u))[:, : len(self.coordinates)]

    def states_at(self, xi: np.ndarray, u: np.ndarray) -> np.ndarray:
        """All states of points of the chart, shape (point, state)."""
        x = self._call("chart", (len(self.states),), xi)
        if self.left_out:
            found = solved(*self.rate_equations(xi, u))
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


def input_function(system, written: Mapping) -> Callable[[np.ndarray], np.ndarray]:
    """u(t) of times (time,) as an array (time, port).

    Parameters
    ----------
    system
        With `inputs` and `parameters`.
    written
        By input, an expression in `time` and the parameters; zero where none is given.

    Raises
    ------
    ValueError
        If an input is unknown or an expression is invalid.
    """
    for name in written:
        if name not in system.inputs:
            raise ValueError(f"input: {unknown('input', name, system.inputs)}")
    names = ["time", *system.parameters]
    expressions = [
        system.evaluated(parse(written.get(name, "0"), names)) for name in system.inputs
    ]
    compiled = sp.lambdify(symbol("time"), expressions, "numpy")

    def at(time: np.ndarray) -> np.ndarray:
        time = np.asarray(time, dtype=float)
        columns = [np.broadcast_to(value, time.shape) for value in compiled(time)]
        return np.stack(columns, axis=1) if columns else np.zeros((time.size, 0))

    return at
