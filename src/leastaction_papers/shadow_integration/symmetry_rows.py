"""Symmetries that were found, beside those of the truth: rows of the scorecard."""

from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr

from leastaction.core.families import system_from_config
from leastaction.core.symmetries import Symmetry, symmetries_of, symmetries_of_terms
from leastaction_papers.scorecard.case import Case, Row, Score, count
from leastaction_papers.scorecard.panel import MAIN, Panel

# Entries of a readable generator differ by more.
SAME = 1e-6
# States at which the truth is looked at; points of a rollout may be too few.
STATES = 500
# Estimator without symmetries whose motion is compared.
FREE = "free"


def true_symmetries(config: dict, points: np.ndarray) -> list[Symmetry]:
    """Affine symmetries of the system behind the data, in the box of points (q, q̇)."""
    box, size = (points.min(axis=0), points.max(axis=0)), (STATES, points.shape[1])
    states = np.random.default_rng(0).uniform(*box, size)
    system = system_from_config(config)
    law, n = system.evaluated(system.lagrangian), system.dof
    symmetries = symmetries_of_terms(
        [law], np.ones(1), np.zeros(1), states[:, :n], states[:, n:], system.state
    )
    return [one for one in symmetries if one.verdict == "found"]


def fits(model: xr.Dataset) -> Iterator[list[Symmetry]]:
    """What was found in each replicate and case of a model."""
    stacked = _stacked(model)
    for i in range(stacked.sizes["fit"]):
        yield symmetries_of(stacked.isel(fit=i))


def _stacked(data):
    """Replicates and cases in one dimension, `fit`, which comes last."""
    cases = [name for name in ("noise_mode", "noise_level") if name in data.dims]
    return data.stack(fit=["replicate", *cases]).transpose(..., "fit")


def same(estimate: Sequence[Symmetry], true: Sequence[Symmetry]) -> bool:
    """Whether all generators of two lists agree, up to their sign and order."""
    return len(estimate) == len(true) and all(
        any(np.allclose(_entries(a), _entries(b), atol=SAME) for b in true)
        for a in estimate
    )


def _entries(symmetry: Symmetry) -> np.ndarray:
    entries = np.concatenate([symmetry.offset, symmetry.matrix.ravel()])
    largest = entries[np.argmax(np.abs(entries))]
    return entries / largest


def decided(panel: Panel) -> list[tuple[list[Symmetry], bool]]:
    """Symmetries found in each fit that decides, and whether they are the true ones."""
    model, rollout = panel.models[MAIN], panel.rollouts[MAIN]
    if "symmetry_decided" not in model:
        return []
    points = rollout["state_point"].values.reshape(-1, 2 * model.sizes["dof"])
    true = true_symmetries(panel.config["system"], points)
    sure = [fit for fit in fits(model) if all(s.verdict != "undecided" for s in fit)]
    symmetries = [[s for s in fit if s.verdict == "found"] for fit in sure]
    return [(one, same(one, true)) for one in symmetries]


def fits_of(panel: Panel) -> int:
    """Number of fits, those that decide nothing too."""
    return panel.models[MAIN]["symmetry_decided"].isel(symmetry=0).size


def _compared(case: Case) -> list[tuple[list[Symmetry], bool]]:
    return decided(case.panel) if case.estimator == MAIN else []


def _right(case: Case) -> Iterator[Score]:
    compared = _compared(case)
    if compared:
        fits_made = fits_of(case.panel)
        note = f"{fits_made - len(compared)} of {fits_made} fits are undecided"
        yield Score(np.array([right for _, right in compared]), note=note)


def _false(case: Case) -> Iterator[Score]:
    compared = _compared(case)
    if compared:
        wrong = np.array([bool(fitted) and not right for fitted, right in compared])
        limit = case.targets.get("symmetries_false")
        target = None if limit is None else {"maximum": limit * wrong.size}
        yield Score(wrong, target=target)


def gains_of(panel: Panel) -> tuple[np.ndarray, np.ndarray]:
    """Error of motions without symmetries over that with them, and the fits compared.

    The error of a fit is the median over many starts; one that fails is infinite.
    """
    model, free = panel.models[MAIN], panel.rollouts.get(FREE)
    if free is None or "symmetry_decided" not in model:
        return np.empty(0), np.empty(0, dtype=int)
    errors = []
    for one in (free, panel.rollouts[MAIN]):
        starts = one["horizon_error"].fillna(np.inf)
        errors.append(np.median(_stacked(starts).values, axis=0))
    symmetric = [any(s.verdict == "found" for s in fit) for fit in fits(model)]
    with np.errstate(invalid="ignore", divide="ignore"):
        gains = errors[0] / errors[1]
    compared = np.flatnonzero(np.array(symmetric) & ~np.isnan(gains))
    return gains[compared], compared


def _gain(case: Case) -> Iterator[Score]:
    gains, _ = gains_of(case.panel) if case.estimator == MAIN else ((), ())
    if len(gains):
        yield Score(gains)


def _least_gain(case: Case) -> Iterator[Score]:
    gains, _ = gains_of(case.panel) if case.estimator == MAIN else ((), ())
    if len(gains):
        yield Score(gains, summary=lambda v: (float(v.min()), np.nan, np.nan))


TABLE = (
    Row(
        "fits with exactly the true symmetries, of those that decide",
        _right,
        limit="symmetries_right",
        summary=count,
    ),
    Row(
        "fits with a false symmetry, of those that decide",
        _false,
        limit="symmetries_false",
        summary=count,
    ),
    Row(
        "error of motions without the symmetries over that with them",
        _gain,
        limit="gain_of_symmetries",
        kind="minimum",
        note="median over fits of the median error of many starts",
    ),
    Row(
        "error of motions without the symmetries over that with them, worst fit",
        _least_gain,
        limit="least_gain_of_symmetries",
        kind="minimum",
    ),
)
