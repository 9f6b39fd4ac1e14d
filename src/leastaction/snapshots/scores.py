"""Scorecard of Lagrangians that were learned from snapshots, without candidates.

A row is there if the rollout holds what it is about. Our own limits are those of the
recommended estimator; of the others the numbers stand beside.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from leastaction.core.families import system_from_config
from leastaction.report.case import (
    Case,
    Found,
    Key,
    Printed,
    Row,
    count,
    own_rows,
    printed_rows,
    rows_of,
)
from leastaction.report.recovery import HONEST_MODE, MAIN, case_text
from leastaction.report.verdict import binomial_band, summary_of
from leastaction.snapshots.field_rows import TABLE as FIELDS
from leastaction.snapshots.shadow_panel import Learned, cyclic_coordinates, learned_at
from leastaction.snapshots.symmetry_rows import TABLE as SYMMETRIES

# Orders of backward error analysis.
ORDERS = (0, 2, 4)


@dataclass(frozen=True)
class AtLevel:
    """What one estimator learned at a level of noise, and our limits there."""

    case: Case
    found: Learned
    limits: Mapping
    where: str

    @property
    def duration(self) -> float:
        """Time up to which many starts are followed, s."""
        steps = int(np.nanmax(self.found.rollout["horizon_steps"].values))
        return steps * self.found.model.attrs["time_step"]

    @property
    def steps(self) -> int:
        """Steps of the long rollout."""
        end = float(self.found.rollout["time"][-1])
        return round(end / self.found.model.attrs["time_step"])

    @property
    def position_unit(self) -> str:
        """Unit of all positions, in words if they have several or none."""
        coordinates = self.case.config["system"]["coordinates"]
        units = {str(entry["unit"]) for entry in coordinates.values()}
        one = units.pop() if len(units) == 1 else "1"
        return "units of q" if one == "1" else one


def rows(case: Case) -> Iterator[dict]:
    """Printed numbers, then ours: identification, uncertainty, motion, potential."""
    printed = [e for e in own_rows(case) if "estimator" in e["ours"]]
    yield from printed_rows(case, printed, PRINTED)
    rollout = case.rollout
    if rollout is None:
        return
    swept = "noise_level" in rollout.dims
    levels = np.atleast_1d(rollout["noise_level"].values if swept else 0.0)
    targets = case.targets if case.estimator == MAIN else {}
    of_field = "error" in rollout
    for level in map(float, levels):
        found = learned_at(
            case.estimator, case.model, rollout, level if swept else None
        )
        limits = _limits(targets, level)
        where = f", {case_text(level, HONEST_MODE)}" if level or len(levels) > 1 else ""
        if of_field:
            yield from rows_of(case, FIELDS, found.rollout, limits, where)
            continue
        table = IDENTIFICATION if level else (*IDENTIFICATION, *MOTION)
        at = AtLevel(case, found, limits, where)
        yield from rows_of(case, table, at, limits, where)
    if not of_field:
        yield from rows_of(case, SYMMETRIES, case, targets)


def _limits(targets: Mapping, level: float) -> dict:
    """Our limits at one level of noise; those without a level are for data without."""
    found = {k: v for k, v in targets.items() if k != "by_noise" and not level}
    for entry in targets.get("by_noise") or []:
        if np.isclose(entry["noise_levels"], level, rtol=1e-9, atol=0).any():
            found |= entry
    return found


def _misalignment(at: AtLevel) -> Iterator[Found]:
    """By order, unless it is printed; with noise, of the order that counts."""
    known = {
        (entry["ours"].get("rollout"), entry["ours"].get("order"))
        for entry in own_rows(at.case)
    }
    for order in at.found.orders:
        main = order == at.found.main
        if ("misalignment", order) in known or (at.where and not main):
            continue
        limit = at.limits.get(f"misalignment_h{order}")
        if main:
            limit = at.limits.get("misalignment", limit)
        target = None if limit is None else {"maximum": limit}
        values = at.found.rollout["misalignment"].sel(order=order).values
        yield Found(values, str(order), target=target)


def _of(name: str, of: Callable = np.asarray) -> Callable:
    """Variable of the rollout, of the main order if it has several; None without it."""

    def values(at: AtLevel) -> np.ndarray | None:
        if name not in at.found.rollout:
            return None
        array = at.found.rollout[name]
        return of(at.found.at_main(name) if "order" in array.dims else array.values)

    return values


def _coverage(at: AtLevel) -> Iterator[Found]:
    """Of the replicates that state a standard deviation of H.

    Errors of neighbouring states are correlated, so that the band is that of as many
    intervals as there are replicates.
    """
    if "hamiltonian_coverage" not in at.found.rollout:
        return
    shares = at.found.rollout["hamiltonian_coverage"].values
    stated = shares[np.isfinite(shares)]
    if stated.size:
        note = (
            f"mean over {stated.size} of {shares.size} replicates, those in which the "
            "series in h is exact enough; errors of neighbouring states are correlated"
        )
        yield Found(stated, note=note, target=binomial_band(stated.size))


# And how far H is off where the posterior tells how far it may be.
IDENTIFICATION = (
    Row(
        "misalignment of H^[[{}]]",
        _misalignment,
        limit="misalignment",
        note="mean sine of the angle between gradients of H^[[k]] and H",
    ),
    Row(
        "error of H, rms over the box",
        _of("hamiltonian_error", lambda error: np.sqrt((error**2).mean(axis=-1))),
        unit="J",
        note="after a monotone map to the true H: more is not known of it",
    ),
    Row(
        "share of states whose H is within two standard deviations",
        _coverage,
        summary=lambda values: (float(values.mean()), *summary_of(values)[1:]),
    ),
)


def _steps_done(at: AtLevel) -> Iterator[Found]:
    yield Found(
        at.found.at_main("steps_done"),
        unit=f"of {at.steps}",
        summary=lambda done: (float(done.min()), np.nan, np.nan),
        target={"minimum": at.steps} if at.limits else None,
        note=at.found.failed or "no step failed",
    )


def _position_error(at: AtLevel) -> Iterator[Found]:
    whole = (at.found.at_main("steps_done") == at.steps).all()
    note = "" if whole else "of the steps before it failed"
    error = at.found.at_main("position_error")
    yield Found(error, str(at.steps), unit=at.position_unit, note=note)


def _energy_band(at: AtLevel) -> Iterator[Found]:
    if at.found.has_energy:
        yield Found(at.found.at_main("energy_band"), str(at.found.main))


def _momenta(at: AtLevel) -> Iterator[Found]:
    """Momenta that the truth conserves, because L does not depend on a coordinate."""
    if not at.found.has_energy:
        return
    system = system_from_config(at.case.config["system"])
    for name in cyclic_coordinates(system):
        a = system.coordinates.index(name)
        size = np.abs(at.found.at_main("momentum_start")[..., a])
        yield Found(at.found.at_main("momentum_range")[..., a] / size, name)


def _horizon_error(at: AtLevel) -> Iterator[Found]:
    if "horizon_error" in at.found.rollout:
        errors = at.found.rollout["horizon_error"].values
        of = f"{at.duration:g} s, median of {errors.shape[-1]} starts"
        yield Found(errors, of, unit=at.position_unit)


def _failures(at: AtLevel) -> Iterator[Found]:
    if "horizon_error" in at.found.rollout:
        errors = at.found.rollout["horizon_error"].values
        yield Found(np.isnan(errors), f"{at.duration:g}")


def _potential_error(at: AtLevel) -> Iterator[Found]:
    if "potential_error" in at.found.rollout:
        note = f"H^[[{at.found.main}]] at rest over its scale, shifted"
        yield Found(at.found.at_main("potential_error"), note=note)


def _saddle_margin(at: AtLevel) -> Iterator[Found]:
    if "saddle_margin" in at.found.rollout:
        margins = at.found.at_main("saddle_margin")
        listed = ", ".join(f"{value:.3g}" for value in margins[0])
        yield Found(
            margins.min(axis=-1),
            corrected=float(at.found.rollout["saddle_margin_true"].min()),
            note=f"saddles: {listed}; a negative one is an open channel",
        )


def _survived(at: AtLevel) -> Iterator[Found]:
    if "survival_steps" in at.found.rollout:
        done = at.found.rollout["survival_steps"].values
        kept = int(at.found.rollout["survival_censored"].values.sum())
        note = (
            f"{kept} of {done.size} starts, which differ by round-off, had not escaped "
            "when they were stopped: for these a lower bound"
        )
        yield Found(done, note=note)


# The long rollout, its energy and momenta, many short ones, the potential, survival.
MOTION = (
    Row("steps of the long rollout", _steps_done),
    Row(
        "largest error of a position, {} steps", _position_error, limit="position_error"
    ),
    Row(
        "largest deviation of the true energy",
        _of("energy_deviation"),
        unit="J",
        limit="energy_deviation",
    ),
    Row(
        "drift of the true energy, size",
        _of("energy_drift", np.abs),
        unit="W",
        limit="energy_drift",
        note="slope of a line through the energies along the long rollout",
    ),
    Row(
        "band of H^[[{}]] over its scale",
        _energy_band,
        unit="J",
        note="what the integrator should conserve",
    ),
    Row(
        "range of the momentum of {} over its size",
        _momenta,
        limit="momentum_range",
        note="the true L does not depend on this coordinate",
    ),
    Row(
        "largest error of a position up to {}",
        _horizon_error,
        limit="horizon_error",
        kind="median",
        note="a start that failed counts as infinite",
    ),
    Row(
        "starts that failed before {} s",
        _failures,
        limit="failures",
        kind="maximum",
        summary=count,
    ),
    Row(
        "largest error of the potential inside the level",
        _potential_error,
        unit="J",
        limit="potential_error",
    ),
    Row(
        "smallest margin of a saddle over the start",
        _saddle_margin,
        unit="J",
        limit="saddle_margin",
        kind="minimum",
    ),
    Row(
        "steps before escape",
        _survived,
        unit="steps",
        limit="survived_steps",
        kind="minimum",
    ),
)


def _printed(kind: str) -> Callable:
    """Variable of the rollout or of the model, all replicates, at the lowest noise."""

    def values(case: Case, ours: Mapping) -> np.ndarray:
        found = None
        if case.rollout is not None:
            found = learned_at("", case.model, case.rollout)
        dataset, name = getattr(found, kind, case.model), ours[kind]
        if name not in dataset:
            raise ValueError(
                f"publish.rows: {case.panel.example} with estimator "
                f"{ours['estimator']!r} has no {name!r} in its {kind}; there are "
                f"{', '.join(map(str, dataset.data_vars))}"
            )
        array = dataset[name]
        if "order" in array.dims:
            array = array.sel(order=ours["order"])
            if ours.get("unscaled"):
                array = array * abs(dataset["scale"].sel(order=ours["order"]))
        return float(ours.get("factor", 1)) * np.ravel(array.values).astype(float)

    return values


PRINTED = (
    Printed("rollout", "Variable of its rollout.", str, values=_printed("rollout")),
    Printed(
        "model",
        "Diagnostic of the learned model.",
        Literal["rank", "residual_square"],
        values=_printed("model"),
    ),
    Key("estimator", "Whose number it is, of estimators without candidates.", str),
    Key(
        "order",
        "Order of backward error analysis, where there are several.",
        Literal[ORDERS],
    ),
    Key("unscaled", "In the units of the learned Lagrangian, not in J.", bool),
    Key("factor", "Multiplies it.", default=1),
)
LIMITS = (
    *(
        Key(f"misalignment_h{k}", f"misalignment of H^[[{k}]], at most.")
        for k in ORDERS
    ),
    *MOTION,
    *SYMMETRIES,
    *FIELDS,
)
LIMITS_BY_NOISE = (*IDENTIFICATION, *FIELDS)
