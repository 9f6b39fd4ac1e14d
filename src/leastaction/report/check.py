"""What the section `publish` of an example may ask for, checked before any job."""

from collections.abc import Iterator, Mapping

from leastaction.core.families import unknown
from leastaction.report.sweep import HONEST_MODE, MAIN

MODES = ("independent", "shared")


def publish_problems(example: Mapping) -> Iterator[str]:
    """Rows and limits that would be lost without a word.

    - A limit of noise of an estimator that the example does not have.
    - A limit in ``targets.by_noise`` at a level that is simulated, but that the cases
      of the recommended estimator leave out. A level that is not simulated, because a
      run has overridden ``simulate.noise``, is no mistake: it gets a row without a
      verdict (:mod:`leastaction.trajectories.scores`).
    - A number of a learned Lagrangian without its estimator, or of an order that is not
      computed.
    - A band (`factor`) or a `reason` where there is no ratio of two limits.
    """
    publish, given = example.get("publish") or {}, list(example["estimators"])
    for i, row in enumerate(publish.get("rows") or []):
        where, ours = f"publish.rows[{i}]", row["ours"]
        for key in ("largest_noise", "over", "estimator"):
            if key in ours and ours[key] not in given:
                yield f"{where}.ours.{key}: {unknown('estimator', ours[key], given)}"
        if "over" in ours and "largest_noise" not in ours:
            yield f"{where}.ours.over: a ratio needs largest_noise, too"
        of_ratio = "reason" in row or "factor" in row.get("target", {})
        if of_ratio and "over" not in ours:
            yield f"{where}: reason and target.factor are for the ratio of two limits"
        yield from _of_rollouts(where, ours, example)
    yield from _left_out(example, (publish.get("targets") or {}).get("by_noise") or [])


def _of_rollouts(where: str, ours: Mapping, example: Mapping) -> Iterator[str]:
    """A number of a learned Lagrangian that is not said whose, or not computed."""
    named = {"rollout", "model"} & set(ours)
    if not named and not {"estimator", "order", "unscaled"} & set(ours):
        return
    if len(named) != 1 or "estimator" not in ours:
        yield f"{where}.ours: give an estimator, and one of rollout and model"
    orders = (example["validate"].get("shadow") or {}).get("orders", [0, 2])
    if "order" in ours and ours["order"] not in orders:
        yield (
            f"{where}.ours.order: {ours['order']} is not in validate.shadow.orders, "
            f"which are {orders}"
        )


def _left_out(example: Mapping, entries) -> Iterator[str]:
    """Simulated cases with a limit that the recommended estimator does not do."""
    noise = example["simulate"].get("noise") or {}
    recipe = example["estimators"].get(MAIN)
    if recipe is None or "levels" not in noise:
        return
    cases = recipe["differentiate"].get("cases") or {}
    for i, entry in enumerate(entries):
        mode = entry.get("noise_mode", HONEST_MODE)
        if mode not in noise.get("modes", MODES):
            continue
        for level in entry["noise_levels"]:
            done = level in cases.get("levels", [level])
            if level in noise["levels"] and not (
                done and mode in cases.get("modes", [mode])
            ):
                yield (
                    f"publish.targets.by_noise[{i}]: estimators.{MAIN}.differentiate"
                    f".cases leaves out {mode} noise of {level:g}; add it there, or "
                    "drop the limit"
                )
