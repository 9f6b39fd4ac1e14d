"""Errors of every parameter of stationary densities, by example and estimator."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from leastaction.densities.stationary_parameters import parameters
from leastaction.report.tables import Table

NOTE = (
    "Noise strengths are roots of squared volatilities. Without a standard error "
    "an estimator gives none."
)


def stationary_errors(panels: Sequence) -> Table:
    """Bias, scatter, root mean square and coverage over the replicates.

    Parameters
    ----------
    panels
        Examples whose models come from stationary densities.

    Returns
    -------
    Table
        One row per example, estimator and parameter; errors in per cent of the truth.
    """
    rows = []
    for panel in panels:
        simulation = panel.config["simulate"]
        steps = round(simulation["duration"] / simulation["time_step"])
        for estimator, model in panel.models.items():
            for parameter in parameters(panel.config, model):
                error = 100 * parameter.error
                count = len(error)
                std = 100 * np.abs(parameter.std / parameter.truth)
                known = np.isfinite(parameter.std).all() and np.isfinite(error).all()
                rows.append(
                    {
                        "system": panel.title,
                        "samples": f"{steps * simulation['trajectories']:.0e}",
                        "estimator": estimator,
                        "parameter": parameter.label,
                        "truth": parameter.truth,
                        "mean error (%)": error.mean(),
                        "standard deviation (%)": error.std() if count > 1 else np.nan,
                        "rms error (%)": np.sqrt(np.mean(error**2)),
                        "standard error (%)": np.median(std) if known else np.nan,
                        "covered by 95 % intervals": f"{int(parameter.covered.sum())} "
                        f"of {count}"
                        if known
                        else "",
                    }
                )
    return Table(pd.DataFrame(rows), NOTE)
