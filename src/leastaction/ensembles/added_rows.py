"""Rows of the scorecard that we add to a paper's numbers."""

import itertools
from collections.abc import Iterator

import numpy as np
import xarray as xr

from leastaction.fields.field_rows import field_rows
from leastaction.report import scores, verdict, volatility_law
from leastaction.report.case import ADDED, COVERAGE, Case
from leastaction.report.scores import Truth
from leastaction.trajectories.noise_rows import noise_rows


def added_rows(case: Case) -> Iterator[dict]:
    """Rows that no paper prints, but a reader should know.

    A count has no percentiles. The low and high of a root mean square are those of the
    error of a single replicate.
    """
    if case.has_sweep:
        yield from noise_rows(case)
        return
    if case.truth is not None:
        yield from _recovery(case, case.truth)
        yield from _coverage(case, case.truth)
    yield from field_rows(case)
    yield from _volatility_terms(case)
    if "j_p_value" in case.model:
        yield _goodness_of_fit(case)
    if case.rollout is not None:
        yield from _rollout(case, case.rollout)
    if case.truth is not None and "volatility_of_lagrangian" in case.model:
        yield from _published_volatility(case, case.truth)


def _recovery(case: Case, truth: Truth) -> Iterator[dict]:
    exact = scores.exact_support(case.model, truth)
    yield _count(case, "exact supports", exact, "exact_support")
    if truth.terms:
        error = scores.coefficient_error(case.model, truth)
        yield _rms(case, "coefficients", error, "coefficient_rms")
    if truth.dissipation.any():
        error = scores.dissipation_error(case.model, truth)
        yield _rms(case, "damping", error, "dissipation_rms")
    error = scores.volatility_error(case.model, truth)
    for a, name in enumerate(truth.library.coordinates):
        if truth.volatility[a] > 0:
            yield _rms(case, f"volatility of {name}", error[:, a], "volatility_rms")
    if truth.covariance is not None and len(truth.covariance) > 1:
        yield from _noise_correlation(case, truth)


def _noise_correlation(case: Case, truth: Truth) -> Iterator[dict]:
    names = truth.library.coordinates
    exact = scores.noise_correlation(truth.covariance)
    found = scores.noise_correlation(case.model["noise_covariance"].values)
    for a, b in itertools.combinations(range(len(names)), 2):
        if np.isfinite(exact[a, b]):
            yield case.row(
                ADDED,
                f"noise correlation of {names[a]} and {names[b]}: deviation from "
                f"{exact[a, b]:g}",
                "1",
                verdict.summary_of(np.abs(found[:, a, b] - exact[a, b])),
                len(found),
                target=case.target("noise_correlation", "maximum"),
                note="from the covariance S S^T of the identified noise",
            )


def _count(case: Case, quantity: str, hit: np.ndarray, name: str, note="") -> dict:
    share = case.target(name, "minimum")
    target = share and {"minimum": share["minimum"] * len(hit)}
    return case.row(
        ADDED,
        quantity,
        f"of {len(hit)}",
        (float(hit.sum()), np.nan, np.nan),
        len(hit),
        target=target,
        note=note,
    )


def _rms(case: Case, what: str, error: np.ndarray, name: str) -> dict:
    _, low, high = verdict.summary_of(error)
    return case.row(
        ADDED,
        f"relative error of the {what}, rms",
        "1",
        (scores.root_mean_square(error), low, high),
        len(error),
        target=case.target(name, "rms"),
        note="all replicates, wrong supports included",
    )


def _coverage(case: Case, truth: Truth) -> Iterator[dict]:
    names = [truth.library.names[i] for i in truth.terms]
    found = scores.coefficient_coverage(case.model, truth)
    if found is not None:
        for i, name in enumerate(names):
            yield _share(case, f"{COVERAGE}coefficient of {name}", found[:, i])
    found = scores.dissipation_coverage(case.model, truth)
    if found is not None and truth.dissipation.any():
        names = np.array(truth.library.dissipation_names)[truth.dissipation != 0]
        for i, name in enumerate(names):
            yield _share(case, f"{COVERAGE}damping {name}", found[:, i])
    found = scores.volatility_coverage(case.model, truth)
    if found is not None:
        for a, name in enumerate(truth.library.coordinates):
            if truth.volatility[a] > 0:
                yield _share(case, f"{COVERAGE}volatility of {name}", found[:, a])


