"""What posterior bands of identified efforts are worth."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from leastaction.ports.figures._looks import component
from leastaction.ports.learning_curve import curves
from leastaction.report.panel import BASELINE, Panel
from leastaction.report.style import grid_of, key, legend_on_top

TRAINING_SAMPLES = 64
NOISY = ("random noise of the derivative", "estimate_color")
SMOOTH = ("error of the time discretisation", "published_color")


def coverage_study(panels: Sequence[Panel], settings: Mapping) -> Figure:
    """Share of test samples inside the 95 % bands, by component of (J − R) z.

    Dots are replicates, bars their means. Examples that are variants of one another
    share an axis.

    Raises
    ------
    ValueError
        If a panel has no rollout of the published estimator with 64 samples.
    """
    systems: dict[str, list[Panel]] = {}
    for panel in panels:
        systems.setdefault(panel.example.partition("-")[0], []).append(panel)
    rows = [group[0].rollout(BASELINE).sizes["row"] for group in systems.values()]
    shape = {"sharey": True, "width_ratios": rows}
    figure, (grid,) = grid_of(settings, 1, len(systems), row=62, **shape)
    for axes, group in zip(grid, systems.values(), strict=True):
        for k, panel in enumerate(group):
            sizes, shares = curves(panel.rollout(BASELINE), "coverage")
            if TRAINING_SAMPLES not in sizes:
                raise ValueError(
                    f"example {panel.example!r}: no fit to {TRAINING_SAMPLES} samples; "
                    f"there are {sizes.tolist()}"
                )
            values = shares[:, list(sizes).index(TRAINING_SAMPLES)]
            place = np.arange(values.shape[1]) + 0.36 * (k - (len(group) - 1) / 2)
            color = settings[_kind(panel)[1]]
            axes.bar(place, values.mean(axis=0), 0.34, color=color, alpha=0.45)
            for one in values:
                axes.plot(place, one, ".", color=color, markersize=3)
        axes.axhline(0.95, color="0.3", linewidth=0.7, linestyle="--")
        names = [component("row", i) for i in range(values.shape[1])]
        axes.set_xticks(range(values.shape[1]), names)
        axes.set_title(group[0].title)
        axes.set_ylim(0, 1.03)
    grid[0].set_ylabel("Share inside the 95 % band")
    kinds, bar = dict.fromkeys(map(_kind, panels)), {"linewidth": 5, "alpha": 0.45}
    handles = [key(label, settings[colour], **bar) for label, colour in kinds]
    handles.append(key("95 %", "0.3", linestyle="--"))
    legend_on_top(figure, handles)
    return figure


def _kind(panel: Panel) -> tuple[str, str]:
    noisy = panel.config["simulate"].get("flow_noise", 0) > 0
    return NOISY if noisy else SMOOTH
