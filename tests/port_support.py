"""Port-Hamiltonian systems for tests: the two of the paper, and a small example."""

from functools import lru_cache
from pathlib import Path

import yaml
from stages import assemble, differentiate, identify, simulate, validate

from leastaction.core.contracts import check
from leastaction.core.families import declared_units, system_from_config
from leastaction.core.method import step
from leastaction.ports.system import PortHamiltonianSystem
from leastaction_papers.configuration import example as examples

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "config" / "examples" / "port_hamiltonian"


def written(name: str) -> dict:
    """An example as it stands in its file, without variants."""
    example = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    example.pop("variants", None)
    return example


def system(name: str) -> PortHamiltonianSystem:
    return PortHamiltonianSystem.from_config(written(name)["system"])


def completed(example: dict) -> dict:
    """`example` with its defaults, as a rule gets it."""
    return examples.completed(example, "example")


def small(name: str, **simulate) -> dict:
    """A short path with few and small training sets, completed."""
    example = written(name)
    example["simulate"] |= {
        "duration": 400 * example["simulate"]["time_step"],
        "training": {"sizes": [8, 16], "test": 50, "early": {"until": 3.0, "size": 8}},
    } | simulate
    port = example["validate"]["port"] | {"shown_size": 8, "forward_size": 16}
    port["scenarios"] = {
        key: scenario | {"duration": 1.0} for key, scenario in port["scenarios"].items()
    }
    if "coupling" in port:
        port["coupling"] = port["coupling"] | {"duration": 1.0}
    example["validate"] = {"port": port}
    return completed(example)


@lru_cache
def observations(name):
    """Replicate 0 of the small example."""
    example = small(name)
    system = system_from_config(example["system"])
    return simulate(
        system,
        example["simulate"],
        example="test/example",
        seed=7,
        replicate=0,
        units=declared_units(example["system"]),
    )


@lru_cache
def identified(name, estimator):
    """Model of replicate 0 of the small example."""
    recipe = small(name)["estimators"][estimator]
    seen = observations(name)
    flow = check(differentiate(seen, recipe["differentiate"], {}), "flow_data")
    targets = check(assemble(seen, flow, recipe["assemble"], {}), "effort_data")
    kind = step("identify", recipe["identify"]).makes
    found = check(identify(seen, targets, recipe["identify"], {}), kind)
    return found.assign_attrs(contract=kind)


@lru_cache
def rollout(name="electrical_network", estimator="recommended"):
    """Rollout of replicate 0 of the small example."""
    example = small(name)
    found = validate(
        system_from_config(example["system"]),
        identified(name, estimator),
        example["simulate"],
        example["validate"],
        {},
        example="test/example",
        seed=7,
    )
    return check(found, "port_rollout")
