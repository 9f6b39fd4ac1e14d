"""The true energy along the motion of learned Lagrangians, for several figures."""

from collections.abc import Iterable, Mapping

import numpy as np
from matplotlib.axes import Axes

from leastaction.publish.figures.shadow_looks import shadow_look
from leastaction.publish.shadow import Learned

# Smaller deviations are round-off.
LEAST = 1e-10


def true_energy(axes: Axes, found: Iterable[Learned], settings: Mapping) -> None:
    """|H − H(0)| of the true H along each motion of the first replicate, J."""
    for one in found:
        look = shadow_look(one.estimator)
        first = one.first.sel(order=one.main)
        energy = first["hamiltonian_estimate"].values
        # The model's own velocity of the start would hide an error of its momentum.
        start = float(first["hamiltonian_start_true"])
        time = first["time_energy"].values
        axes.plot(
            time,
            np.maximum(np.abs(energy - start), LEAST),
            color=look.color(settings),
            linestyle="none",
            marker=".",
            markersize=2.2,
            markeredgewidth=0,
        )
        axes.set_xlim(time[0], time[-1])
    axes.set_yscale("log")
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("$|H(t) - H(0)|$ (J)")
