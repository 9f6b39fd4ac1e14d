"""Parameters of a stationary density beside the truth: scorecard, table of errors."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr

from leastaction.core.compiled import evaluator
from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.families import system_from_config
from leastaction.densities import EVERY_PART
from leastaction.densities.fokker_planck import StationaryEquation, equation_of
from leastaction.report.case import (
    COVERAGE,
    Case,
    Found,
    Key,
    Printed,
    Row,
    count,
    own_rows,
    printed_rows,
    rms,
    rows_of,
    share,
)
from leastaction.report.recovery import BASELINE, MAIN
from leastaction.report.tables import Table

# States at which the truth is expressed by the terms, and what of it is round-off.
STATES_OF_TRUTH = 60
RELATIVE_ROUNDOFF_OF_TRUTH = 1e-8
# Variables of a model, by the kind of a term.
ESTIMATE_OF = {
    "lagrangian": "coefficient",
    "dissipation": "dissipation_coefficient",
    "volatility": "volatility_coefficient",
}
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
    "`published` and `split_sample` state no error. Noise strengths are roots of "
    "squared volatilities."
)


@dataclass(frozen=True)
class Parameter:
    """One estimated parameter; of a squared volatility its root, a noise strength."""

    # Kind and candidate.
    label: str
    # In the scale of the reference; NaN if the terms cannot express the system.
    truth: float
    # Estimates and standard errors, shape (replicate,).
    values: np.ndarray
    std: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """Relative errors, shape (replicate,)."""
        return self.values / self.truth - 1

    @property
    def covered(self) -> np.ndarray:
        """Whether the 95 % interval covers the truth, shape (replicate,)."""
        return np.abs(self.values - self.truth) <= NORMAL_QUANTILE * self.std


def true_coefficients(config: Mapping) -> tuple[StationaryEquation, np.ndarray]:
    """The equation of an example, and the coefficients that give its true system.

    Shape (term,); NaN if the terms cannot express drift and diffusion.
    """
    return _true_coefficients(json.dumps([config["library"], config["system"]]))


@lru_cache(maxsize=16)
def _true_coefficients(written: str) -> tuple[StationaryEquation, np.ndarray]:
    """Of a library and a system: every estimator, row and figure asks again."""
    given, system = json.loads(written)
    library = {k: v for k, v in given.items() if k in EVERY_PART}
    equation = equation_of(library, system["coordinates"])
    system = system_from_config(system)
    rng = np.random.default_rng(0)
    q, qdot = rng.uniform(-1.5, 1.5, (2, STATES_OF_TRUTH, equation.dof))
    expressions = [e for t in equation.terms for e in (*t.acceleration, *t.diffusion)]
    columns = evaluator(expressions, equation.library.coordinates)(q, qdot)
    columns = columns.reshape(STATES_OF_TRUTH, len(equation.terms), -1)
    noise = system.diffusion * system.diffusion.T
    right = evaluator(
        [*system.acceleration, *noise], system.coordinates, list(system.parameters)
    )(q, qdot, system.parameter_values)
    target = (right - columns[:, 0]).ravel()
    free = np.swapaxes(columns[:, 1:], 1, 2).reshape(len(target), -1)
    found, *_ = np.linalg.lstsq(free, target, rcond=None)
    roundoff = RELATIVE_ROUNDOFF_OF_TRUTH * np.abs(target).max()
    if np.abs(free @ found - target).max() > roundoff:
        return equation, np.full(len(equation.terms), np.nan)
    return equation, np.concatenate([[1.0], found])


def true_level(config: Mapping) -> float:
    """Coefficient of the damping over the squared volatility, c / a², of the truth."""
    equation, truth = true_coefficients(config)
    kinds = [term.kind for term in equation.terms]
    return truth[kinds.index("dissipation")] / truth[kinds.index("volatility")]


def level_set_error(config: Mapping, model: xr.Dataset) -> np.ndarray:
    """Relative error of the damping along the level set, shape (replicate, level)."""
    exact = true_level(config) * model["level_volatility"].values ** 2
    return model["level_dissipation_estimate"].values / exact - 1


def parameters(config: Mapping, model: xr.Dataset) -> list[Parameter]:
    """Every coefficient that was to be estimated, in the order of the terms.

    Of all replicates of a `model` of the example.
    """
    equation, truth = true_coefficients(config)
    found = []
    for term, exact in zip(equation.terms, truth, strict=True):
        if not np.isnan(term.known):
            continue
        place, name = (slice(None), *term.position), ESTIMATE_OF[term.kind]
        values = model[f"{name}_estimate"].values[place]
        std, label = model[f"{name}_std"].values[place], term.label
        if term.kind == "volatility":
            label = label.replace("squared volatility", "noise strength")
            exact = np.sqrt(max(exact, 0.0))
            with np.errstate(invalid="ignore", divide="ignore"):
                values = np.sqrt(values)
                std = std / (2 * values)
        found.append(Parameter(label, float(exact), values, std))
    return found


def rows(case: Case) -> Iterator[dict]:
    """Printed numbers, then the errors and the coverage of every parameter.

    What the density does not determine has no error; one row counts the replicates that
    say so. An exact density has no rows: without noise there is nothing to judge.
    """
    if case.config["simulate"].get("exact"):
        return
    if case.estimator in (BASELINE, MAIN):
        yield from printed_rows(case, own_rows(case), PRINTED)
    yield from rows_of(case, [REFUSED])
    for parameter in parameters(case.config, case.model):
        if not np.isnan(parameter.truth) and not np.isnan(parameter.values).all():
            yield from rows_of(case, OF_PARAMETER, (case, parameter))
    yield from rows_of(case, [DISTANCE])


def _refused(case: Case) -> Iterator[Found]:
    refused = np.array([bool(str(s)) for s in case.model["identifiability"].values])
    if refused.any():
        yield Found(refused, target={"minimum": len(refused)})


def _error(subject: tuple[Case, Parameter]) -> Iterator[Found]:
    case, parameter = subject
    std = (case.targets.get(PARAMETER_STD.name) or {}).get(parameter.label)
    target, error = None, parameter.error
    if case.estimator == MAIN and std is not None:
        target = {"rms": float(f"{std * (1 + 3 / np.sqrt(2 * error.size)):.2g}")}
    yield Found(error, parameter.label, target=target)


def _covered(subject: tuple[Case, Parameter]) -> Iterator[Found]:
    _, parameter = subject
    if np.isfinite(parameter.std).all():
        yield Found(parameter.covered, parameter.label)


def _distances(case: Case) -> Iterator[Found]:
    if case.rollout is None:
        return
    for a, name in enumerate(case.rollout["dof"].values):
        values = case.rollout["total_variation"].values[:, a]
        if not np.isnan(values).all():
            yield Found(values, name)


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


def _level_set_error(case: Case, ours: Mapping) -> np.ndarray | None:
    """Of the damping on the level set, in per cent of its true ratio c / a²."""
    if "level_volatility" not in case.model:
        return None
    return 100 * np.abs(level_set_error(case.config, case.model)).max(axis=1)


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
        values=_level_set_error,
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


def samples(config: Mapping) -> float:
    """Number of samples of one replicate of an example."""
    given = config["simulate"]
    return given["duration"] / given["time_step"] * given["trajectories"]
