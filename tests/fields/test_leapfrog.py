"""Leapfrog: recursion of the displacements, energy, stability."""

import numpy as np
import pytest
from field_support import cantilever, field, observe, string

from leastaction.fields.schemes import UnstableError


def test_displacements_obey_the_two_step_recursion():
    system = cantilever(nodes=6, sigma=3.0)
    h = 1e-3
    u = observe(system, "leapfrog", steps=200, time_step=h)["u"].values[0]
    second = u[:, 2:] - 2 * u[:, 1:-1] + u[:, :-2]
    kick = (
        second - h**2 * system.discrete_potential.force(u[:, 1:-1]) / system.mass
    ) / h
    # What is left is white: sigma dW, independent from step to step and node to node.
    scaled = kick / (system.sigma * np.sqrt(h))
    flat = scaled.reshape(-1, 6)
    np.testing.assert_allclose(np.cov(flat.T), np.eye(6), atol=0.25)
    lag = (scaled[:, 1:] * scaled[:, :-1]).mean()
    assert abs(lag) < 4 / np.sqrt(scaled.size)


def test_energy_of_a_nonlinear_field_is_kept_at_second_order():
    system = field(
        "u_t**2/2 - u_x**2/2 - u_x**4/4 - u**4", ("fixed", "fixed"), nodes=12
    )
    drift = []
    for steps in (800, 1600, 3200):
        observed = observe(system, "leapfrog", steps=steps, time_step=2.0 / steps)
        energy = system.energy(observed["u"].values[0, 0], observed["u_t"].values[0, 0])
        drift.append(np.abs(energy / energy[0] - 1).max())
    rates = np.log2(np.array(drift[:-1]) / drift[1:])
    assert drift[-1] < 0.01
    np.testing.assert_allclose(rates, 2.0, atol=0.25)


def test_energy_grows_as_ito_s_formula_says():
    system = string(nodes=8, sigma=2.0)
    observed = observe(system, "leapfrog", steps=400, time_step=1e-3, trajectories=1500)
    energy = system.energy(observed["u"].values[0], observed["u_t"].values[0])
    gain = energy[:, -1] - energy[:, 0]
    z = (gain.mean() - 0.4 * system.energy_growth) / (gain.std() / np.sqrt(gain.size))
    assert abs(z) < 4


@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_the_stability_limit_is_two(factor):
    system = cantilever(nodes=6, sigma=0.0)
    largest = 2 / system.modes[0][-1]
    call = {"steps": 3000, "time_step": factor * largest}
    if factor < 1:
        assert np.abs(observe(system, "leapfrog", **call)["u"]).max() < 100
    else:
        with pytest.raises(UnstableError, match=f"must be below {largest:.4g} s"):
            observe(system, "leapfrog", **call)


def test_a_steep_start_of_a_nonlinear_field_counts():
    system = field("u_t**2/2 - u_x**2/2 - 500*u_x**4", ("fixed", "fixed"), nodes=12)
    with pytest.raises(UnstableError):
        observe(system, "leapfrog", steps=10, time_step=0.03)
    flat = {"u": 0, "u_t": 0}
    observe(system, "leapfrog", steps=10, time_step=0.03, start=flat)
