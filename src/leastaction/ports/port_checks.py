"""What makes a system port-Hamiltonian, and its chart a solution, checked by number."""

from collections.abc import Iterator

import numpy as np

ROUNDING = 1e-9
# Points at which an identity is tested.
POINTS = 7


class PortHamiltonianError(ValueError):
    """A system that is not port-Hamiltonian, or whose states do not follow from it."""


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solution of consistent systems (point, row, unknown), more rows than unknowns."""
    normal = np.einsum("kij,kil->kjl", matrix, matrix)
    moment = np.einsum("kij,ki->kj", matrix, right)
    return np.linalg.solve(normal, moment[..., None])[..., 0]


def generic_points(count: int) -> np.ndarray:
    """Points of a chart, shape (point, coordinate); all coordinates are positive."""
    i = np.arange(POINTS)[:, None] + 1
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
    if not np.allclose(resistance, resistance.T) or values.min() < -ROUNDING:
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
    u = np.linspace(-0.7, 0.9, POINTS)[:, None] * np.ones(len(system.inputs))
    matrix, right = system.rate_equations(points, u)
    scale = 1 + np.abs(right).max()
    if np.linalg.matrix_rank(matrix).min() < matrix.shape[2]:
        yield (
            "the equation does not determine the rates of "
            f"{', '.join([*system.coordinates, *system.left_out])}"
        )
        return
    left = np.einsum("kij,kj->ki", matrix, solved(matrix, right)) - right
    if np.abs(left).max() > ROUNDING * scale:
        row = int(np.abs(left).max(axis=0).argmax())
        yield f"the chart does not solve row {row + 1} of the equation"
    else:
        x = system.states_at(points, u)
        for text, values in zip(
            system.constraint, system.constraint_at(x).T, strict=True
        ):
            if np.abs(values).max() > ROUNDING:
                yield f"the chart does not keep the constraint {text} = 0"
        worst = np.abs(system.gradient_defect(x)).max()
        if worst > ROUNDING * scale:
            yield f"E^T z differs from the gradient of H by {worst:.3g}"
