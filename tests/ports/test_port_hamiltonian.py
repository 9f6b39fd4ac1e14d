"""Port-Hamiltonian systems: derived from text, as the paper derives them by hand."""

import copy

import numpy as np
import pytest
from port_support import system, written
from recipes_of_ports import TANKS

from leastaction.core.families import declared_units
from leastaction.core.units import DimensionError
from leastaction.ports.system import PortHamiltonianError, PortHamiltonianSystem
from leastaction_papers.port_hamiltonian.examples import check_port_dimensions

POINTS = np.random.default_rng(3).uniform(0.2, 1.2, (20, 2))
INPUTS = np.random.default_rng(4).uniform(-1.0, 1.0, (20, 1))


@pytest.mark.parametrize(
    ("name", "index"), [("electrical_network", 1), ("constrained_pendulum", 3)]
)
def test_index_is_that_of_the_paper(name, index):
    assert system(name).index == index


def test_a_system_prints_itself_also_if_its_dissipation_depends_on_the_states():
    tanks = PortHamiltonianSystem.from_config(TANKS["torricelli"] | {"parameters": {}})
    text = str(tanks)
    assert "system of index 0" in text and "B = " in text


def test_a_printed_system_has_its_matrices_and_no_digits_of_rounding():
    known = {"dissipation": [["g", "-g"], ["-g", "g + 0.4"]]}
    given = {"parameters": {"g": {"value": 0.6, "unit": "m^3/(s Pa)"}}}
    text = str(PortHamiltonianSystem.from_config(TANKS["system"] | known | given))
    assert "R = [[0.6, -0.6], [-0.6, 1.0]]" in text
    assert "00000" not in text


def test_network_states_follow_from_charge_and_source():
    x1, u = POINTS[:, :1], INPUTS
    x = system("electrical_network").states_at(x1, u)
    # Paper: x3 = G (x1 - x2); row 2 of the equation gives G (u2 - u_C).
    assert np.allclose(x[:, 2:], u - np.sqrt(2 * x1), atol=1e-14)
    assert np.allclose(x[:, 1:2], u, atol=1e-14)
    rates = system("electrical_network").rates(x1, u)
    assert np.allclose(rates, x[:, 2:], atol=1e-14)


def test_pendulum_obeys_the_equation_in_minimal_coordinates():
    alpha, omega = POINTS.T
    u = INPUTS[:, 0]
    pendulum = system("constrained_pendulum")
    rates = pendulum.rates(POINTS, INPUTS)
    assert np.allclose(rates[:, 0], omega, atol=1e-13)
    assert np.allclose(rates[:, 1], -(1 - u) * np.sin(alpha), atol=1e-13)
    multiplier = pendulum.states_at(POINTS, INPUTS)[:, 4]
    printed = (np.cos(alpha) * (u - 1) - omega**2) / 2
    assert np.allclose(multiplier, printed, atol=1e-13)


@pytest.mark.parametrize("name", ["electrical_network", "constrained_pendulum"])
def test_equation_holds_along_the_chart(name):
    """E ẋ by differences of states along dξ/dt is A z + B u."""
    own = system(name)
    xi, h = POINTS[:, : len(own.coordinates)], 1e-5
    rates = own.rates(xi, INPUTS)
    ends = [own.states_at(xi + s * h * rates, INPUTS) for s in (1, -1)]
    flow = (ends[0] - ends[1]) / (2 * h) @ own.dae.flow.T
    x = own.states_at(xi, INPUTS)
    right = own.dae.efforts(x) @ own.dae.transformation.T + INPUTS @ own.dae.port.T
    assert np.abs(flow - right).max() < 1e-8


@pytest.mark.parametrize("name", ["electrical_network", "constrained_pendulum"])
def test_energy_obeys_the_dissipation_inequality(name):
    """dH/dt = yᵀu − zᵀRz, by differences of H along the flow."""
    own = system(name)
    xi, h = POINTS[:, : len(own.coordinates)], 1e-5
    rates = own.rates(xi, INPUTS)
    ends = [
        own.dae.hamiltonian(own.states_at(xi + s * h * rates, INPUTS)) for s in (1, -1)
    ]
    z = own.dae.efforts(own.states_at(xi, INPUTS))
    supplied = ((z @ own.dae.port) * INPUTS).sum(axis=1)
    lost = np.einsum("pi,ij,pj->p", z, own.dae.dissipation, z)
    assert np.allclose((ends[0] - ends[1]) / (2 * h), supplied - lost, atol=1e-8)
    assert (lost >= 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hamiltonian": "2/3*sqrt(2/c)*x1**1.4"}, "gradient of H"),
        ({"structure": [[0, 0, 0], [0, 0, 1], [0, 1, 0]]}, "not skew-symmetric"),
        ({"dissipation": [[-1, 0, 0], [0, 0, 0], [0, 0, 0]]}, "semidefinite"),
        ({"flow": [[1, 0, 0], [0, 1, 0], [0, 1, 0]]}, "diag"),
        ({"efforts": ["sqrt(2*x1/c)", "x2"]}, r"efforts has shape \(2, 1\)"),
        ({"efforts": ["sqrt(2*x1/c)", "x2", "x4"]}, "x4"),
        ({"structure": [[0] * 3] * 3}, "does not determine"),
    ],
)
def test_what_is_not_port_hamiltonian_is_refused(change, message):
    config = copy.deepcopy(written("electrical_network")["system"]) | change
    with pytest.raises(ValueError, match=message):
        PortHamiltonianSystem.from_config(config)


def test_a_chart_that_leaves_the_constraint_is_refused():
    config = copy.deepcopy(written("constrained_pendulum")["system"])
    config["chart"]["states"]["qx"] = "2*l*sin(alpha)"
    with pytest.raises(PortHamiltonianError, match="chart"):
        PortHamiltonianSystem.from_config(config)


@pytest.mark.parametrize("name", ["electrical_network", "constrained_pendulum"])
def test_units_of_a_row_are_those_of_its_terms(name):
    config = copy.deepcopy(written(name)["system"])
    own = PortHamiltonianSystem.from_config(config)
    check_port_dimensions(own, declared_units(config))
    changed = declared_units(config) | {next(iter(own.parameters)): "kg m"}
    with pytest.raises(DimensionError):
        check_port_dimensions(own, changed)
