"""Time to escape of motions that differ by round-off, and one of them in full."""

from collections.abc import Mapping

import numpy as np

from leastaction.snapshots.shadow_truth import Truth

# Stored samples of the unperturbed motion, and steps of its end stored one by one.
SAMPLES = 2000
END = 400


def survival(model, truth: Truth, settings: Mapping) -> dict[str, tuple]:
    """Steps before escape, censored at the end, and the motion of the first start.

    Starts differ by round-off in the first coordinate. Whether one escapes may be a
    matter of the last bit, so the time of a single one means nothing.

    Parameters
    ----------
    model
        A model of :mod:`leastaction.snapshots.shadow_model`.
    settings
        The `shadow` section, of which `start` and `survival` are used. Steps beyond a
        multiple of the stored samples are not done.
    """
    recipe = settings["survival"]
    every = max(recipe["steps"] // SAMPLES, 1)
    steps = recipe["steps"] // every * every
    start = np.array(settings["start"], dtype=float)
    first = model.run(start, steps, model.main, every)
    done = [first.steps]
    for i in range(1, recipe["starts"]):
        other = start.copy()
        other[0] += i * recipe["perturbation"]
        done.append(model.run(other, steps, model.main, steps).steps)
    done = np.array(done, dtype=float)
    return {
        "survival_steps": (("survival_start",), done, "1", "steps before escape"),
        "survival_time": (
            ("survival_start",),
            done * truth.time_step,
            "s",
            "time before escape, or when the motion was stopped",
        ),
        "survival_censored": (
            ("survival_start",),
            (done >= steps).astype(float),
            "1",
            "1 where the motion had not escaped when it was stopped",
        ),
    } | _passage(model, truth, first, every, start)


def _passage(model, truth: Truth, run, every: int, start) -> dict[str, tuple]:
    """Positions and true energy of a run in coarse samples, and its last steps."""
    count, h = len(run.positions), truth.time_step
    energy = truth.energy(model.states(run, np.arange(count), model.main, every))
    time = h * every * np.arange(count)
    sample = max(run.steps - END, 0) // every
    before = run.steps - sample * every
    # Its rounding errors differ, but so soon after that does not show.
    further = model.further(run, sample, before).positions
    end = np.full((END + 1, run.positions.shape[1]), np.nan)
    kept = further[-(END + 1) :]
    end[: len(kept)] = kept
    there = np.isfinite(energy)
    slope = np.nan
    if there.sum() > 1:
        slope = np.polynomial.polynomial.polyfit(time[there], energy[there], 1)[1]
    return {
        "passage_time": (("passage",), time, "s", "time of the coarse samples"),
        "passage_q": (
            ("passage", "dof"),
            run.positions,
            "see coordinate_unit",
            "positions from the unperturbed start",
        ),
        "passage_energy": (
            ("passage",),
            energy - truth.energy(start[None])[0],
            "J",
            "true energy along it minus that of the start",
        ),
        "passage_drift": ((), slope, "W", "slope of the true energy along it"),
        "passage_end": (
            ("end", "dof"),
            end,
            "see coordinate_unit",
            "its last positions before it escaped or was stopped, every step",
        ),
    }
