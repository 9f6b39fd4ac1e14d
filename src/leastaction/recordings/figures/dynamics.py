"""Forces, phase plane and energy of a recording, as its law has them."""

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp
import xarray as xr
from matplotlib.figure import Figure

from leastaction.core.model import IdentifiedModel
from leastaction.figures.panel import MAIN, Panel
from leastaction.figures.style import grid_of, key, legend_on_top, small
from leastaction.recordings.contracts import shown_units


def dynamics(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Recorded and unexplained force, phase plane, and energy of the first trajectory.

    One row per coordinate. Left the mean force in short windows, recorded and missed by
    the law (:func:`leastaction.recordings.measured_rollout.force_error`); in the middle
    velocity over position; right the energy H(q, q̇) of the law. The measured motion is
    that of the law over windows of three main periods, each from a state of its own;
    velocities are differences of positions.
    """
    rollout = panels[0].rollout(MAIN)
    law = IdentifiedModel(panels[0].model(MAIN))
    names, units, factors = shown_units(rollout)
    figure, grid = grid_of(settings, len(names), 3, row=46, rest=16)
    mine = rollout["path_trajectory"].values == 0
    one = rollout.isel(replicate=0, path_sample=mine)
    time = one["path_time"].values
    red = {"color": settings["truth_color"], "linewidth": 1.2}
    blue = {"color": settings["estimate_color"], "linestyle": (0, (4, 2))}
    grey = {"color": "0.55", "linewidth": 1.0}
    fitted = one["q_measured"].values - one["residual"].values
    paths = [(fitted, red), (one["q_estimate"].values, blue)]
    velocity = [np.gradient(q, time, axis=0, edge_order=2) for q, _ in paths]
    for a, (left, middle, right) in enumerate(grid):
        _forces(left, rollout, a, grey, red)
        left.set_ylabel(f"force of {names[a]} ({rollout['force_unit'].values[a]})")
        for (q, look), v in zip(paths, velocity, strict=True):
            middle.plot(q[:, a] / factors[a], v[:, a] / factors[a], **look)
        middle.set_xlabel(f"{names[a]} ({units[a]})")
        middle.set_ylabel(f"velocity ({units[a]}/s)")
        right.set_visible(a == 0)
    energy = sp.lambdify(law.system.state, law.system.evaluated(law.system.hamiltonian))
    for (q, look), v in zip(paths, velocity, strict=True):
        grid[0, 2].plot(time, energy(*q.T, *v.T) + 0 * time, **look)
    grid[0, 2].set_ylabel(f"energy ({rollout.attrs['energy_unit']})")
    grid[0, 2].set_xlabel("Time (s)")
    grid[-1, 0].set_xlabel("Time (s)")
    grid[0, 0].set_title(
        f"Trajectory {rollout['label'].values[0]}",
        fontsize=small(settings),
        parse_math=False,
    )
    handles = [
        key("recorded force", **grey),
        key("measured motion; unexplained force", **red),
        key("predicted motion", **blue),
    ]
    legend_on_top(figure, handles if rollout["force_recorded"].any() else handles[1:])
    return figure


def _forces(axes, rollout: xr.Dataset, a: int, recorded: dict, missed: dict) -> None:
    """Mean force of each window, in the order of their middles."""
    mine = rollout.isel(replicate=0, window=rollout["window_trajectory"].values == 0)
    mine = mine.sortby("window_time")
    time = mine["window_time"].values
    if "force_error" in rollout and np.isfinite(rollout["force_error"].values[0, a]):
        axes.plot(time, mine["force_recorded"].values[:, a], **recorded)
    axes.plot(time, mine["force_missed"].values[:, a], **missed)
    axes.axhline(0, color="black", linewidth=0.5)
