"""Methods of ports: what they do where a setting is not named, and their bounds."""

import pytest
from sections import accepts, defaults

from leastaction.ports.recipes import (
    DrivenMotions,
    Early,
    EffortTargets,
    ExactFlow,
    FiniteDifference,
    HamiltonianGradient,
    Levels,
    MinimalCoordinates,
    PortRegression,
    PortStructure,
    PortSystem,
    SmoothedStates,
    Training,
    WeakPortForm,
    kind_of_data,
)

TRAINING = {"sizes": [2, 4, 8, 16, 32, 64, 128], "test": 500, "early": None}
UNKNOWN = dict.fromkeys(("structure", "dissipation", "port"), "unknown")
DEFAULTS = {
    PortSystem: {"inputs": {}, "constraint": [], "chart": None},
    Training: TRAINING,
    MinimalCoordinates: {
        "schemes": ["explicit_euler", "dop853"],
        **{"replicates": 5, "input": {}, "training": TRAINING, "flow_noise": 0.0},
    },
    ExactFlow: {"scheme": "dop853"},
    FiniteDifference: {"scheme": "dop853", "stencil": "central_4"},
    EffortTargets: {},
    HamiltonianGradient: {"multipliers": [], "seed": 0},
    Levels: {"levels": [0.0]},
    DrivenMotions: {
        **{"trajectories": 4, "replicates": 10, "input": {}},
        "noise": {"levels": [0.0]},
    },
    SmoothedStates: {},
    WeakPortForm: {"outputs": True, "window": 60},
    PortRegression: {"window": 100},
    PortStructure: UNKNOWN | {"window": 100, "seed": 0},
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_settings_that_are_not_named_have_the_documented_values(kind):
    assert defaults(kind) == DEFAULTS[kind]


@pytest.mark.parametrize(
    ("kind", "name", "accepted", "refused"),
    [
        (PortSystem, "flow", [[[1, "a"]]], [[], 3]),
        (PortSystem, "efforts", [["x"]], [[]]),
        (Early, "size", [2], [1]),
        (Training, "sizes", [[2]], [[], [1], [2, 1]]),
        (Training, "test", [1], [0]),
        (MinimalCoordinates, "schemes", [["dop853"]], [[], ["dop853", "dop853"]]),
        (MinimalCoordinates, "replicates", [1], [0]),
        (MinimalCoordinates, "flow_noise", [0.0], [-1e-9]),
        (HamiltonianGradient, "blocks", [[["x"]]], [[], [[]]]),
        (Levels, "levels", [[0.0]], [[], [-1.0]]),
        (DrivenMotions, "trajectories", [1], [0]),
        (WeakPortForm, "window", [12], [11]),
        (PortStructure, "window", [10], [9]),
        (PortStructure, "structure", [[[0, "?"]], "unknown"], [[], "diagonal"]),
        (PortStructure, "dissipation", ["none", "diagonal"], [[["x"]]]),
    ],
)
def test_a_setting_has_bounds(kind, name, accepted, refused):
    assert all(accepts(kind, name, value) for value in accepted)
    assert not any(accepts(kind, name, value) for value in refused)


@pytest.mark.parametrize(
    ("example", "kind"),
    [
        ({"system": {"states": {}}, "simulate": {"method": "driven_motions"}},
         "driven_port"),
        ({"system": {"states": {}}, "simulate": {"method": "minimal_coordinates"}},
         "port"),
        ({"system": {"states": {}}}, "port"),
        ({"system": {"field": {}}, "simulate": {"method": "driven_motions"}}, None),
    ],
)  # fmt: skip
def test_a_port_hamiltonian_system_has_states(example, kind):
    assert kind_of_data(example) == kind


def test_equations_of_driven_motions_return_to_them():
    assert PortRegression.returns_to_samples and PortStructure.returns_to_samples