def _share(case: Case, quantity: str, hit: np.ndarray) -> dict:
    return case.row(
        ADDED,
        quantity,
        "1",
        (float(hit.mean()), np.nan, np.nan),
        len(hit),
        corrected=0.95,
        target=verdict.binomial_band(len(hit)),
        note=f"{int(hit.sum())} of {len(hit)}; the band is 99.9 % of the binomial law",
    )


def _volatility_terms(case: Case) -> Iterator[dict]:
    if case.truth is None or (case.truth.volatility > 0).all():
        hit = scores.constant_volatility(case.model)
        note = "an additive noise is a constant; its integral is the Wiener potential"
        yield _count(
            case, "volatility is the constant alone", hit, "volatility_constant", note
        )
    elif "volatility_root_estimate" in case.model:
        yield from _state_dependent(case, case.truth)


def _state_dependent(case: Case, truth: Truth) -> Iterator[dict]:
    """S² term by term, and S where S² is the square of a sum of candidates."""
    for a, name in enumerate(truth.library.coordinates):
        law = volatility_law.law_of(case.config, a, truth.scale)
        if not np.isnan(truth.volatility[a]) or law is None:
            continue
        hit = volatility_law.exact_terms(case.model, law, a)
        yield _count(case, f"exact terms of S^2 of {name}", hit, "volatility_support")
        if law.root is None:
            continue
        terms = case.model["volatility_term"].values[law.root != 0]
        error = volatility_law.root_error(case.model, law, a)
        covered = volatility_law.root_coverage(case.model, law, a)
        for i, term in enumerate(terms):
            what = f"volatility of {name}, coefficient of {term}"
            yield _rms(case, what, error[:, i], "volatility_rms")
            yield _share(case, f"{COVERAGE}{what}", covered[:, i])


def _goodness_of_fit(case: Case) -> dict:
    hit = case.model["j_p_value"].values > 0.05
    return _share(case, "Hansen J test: share of p > 0.05", hit)


def _rollout(case: Case, rollout: xr.Dataset) -> Iterator[dict]:
    errors = scores.rollout_errors(rollout)
    lost = int(rollout["diverged"].sum()) if "diverged" in rollout else 0
    note = "common random numbers" + (f"; {lost} trajectories diverged" if lost else "")
    for window in ("training", "prediction"):
        values = errors[f"mean_error_{window}"]
        if np.isnan(values).all():
            continue
        yield case.row(
            ADDED,
            f"relative error of the mean path, {window} window",
            "1",
            verdict.summary_of(values),
            len(values),
            target=case.target(f"rollout_{window}", "maximum"),
            note=note,
        )
    values = errors["std_error"]
    yield case.row(
        ADDED,
        "relative error of the standard deviation of the path",
        "1",
        verdict.summary_of(values),
        len(values),
        target=case.target("rollout_std", "maximum"),
        note=note,
    )


def _published_volatility(case: Case, truth: Truth) -> Iterator[dict]:
    """How the printed volatilities came about, and what the written formula gives."""
    exact = scores.exact_support(case.model, truth)
    rows = case.publish.get("rows") or []
    for a, name in enumerate(truth.library.coordinates):
        sigma = truth.volatility[a]
        if not sigma > 0:
            continue
        entry = next((r for r in rows if r["ours"].get("volatility") == name), {})
        of_lagrangian = case.model["volatility_of_lagrangian"].values[exact, a]
        printed = float(entry.get("printed", np.nan))
        if exact.any():
            distance = abs(np.median(of_lagrangian) / printed - 1)
            yield case.row(
                ADDED,
                f"volatility of {name} from the value of L",
                entry.get("unit", "(units of qddot) s^0.5"),
                verdict.summary_of(of_lagrangian),
                len(of_lagrangian),
                target=entry.get("target"),
                printed=printed,
                corrected=sigma,
                note="half the root of dt E[L^2] regressed on q^2; it hardly "
                "depends on sigma. Replicates with the exact support"
                + ("" if np.isnan(printed) else f"; {distance:.1%} off the printed"),
                draws=of_lagrangian,
                errata=entry.get("erratum", ()),
            )
        ratio = case.model["volatility_estimate"].values[:, a] / sigma
        yield case.row(
            ADDED,
            f"volatility of {name} over the truth, equation (20)",
            "1",
            verdict.summary_of(ratio),
            len(ratio),
            corrected=1.0,
            note="low by sqrt(1/2) = 0.7071: one central difference averages two "
            "independent increments, so that dt E[R^2] tends to sigma^2/2",
        )
