"""Stage `predict` of other kinds than motions, in the words of a measured rollout."""

import json
from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.own_data import kinds, one_case
from leastaction.core.recipe import Recipe
from leastaction.recordings.contracts import CONTRACTS

# Samples of a run that are stored; its errors are those of all.
MOST_STORED = 2000


def predict(
    held_out: xr.Dataset, model: xr.Dataset, observations: xr.Dataset, settings: Mapping
) -> xr.Dataset:
    """What a model says of data that were held out, contract ``measured_rollout``.

    `settings` have the `kind`, the `recipe` of the model and its `library`.
    """
    kind = kinds()[settings["kind"]]
    recipe = Recipe(**settings["recipe"])
    given = held_out, one_case(model), observations, recipe, settings["library"]
    found = kind.predict(*given)
    runs = list(zip(found.measured, found.estimate, found.band, strict=True))
    stride = max(1, max(len(y) for y, *_ in runs) // MOST_STORED)
    half = np.array([np.ptp(y, axis=0) / 2 for y, *_ in runs])
    half = np.where(half > 0, half, 1.0)
    errors = [np.where(np.isfinite(p), p - y, np.inf) for y, p, _ in runs]
    with np.errstate(invalid="ignore"):
        rms = [np.sqrt((e**2).mean(axis=0)) for e in errors] / half
        largest = [np.abs(e).max(axis=0) for e in errors] / half
    stored = [
        np.concatenate([a[::stride] for a in each]) for each in zip(*runs, strict=True)
    ]
    counts = [len(y[::stride]) for y, *_ in runs]
    step = (1.0 if found.along else held_out.attrs["time_step"]) * stride
    windows = np.zeros((1, len(found.names)))
    return CONTRACTS["measured_rollout"].dataset(
        {
            **dict(zip(("q_measured", "q_estimate", "q_band"), stored, strict=True)),
            "residual": stored[0] - stored[1],
            "path_trajectory": np.repeat(np.arange(len(counts)), counts),
            "path_time": np.concatenate([np.arange(n) * step for n in counts]),
            "rms_error": rms,
            "maximum_error": largest,
            "half_range": half,
            "force_missed": windows[None],
            "force_recorded": windows[None],
            "window_trajectory": [0],
            "window_time": [0.0],
        },
        {
            "replicate": [0],
            "dof": list(found.names),
            "label": ("trajectory", np.array(found.labels, dtype=object)),
            "coordinate_unit": ("dof", list(found.units)),
            "coordinate_shown_unit": ("dof", list(found.units)),
            "coordinate_shown_factor": ("dof", np.ones(len(found.names))),
        },
        {
            "start": 0.0,
            "learned_from": 0,
            "numbers": json.dumps(dict(found.numbers)),
            "along": found.along or "Time (s)",
        },
    )
