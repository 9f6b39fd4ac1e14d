"""CPU of stationary densities: a long path into a histogram, and one estimate from it.

    python benchmarks/fokker_planck.py [example ...]

A path of 1e7 samples is simulated and counted at once. An estimate is differentiate,
assemble and identify of one replicate; medians after a first call that compiles. With
its level set, an estimate is followed by one for each point of the set.
"""

import sys
from pathlib import Path

import numpy as np
import yaml
from cpu import cpu_seconds

from leastaction.acceptance import acceptance
from leastaction.assemble import assemble
from leastaction.differentiate import differentiate
from leastaction.identify import identify
from leastaction.mechanics.from_config import declared_units, system_from_config
from leastaction.simulate import simulate

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "config" / "examples" / "fokker_planck"
SCHEMA = ROOT / "workflow" / "schemas" / "example.schema.yaml"
NAMES = ("linear_additive", "linear_multiplicative", "duffing", "van_der_pol")
FORMS = ("recommended", "published")
REPEATS = 25


def measure(name: str) -> tuple[float, float, list[float]]:
    """Samples, CPU s of their histogram, and CPU s of an estimate of each form.

    Without the level set and, where an example has one, with it.
    """
    written = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    written.pop("variants", None)
    example = acceptance(yaml.safe_load(SCHEMA.read_text()))(written, name)
    system = system_from_config(example["system"])
    units, simulated = declared_units(example["system"]), example["simulate"]
    key = {"example": f"fokker_planck/{name}", "seed": 1, "replicate": 0}
    seconds, data = cpu_seconds(
        lambda: simulate(system, simulated, units=units, **key), 1
    )
    library, estimates = example["library"], []
    for form in FORMS:
        recipe = example["estimators"][form]
        whole = recipe["identify"]
        for settings in (whole | {"level_set": None}, whole):

            def estimate(recipe=recipe, settings=settings):
                tests = differentiate(data, recipe["differentiate"], library)
                equations = assemble(data, tests, recipe["assemble"], library)
                return identify(data, equations, settings, library)

            same = not whole["level_set"] and settings is whole
            timed = np.nan if same else cpu_seconds(estimate, REPEATS)[0]
            estimates.append(timed)
    samples = simulated["trajectories"] * simulated["duration"] / simulated["time_step"]
    return samples, seconds, estimates


def main(names) -> None:
    """Print a line for each example."""
    heads = [head for form in FORMS for head in (f"{form} ms", "with level set")]
    shown = " ".join(f"{head:>15}" for head in heads)
    print(f"{'example':22} {'samples':>9} {'histogram s':>12} {shown}")
    for name in names or NAMES:
        samples, seconds, estimates = measure(name)
        shown = " ".join(f"{1e3 * estimate:15.1f}" for estimate in estimates)
        print(f"{name:22} {samples:9.1e} {seconds:12.2f} {shown}")


if __name__ == "__main__":
    main(sys.argv[1:])
