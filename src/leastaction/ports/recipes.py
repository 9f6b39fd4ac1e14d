"""Methods of port-Hamiltonian systems, and recipes.

They read contract ``port_recordings``: states and inputs of one path. Published are
the Gaussian processes of Zaspel and Günther; recommended, efforts that are the gradient
of a Hamiltonian.

Examples
--------
>>> import leastaction as la
>>> network = la.system(
...     {
...         "states": {"x1": {"unit": "C"}, "x2": {"unit": "A"}},
...         "inputs": {"u": {"unit": "V"}},
...         "parameters": {"R": {"value": 0.5, "unit": "ohm"}},
...         "flow": [[1, 0], [0, 1]],
...         "structure": [[0, 1], [-1, 0]],
...         "dissipation": [[0, 0], [0, "R"]],
...         "port": [[0], [1]],
...         "efforts": ["x1 + x1**3", "x2"],
...         "hamiltonian": "x1**2/2 + x1**4/4 + x2**2/2",
...     }
... )
>>> data = la.simulate(
...     network,
...     method="minimal_coordinates",
...     schemes=["dop853"],
...     time_step=0.01,
...     duration=20,
...     initial_state={"x1": 1.0, "x2": 0.0},
...     input={"u": "sin(time)"},
...     training={"sizes": [32], "test": 100},
... )
>>> recipe = la.recipes.ports.recommended(blocks=[["x1"], ["x2"]])
>>> model = recipe.fit(data)
>>> bool(abs(model.efforts([[0.5, 0.2]])[0, 0] - 0.625) < 0.01)
True
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from leastaction.core.method import Assemble, Differentiate, Identify, Simulate, part
from leastaction.core.settings import (
    Candidates,
    Count,
    Expression,
    Flag,
    Integer,
    Names,
    Number,
    Quantities,
    Settings,
    Share,
    System,
    Unique,
    absent,
)

Scheme = Literal["explicit_euler", "dop853"]
PortInput = Annotated[
    dict[str, Expression],
    Field(description="Expressions in `time` and the parameters; zero if absent."),
]
PortMatrix = Annotated[
    list[list[Expression]],
    Field(min_length=1, description="Numbers or expressions in parameters."),
]


class Chart(Settings):
    """States in minimal coordinates; those left out follow from the equation."""

    coordinates: Quantities = Field(description="Names with units.")
    states: dict[str, Expression] = Field(description="States in these.")


class PortSystem(System):
    """A port-Hamiltonian system E dx/dt = (J - R) z(x) + B u."""

    key = "states"
    states: Quantities = Field(
        description="Names with units, in the order of the rows."
    )
    inputs: Quantities = Field({}, description="Names with units.")
    flow: PortMatrix = Field(description="Rows of E.")
    structure: PortMatrix = Field(description="Rows of J, skew.")
    dissipation: PortMatrix = Field(description="Rows of R, positive semidefinite.")
    port: PortMatrix = Field(description="Rows of B.")
    efforts: list[Expression] = Field(
        min_length=1, description="z(x), one expression per state."
    )
    hamiltonian: Expression = Field(description="H(x), J.")
    constraint: Names = Field(
        [], description="Expressions in the states that vanish on every solution."
    )
    chart: Chart | None = absent(
        "States in minimal coordinates; those left out follow from the equation. The "
        "states that E differentiates if absent."
    )


class Early(Settings):
    """One further training set, from the first part of the path."""

    until: Number = Field(description="Its end, s.")
    size: Integer = Field(ge=2, description="Samples.")


class Training(Settings):
    """Training and test samples of the path."""

    sizes: list[Annotated[Integer, Field(ge=2)]] = Field(
        [2, 4, 8, 16, 32, 64, 128],
        min_length=1,
        description="Sizes of the nested training sets, increasing.",
    )
    test: Count = Field(
        500, description="Samples of the test set, the same in all replicates."
    )
    early: Early | None = Field(
        None, description="One further training set, from the first part of the path."
    )


class MinimalCoordinates(Simulate):
    """Paths of a port-Hamiltonian system, integrated in minimal coordinates."""

    run = ".minimal_coordinates:simulate"
    makes = "port_recordings"
    simulates = "a port-Hamiltonian system"

    schemes: Annotated[list[Scheme], Unique] = Field(
        ["explicit_euler", "dop853"],
        min_length=1,
        description="Schemes; each makes a path, an estimator chooses one.",
    )
    replicates: Count = Field(
        5, description="Independent training sets of the one path."
    )
    input: PortInput = {}
    training: Training = Field(
        default_factory=Training, description="Training and test samples of the path."
    )
    flow_noise: Share = Field(
        0.0,
        description="Standard deviation of what is added to the recorded E dx/dt, "
        "SI units of each row; only method exact_flow reads it.",
    )


class Flow(Differentiate):
    """E ẋ at the training samples of the path of one scheme."""

    reads = ("port_recordings",)
    makes = "flow_data"

    scheme: Scheme = Field("dop853", description="Scheme that made the path.")


class ExactFlow(Flow):
    """E ẋ as recorded: exact, or with the noise of a sensor."""

    run = ".effort_data:exact_flow"


class FiniteDifference(Flow):
    """E ẋ by finite differences of the recorded states."""

    run = ".effort_data:finite_difference"

    stencil: Literal["forward", "central_2", "central_4"] = Field(
        "central_4", description="Differences; of first, second or fourth order."
    )


class EffortTargets(Assemble):
    """Inputs x and targets y = E ẋ − B u = (J − R) z(x) of the efforts."""

    run = ".effort_data:effort_targets"
    reads = ("flow_data",)
    makes = "effort_data"


class HamiltonianGradient(Identify):
    """Efforts that are the gradient of a Hamiltonian by construction."""

    run = ".hamiltonian_gradient:identify"
    reads = ("effort_data",)
    makes = "effort_gradient"

    blocks: list[Annotated[Names, Field(min_length=1)]] = Field(
        min_length=1,
        description="States whose efforts depend on each other alone, and are the "
        "gradient of one part of H.",
    )
    multipliers: Names = Field(
        [],
        description="The algebraic state that belongs to each known constraint g: H"
        " holds -g times it.",
    )
    seed: Integer = Field(0, description="Of the random starts.")


class Levels(Settings):
    """Noise of the sensors of states and outputs."""

    levels: Annotated[list[Share], Field(min_length=1)] = Field(
        [0.0], description="Standard deviations over the rms of each channel."
    )


class DrivenMotions(Simulate):
    """Motions of a port-Hamiltonian system under random inputs, from random starts."""

    run = ".minimal_coordinates:driven_motions"
    makes = "port_motions"
    simulates = "a port-Hamiltonian system"

    trajectories: Count = Field(4, description="Motions of one replicate.")
    replicates: Count = Field(10, description="Independent sets of motions.")
    input: PortInput = Field(
        {},
        description="Inputs, expressions in `time`, the parameters and the `random` "
        "names of the initial state; zero if absent.",
    )
    noise: Levels = Field(
        default_factory=Levels, description="Noise of the sensors of x and y."
    )


class SmoothedStates(Differentiate):
    """Savitzky–Golay states, by the longest window whose residual is noise."""

    run = ".coefficient_fit:smooth"
    reads = ("port_motions",)
    makes = "smoothed_states"


class WeakPortForm(Assemble):
    """ẋ = W g(x) + B u and y = Y g(x) in weak form, g the gradients of candidates."""

    run = ".coefficient_fit:weak_form"
    reads = ("smoothed_states",)
    makes = "port_equations"

    hamiltonian: Candidates = Field(description="Candidates of H, in the states.")
    outputs: Flag = Field(
        True, description="Whether y = B^T z was measured; it fixes the scale of H."
    )
    window: Count = Field(60, ge=12, description="Samples of a test function.")


Entries = Annotated[list[list[Number | Literal["?"]]], Field(min_length=1)]


class FromMotions(Identify):
    """Equations of driven motions, by their prediction errors."""

    reads = ("port_equations",)
    makes = "port_structure"
    returns_to_samples = True

    window: Count = Field(
        100,
        ge=10,
        description="Steps of a window with a free initial state, where a search "
        "begins; in the end whole motions are fitted.",
    )


class PortRegression(FromMotions):
    """W and B of ẋ = W g(x) + B u with the same terms and no structure: a baseline."""

    run = ".structure_estimate:regression"


class PortStructure(FromMotions):
    """J, R, B and H, each as far as it is unknown, by the sparsest representative.

    Of the equivalent ones that with the fewest terms of several states in H, then the
    fewest off-diagonal entries of R, then the fewest entries of all.
    """

    run = ".structure_estimate:identify"

    structure: Literal["unknown"] | Entries = Field(
        "unknown", description="Rows of J: numbers, and ? for what is unknown."
    )
    dissipation: Literal["unknown", "diagonal", "none"] | Entries = Field(
        "unknown", description="Rows of R: numbers, and ? for what is unknown."
    )
    port: Literal["unknown"] | Entries = Field(
        "unknown", description="Rows of B: numbers, and ? for what is unknown."
    )
    seed: Integer = Field(0, description="Of random starts of the search.")


RECOMMENDED = {
    "port": (FiniteDifference, EffortTargets, HamiltonianGradient),
    "driven_port": (SmoothedStates, WeakPortForm, PortStructure),
}


def kind_of_data(example: Mapping) -> str | None:
    """Key of `RECOMMENDED` for a port-Hamiltonian system; else None."""
    if "states" not in part(example, "system"):
        return None
    driven = part(example, "simulate").get("method") == "driven_motions"
    return "driven_port" if driven else "port"
