"""The panels of a figure, a table or a scorecard, from files."""

from collections.abc import Mapping, Sequence

import xarray as xr

from leastaction.report.panel import Panel


def panels_from(
    settings: Mapping[str, Mapping],
    models: Sequence[xr.Dataset],
    rollouts: Sequence[xr.Dataset],
) -> list[Panel]:
    """Panels of the examples in `settings`, in that order.

    Parameters
    ----------
    settings
        By example: its configuration, with the list of its `estimators` and of those
        that are `rolled_out`.
    models, rollouts
        Datasets of these estimators of every example, in the same order; either may be
        empty if it is not shown.
    """
    by_pair = [
        dict(
            zip(
                [(name, e) for name in settings for e in settings[name][listed]],
                datasets,
                strict=True,
            )
        )
        if datasets
        else {}
        for listed, datasets in (("estimators", models), ("rolled_out", rollouts))
    ]
    return [
        Panel(
            name,
            config,
            *(
                {e: d for (owner, e), d in some.items() if owner == name}
                for some in by_pair
            ),
        )
        for name, config in settings.items()
    ]


def joined(panels: Sequence[Panel]) -> list[Panel]:
    """Panels with those variants joined to their example that have the same data."""
    found: dict[tuple, Panel] = {}
    for panel in panels:
        base = panel.example.partition("-")[0]
        data = repr([panel.config.get(part) for part in ("system", "simulate")])
        first = found.get((base, data))
        if first is not None:
            panel = Panel(
                first.example,
                first.config,
                {**first.models, **panel.models},
                {**first.rollouts, **panel.rollouts},
            )
        found[base, data] = panel
    return list(found.values())
