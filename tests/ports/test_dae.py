"""Port-Hamiltonian equations as numbers: motion, coupling, energy."""

import numpy as np
import pytest
from port_support import completed, system, written

from leastaction.ports.dae import SingularDaeError, energy_balance
from leastaction.ports.minimal_coordinates import path
from leastaction.ports.system import PortHamiltonianSystem
from leastaction_papers.port_hamiltonian.coupling import couple

START = {
    "electrical_network": {"x1": 2.0},
    "constrained_pendulum": {"alpha": 0.6, "omega": 0.1},
}
INPUT = {"u": "1 + 0.5*sin(1.3*time)"}


def driven_from(name):
    return {"input": INPUT, "initial_state": START[name]}


def driven(time):
    return 1 + 0.5 * np.sin(1.3 * time)[:, None]


@pytest.mark.parametrize("name", list(START))
def test_motion_of_the_equation_is_that_of_minimal_coordinates(name):
    """Fourth order: sixteen times the error at twice the step."""
    own = system(name)
    errors = []
    for step in (0.1, 0.05):
        time = step * np.arange(round(2 / step) + 1)
        true, _ = path(own, "dop853", time, driven_from(name))
        found = own.dae.path(true[0], time, driven)
        errors.append(np.abs(found - true).max())
    assert errors[1] < 1e-4
    assert 3.5 < np.log2(errors[0] / errors[1]) < 5.0


@pytest.mark.parametrize("name", list(START))
def test_energy_balance_closes_in_second_order(name):
    own, residuals = system(name).dae, []
    for step in (0.04, 0.02):
        time = step * np.arange(round(2 / step) + 1)
        first, _ = path(system(name), "dop853", time, driven_from(name))
        x = own.path(first[0], time, driven)
        residual, _ = energy_balance(own, time, x, driven(time))
        residuals.append(np.abs(residual).max())
    assert 1.8 < np.log2(residuals[0] / residuals[1]) < 2.2


def coupled(matrix=((0, -1), (1, 0))):
    example = completed(written("electrical_network"))
    settings = example["validate"]["port"]["coupling"]
    known = PortHamiltonianSystem.from_config(settings["system"])
    systems = {"a": system("electrical_network").dae, "b": known.dae}
    return couple(systems, [("a", 0), ("b", 1)], np.array(matrix))


def test_a_coupled_system_is_port_hamiltonian_again():
    whole = coupled()
    assert np.array_equal(whole.structure, -whole.structure.T)
    assert np.linalg.eigvalsh(whole.dissipation).min() > -1e-14
    x = np.random.default_rng(0).uniform(0.3, 1.0, (5, len(whole.states)))
    through = whole.efforts(x) @ whole.flow
    for i in whole.differential:
        h = 1e-5
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[:, i] += sign * h
            ends.append(whole.hamiltonian(moved))
        assert np.allclose((ends[0] - ends[1]) / (2 * h), through[:, i], atol=1e-9)


def test_energy_of_a_coupled_system_is_what_its_free_ports_supply():
    whole, residuals = coupled(), []
    for step in (0.04, 0.02):
        time = step * np.arange(round(4 / step) + 1)
        start = np.array([2.0, 1.0, -1.0, 0.0, 2.0])
        x = whole.path(start, time, driven)
        residual, violations = energy_balance(whole, time, x, driven(time))
        residuals.append(np.abs(residual).max())
        assert violations == 0
    assert 1.8 < np.log2(residuals[0] / residuals[1]) < 2.2


def test_a_coupling_that_makes_power_is_refused():
    with pytest.raises(ValueError, match="skew"):
        coupled(((0, 1), (1, 0)))


def test_an_inequality_that_is_broken_is_counted():
    own = system("electrical_network").dae
    time = 0.02 * np.arange(51)
    x = own.path(np.array([2.0, 1.0, -1.0]), time, driven)
    assert energy_balance(own, time, x, driven(time))[1] == 0
    assert energy_balance(own, time, x, driven(time) + 2.0)[1] > 0


def test_an_equation_without_its_algebraic_rows_says_so():
    from dataclasses import replace

    own = system("electrical_network").dae
    flat = replace(
        own,
        linearised=lambda x: (
            np.column_stack([x[:, 0], 0 * x[:, 0], 0 * x[:, 0]]),
            np.zeros((len(x), 3, 3)),
        ),
    )
    with pytest.raises(SingularDaeError, match="do not determine x2, x3"):
        flat.path(np.array([2.0, 1.0, 0.0]), np.linspace(0, 1, 5), driven)
