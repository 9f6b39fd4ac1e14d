"""Errors of identified efforts, by example, estimator and size of the training set."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from leastaction_papers.port_hamiltonian.scores import curves
from leastaction_papers.scorecard.tables import Table

INSIDE = "inside the 95 % bands"
NOTE = (
    "Root mean square errors of (J - R) z on the test samples, in SI units of each "
    "row: medians over the replicates, that is the draws of the training samples. The "
    "path is the scheme that made the data. The share inside the bands is a "
    "mean over components and replicates. The bands know random noise alone: an "
    "error of the time discretisation is smooth, and they leave it out."
)


def effort_errors(panels: Sequence) -> Table:
    """Root mean square errors of (J − R) z on the test samples, by component.

    A row per example, estimator and size of the training set; the panels have rollouts
    of contract ``port_rollout``.
    """
    rows = []
    for panel in panels:
        for estimator, rollout in panel.rollouts.items():
            sizes, errors = curves(rollout, "transformed_rmse")
            _, inside = curves(rollout, "coverage")
            for k, size in enumerate(sizes):
                middle = np.median(errors[:, k], axis=0)
                about = {
                    "system": panel.title,
                    "estimator": estimator,
                    "path": str(rollout["scheme"].values),
                    "training samples": str(size),
                }
                parts = {f"error of component {j}": e for j, e in enumerate(middle, 1)}
                rows.append(about | parts | {INSIDE: float(inside[:, k].mean())})
    frame = pd.DataFrame(rows)
    return Table(frame[[*frame.columns.drop(INSIDE), INSIDE]], NOTE)
