"""An axis of noise levels: equally spaced, as they are far from evenly chosen."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from leastaction.report.panel import Panel
from leastaction.trajectories.figures._methods import label_of_level


def levels_of(panels: Sequence[Panel]) -> list[float]:
    """Noise levels of all estimators of some panels."""
    found = {
        float(level)
        for panel in panels
        for recovery in panel.recoveries.values()
        for level in recovery["noise_level"].values
    }
    return sorted(found)


def places(levels: Sequence[float], among: Sequence[float]) -> list[int]:
    """Positions of some `levels` on an axis of the levels `among`."""
    return [list(among).index(float(level)) for level in levels]


def level_axis(axes: Axes, levels: Sequence[float], text: str | None = None) -> None:
    """Label zero, powers of ten and the last level; the others have a small tick."""
    named = [i for i, level in enumerate(levels) if _is_named(level, levels)]
    axes.set_xlim(-0.6, len(levels) - 0.4)
    axes.set_xticks(range(len(levels)), minor=True)
    axes.set_xticks(named, [_short(levels[i]) for i in named])
    axes.set_xlabel(r"Noise $\sigma$ (SI units)" if text is None else text)


def _is_named(level: float, levels: Sequence[float]) -> bool:
    if len(levels) <= 6 or level in (0, levels[-1]):
        return True
    power = np.log10(level)
    return abs(power - round(power)) < 1e-9 and (power >= -3 or level == levels[0])


def _short(level: float) -> str:
    return f"{level:g}" if level >= 0.01 else label_of_level(level)
