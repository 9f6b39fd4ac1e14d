"""Methods that a sweep over noise compares: their names and their order."""

from collections.abc import Sequence

from leastaction.report.looks import SMOOTHED, Look, look
from leastaction.report.panel import BASELINE, MAIN, Panel

NAMES = {BASELINE: "xL-SINDy"}
ORDER = [
    name + data
    for name in (MAIN, BASELINE, "sindy_pi", "lagrangian_sindy")
    for data in ("", SMOOTHED)
]
MODES = {"independent": "independent noise", "shared": "shared noise"}


def look_of(estimator: str) -> Look:
    """Look of a method."""
    return look(estimator, NAMES)


def in_order(panels: Sequence[Panel]) -> list[str]:
    """Estimators with a sweep over noise that some panel has."""
    found = {name for panel in panels for name in panel.recoveries}
    return [n for n in ORDER if n in found] + sorted(found - set(ORDER))
