"""What a port-Hamiltonian example must fulfil, before any job."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import sympy as sp

from leastaction.core.expressions import symbol, unknown
from leastaction.core.families import declared_units
from leastaction.core.library import candidates
from leastaction.core.method import step
from leastaction.core.recipe import raised
from leastaction.core.simulation import step_count
from leastaction.ports.minimal_coordinates import start
from leastaction.ports.port_structure import Candidates, PortStructure
from leastaction.ports.recipes import DrivenMotions, MinimalCoordinates
from leastaction.ports.system import PortHamiltonianSystem, input_function
from leastaction_papers.port_hamiltonian.coupling import (
    IDENTIFIED,
    KNOWN,
    couple,
    coupling_of,
)

ROUNDING = 1e-9
KNOWN_MATRICES = ("structure", "dissipation", "port")


def problems(example: Mapping, system) -> Iterator[str]:
    """Units, simulation, recipes and validation of a port-Hamiltonian system."""
    schemes = {
        DrivenMotions: (_check_driven, _driven_problems),
        MinimalCoordinates: (_check_simulation, _port_problems),
    }
    scheme = type(step("simulate", example["simulate"]))
    if not isinstance(system, PortHamiltonianSystem) or scheme not in schemes:
        return
    check, further = schemes[scheme]

    def checks() -> None:
        check_port_dimensions(system, declared_units(example["system"]))
        check(system, example["simulate"])

    yield from list(raised("system", checks)) or further(example, system)


def _check_driven(system: PortHamiltonianSystem, settings: Mapping) -> None:
    """Check flow, starts and inputs."""
    drawn = {symbol(name): 1.0 for name in settings["initial_state"].get("random", {})}
    start(system, settings["initial_state"], drawn)
    input_function(system, settings["input"], drawn)
    step_count(settings["duration"], settings["time_step"])
    if system.flow != sp.eye(len(system.states)):
        raise ValueError(
            "flow E is not the identity; J, R, B and H are identified from ordinary "
            "equations only, since T E, T (J - R) T' and T B have the same motions for "
            "every T: eliminate algebraic states and scale the others"
        )


def _driven_problems(example: Mapping, system) -> Iterator[str]:
    """What would stop the search of J, R, B and H, or its validation."""
    simulation = example["simulate"]
    samples = step_count(simulation["duration"], simulation["time_step"])
    if "structure" not in example["validate"]:
        yield "validate.structure is missing: write {} for free runs as by default"
    for name, recipe in example["estimators"].items():
        where = f"estimators.{name}"
        yield from raised(where, partial(_check_structure, recipe, system))
        for stage in ("assemble", "identify"):
            window = recipe[stage].get("window", 0)
            if window >= samples:
                yield (
                    f"{where}.{stage}.window is {window}, but a motion has {samples} "
                    "steps; take less"
                )


def _check_structure(recipe: Mapping, system: PortHamiltonianSystem) -> None:
    """Candidates of H, and shapes of the matrices that are known in part."""
    if "hamiltonian" not in recipe["assemble"]:
        return
    terms = candidates(recipe["assemble"]["hamiltonian"], system.states)
    assumptions = {k: recipe["identify"].get(k, "unknown") for k in KNOWN_MATRICES}
    hamiltonian = Candidates(system.states, terms)
    PortStructure.of(hamiltonian, len(system.inputs), **assumptions)


def _check_simulation(system: PortHamiltonianSystem, settings: Mapping) -> None:
    """Check start, input and sizes of the training sets."""
    start(system, settings["initial_state"])
    input_function(system, settings["input"])
    steps = step_count(settings["duration"], settings["time_step"])
    training = settings["training"]
    needed = training["test"] + max(training["sizes"])
    # Two samples at each end have no central difference of fourth order.
    if needed > steps - 3:
        raise ValueError(
            f"training: {training['test']} test and {max(training['sizes'])} training "
            f"samples need {needed} samples, but there are {steps - 3}; simulate longer"
        )
    if sorted(set(training["sizes"])) != training["sizes"]:
        raise ValueError(f"training.sizes must increase, not {training['sizes']}")


def check_port_dimensions(
    system: PortHamiltonianSystem, units: Mapping[str, str]
) -> None:
    """Check that rows add like quantities, that zᵀ E ẋ is a power, H an energy.

    `units` are those of every state, input, parameter and minimal coordinate.
    """
    # The package of units is slow to import, and only a plan checks dimensions.
    from leastaction.core.units import DimensionError, dimension_of, unit, unit_text

    def of(where: str, expression: sp.Expr):
        try:
            return dimension_of(expression, known)
        except DimensionError as error:
            raise DimensionError(f"{where}: {error}") from None

    def same(where: str, quantity, expected) -> None:
        # Radians are no dimension of their own.
        if quantity.dimensionality != expected.dimensionality:
            raise DimensionError(
                f"{where} is in {unit_text(quantity)}, expected {unit_text(expected)}"
            )

    known = {name: unit(text) for name, text in units.items()}
    same("hamiltonian", of("hamiltonian", system.hamiltonian), unit("J"))
    efforts = [of(f"z_{i + 1}", e) for i, e in enumerate(system.efforts)]
    rates = [known[name] / unit("s") for name in system.states]
    inputs = [known[name] for name in system.inputs]
    for i, effort in enumerate(efforts):
        for name, matrix, quantity, factors in (
            ("E", system.flow, "dx/dt", rates),
            ("J", system.structure, "z", efforts),
            ("R", system.dissipation, "z", efforts),
            ("B", system.port, "u", inputs),
        ):
            for j, factor in enumerate(factors):
                label = f"{name}_{i + 1}{j + 1} {quantity}"
                if matrix[i, j] != 0:
                    power = of(label, matrix[i, j]) * factor * effort
                    same(f"z_{i + 1} times {label}", power, unit("W"))
    for state, expression in system.chart.items():
        if expression != symbol(state):
            same(f"chart of {state}", of(state, expression), known[state])


def _port_problems(example: Mapping, system: PortHamiltonianSystem) -> Iterator[str]:
    """Everything that would stop the identification of efforts, or their validation."""
    simulation = example["simulate"]
    size = np.linalg.svd(system.dae.transformation, compute_uv=False)
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
    steps = settings["steps"]
    yield from _steps("validate.port.steps", steps)
    for name, scenario in settings["scenarios"].items():
        where = f"validate.port.scenarios.{name}"
        yield from raised(where, partial(_check_motion, scenario, system, steps))
    coupling = settings.get("coupling")
    if coupling:
        where = "validate.port.coupling"
        yield from _steps(f"{where}.steps", coupling["steps"])
        yield from raised(where, partial(_check_coupling, coupling, system))


def _blocks(where: str, recipe: Mapping, system) -> Iterator[str]:
    if "blocks" not in recipe:
        return
    named = [state for block in recipe["blocks"] for state in block]
    multipliers = recipe["multipliers"]
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
    ratios = np.array(steps) / steps[-1]
    multiple = np.abs(ratios - ratios.round()).max() <= ROUNDING
    if not multiple or sorted(steps, reverse=True) != list(steps):
        yield f"{where}: {steps} must fall and be whole multiples of the last"


def _check_motion(motion: Mapping, system, steps: Sequence[float]) -> None:
    input_function(system, motion["input"])
    start(system, motion["initial_state"])
    for one in steps:
        step_count(motion["duration"], one)


def _check_coupling(coupling: Mapping, system: PortHamiltonianSystem) -> None:
    known, ports = coupling_of(system, coupling)
    matrix, size = coupling["interconnection"], len(ports)
    if {len(matrix), *map(len, matrix)} != {size}:
        raise ValueError(f"interconnection must be {size} x {size}, one row per port")
    couple({IDENTIFIED: system.dae, KNOWN: known.dae}, ports, matrix)
    expected = {*system.coordinates, *known.coordinates}
    configured = set(coupling["initial_state"])
    if expected != configured:
        raise ValueError(
            f"initial_state has {sorted(configured)}, expected {sorted(expected)}"
        )
    input_function(known, coupling["input"])
    for one in coupling["steps"]:
        step_count(coupling["duration"], one)
