"""What makes a system port-Hamiltonian: structure, chart, units and index."""

from collections.abc import Iterator, Mapping

import numpy as np
import sympy as sp

from leastaction.core.expressions import symbol

# Points at which an identity is tested, and what round-off makes of an equality there.
POINTS_OF_IDENTITIES, RELATIVE_ROUNDOFF = 7, 1e-9

HIGHEST_INDEX = 6


class PortHamiltonianError(ValueError):
    """A system that is not port-Hamiltonian, or whose states do not follow from it."""


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solution of consistent systems (point, row, unknown), more rows than unknowns."""
    normal = np.einsum("kij,kil->kjl", matrix, matrix)
    moment = np.einsum("kij,ki->kj", matrix, right)
    return np.linalg.solve(normal, moment[..., None])[..., 0]


def generic_points(count: int) -> np.ndarray:
    """Points of a chart, shape (point, coordinate); all coordinates are positive."""
    i = np.arange(POINTS_OF_IDENTITIES)[:, None] + 1
    return 0.2 + np.mod(i * np.sqrt(2.0 + np.arange(count)), 1.0)


def check_port_system(system) -> None:
    """Check that the system is port-Hamiltonian and its chart solves it.

    Raises
    ------
    PortHamiltonianError
        Listing everything: J not skew, R not symmetric and positive semidefinite,
        E that is not diag(D, 0) up to the order of the states, Eᵀz ≠ ∇H on the
        solutions, a constraint that the chart does not keep, rates that the equation
        does not determine.
    """
    problems = list(_matrix_problems(system))
    if not problems:
        problems += _chart_problems(system)
    if problems:
        raise PortHamiltonianError("; ".join(problems))


def _matrix_problems(system) -> Iterator[str]:
    if system.structure != -system.structure.T:
        yield f"structure J is not skew-symmetric: {system.structure.tolist()}"
    resistance = system.number("dissipation")
    values = np.linalg.eigvalsh(resistance)
    if not np.allclose(resistance, resistance.T) or values.min() < -RELATIVE_ROUNDOFF:
        yield (
            "dissipation R must be symmetric and positive semidefinite; its "
            f"eigenvalues are {values}"
        )
    flow = system.number("flow")
    rows, columns = flow.any(axis=1), flow.any(axis=0)
    if (rows != columns).any() or np.linalg.matrix_rank(flow) < rows.sum():
        yield "flow E must be diag(D, 0) with regular D, up to the order of states"


def _chart_problems(system) -> Iterator[str]:
    points = generic_points(len(system.coordinates))
    u = np.linspace(-0.7, 0.9, POINTS_OF_IDENTITIES)[:, None] * np.ones(
        len(system.inputs)
    )
    matrix, right = system.rate_equations(points, u)
    scale = 1 + np.abs(right).max()
    if np.linalg.matrix_rank(matrix).min() < matrix.shape[2]:
        yield (
            "the equation does not determine the rates of "
            f"{', '.join([*system.coordinates, *system.left_out])}"
        )
        return
    left = np.einsum("kij,kj->ki", matrix, solved(matrix, right)) - right
    if np.abs(left).max() > RELATIVE_ROUNDOFF * scale:
        row = int(np.abs(left).max(axis=0).argmax())
        yield f"the chart does not solve row {row + 1} of the equation"
    else:
        x = system.states_at(points, u)
        for text, values in zip(
            system.constraint, system.constraint_at(x).T, strict=True
        ):
            if np.abs(values).max() > RELATIVE_ROUNDOFF:
                yield f"the chart does not keep the constraint {text} = 0"
        worst = np.abs(system.gradient_defect(x)).max()
        if worst > RELATIVE_ROUNDOFF * scale:
            yield f"E^T z differs from the gradient of H by {worst:.3g}"


def check_port_dimensions(system, units: Mapping[str, str]) -> None:
    """Check that rows add like quantities, that zᵀ E ẋ is a power, H an energy.

    Parameters
    ----------
    system
        :class:`~leastaction.ports.system.PortHamiltonianSystem`.
    units
        Unit of every state, input, parameter and minimal coordinate.

    Raises
    ------
    DimensionError
    """
    # The package of units is slow to import, and only a plan checks dimensions.
    from leastaction.core.units import DimensionError, dimension_of, unit, unit_text

    def of(where: str, expression: sp.Expr):
        try:
            return dimension_of(expression, known)
        except DimensionError as error:
            raise DimensionError(f"{where}: {error}") from None

    def same(where: str, given, wanted) -> None:
        # Radians are no dimension of their own.
        if given.dimensionality != wanted.dimensionality:
            raise DimensionError(
                f"{where} is in {unit_text(given)}, expected {unit_text(wanted)}"
            )

    known = {name: unit(text) for name, text in units.items()}
    second, power = unit("s"), unit("W")
    given = of("hamiltonian", system.hamiltonian)
    same("hamiltonian", given, unit("J"))
    efforts = [of(f"z_{i + 1}", e) for i, e in enumerate(system.efforts)]
    count = len(system.states)
    for i in range(count):
        terms = [
            (f"E_{i + 1}{j + 1} dx/dt", system.flow[i, j], known[name] / second)
            for j, name in enumerate(system.states)
        ]
        for j in range(count):
            terms.append((f"J_{i + 1}{j + 1} z", system.structure[i, j], efforts[j]))
            terms.append((f"R_{i + 1}{j + 1} z", system.dissipation[i, j], efforts[j]))
        terms += [
            (f"B_{i + 1}{j + 1} u", system.port[i, j], known[name])
            for j, name in enumerate(system.inputs)
        ]
        for label, entry, factor in terms:
            if entry != 0:
                found = of(label, entry) * factor * efforts[i]
                same(f"z_{i + 1} times {label}", found, power)
    for state, expression in system.chart.items():
        if expression != symbol(state):
            same(f"chart of {state}", of(state, expression), known[state])


def differentiation_index(system) -> int:
    """Index: 1 plus the times that algebraic rows have to be differentiated.

    With E = diag(D, 0) the algebraic rows 0 = g(x_d, x_a, u) give x_a if their Jacobian
    by x_a is regular. Rows that hold no x_a are replaced by their derivative along
    ẋ_d = D⁻¹ f until it is. Inputs are kept out of it: constraints hold none.

    Parameters
    ----------
    system
        With E, J, R, B, z as expressions
        (:class:`~leastaction.ports.system.PortHamiltonianSystem`).

    Raises
    ------
    ValueError
        If none is found up to 6.
    """
    flow = system.number("flow")
    places, rows = flow.any(axis=0), flow.any(axis=1)
    d, e = ([int(i) for i in np.flatnonzero(mask)] for mask in (places, rows))
    if rows.all():
        return 0
    x = [symbol(name) for name in system.states]
    u = sp.Matrix([symbol(name) for name in system.inputs])
    right = (system.structure - system.dissipation) * system.efforts
    right = system.evaluated(right + system.port * u)
    speed = sp.Matrix(flow[np.ix_(e, d)]).inv() * right.extract(e, [0])
    inner = [x[i] for i in d]
    outer = [x[i] for i in range(len(x)) if i not in d]
    algebraic = [right[i] for i in range(len(x)) if i not in e]
    generic = {s: sp.Float(0.3 + 0.1 * i) for i, s in enumerate([*x, *u])}
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
