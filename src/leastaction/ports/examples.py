"""What a port-Hamiltonian example must fulfil, before any job."""

from collections.abc import Iterator, Mapping

import numpy as np

from leastaction.core.expressions import unknown
from leastaction.core.families import declared_units
from leastaction.core.method import step
from leastaction.core.recipe import raised
from leastaction.core.simulation import step_count
from leastaction.ports import minimal_coordinates
from leastaction.ports.coupling import coupling_of
from leastaction.ports.minimal_coordinates import start
from leastaction.ports.recipes import MinimalCoordinates
from leastaction.ports.system import PortHamiltonianSystem, input_function
from leastaction.ports.system_checks import check_port_dimensions

ROUNDING = 1e-9


def problems(example: Mapping, system) -> Iterator[str]:
    """Units, simulation, recipes and validation of a port-Hamiltonian system."""
    scheme = step("simulate", example["simulate"])
    is_simulated = isinstance(scheme, MinimalCoordinates)
    if not isinstance(system, PortHamiltonianSystem) or not is_simulated:
        return

    def check() -> None:
        check_port_dimensions(system, declared_units(example["system"]))
        minimal_coordinates.check(system, example["simulate"])

    wrong = list(raised("system", check))
    yield from wrong or _port_problems(example, system)


def _port_problems(example: Mapping, system: PortHamiltonianSystem) -> Iterator[str]:
    """Everything that would stop the identification of efforts, or their validation.

    Each problem says what is given, what is expected and what to do.
    """
    simulation = example["simulate"]
    size = np.linalg.svd(system.transformation, compute_uv=False)
    if size[-1] < ROUNDING * size[0]:
        yield (
            "system: J - R is singular; efforts in its kernel cannot be identified: "
            "choose states and inputs for which it is regular"
        )
    for name, recipe in example["estimators"].items():
        where = f"estimators.{name}"
        scheme = recipe["differentiate"].get("scheme")
        if scheme is not None and scheme not in simulation["schemes"]:
            yield (
                f"{where}.differentiate.scheme is {scheme}, but simulate.schemes has "
                f"{', '.join(simulation['schemes'])}; add it there"
            )
        yield from _blocks(where, recipe["identify"], system)
    settings = example["validate"].get("port")
    if settings is None:
        yield (
            "validate.port is missing: a port-Hamiltonian system needs scenarios, "
            "steps and forward_size"
        )
        return
    sizes = simulation["training"]["sizes"]
    for key in ("shown_size", "forward_size"):
        if settings[key] not in sizes:
            yield f"validate.port.{key} is {settings[key]}, none of the sizes {sizes}"
    yield from _steps("validate.port.steps", settings["steps"])
    for name, scenario in settings["scenarios"].items():
        yield from _motion(
            f"validate.port.scenarios.{name}", scenario, system, settings
        )
    coupling = settings.get("coupling")
    if coupling:
        yield from _coupling("validate.port.coupling", coupling, system)


def _blocks(where: str, recipe: Mapping, system) -> Iterator[str]:
    named = [state for block in recipe.get("blocks", []) for state in block]
    multipliers = list(recipe.get("multipliers", []))
    if "blocks" not in recipe:
        return
    for state in [*named, *multipliers]:
        if state not in system.states:
            yield f"{where}.identify: {unknown('state', state, system.states)}"
    missing = [s for s in system.states if s not in [*named, *multipliers]]
    twice = {s for s in named if named.count(s) > 1 or s in multipliers}
    if missing or twice:
        yield (
            f"{where}.identify: every state stands in one block or is a multiplier; "
            f"{', '.join(missing or sorted(twice))} does not"
        )
    if len(multipliers) != len(system.constraint):
        yield (
            f"{where}.identify.multipliers names {len(multipliers)}, but the system "
            f"has {len(system.constraint)} constraints; name one for each"
        )


def _steps(where: str, steps) -> Iterator[str]:
    last = steps[-1]
    ratios = [step / last for step in steps]
    if any(abs(ratio - round(ratio)) > 1e-9 for ratio in ratios) or (
        sorted(steps, reverse=True) != list(steps)
    ):
        yield f"{where}: {steps} must fall and be whole multiples of the last"


def _motion(where: str, motion: Mapping, system, settings: Mapping) -> Iterator[str]:
    try:
        input_function(system, motion["input"])
        start(system, motion)
        for step in settings["steps"]:
            step_count(motion["duration"], step)
    except ValueError as error:
        yield f"{where}: {error}"


def _coupling(where: str, coupling: Mapping, system) -> Iterator[str]:
    yield from _steps(f"{where}.steps", coupling["steps"])
    try:
        known, ports = coupling_of(system, coupling)
        input_function(known, coupling["input"])
        matrix = coupling["interconnection"]
        size = len(ports)
        if len(matrix) != size or any(len(row) != size for row in matrix):
            yield f"{where}.interconnection must be {size} x {size}, one row per port"
        elif any(
            matrix[i][j] != -matrix[j][i] for i in range(size) for j in range(size)
        ):
            yield (
                f"{where}.interconnection {matrix} is not skew-symmetric; only then "
                "the coupling passes power on and makes none"
            )
        wanted = {*system.coordinates, *known.coordinates}
        given = set(coupling["initial_state"])
        if wanted != given:
            yield (
                f"{where}.initial_state has {sorted(given)}, expected {sorted(wanted)}"
            )
        for step in coupling["steps"]:
            step_count(coupling["duration"], step)
    except ValueError as error:
        yield f"{where}: {error}"
