"""Rows of the scorecard: one per printed number, and the ones that we add."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from leastaction.mechanics.library import Library
from leastaction.publish import scores, verdict
from leastaction.publish.scores import Truth

ADDED = "added"
COVERAGE = "coverage of the 95 % interval: "
TYPED = 1e-6
NOTHING = (np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class Case:
    """One estimator on one example.

    Attributes
    ----------
    head
        `paper`, `example` and `estimator` of each row.
    config
        The example.
    library
        Candidates of L.
    truth
        None if the library cannot express the system.
    model
        Contract ``model``, all replicates.
    rollout
        Contract ``rollout``, or None.
    """

    head: Mapping[str, str]
    config: Mapping
    library: Library
    truth: Truth | None
    model: xr.Dataset
    rollout: xr.Dataset | None

    @property
    def publish(self) -> Mapping:
        """Section `publish`; an example may have none."""
        return self.config.get("publish") or {}

    def target(self, name: str, kind: str) -> dict | None:
        """Our own limit `name` as a target; None if the example sets none."""
        value = (self.publish.get("targets") or {}).get(name)
        return None if value is None else {kind: value}

    def row(
        self,
        item: str,
        quantity: str,
        unit: str,
        summary: tuple,
        replicates: int,
        *,
        target: Mapping | None = None,
        printed: float = np.nan,
        corrected: float = np.nan,
        note: str = "",
    ) -> dict:
        """One row of the scorecard with its verdict."""
        return make_row(
            self.head,
            item,
            quantity,
            unit,
            summary,
            replicates,
            target=target,
            printed=printed,
            corrected=corrected,
            note=note,
        )


def make_row(
    head: Mapping[str, str],
    item: str,
    quantity: str,
    unit: str,
    summary: tuple,
    replicates: int,
    *,
    target: Mapping | None = None,
    printed: float = np.nan,
    corrected: float = np.nan,
    note: str = "",
) -> dict:
    """One row of the scorecard; `summary` is (median, 5th, 95th percentile)."""
    return {
        **head,
        "item": str(item),
        "quantity": quantity,
        "unit": unit,
        "printed": float(printed),
        "corrected": float(corrected),
        "ours_median": summary[0],
        "ours_low": summary[1],
        "ours_high": summary[2],
        "replicates": int(replicates),
        "target": verdict.target_text(target, unit),
        "verdict": verdict.verdict(target, printed, corrected, summary),
        "note": note,
    }


def printed_rows(case: Case) -> Iterator[dict]:
    """One row per entry of ``publish.rows``.

    Raises
    ------
    ValueError
        If an entry asks for something that the example does not have, or its
        `corrected` disagrees with the truth derived from the system.
    """
    for entry in case.publish.get("rows") or []:
        values, truth = _ours(case, entry["ours"])
        corrected = float(entry["corrected"])
        if truth is not None and abs(truth - corrected) > TYPED * abs(truth):
            raise ValueError(
                f"publish.rows, {entry['quantity']!r}: corrected is {corrected:g}, but "
                f"the system of {case.head['example']!r} has {truth:g}; correct it, or "
                "drop the rows of printed numbers where the system is not the paper's"
            )
        yield case.row(
            entry["item"],
            entry["quantity"],
            entry["unit"],
            verdict.summary_of(values),
            len(values),
            target=entry.get("target"),
            printed=entry["printed"],
            corrected=corrected,
            note=entry.get("note", ""),
        )


def _ours(case: Case, ours: Mapping) -> tuple[np.ndarray, float | None]:
    """Values of one quantity over the replicates, and its truth if it has one."""
    model, truth = case.model, case.truth
    if "coefficient" in ours:
        i = scores.term_position(ours["coefficient"], case.library)
        factor = float(ours.get("factor", 1))
        values = model["coefficient_estimate"].transpose("replicate", "term").values
        exact = None if truth is None else factor * float(truth.coefficients[i])
        return factor * values[:, i], exact
    if "volatility" in ours:
        a = _dof(case, ours["volatility"])
        exact = np.nan if truth is None else float(truth.volatility[a])
        values = model["volatility_estimate"].transpose("replicate", "dof").values
        return values[:, a], None if np.isnan(exact) else exact
    if ours.get("parameter_error"):
        if truth is None:
            raise ValueError(
                "parameter_error: the library cannot express the system, so that its "
                "parameters have no counterpart"
            )
        return scores.parameter_error(model, truth), None
    if "library_size" in ours:
        dim = {"lagrangian": "term", "volatility": "volatility_term"}
        size = model.sizes[dim[ours["library_size"]]]
        return np.full(model.sizes["replicate"], float(size)), None
    raise ValueError(
        f"ours {dict(ours)} must be one of coefficient, volatility, parameter_error, "
        "library_size"
    )


def _dof(case: Case, coordinate: str) -> int:
    names = case.library.coordinates
    if coordinate not in names:
        raise ValueError(
            f"volatility {coordinate!r} is not a coordinate; these are {list(names)}"
        )
    return names.index(coordinate)


def added_rows(case: Case) -> Iterator[dict]:
    """What no paper prints, but a reader should know.

    A count has no percentiles. The low and high of a root mean square are those of the
    error of a single replicate.
    """
    if case.truth is not None:
        yield from _recovery(case, case.truth)
        yield from _coverage(case, case.truth)
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
    error = scores.volatility_error(case.model, truth)
    for a, name in enumerate(truth.library.coordinates):
        if truth.volatility[a] > 0:
            yield _rms(case, f"volatility of {name}", error[:, a], "volatility_rms")


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
    target = case.target(name, "maximum")
    return case.row(
        ADDED,
        f"relative error of the {what}, rms",
        "1",
        (scores.root_mean_square(error), low, high),
        len(error),
        # The limit is for the rms; single replicates scatter beyond it.
        target=target and {"between": [0.0, target["maximum"]]},
        note="all replicates, wrong supports included",
    )


def _coverage(case: Case, truth: Truth) -> Iterator[dict]:
    names = [truth.library.names[i] for i in truth.terms]
    found = scores.coefficient_coverage(case.model, truth)
    if found is not None:
        for i, name in enumerate(names):
            yield _share(case, f"{COVERAGE}coefficient of {name}", found[:, i])
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


def _goodness_of_fit(case: Case) -> dict:
    hit = case.model["j_p_value"].values > 0.05
    return _share(case, "Hansen J test: share of p > 0.05", hit)


def _rollout(case: Case, rollout: xr.Dataset) -> Iterator[dict]:
    errors = scores.rollout_errors(rollout)
    lost = int(rollout["diverged"].sum()) if "diverged" in rollout else 0
    note = "common random numbers" + (f"; {lost} trajectories diverged" if lost else "")
    for name, window in (("training", "training"), ("prediction", "prediction")):
        values = errors[f"mean_error_{name}"]
        yield case.row(
            ADDED,
            f"relative error of the mean path, {window} window",
            "1",
            verdict.summary_of(values),
            len(values),
            note=note,
        )
    values = errors["std_error"]
    yield case.row(
        ADDED,
        "relative error of the standard deviation of the path",
        "1",
        verdict.summary_of(values),
        len(values),
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
        if exact.any():
            yield case.row(
                ADDED,
                f"volatility of {name} from the value of L",
                entry.get("unit", "(units of qddot) s^0.5"),
                verdict.summary_of(of_lagrangian),
                len(of_lagrangian),
                target=entry.get("target"),
                printed=entry.get("printed", np.nan),
                corrected=sigma,
                note="half the root of dt E[L^2] regressed on q^2, which explains the "
                "printed number; it does not depend on sigma. Replicates with the "
                "exact support",
            )
        ratio = case.model["volatility_estimate"].values[:, a] / sigma
        yield case.row(
            ADDED,
            f"volatility of {name} over the truth, equation (20)",
            "1",
            verdict.summary_of(ratio),
            len(ratio),
            target=entry.get("target"),
            corrected=1.0,
            note="low by sqrt(1/2) = 0.7071: one central difference averages two "
            "independent increments, so that dt E[R^2] tends to sigma^2/2",
        )
