"""CPU of stationary densities: a long path into a histogram, and one estimate from it.

    python benchmarks/fokker_planck.py [example ...]

A path of 1e7 samples is simulated and counted at once. An estimate is differentiate,
assemble and identify of one replicate; medians after a first call that compiles.
"""

import sys
from pathlib import Path

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
    """Samples, CPU s of their histogram, and CPU s of an estimate of each form."""
    written = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    written.pop("variants", None)
    example = acceptance(yaml.safe_load(SCHEMA.read_text()))(written, name)
    system = system_from_config(example["system"])
    units, settings = declared_units(example["system"]), example["simulate"]
    key = {"example": f"fokker_planck/{name}", "seed": 1, "replicate": 0}
    seconds, data = cpu_seconds(
        lambda: simulate(system, settings, units=units, **key), 1
    )
    library, estimates = example["library"], []
    for form in FORMS:
        recipe = example["estimators"][form]

        def estimate(recipe=recipe):
            tests = differentiate(data, recipe["differentiate"], library)
            equations = assemble(data, tests, recipe["assemble"], library)
            return identify(data, equations, recipe["identify"], library)

        estimates.append(cpu_seconds(estimate, REPEATS)[0])
    samples = settings["trajectories"] * settings["duration"] / settings["time_step"]
    return samples, seconds, estimates


def main(names) -> None:
    """Print a line for each example."""
    shown = " ".join(f"{form + ' ms':>15}" for form in FORMS)
    print(f"{'example':22} {'samples':>9} {'histogram s':>12} {shown}")
    for name in names or NAMES:
        samples, seconds, estimates = measure(name)
        shown = " ".join(f"{1e3 * estimate:15.1f}" for estimate in estimates)
        print(f"{name:22} {samples:9.1e} {seconds:12.2f} {shown}")


if __name__ == "__main__":
    main(sys.argv[1:])
