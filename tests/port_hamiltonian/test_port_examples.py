"""What is wrong with a port-Hamiltonian example is said before any job."""

import pytest
from port_support import completed, written

from leastaction.core.settings import ConfigError
from leastaction_papers.configuration.checks import check_example


def changed(name: str, path: str, value) -> dict:
    """An example with the entry at `path` replaced; None takes it away."""
    example = written(name)
    *parents, last = path.split("/")
    place = example
    for key in parents:
        place = place.setdefault(key, {})
    if value is None:
        del place[last]
    else:
        place[last] = value
    return completed(example)


@pytest.mark.parametrize("name", ["electrical_network", "constrained_pendulum"])
def test_the_examples_of_the_paper_are_accepted(name):
    check_example(completed(written(name)), name)


NETWORK, PENDULUM = "electrical_network", "constrained_pendulum"
RECOMMENDED = "estimators/recommended/identify"


@pytest.mark.parametrize(
    ("name", "path", "value", "message"),
    [
        (NETWORK, "validate/port", None, "validate.port is missing"),
        (NETWORK, "validate/port/forward_size", 100, "none of the sizes"),
        (NETWORK, "validate/port/steps", [0.01, 0.02], "must fall"),
        (NETWORK, "simulate/schemes", ["dop853"], "schemes has dop853"),
        (NETWORK, "simulate/initial_state", {"x2": 1.0}, "unknown coordinate 'x2'"),
        (NETWORK, "simulate/input", {"v": "1"}, "unknown input 'v'"),
        (NETWORK, "simulate/input", {"u": "x1"}, "unknown name 'x1'"),
        (NETWORK, "simulate/duration", 1.0471975511965978, "training"),
        (NETWORK, f"{RECOMMENDED}/blocks", [["x1"], ["x2"]], "x3"),
        (NETWORK, f"{RECOMMENDED}/blocks", [["x1"], ["x2"], ["y"]], "unknown state"),
        (PENDULUM, f"{RECOMMENDED}/multipliers", None, "lam"),
        (
            NETWORK,
            "validate/port/coupling/interconnection",
            [[0, 1], [1, 0]],
            "skew",
        ),
        (NETWORK, "validate/port/coupling/interconnection", [[0, 1]], "2 x 2"),
        (NETWORK, "validate/port/coupling/ports", ["identified.u", "known.w"], "port"),
        (NETWORK, "system/parameters/G/unit", "ohm", "expected"),
    ],
)
def test_one_sentence_says_what_to_do(name, path, value, message):
    with pytest.raises(ConfigError, match=message):
        check_example(changed(name, path, value), name)


def test_a_method_of_other_systems_is_refused():
    example = written(NETWORK)
    example["simulate"] = {
        "method": "runge_kutta",
        "time_step": 0.01,
        "duration": 1.0,
        "trajectories": 1,
        "initial_state": {"x1": 2.0},
    }
    with pytest.raises(ConfigError, match="simulates coordinates, but"):
        check_example(completed(example), NETWORK)


DRIVEN = "../beyond_port_hamiltonian/dc_motor"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("validate/structure", None, "validate.structure is missing"),
        ("simulate/duration", 1.0, "identify.window is 100, but a motion has 50"),
        ("simulate/initial_state/p", "q0", "unknown name 'q0'"),
        (f"{RECOMMENDED}/structure", [[0, 1], [1, 0]], "not skew-symmetric"),
        (f"{RECOMMENDED}/port", [[1, 0]], "port has rows of"),
    ],
)
def test_what_an_unknown_structure_needs_is_reported(path, value, message):
    with pytest.raises(ConfigError, match=message):
        check_example(changed(DRIVEN, path, value), "dc_motor")


def test_unknown_structure_of_algebraic_equations_is_refused():
    """T E, T (J - R) T' and T B have the same motions for every T."""
    example, driven = written(NETWORK), written(DRIVEN)
    example |= {key: driven[key] for key in ("simulate", "estimators", "validate")}
    example["simulate"] |= {"initial_state": {"x1": 2.0}, "input": {"u": "1"}}
    example.pop("publish")
    with pytest.raises(ConfigError, match="flow E is not the identity"):
        check_example(completed(example), NETWORK)
