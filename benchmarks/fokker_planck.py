"""CPU of stationary densities: a long path into a histogram, and one estimate from it.

    python benchmarks/fokker_planck.py [example ...]

A path of 1e7 samples is simulated and counted at once. An estimate is differentiate,
assemble and identify of one replicate; the least and the median of repeated calls after
a first one. With its level set, an estimate is followed by one for each of its points.
"""

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from cpu import seconds_of

from leastaction.core.families import declared_units, system_from_config
from leastaction.core.method import step
from leastaction_papers.configuration.example import completed

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "config" / "examples" / "fokker_planck"
NAMES = (
    "linear_additive",
    "linear_multiplicative",
    "duffing",
    "van_der_pol",
    "two_dof",
)
REPEATS = 40
SIMULATIONS = 5


def repeated(action, repeats: int) -> tuple[float, float, object]:
    """Least and median CPU seconds of `action` after a first call, and its result."""
    action()
    spent = []
    for _ in range(repeats):
        seconds, _, result = seconds_of(action)
        spent.append(seconds)
    return min(spent), statistics.median(spent), result


def measure(name: str) -> Iterator[tuple[str, float, float]]:
    """What is timed, and the least and the median of its CPU seconds."""
    written = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    written.pop("variants", None)
    example = completed(written, name)
    system = system_from_config(example["system"])
    units, simulated = declared_units(example["system"]), example["simulate"]
    key = {"example": f"fokker_planck/{name}", "seed": 1, "replicate": 0}
    samples = simulated["trajectories"] * simulated["duration"] / simulated["time_step"]
    *seconds, data = repeated(
        lambda: step("simulate", simulated)(system, units=units, **key), SIMULATIONS
    )
    yield f"{samples:.0e} samples", *seconds
    library = example["library"]
    for form, recipe in example["estimators"].items():
        whole = recipe["identify"]
        cases = {form: whole | {"level_set": None}}
        if whole["level_set"]:
            cases[f"{form}, level set"] = whole
        for label, settings in cases.items():

            def estimate(recipe=recipe, settings=settings):
                tests = step("differentiate", recipe["differentiate"])(data, library)
                equations = step("assemble", recipe["assemble"])(data, tests, library)
                return step("identify", settings)(data, equations, library)

            yield label, *repeated(estimate, REPEATS)[:2]


def main(names) -> None:
    """Print a line for everything that is timed."""
    print(f"{'example':22} {'':26} {'least ms':>10} {'median ms':>10}")
    for name in names or NAMES:
        for label, least, median in measure(name):
            print(f"{name:22} {label:26} {1e3 * least:10.1f} {1e3 * median:10.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
