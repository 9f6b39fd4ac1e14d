"""CPU seconds and peak memory of one ensemble of every stochastic system.

    python benchmarks/stochastic_lagrangian.py [example ...]

Each stage runs once to compile and load, then five times. The median is printed,
with the total of simulate to identify. An example may be a variant.
"""

import resource
import sys
from pathlib import Path

import yaml
from cpu import cpu_seconds

from leastaction.core.families import declared_units, system_from_config
from leastaction.core.method import kind_of_rollout, rollout, step, steps
from leastaction_papers.configuration.config import with_variants
from leastaction_papers.configuration.example import completed

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "config" / "examples" / "stochastic_lagrangian"


def measure(name: str) -> dict[str, float]:
    """CPU seconds of each stage of the recommended estimator."""
    base = name.split("-")[0]
    written = yaml.safe_load((EXAMPLES / f"{base}.yaml").read_text())
    example = completed(dict(with_variants(base, written))[name], name)
    system = system_from_config(example["system"])
    recipe, library = example["estimators"]["recommended"], example["library"]
    units = declared_units(example["system"])
    key = {"example": name, "seed": 1}
    seconds = {}
    seconds["simulate"], data = cpu_seconds(
        lambda: step("simulate", example["simulate"])(
            system, replicate=0, units=units, **key
        )
    )
    seconds["differentiate"], rates = cpu_seconds(
        lambda: step("differentiate", recipe["differentiate"])(data, library)
    )
    seconds["assemble"], equations = cpu_seconds(
        lambda: step("assemble", recipe["assemble"])(data, rates, library)
    )
    seconds["identify"], model = cpu_seconds(
        lambda: step("identify", recipe["identify"])(data, equations, library)
    )
    seconds["total"] = sum(seconds.values())
    made = steps("simulate")[example["simulate"]["method"]].makes
    kind = kind_of_rollout(model.attrs.get("contract"), made)
    seconds["validate"], _ = cpu_seconds(
        lambda: rollout(kind).function()(
            system, model, example["simulate"], example["validate"], library, **key
        )
    )
    return seconds


def main(names: list[str]) -> None:
    """Print one row per example."""
    names = names or sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
    for i, name in enumerate(names):
        seconds = measure(name)
        if i == 0:
            print("example".ljust(12), *(stage.rjust(14) for stage in seconds))
        print(name.ljust(12), *(f"{value:14.3f}" for value in seconds.values()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"CPU seconds per ensemble; peak memory {peak:.2f} GB")


if __name__ == "__main__":
    main(sys.argv[1:])
