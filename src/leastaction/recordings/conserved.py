"""What a law of a recording conserves: symmetries of L, along the recorded motion."""

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.model import IdentifiedModel
from leastaction.core.symmetries import noether_quantity
from leastaction.recordings.contracts import held_out, pieces, training

# Velocities are slopes of cubics through this share of a main period.
SHARE_OF_PERIOD, LEAST_SAMPLES = 0.1, 5


def conserved(model: IdentifiedModel, observations: xr.Dataset) -> list[str]:
    """Sentences about the symmetries of L and their Noether quantities.

    Parameters
    ----------
    model
        A law without random force.
    observations
        Contract ``measurements``.
    """
    system, period = model.system, float(model.dataset["period"])
    q, qdot = _states(training(observations), period)
    symmetries = model.symmetries_on(q, qdot)
    law = system.evaluated(system.lagrangian)
    seen = not observations["held_out"].values.any()
    shown = _states(observations if seen else held_out(observations), period)
    free = system.dissipation == 0 and "input" not in observations
    lines = []
    for one in symmetries:
        quantity = noether_quantity(law, one, q, qdot, system.state)
        text = f"`{quantity}` ({one.kind})"
        if one.verdict == "not found":
            lines.append(
                "no translation, rotation or other affine map leaves L unchanged: the "
                f"nearest changes it by {one.violation:.1g} of its rate, where "
                f"{one.bound:.1g} is allowed"
            )
        elif not one.decided:
            lines.append(f"undecided: {text}, a symmetry to within {one.bound:.1g}")
        elif free:
            values = sp.lambdify(system.state, quantity, "numpy")(*np.hstack(shown).T)
            spread = values.std() / np.sqrt(np.mean(values**2))
            along = "the motion" if seen else "held-out motion"
            lines.append(f"conserved: {text}, constant to {spread:.1g} along {along}")
        else:
            lines.append(f"only losses and inputs change {text}")
    return lines


def _states(observations: xr.Dataset, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of all trajectories, smoothed, (sample, dof) each."""
    from scipy.signal import savgol_filter

    dt, q = float(observations.attrs["time_step"]), observations["q"].values[0]
    width = max(LEAST_SAMPLES, 2 * round(SHARE_OF_PERIOD * period / dt / 2) + 1)
    parts = [q[p] for p in pieces(observations) if p.stop - p.start > width]
    return tuple(
        np.concatenate(
            [savgol_filter(p, width, 3, deriv=k, delta=dt, axis=0) for p in parts]
        )
        for k in (0, 1)
    )
