"""Steps of the published recipe and its rivals, and how models are rolled out."""

from typing import Annotated, Literal

from pydantic import Field

from leastaction.core.method import Identify, Rollout
from leastaction.core.settings import (
    Count,
    InitialState,
    Integer,
    Names,
    Number,
    Positive,
    Settings,
    absent,
)
from leastaction.ports.recipes import EffortTargets, Flow, PortInput, PortSystem

FallingSteps = Annotated[
    list[Positive],
    Field(min_length=2, description="Time steps, s, each a multiple of the last."),
]


class GaussianProcess(Flow):
    """E ẋ by derivatives of Gaussian processes in time."""

    run = ".gaussian_process:differentiate"

    samples: Literal["all", "training"] = Field(
        "all", description="Samples that the derivative is learned from."
    )
    # Paper: prints no bound; this one is the default of the software that it names.
    least_noise: Number = Field(
        1e-4,
        ge=0,
        description="Least variance of the noise, in squared units of the state; it "
        "smooths a slow motion by more than the error of its time discretisation.",
    )


class MultiTaskProcess(Identify):
    """Efforts as one multi-task Gaussian process behind J − R, as published."""

    run = ".multi_task_process:multi_task_process"
    reads = ("effort_data",)
    makes = "effort_process"

    noise_floor: Positive = Field(
        1e-10, description="Least variance of the noise over the mean square target."
    )
    starts: Count = Field(2, description="Starts of the search for hyperparameters.")
    iterations: Count = Field(200, description="Steps of the search, at most.")
    seed: Integer = Field(0, description="Of the random starts.")


class Scenario(Settings):
    """One motion."""

    input: PortInput = {}
    initial_state: InitialState = Field(description="State at time zero.")
    duration: Positive = Field(description="Duration, s.")


class Coupling(Scenario):
    """A known system that the identified one is coupled to, and their motion."""

    system: PortSystem = Field(description="The known system.")
    ports: Names = Field(
        min_length=2, description="Coupling ports, as identified.name or known.name."
    )
    interconnection: list[list[Number]] = Field(
        description="Skew matrix C of u + C y = 0 over these ports."
    )
    steps: FallingSteps


class PortValidation(Settings):
    """What identified efforts are tried on."""

    shown_size: Integer = Field(
        32, description="Training samples of the fits shown along time."
    )
    forward_size: Integer = Field(
        description="Training samples of the fit that is rolled out."
    )
    steps: FallingSteps
    scenarios: dict[str, Scenario] = Field(min_length=1, description="Motions by name.")
    coupling: Coupling | None = absent(
        "A known system that the identified one is coupled to."
    )


class EffortRollout(Rollout):
    """Errors of efforts, simulations with them, and what they do to passivity."""

    run = ".effort_rollout:validate"
    reads = ("effort_gradient", "effort_process")
    makes = "port_rollout"
    section = ("port", PortValidation)


class StructureValidation(Settings):
    """What J, R, B and H are tried on."""

    runs: Count = Field(4, description="Free runs from new starts with new inputs.")
    steps: Count = Field(400, description="Steps of a free run.")
    larger: Number = Field(2.0, description="Factor of the larger inputs.")
    box: Number = Field(
        1.5, description="Width of the box of states over that of the runs."
    )
    points: Count = Field(2000, description="States of the energy balance.")


class StructureRollout(Rollout):
    """Entries beside the truth, free runs, and the balance of the true energy."""

    run = ".structure_rollout:validate"
    reads = ("port_structure",)
    makes = "structure_rollout"
    section = ("structure", StructureValidation)


# The recipe of the paper.
PUBLISHED = {"port": (GaussianProcess, EffortTargets, MultiTaskProcess)}
