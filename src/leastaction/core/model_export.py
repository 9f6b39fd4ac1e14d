"""What an identified law gives away: LaTeX, a plain function, a simulated motion."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import sympy as sp

from leastaction.core.euler_lagrange import acceleration_names, symbols
from leastaction.core.expressions import symbol
from leastaction.core.system import System

DIGITS = 6
# Velocity, over the largest of the motion, at which Coulomb friction turns around.
SLIDING = 1e-3
TOLERANCE = 1e-9


def latex(system: System, labels: Mapping[str, str] | None = None) -> str:
    """L, D and the equations of motion, one aligned line each.

    Parameters
    ----------
    system
        A law.
    labels
        LaTeX of coordinates, such as ``theta=r"\\vartheta"``.
    """
    names = {}
    for name in system.coordinates:
        label = (labels or {}).get(name) or sp.latex(symbol(name))
        letter, mark, index = label.partition("_")
        names[symbol(name)] = label
        names[symbol(f"{name}dot")] = rf"\dot{{{letter}}}{mark}{index}"
        names[symbol(f"{name}ddot")] = rf"\ddot{{{letter}}}{mark}{index}"

    def text(expression) -> str:
        value = sp.sympify(system.evaluated(expression))
        value = value.xreplace({x: sp.Float(x, DIGITS) for x in value.atoms(sp.Float)})
        return sp.latex(value, symbol_names=names)

    lines = [f"L &= {text(system.lagrangian)}"]
    if system.dissipation != 0:
        lines.append(f"D &= {text(system.dissipation)}")
    acceleration = sp.Matrix(symbols(acceleration_names(system.coordinates)))
    left = system.mass_matrix * acceleration - system.forces
    lines += [f"{text(sp.expand(one))} &= 0" for one in left]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def to_function(system: System) -> Callable:
    """``acceleration(q, qdot, force=0)``: NumPy alone, no file, no compiler.

    Parameters
    ----------
    system
        A law.

    Returns
    -------
    Callable
        Takes and returns arrays whose last axis is that of the coordinates; M q̈ is
        solved for q̈ at every state.
    """
    arguments = list(system.state)
    mass = sp.lambdify(arguments, system.evaluated(system.mass_matrix), "numpy")
    rest = sp.lambdify(arguments, system.evaluated(system.forces), "numpy")
    dof = system.dof

    def acceleration(q, qdot, force=0.0):
        state = np.concatenate(
            np.broadcast_arrays(np.asarray(q, float), np.asarray(qdot, float)), axis=-1
        )
        flat = state.reshape(-1, 2 * dof)
        pushed = np.broadcast_to(force, (*state.shape[:-1], dof)).reshape(-1, dof)
        found = np.array(
            [
                np.linalg.solve(
                    np.asarray(mass(*row), float).reshape(dof, dof),
                    np.asarray(rest(*row), float).ravel() + push,
                )
                for row, push in zip(flat, pushed, strict=True)
            ]
        )
        return found.reshape(*state.shape[:-1], dof)

    return acceleration


def simulate(
    system: System,
    q: Sequence[float],
    qdot: Sequence[float],
    time: Sequence[float],
    force: Callable | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Motion from a state, noise left out.

    Coulomb friction |v| is taken as √(v² + w²) with a small w, so that a body comes to
    rest.

    Parameters
    ----------
    system
        A law.
    q, qdot
        Initial state, shape (dof,).
    time
        Times, s; the first is that of the state.
    force
        ``force(t)`` gives the generalised input, shape (dof,); None if there is none.

    Returns
    -------
    q, qdot
        Shape (time, dof).

    Raises
    ------
    ValueError
        If shapes do not fit, or the motion does not stay finite.
    """
    from scipy.integrate import solve_ivp

    start = np.concatenate([np.atleast_1d(q), np.atleast_1d(qdot)]).astype(float)
    if start.shape != (2 * system.dof,):
        raise ValueError(
            f"simulate: q and qdot have {len(start)} values together, expected "
            f"{2 * system.dof}: one of each for {', '.join(system.coordinates)}"
        )
    speed = max(np.abs(start[system.dof :]).max(), 1.0)
    width = sp.Float(SLIDING * speed)
    smooth = system.dissipation.replace(
        lambda e: isinstance(e, sp.Abs), lambda e: sp.sqrt(e.args[0] ** 2 + width**2)
    )
    smoothed = System(system.coordinates, system.parameters, system.lagrangian, smooth)
    acceleration = to_function(smoothed)
    dof = system.dof

    def rate(t, x):
        push = 0.0 if force is None else force(t)
        return np.concatenate([x[dof:], acceleration(x[:dof], x[dof:], push)])

    time = np.asarray(time, dtype=float)
    found = solve_ivp(
        rate,
        (time[0], time[-1]),
        start,
        "LSODA",
        time,
        rtol=TOLERANCE,
        atol=TOLERANCE,
    )
    if not found.success or found.y.shape[1] != len(time):
        raise ValueError(f"simulate: the motion does not stay finite ({found.message})")
    return found.y[:dof].T, found.y[dof:].T
