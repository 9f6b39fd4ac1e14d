"""What a law conserves: its energy, and momenta of symmetries (Noether's theorem)."""

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.model import IdentifiedModel
from leastaction.figures.readable import percent_text
from leastaction.recordings.contracts import held_out, pieces, training
from leastaction.recordings.noether_quantity import noether_quantity

# Velocities are slopes of cubics through this share of a main period.
SHARE_OF_PERIOD, LEAST_SAMPLES = 0.1, 5
# Trajectories that are enough to see what is conserved; every n-th of more.
MOST_TRAJECTORIES = 200


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
    parts = [q[p] for p in long[:: len(long) // MOST_TRAJECTORIES + 1]]
    return tuple(
        [savgol_filter(p, width, 3, deriv=k, delta=dt, axis=0) for p in parts]
        for k in (0, 1)
    )
