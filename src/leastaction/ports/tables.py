"""Errors of identified efforts, by example, estimator and size of the training set."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from leastaction.ports.scores import curves
from leastaction.report.tables import Table

BANDS = "inside the 95 % bands"
NOTE = (
    "Root mean square errors of (J - R) z on the test samples, in SI units of each "
    "row: medians over the replicates, that is the draws of the training samples. The "
    "path is the scheme that made the data. The share inside the bands is a "
    "mean over components and replicates. The bands know random noise alone: an "
    "error of the time discretisation is smooth, and they leave it out."
)


def effort_errors(panels: Sequence) -> Table:
    """Root mean square errors on the test samples, medians over the replicates.

    Parameters
    ----------
    panels
        Examples with rollouts of contract ``port_rollout``.

    Returns
    -------
    Table
        One row per example, estimator and training size; a column per component of
        (J − R) z.
    """
    rows = []
    for panel in panels:
        for estimator, rollout in panel.rollouts.items():
            sizes, errors = curves(rollout, "transformed_rmse")
            _, inside = curves(rollout, "coverage")
            for k, size in enumerate(sizes):
                middle = np.median(errors[:, k], axis=0)
                rows.append(
                    {
                        "system": panel.title,
                        "estimator": estimator,
                        "path": str(rollout["scheme"].values),
                        "training samples": str(size),
                        **{
                            f"error of component {j + 1}": value
                            for j, value in enumerate(middle)
                        },
                        BANDS: float(inside[:, k].mean()),
                    }
                )
    frame = pd.DataFrame(rows)
    return Table(frame[[*frame.columns.drop(BANDS), BANDS]], NOTE)
