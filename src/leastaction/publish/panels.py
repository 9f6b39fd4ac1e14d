"""The panels of a figure, a table or a scorecard, from files."""

from collections.abc import Mapping, Sequence

import xarray as xr

from leastaction.publish.panel import Panel


def panels_from(
    settings: Mapping[str, Mapping],
    models: Sequence[xr.Dataset],
    rollouts: Sequence[xr.Dataset],
) -> list[Panel]:
    """Panels of the examples in `settings`, in that order.

    Parameters
    ----------
    settings
        By example: its configuration, with the list of its `estimators`.
    models, rollouts
        Datasets of every estimator of every example, in the same order; either may be
        empty if it is not shown.
    """
    pairs = [(name, e) for name in settings for e in settings[name]["estimators"]]
    by_pair = [
        dict(zip(pairs, datasets, strict=True)) if datasets else {}
        for datasets in (models, rollouts)
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
