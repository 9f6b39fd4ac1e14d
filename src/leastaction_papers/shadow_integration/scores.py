"""Scorecard of Lagrangians that were learned from snapshots, without candidates.

A row is there if the rollout holds what it is about. Our own limits are those of the
recommended estimator; of the others the numbers stand beside.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr

from leastaction.core.families import system_from_config
from leastaction_papers.scorecard.case import (
    Case,
    Key,
    Printed,
    Row,
    Score,
    count,
    own_rows,
    printed_rows,
    rows_of,
)
from leastaction_papers.scorecard.recovery import HONEST_MODE, MAIN, case_text
from leastaction_papers.shadow_integration.shadow_panel import (
    Learned,
    cyclic_coordinates,
    errors_at,
    learned_at,
)
from leastaction_papers.shadow_integration.symmetry_rows import TABLE as SYMMETRIES

# Orders of backward error analysis.
ORDERS = (0, 2, 4)


@dataclass(frozen=True)
class AtLevel:
    """What one estimator learned at a level of noise, and our limits there."""

    case: Case
    learned: Learned
    limits: Mapping
    where: str

    @property
    def duration(self) -> str:
        """Time up to which many starts are followed, s."""
        steps = int(np.nanmax(self.learned.rollout["horizon_steps"].values))
        return f"{steps * self.learned.model.attrs['time_step']:g}"

    @property
    def steps(self) -> int:
        """Steps of the long rollout."""
        end = float(self.learned.rollout["time"][-1])
        return round(end / self.learned.model.attrs["time_step"])

    @property
    def position_unit(self) -> str:
        """Unit of all positions, in words if they have several or none."""
        coordinates = self.case.config["system"]["coordinates"].values()
        one, *others = {str(entry["unit"]) for entry in coordinates}
        return "units of q" if others or one == "1" else one


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
        at_noise = level if swept else None
        learned = learned_at(case.estimator, case.model, rollout, at_noise)
        limits = _limits(targets, level)
        where = f", {case_text(level, HONEST_MODE)}" if level or len(levels) > 1 else ""
        if of_field:
            yield from rows_of(case, FIELDS, learned.rollout, limits, where)
            continue
        table = IDENTIFICATION if level else (*IDENTIFICATION, *MOTION)
        at = AtLevel(case, learned, limits, where)
        yield from rows_of(case, table, at, limits, where)
    if not of_field:
        yield from rows_of(case, SYMMETRIES, case, targets)


def _limits(targets: Mapping, level: float) -> dict:
    """Our limits at one level of noise; those without a level are for data without."""
    limits = {k: v for k, v in targets.items() if k != "by_noise" and not level}
    for entry in targets.get("by_noise") or []:
        if np.isclose(entry["noise_levels"], level, rtol=1e-9, atol=0).any():
            limits |= entry
    return limits


def _misalignment(at: AtLevel) -> Iterator[Score]:
    """By order, unless it is printed; with noise, of the order that counts."""
    printed = [entry["ours"] for entry in own_rows(at.case)]
    known = [o.get("order") for o in printed if o.get("rollout") == "misalignment"]
    for order in at.learned.orders:
        main = order == at.learned.main
        if order in known or (at.where and not main):
            continue
        limit = at.limits.get(f"misalignment_h{order}")
        if main:
            limit = at.limits.get("misalignment", limit)
        target = None if limit is None else {"maximum": limit}
        values = at.learned.rollout["misalignment"].sel(order=order).values
        yield Score(values, str(order), target=target)


def _of(name: str, score: Callable | None = None) -> Callable:
    """Variable of the rollout, of the main order if it has several; None without it.

    Or `score(at, values)` of them.
    """

    def values(at: AtLevel) -> np.ndarray | Sequence[Score] | None:
        if name not in at.learned.rollout:
            return None
        array = at.learned.rollout[name]
        entries = at.learned.at_main(name) if "order" in array.dims else array.values
        scored = score(at, entries) if score else entries
        return [scored] if isinstance(scored, Score) else scored

    return values


IDENTIFICATION = (
    Row(
        "misalignment of H^[[{}]]",
        _misalignment,
        limit="misalignment",
        note="mean sine of the angle between gradients of H^[[k]] and H",
    ),
)


def _steps_done(at: AtLevel, done: np.ndarray) -> Score:
    return Score(
        done,
        unit=f"of {at.steps}",
        summary=lambda done: (float(done.min()), np.nan, np.nan),
        target={"minimum": at.steps} if at.limits else None,
        note=at.learned.failed or "no step failed",
    )


def _position_error(at: AtLevel, error: np.ndarray) -> Score:
    complete = (at.learned.at_main("steps_done") == at.steps).all()
    note = "" if complete else "of the steps before it failed"
    return Score(error, str(at.steps), unit=at.position_unit, note=note)


def _momenta(at: AtLevel) -> Iterator[Score]:
    """Momenta that the truth conserves, because L does not depend on a coordinate."""
    if not at.learned.has_energy:
        return
    system = system_from_config(at.case.config["system"])
    for name in cyclic_coordinates(system):
        a = system.coordinates.index(name)
        size = np.abs(at.learned.at_main("momentum_start")[..., a])
        yield Score(at.learned.at_main("momentum_range")[..., a] / size, name)


def _horizon_error(at: AtLevel, errors: np.ndarray) -> Score:
    of = f"{at.duration} s, median of {errors.shape[-1]} starts"
    return Score(errors, of, unit=at.position_unit)


def _potential_error(at: AtLevel, error: np.ndarray) -> Score:
    note = f"H^[[{at.learned.main}]] at rest over its scale, shifted"
    return Score(error, note=note)


def _saddle_margin(at: AtLevel, margins: np.ndarray) -> Score:
    listed = ", ".join(f"{value:.3g}" for value in margins[0])
    return Score(
        margins.min(axis=-1),
        corrected=float(at.learned.rollout["saddle_margin_true"].min()),
        note=f"saddles: {listed}; a negative one is an open channel",
    )


def _survived(at: AtLevel, done: np.ndarray) -> Score:
    censored = int(at.learned.rollout["survival_censored"].values.sum())
    note = (
        f"{censored} of {done.size} starts, which differ by round-off, had not escaped "
        "when they were stopped: for these a lower bound"
    )
    return Score(done, note=note)


# The long rollout, its energy and momenta, many short ones, the potential, survival.
MOTION = (
    Row("steps of the long rollout", _of("steps_done", _steps_done)),
    Row(
        "largest error of a position, {} steps",
        _of("position_error", _position_error),
        limit="position_error",
    ),
    Row(
        "drift of the true energy, size",
        _of("energy_drift", lambda _, drift: np.abs(drift)),
        unit="W",
        limit="energy_drift",
        note="slope of a line through the energies along the long rollout",
    ),
    Row(
        "range of the momentum of {} over its size",
        _momenta,
        limit="momentum_range",
        note="the true L does not depend on this coordinate",
    ),
    Row(
        "largest error of a position up to {}",
        _of("horizon_error", _horizon_error),
        limit="horizon_error",
        kind="median",
        note="a start that failed counts as infinite",
    ),
    Row(
        "starts that failed before {} s",
        _of("horizon_error", lambda at, e: Score(np.isnan(e), at.duration)),
        limit="failures",
        kind="maximum",
        summary=count,
    ),
    Row(
        "largest error of the potential inside the level",
        _of("potential_error", _potential_error),
        unit="J",
        limit="potential_error",
    ),
    Row(
        "smallest margin of a saddle over the start",
        _of("saddle_margin", _saddle_margin),
        unit="J",
        limit="saddle_margin",
        kind="minimum",
    ),
    Row(
        "steps before escape",
        _of("survival_steps", _survived),
        unit="steps",
        limit="survived_steps",
        kind="minimum",
    ),
)


def _field_error(step: int, when: str, limit: str) -> Row:
    def values(rollout: xr.Dataset) -> np.ndarray | None:
        last = rollout.sizes["step"] - 1
        return errors_at(rollout, step) if abs(step) <= last else None

    quantity = f"rms error of unseen motions after {when}"
    return Row(quantity, values, limit=limit, note="over their rms")


def speed_error(rollout: xr.Dataset) -> np.ndarray:
    """|c²/c²_true − 1|, one per replicate."""
    return np.abs((rollout["speed_squared"] / rollout["speed_squared_true"]) - 1).values


def slope_error(rollout: xr.Dataset) -> np.ndarray | None:
    """Largest error of V' over its largest value; None where V' is zero."""
    true = rollout["slope_true"]
    largest = float(np.abs(true).max())
    if largest == 0:
        return None
    return (np.abs(rollout["slope_estimate"] - true).max("value") / largest).values


# The subject of these rows is a rollout.
FIELDS = (
    _field_error(50, "50 steps", "field_error_50"),
    _field_error(200, "200 steps", "field_error_200"),
    _field_error(-1, "the last step", "field_error"),
    Row(
        "relative error of the squared speed of waves",
        speed_error,
        limit="wave_speed_error",
    ),
    Row(
        "largest error of V' over its largest value",
        slope_error,
        limit="field_slope_error",
    ),
    Row(
        "fits called stable whose motion failed",
        lambda rollout: ((rollout["stable"] == 1) & (rollout["failed"] > 0)).values,
        limit="field_failures",
        kind="maximum",
        summary=count,
    ),
    Row(
        "fits refused before their rollout",
        lambda rollout: (rollout["stable"] == 0).values,
        limit="fields_refused",
        kind="minimum",
        summary=count,
        note="no stable density is compatible with the data",
    ),
)


def _printed(kind: str) -> Callable:
    """Variable of the rollout or of the model, all replicates, at the lowest noise."""

    def values(case: Case, ours: Mapping) -> np.ndarray:
        learned = None
        if case.rollout is not None:
            learned = learned_at("", case.model, case.rollout)
        dataset, name = getattr(learned, kind, case.model), ours[kind]
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


DIAGNOSTICS = Literal["rank", "residual_square"]
SEVERAL = "Order of backward error analysis, where there are several."
PRINTED = (
    Printed("rollout", "Variable of its rollout.", str, values=_printed("rollout")),
    Printed(
        "model",
        "Diagnostic of the learned model.",
        DIAGNOSTICS,
        values=_printed("model"),
    ),
    Key("estimator", "Whose number it is, of estimators without candidates.", str),
    Key("order", SEVERAL, Literal[ORDERS]),
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
