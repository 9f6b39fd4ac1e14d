"""Scorecard and table of errors of models identified from a stationary density."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from leastaction_papers.fokker_planck.stationary_parameters import (
    Parameter,
    level_set_error,
    parameters,
    samples,
)
from leastaction_papers.scorecard.case import (
    COVERAGE,
    Case,
    Key,
    Printed,
    Row,
    Score,
    count,
    own_rows,
    printed_rows,
    rms,
    rows_of,
    share,
)
from leastaction_papers.scorecard.recovery import BASELINE, MAIN
from leastaction_papers.scorecard.tables import Table

PARAMETER_STD = Key(
    "parameter_std",
    "Relative standard error of each parameter of a stationary density, by its label: "
    "the limit of its error, rms over n replicates, is (1 + 3/sqrt(2n)) times that.",
    dict[str, float],
)
LIMITS = (PARAMETER_STD,)
NOTE_OF_TABLE = (
    "Errors of every estimated parameter, in per cent of the truth: mean, standard "
    "deviation and root mean square over independent paths of the stated number of "
    "samples; the standard error that the estimator states (median), and how many of "
    "its 95 % intervals cover the truth. A single path has no standard deviation, and "
    "`published` states no error. Noise strengths are roots of squared volatilities."
)


def rows(case: Case) -> Iterator[dict]:
    """Printed numbers, then the errors and the coverage of every parameter.

    What the density does not determine has no error; one row counts the replicates that
    say so.
    """
    if case.estimator in (BASELINE, MAIN):
        yield from printed_rows(case, own_rows(case), PRINTED)
    yield from rows_of(case, [REFUSED])
    for parameter in parameters(case.config, case.model):
        if not np.isnan(parameter.truth) and not np.isnan(parameter.values).all():
            yield from rows_of(case, OF_PARAMETER, (case, parameter))
    yield from rows_of(case, [DISTANCE])


def _refused(case: Case) -> Iterator[Score]:
    refused = np.array([bool(str(s)) for s in case.model["identifiability"].values])
    if refused.any():
        yield Score(refused, target={"minimum": len(refused)})


def _error(subject: tuple[Case, Parameter]) -> Iterator[Score]:
    case, parameter = subject
    std = (case.targets.get(PARAMETER_STD.name) or {}).get(parameter.label)
    target, error = None, parameter.error
    if case.estimator == MAIN and std is not None:
        target = {"rms": float(f"{std * (1 + 3 / np.sqrt(2 * error.size)):.2g}")}
    yield Score(error, parameter.label, target=target)


def _covered(subject: tuple[Case, Parameter]) -> Iterator[Score]:
    _, parameter = subject
    if np.isfinite(parameter.std).all():
        yield Score(parameter.covered, parameter.label)


def _distances(case: Case) -> Iterator[Score]:
    if case.rollout is None:
        return
    for a, name in enumerate(case.rollout["dof"].values):
        values = case.rollout["total_variation"].values[:, a]
        if not np.isnan(values).all():
            yield Score(values, name)


REFUSED = Row(
    "replicates that refuse damping and noise together",
    _refused,
    summary=count,
    note="a stationary density in detailed balance knows their ratio alone",
)
OF_PARAMETER = (
    Row(
        "relative error of the {}, rms",
        _error,
        summary=rms,
        note=lambda error: (
            f"mean {100 * error.mean():+.3g} %, standard deviation "
            f"{100 * error.std():.3g} %"
        ),
    ),
    Row(f"{COVERAGE}{{}}", _covered, summary=share),
)
DISTANCE = Row(
    "total variation distance of the densities of {}",
    _distances,
    note="both densities from fresh samples, so that it is never zero",
)


def _of_parameter(key: str, meaning: str, values: Callable) -> Printed:
    """Number that ``values(parameter)`` gives of the one whose label is under `key`."""

    def of(case: Case, ours: Mapping) -> np.ndarray:
        by_label = {p.label: p for p in parameters(case.config, case.model)}
        if ours[key] not in by_label:
            raise ValueError(
                f"publish.rows: parameter {ours[key]!r} is not estimated here; these "
                f"are {', '.join(by_label) or 'none'}"
            )
        return values(by_label[ours[key]])

    return Printed(key, meaning, str, values=of)


def _level_set(case: Case, ours: Mapping) -> np.ndarray | None:
    if "level_volatility" in case.model:
        return 100 * np.abs(level_set_error(case.config, case.model)).max(axis=1)
    return None


def _objective(case: Case, ours: Mapping) -> np.ndarray | None:
    """Of other estimators the objective is another one."""
    return case.model["objective"].values if case.estimator == BASELINE else None


PRINTED = (
    Printed(
        "objective",
        "Sum of squared residuals at the minimum.",
        Literal[True],
        values=_objective,
    ),
    Printed(
        "level_set",
        "Largest relative error on the level set, in per cent.",
        Literal[True],
        values=_level_set,
    ),
    _of_parameter(
        "parameter",
        "Of a stationary density, a parameter by its label.",
        lambda parameter: parameter.values,
    ),
    _of_parameter(
        "parameter_percent",
        "Its relative error in per cent.",
        lambda parameter: 100 * parameter.error,
    ),
)


def stationary_errors(panels: Sequence) -> Table:
    """Table of bias, scatter, root mean square and coverage over the replicates.

    One row per example of the `panels`, estimator and parameter; errors in per cent of
    the truth.
    """
    rows = [
        {
            "system": panel.title,
            "samples": f"{samples(panel.config):.0e}",
            "estimator": estimator,
            "parameter": parameter.label,
            "truth": parameter.truth,
            **_errors(parameter),
        }
        for panel in panels
        for estimator, model in panel.models.items()
        for parameter in parameters(panel.config, model)
    ]
    return Table(pd.DataFrame(rows), NOTE_OF_TABLE)


def _errors(parameter: Parameter) -> dict:
    error = 100 * parameter.error
    std = 100 * np.abs(parameter.std / parameter.truth)
    known = np.isfinite(parameter.std).all() and np.isfinite(error).all()
    covered = f"{parameter.covered.sum()} of {error.size}" if known else ""
    return {
        "mean error (%)": error.mean(),
        "standard deviation (%)": error.std() if error.size > 1 else np.nan,
        "rms error (%)": np.sqrt(np.mean(error**2)),
        "standard error (%)": np.median(std) if known else np.nan,
        "covered by 95 % intervals": covered,
    }
