"""Motions of a field on a periodic line."""

import numpy as np
import pytest
from snapshot_fields import KLEIN_GORDON, LENGTH, field, settings, snapshots

from leastaction.core.observations import simulate
from leastaction.core.periodic_line import spectral_derivatives
from leastaction.fields.domain import Domain
from leastaction.fields.spectral import Motion


def test_waves_of_the_linear_field_are_exact():
    system = field("u_t**2/2 - u_x**2 - u**2/2")
    x, omega = system.domain.x, np.sqrt(2 * 9 + 1.0)
    start = np.stack([np.cos(3 * x), omega * np.sin(3 * x)])
    u, u_t, u_tt = Motion(system, 0.1, 4).path(start[None], 21)[:, 0]
    time = 0.1 * np.arange(21)[:, None]
    assert u == pytest.approx(np.cos(3 * x - omega * time), abs=1e-6)
    assert u_tt == pytest.approx(-(omega**2) * u, abs=1e-9)


def test_it_is_of_order_six():
    system = field(KLEIN_GORDON)
    start = np.stack([np.cos(system.domain.x), 0 * system.domain.x])[None]
    ends = [Motion(system, 1.0, n).path(start, 3)[0, 0, -1] for n in (4, 8, 64)]
    errors = [np.abs(end - ends[-1]).max() for end in ends[:2]]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(6, abs=0.5)


def test_energy_does_not_drift():
    system = field(KLEIN_GORDON)
    x = system.domain.x
    path = Motion(system, 0.2, 4).path(np.stack([np.cos(x), np.sin(2 * x)])[None], 500)
    u, u_t = path[0, 0], path[1, 0]
    (u_x,) = spectral_derivatives(u, LENGTH, 1)
    energy = (u_t**2 / 2 + u_x**2 / 2 + u**2 / 2 + u**4 / 4).mean(axis=1)
    assert np.ptp(energy) < 1e-4 * energy.mean()
    momentum = (u_t * u_x).mean(axis=1)
    assert np.ptp(momentum) < 1e-6


def test_more_points_change_nothing_but_round_off():
    coarse = snapshots(noise={"channels": ["q"]})["q"].values
    fine = snapshots(refinement=4)["q"].values
    assert coarse == pytest.approx(fine, abs=1e-7)


def test_nodes_are_recorded_as_degrees_of_freedom():
    data = snapshots(trajectories=2, noise={"channels": ["q"], "levels": [0, 0.1]})
    assert data.sizes["dof"] == 16
    assert list(data["dof"].values[:2]) == ["u_0", "u_1"]
    assert data.attrs["domain_left"] == "periodic"
    assert 0.9 < data["noise_q"].values.std() < 1.1


def test_other_ends_are_refused():
    with pytest.raises(ValueError, match="needs a periodic line.*write left: periodic"):
        simulate(field(KLEIN_GORDON, ends="free"), **settings())
    with pytest.raises(ValueError, match="left is periodic, right is free"):
        Domain(1.0, 8, "periodic", "free")


def test_the_discrete_energy_of_a_periodic_line_is_invariant_under_shifts():
    system, rng = (
        field("u_t**2/2 - u_x**2/2 - u_xx**2/3 - u**4"),
        np.random.default_rng(0),
    )
    u = rng.standard_normal(16)
    energy = system.discrete_potential.energy
    assert energy(np.roll(u, 5)) == pytest.approx(energy(u))
    k, dx = 2 * np.pi * 3 / LENGTH, system.domain.dx
    omega = np.sort(field("u_t**2/2 - u_x**2/2").modes[0])
    assert omega[5] == pytest.approx(2 * np.sin(k * dx / 2) / dx)
