"""Rows of the scorecard for the motions of learned Lagrangians."""

from collections.abc import Iterator, Mapping

import numpy as np

from leastaction.core.from_config import system_from_config
from leastaction.report import verdict
from leastaction.report.case import ADDED, Case
from leastaction.snapshots.shadow_panel import Learned


def motion_rows(
    case: Case, found: Learned, where: str, limits: Mapping
) -> Iterator[dict]:
    """The long rollout, its energy, many short ones, the potential, survival."""
    yield from _long(case, found, where, limits)
    yield from _energy(case, found, where, limits)
    yield from _momenta(case, found, where, limits)
    yield from _horizon(case, found, where, limits)
    yield from _potential(case, found, where, limits)
    yield from _survival(case, found, where, limits)


def _long(case: Case, found: Learned, where: str, limits: Mapping) -> Iterator[dict]:
    steps = round(float(found.rollout["time"][-1]) / found.model.attrs["time_step"])
    done = found.at_main("steps_done")
    yield case.row(
        ADDED,
        f"steps of the long rollout{where}",
        f"of {steps}",
        (float(done.min()), np.nan, np.nan),
        done.size,
        target=None if not limits else {"minimum": steps},
        note=found.failed or "no step failed",
    )
    yield _row(
        case,
        f"largest error of a position, {steps} steps{where}",
        position_unit(case),
        found.at_main("position_error"),
        _limit(limits, "position_error", "maximum"),
        note="" if (done == steps).all() else "of the steps before it failed",
    )


def _energy(case: Case, found: Learned, where: str, limits: Mapping) -> Iterator[dict]:
    yield _row(
        case,
        f"largest deviation of the true energy{where}",
        "J",
        found.at_main("energy_deviation"),
        _limit(limits, "energy_deviation", "maximum"),
    )
    yield _row(
        case,
        f"drift of the true energy, size{where}",
        "W",
        np.abs(found.at_main("energy_drift")),
        _limit(limits, "energy_drift", "maximum"),
        note="slope of a line through the energies along the long rollout",
    )
    if found.has_energy:
        yield _row(
            case,
            f"band of H^[[{found.main}]] over its scale{where}",
            "J",
            found.at_main("energy_band"),
            note="what the integrator should conserve",
        )


def _momenta(case: Case, found: Learned, where: str, limits: Mapping) -> Iterator[dict]:
    """Momenta that the truth conserves, because L does not depend on a coordinate."""
    if not found.has_energy:
        return
    system = system_from_config(case.config["system"])
    of_lagrangian = system.lagrangian.free_symbols
    for a, q in enumerate(system.q):
        if q in of_lagrangian:
            continue
        size = np.abs(found.at_main("momentum_start")[..., a])
        yield _row(
            case,
            f"range of the momentum of {q.name} over its size{where}",
            "1",
            found.at_main("momentum_range")[..., a] / size,
            _limit(limits, "momentum_range", "maximum"),
            note="the true L does not depend on this coordinate",
        )


def _horizon(case: Case, found: Learned, where: str, limits: Mapping) -> Iterator[dict]:
    if "horizon_error" not in found.rollout:
        return
    errors = found.rollout["horizon_error"].values
    failed = np.isnan(errors).sum()
    steps = int(np.nanmax(found.rollout["horizon_steps"].values))
    duration = steps * found.model.attrs["time_step"]
    yield _row(
        case,
        f"largest error of a position up to {duration:g} s, median of "
        f"{errors.shape[-1]} starts{where}",
        position_unit(case),
        errors,
        _limit(limits, "horizon_error", "median"),
        note="a start that failed counts as infinite",
    )
    yield case.row(
        ADDED,
        f"starts that failed before {duration:g} s{where}",
        f"of {errors.size}",
        (float(failed), np.nan, np.nan),
        errors.size,
        target=_limit(limits, "failures", "maximum"),
    )


def _potential(
    case: Case, found: Learned, where: str, limits: Mapping
) -> Iterator[dict]:
    if "potential_error" in found.rollout:
        yield _row(
            case,
            f"largest error of the potential inside the level{where}",
            "J",
            found.at_main("potential_error"),
            _limit(limits, "potential_error", "maximum"),
            note=f"H^[[{found.main}]] at rest over its scale, shifted",
        )
    if "saddle_margin" not in found.rollout:
        return
    margins = found.at_main("saddle_margin")
    listed = ", ".join(f"{value:.3g}" for value in margins[0])
    yield _row(
        case,
        f"smallest margin of a saddle over the start{where}",
        "J",
        margins.min(axis=-1),
        _limit(limits, "saddle_margin", "minimum"),
        corrected=float(found.rollout["saddle_margin_true"].min()),
        note=f"saddles: {listed}; a negative one is an open channel",
    )


def _survival(
    case: Case, found: Learned, where: str, limits: Mapping
) -> Iterator[dict]:
    if "survival_steps" not in found.rollout:
        return
    done = found.rollout["survival_steps"].values
    kept = int(found.rollout["survival_censored"].values.sum())
    yield _row(
        case,
        f"steps before escape{where}",
        "steps",
        done,
        _limit(limits, "survived_steps", "minimum"),
        note=f"{kept} of {done.size} starts, which differ by round-off, had not "
        "escaped when they were stopped: for these a lower bound",
    )


def _row(case, quantity: str, unit: str, values, target=None, **more) -> dict:
    values = np.ravel(values)
    summary = verdict.summary_of(values)
    return case.row(ADDED, quantity, unit, summary, values.size, target=target, **more)


def _limit(limits: Mapping, name: str, kind: str) -> dict | None:
    return {kind: limits[name]} if name in limits else None


def position_unit(case: Case) -> str:
    """Unit of all positions, in words if they have several or none."""
    system = case.config["system"]
    units = {str(entry["unit"]) for entry in system["coordinates"].values()}
    one = units.pop() if len(units) == 1 else "1"
    return "units of q" if one == "1" else one
