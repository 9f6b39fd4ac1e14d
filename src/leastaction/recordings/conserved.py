"""What a law conserves: its energy, and momenta of symmetries (Noether's theorem)."""

from collections.abc import Sequence

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.model import IdentifiedModel
from leastaction.core.multi_index import multi_indices
from leastaction.core.symmetries import GAUGE_DEGREE, Symmetry, total_rates
from leastaction.figures.readable import percent_text
from leastaction.recordings.contracts import held_out, pieces, training

# Velocities are slopes of cubics through this share of a main period.
SHARE_OF_PERIOD, LEAST_SAMPLES = 0.1, 5
# Trajectories that are enough to see what is conserved; every n-th of more.
MOST_TRAJECTORIES = 200
DIGITS = 4  # of a Noether quantity


def conserved(model: IdentifiedModel, observations: xr.Dataset) -> list[str]:
    """Sentences about the energy and the momenta of a law without random force.

    Of a single coordinate without a conserved momentum the energy alone has a sentence.
    `observations` have the contract ``measurements``.
    """
    system, period = model.system, float(model.dataset["period"])
    every = not observations["held_out"].values.any()
    shown = _states(observations if every else held_out(observations), period)
    along = "the motion" if every else "the held-out motion"
    losses = model.terms.query("of == 'D'")
    causes = ["friction"] * bool((losses["low"] * losses["high"] > 0).any())
    causes += ["the recorded input"] * ("input" in observations)
    changed = " and ".join(causes)

    def constancy(quantity: sp.Expr, scale: sp.Expr) -> str:
        """Scatter along each trajectory over the rms of `scale`."""
        spread, size = (
            _values(expression, system, shown) for expression in (quantity, scale)
        )
        scatter = np.concatenate([part - part.mean() for part in spread]).std()
        rms = np.sqrt(np.mean(np.concatenate(size) ** 2))
        return f"constant to {percent_text(scatter / rms)} along {along}"

    energy = system.evaluated(system.hamiltonian)
    if changed:
        verb = "dissipated" if causes == ["friction"] else "changed"
        lines = [f"Energy is {verb} by {changed}."]
    else:
        kinetic = energy - energy.subs(dict.fromkeys(system.qdot, 0))
        verb = (
            "is conserved" if losses.empty else "may be conserved (losses may be zero)"
        )
        lines = [f"Energy {verb}: it is {constancy(energy, kinetic)}."]
    q, qdot = (np.concatenate(each) for each in _states(training(observations), period))
    law, momenta = system.evaluated(system.lagrangian), []
    for one in model.symmetries_on(q, qdot):
        if one.verdict == "not found":
            continue
        momentum = noether_quantity(law, one, q, qdot, system.state)
        text = f"`{momentum}`, the momentum of a {one.kind},"
        if one.verdict == "undecided":
            momenta.append(f"The data do not decide whether {text} is conserved.")
        elif changed:
            momenta.append(f"Nothing but {changed} changes {text[:-1]}.")
        else:
            steady = constancy(momentum, momentum)
            momenta.append(f"{text[0].upper()}{text[1:]} is conserved: it is {steady}.")
    if not momenta and len(model.coordinates) > 1:
        momenta = ["No momentum is conserved."]
    return lines + momenta


def _values(expression: sp.Expr, system, states) -> list[np.ndarray]:
    """Values of an expression along each trajectory."""
    function = sp.lambdify(system.state, expression, "numpy")
    both = zip(*states, strict=True)
    return [
        np.broadcast_to(function(*np.hstack([q, v]).T), len(q)).astype(float)
        for q, v in both
    ]


def _states(observations: xr.Dataset, period: float) -> tuple[list, list]:
    """Positions and velocities by trajectory, smoothed, (sample, dof) each."""
    from scipy.signal import savgol_filter

    dt, q = float(observations.attrs["time_step"]), observations["q"].values[0]
    width = max(LEAST_SAMPLES, 2 * round(SHARE_OF_PERIOD * period / dt / 2) + 1)
    long = [p for p in pieces(observations) if p.stop - p.start > width]
    parts = [q[p] for p in long[:: max(-(-len(long) // MOST_TRAJECTORIES), 1)]]
    return tuple(
        [savgol_filter(p, width, 3, deriv=k, delta=dt, axis=0) for p in parts]
        for k in (0, 1)
    )


def noether_quantity(
    lagrangian: sp.Expr,
    symmetry: Symmetry,
    q: np.ndarray,
    qdot: np.ndarray,
    state: Sequence[sp.Symbol],
) -> sp.Expr:
    """I = p·ξ(q) − F(q), numbers rounded to four digits.

    >>> x, y, xdot, ydot = state = sp.symbols("x y xdot ydot")
    >>> turn = Symmetry(np.zeros(2), np.array([[0.0, -1.0], [1.0, 0.0]]), 0, 0, True)
    >>> q, qdot = np.random.default_rng(1).standard_normal((2, 50, 2))
    >>> law = (xdot**2 + ydot**2 - x**2 - y**2) / 2
    >>> noether_quantity(law, turn, q, qdot, state)
    x*ydot - xdot*y
    """
    n = q.shape[1]
    names, rates = sp.Matrix(state[:n]), sp.Matrix(state[n:])
    matrix = sp.Matrix(symmetry.matrix.tolist())
    field = sp.Matrix(symmetry.offset.tolist()) + matrix * names
    momenta = sp.Matrix([sp.diff(lagrangian, v) for v in rates])
    change = sum(
        sp.diff(lagrangian, a) * b
        for a, b in zip(state, [*field, *(matrix * rates)], strict=True)
    )
    values = sp.lambdify(state, change, "numpy")(*np.hstack([q, qdot]).T)
    scale = q.std(axis=0)
    total = total_rates(q, qdot, scale)[:, :-1]
    values = np.broadcast_to(values, len(q))
    weights = np.linalg.lstsq(total, values, rcond=None)[0]
    if ((values - total @ weights) ** 2).sum() > (values**2).sum() / 2:
        weights = np.zeros_like(weights)  # a constant force is no total derivative
    momentum = sp.lambdify(state, list(momenta), "numpy")(*np.hstack([q, qdot]).T)
    largest = max(float(np.abs(np.asarray(p)).max()) for p in momentum)
    largest *= np.abs(q @ symmetry.matrix.T + symmetry.offset).max()  # of p ξ
    remainder = 0
    for powers, c in zip(multi_indices(n, GAUGE_DEGREE)[1:], weights, strict=True):
        if abs(c) > 1e-3 * largest:
            c = c / np.prod(scale**powers)
            remainder += c * sp.prod([x**k for x, k in zip(names, powers, strict=True)])
    return readable_numbers(sp.expand((momenta.T * field)[0] - remainder))


def readable_numbers(expression: sp.Expr) -> sp.Expr:
    """The same with numbers of four digits, integers where they are."""
    numbers = {}
    for number in expression.atoms(sp.Float):
        short = float(f"{float(number):.{DIGITS}g}")
        is_integer = short.is_integer()
        numbers[number] = sp.Integer(short) if is_integer else sp.Float(short, DIGITS)
    return expression.xreplace(numbers)
