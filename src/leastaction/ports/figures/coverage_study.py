"""What posterior bands of identified efforts are worth."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from leastaction.ports.figures._looks import component, handle
from leastaction.ports.learning_curve import curves
from leastaction.report.panel import Panel
from leastaction.report.style import StyledFigure, legend_on_top

HEIGHT = 62.0
SIZE = 64
ESTIMATOR = "published"
KINDS = {"noise": ("random noise of the derivative", "#1b4f9c")}
SMOOTH = ("error of the time discretisation", "#e08a00")


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
    figure = StyledFigure(settings, HEIGHT)
    grid = figure.subplots(
        1,
        len(systems),
        squeeze=False,
        sharey=True,
        width_ratios=[p[0].rollout(ESTIMATOR).sizes["row"] for p in systems.values()],
    )
    for axes, group in zip(grid[0], systems.values(), strict=True):
        for k, panel in enumerate(group):
            sizes, shares = curves(panel.rollout(ESTIMATOR), "coverage")
            if SIZE not in sizes:
                raise ValueError(
                    f"example {panel.example!r}: no fit to {SIZE} samples; there are "
                    f"{sizes.tolist()}"
                )
            values = shares[:, list(sizes).index(SIZE)]
            place = np.arange(values.shape[1]) + 0.36 * (k - (len(group) - 1) / 2)
            _, color = _kind(panel)
            axes.bar(place, values.mean(axis=0), 0.34, color=color, alpha=0.45)
            for one in values:
                axes.plot(place, one, ".", color=color, markersize=3)
        axes.axhline(0.95, color="0.3", linewidth=0.7, linestyle="--")
        axes.set_xticks(
            range(values.shape[1]),
            [component("row", i) for i in range(values.shape[1])],
        )
        axes.set_title(group[0].title)
        axes.set_ylim(0, 1.03)
    grid[0, 0].set_ylabel("Share inside the 95 % band")
    kinds = dict.fromkeys(_kind(panel) for panel in panels)
    handles = [handle(label, color, linewidth=5, alpha=0.45) for label, color in kinds]
    handles.append(handle("95 %", "0.3", linestyle="--"))
    legend_on_top(figure, handles, len(handles))
    return figure


def _kind(panel: Panel) -> tuple[str, str]:
    noisy = panel.config["simulate"].get("flow_noise", 0) > 0
    return KINDS["noise"] if noisy else SMOOTH
