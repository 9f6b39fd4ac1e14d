"""Rows of the scorecard that only fields have: single nodes, and the time scheme."""

from collections.abc import Iterator

import numpy as np
import xarray as xr

from leastaction.fields import time_scheme_rows as time_scheme
from leastaction.fields.time_scheme import DISPERSION
from leastaction.report import verdict
from leastaction.report.case import ADDED, Case
from leastaction.report.scores import Truth


def field_rows(case: Case) -> Iterator[dict]:
    """Rows of what the model says about its nodes and about its data, if it does."""
    if case.truth is not None and "node_support" in case.model:
        yield _nodes(case, case.truth)
    if "scheme" in case.model:
        yield _scheme(case)
        yield from _dispersion(case)


def exact_nodes(model: xr.Dataset, truth: Truth) -> np.ndarray:
    """Number of nodes with exactly the right terms, shape (replicate,).

    At such a node every candidate of a true term is selected, and no other one; a
    spring stands at two nodes and has a candidate at each.
    """
    share = model["node_support"].transpose("replicate", "node", "term").values
    right = np.isnan(share) | (share == truth.support)
    return right.all(axis=2).sum(axis=1)


def _nodes(case: Case, truth: Truth) -> dict:
    hit = exact_nodes(case.model, truth)
    return case.row(
        ADDED,
        "nodes with exactly the right terms",
        f"of {case.model.sizes['node']}",
        verdict.summary_of(hit),
        len(hit),
        corrected=case.model.sizes["node"],
        note="each node is identified by itself",
    )


def _scheme(case: Case) -> dict:
    hit = time_scheme.right_scheme(case.model, case.config)
    share = case.target("time_scheme", "minimum")
    name = time_scheme.true_scheme(case.config)
    return case.row(
        ADDED,
        f"time scheme of the data is named: {name}",
        f"of {len(hit)}",
        (float(hit.sum()), np.nan, np.nan),
        len(hit),
        target=share and {"minimum": share["minimum"] * len(hit)},
        note="from the dispersion of fast modes, or else from the autocorrelation of "
        "the residual",
    )


def _dispersion(case: Case) -> Iterator[dict]:
    error = time_scheme.dispersion_error(case.model, case.config)
    if not error.size:
        return
    exact = DISPERSION[time_scheme.true_scheme(case.config)]
    yield case.row(
        ADDED,
        f"dispersion of the data: deviation from {exact:.4g}",
        "1",
        verdict.summary_of(error),
        len(error),
        target=case.target("dispersion", "maximum"),
        note="replicates whose modes are fast enough to show it",
    )
