"""Speed, force and damping of a field with exact waves."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from leastaction.snapshots.field_evidence import (
    ATTRIBUTES,
    FARTHEST,
    LEAST_SNAPSHOTS,
    ROUND_OFF,
    Loss,
    Snapshots,
    identify,
)

NODES, TIMES, DT, LENGTH = 24, 14, 0.1, 2 * np.pi
SPEED_SQUARED, NOISE = 1.69, 1e-4
SIZES = {"width": 2, "degree": 2, "stencil": "edges"}


def waves(damping, mass):
    """Waves 1 to 3 of u_tt + γ u_t = c² u_xx − m² u, with white noise."""
    rng = np.random.default_rng(0)
    t, x = np.arange(TIMES)[:, None] * DT, np.arange(NODES) * LENGTH / NODES
    u = np.zeros((3, TIMES, NODES))
    for k in (1, 2, 3):
        omega = np.sqrt(SPEED_SQUARED * k**2 + mass - damping**2 / 4)
        for of_place in (np.cos(k * x), np.sin(k * x)):
            size, phase = rng.normal(size=(2, 3, 1, 1))
            u += (
                0.5
                * size
                * np.exp(-damping * t / 2)
                * np.cos(omega * t + phase)
                * (of_place)
            )
    return u + NOISE * rng.normal(size=u.shape)


def test_numbers_of_exact_waves_are_measured():
    damping, mass = 0.3, 0.8
    u = waves(damping, mass)
    observations = xr.Dataset(
        {"q": (("replicate", "trajectory", "time", "dof"), u[None])},
        coords={"replicate": [0], "time": 2.0 + DT * np.arange(TIMES)},
        attrs=dict.fromkeys(ATTRIBUTES, "") | {"domain_left": "periodic"},
    ).assign_attrs(domain_length=LENGTH, domain_nodes=NODES, field="u")
    found = identify(None, SIZES | {"method": "field", "even": None}, observations, {})
    one = {name: found[name].values[0] for name in found.data_vars}
    assert one["noise"] == pytest.approx(NOISE, rel=0.1)
    assert one["decay"] == pytest.approx(np.exp(-damping * DT), abs=1e-4)
    assert abs(one["damping"] - damping) < 4 * one["damping_std"] < 0.02
    assert abs(one["speed"] - SPEED_SQUARED) < 2 * one["speed_std"] < 0.2
    assert one["speed"] == pytest.approx(SPEED_SQUARED, rel=2e-3)
    assert one["force"] == pytest.approx(mass * one["force_place"], abs=0.01)
    assert (one["force_std"] > 1e-3).all() and (one["force_std"] < 0.5).all()
    shares = [(u < place).mean() for place in one["force_place"]]
    assert shares == pytest.approx([0.025, 0.2, 0.8, 0.975], abs=0.002)
    assert [one[k] for k in ("longest_wave", "second_wave", "waves")] == [1, 2, 3]
    assert (one["width"], one["degree"]) == (SIZES["width"], SIZES["degree"])
    assert found.attrs["time_step"] == pytest.approx(DT)


@pytest.mark.parametrize("times", [LEAST_SNAPSHOTS - 1, LEAST_SNAPSHOTS, 13])
def test_every_second_snapshot(times):
    """Twice the motions at twice the step, and half as many snapshots of each."""
    u = np.random.default_rng(1).normal(size=(2, times, 6))
    found = Snapshots(u, DT, 0.5, decay=0.9, mirror=-1).every_second()
    if times < LEAST_SNAPSHOTS:
        assert found is None
        return
    count = times // 2
    assert (found.u[:2] == u[:, : 2 * count : 2]).all()
    assert (found.u[2:] == u[:, 1 : 2 * count : 2]).all()
    assert found.steps == {"time_step": 2 * DT, "spacing": 0.5}
    assert (found.decay, found.mirror) == (pytest.approx(0.81), -1)


@pytest.mark.parametrize("top", [0.3, 0.32, 0.27, 0.3 + 10 * FARTHEST, -10 * FARTHEST])
def test_a_damping_nearby_is_the_top_of_a_parabola(top):
    """No farther than its steps of two standard errors reach."""
    loss = Loss(0.3, 0.02)

    def with_damping(rate):
        fit = SimpleNamespace(log_density=5 - 3 * (rate - top) ** 2)
        return SimpleNamespace(_fit=lambda basis, misfit: fit)

    stub = SimpleNamespace(with_damping=with_damping)
    found = Snapshots.near(stub, loss, SimpleNamespace(basis=None, misfit=0.0))
    reach = 0.04 * FARTHEST
    assert found == pytest.approx(np.clip(top, 0.3 - reach, 0.3 + reach))


def test_the_longest_waves_are_two_or_none():
    """At any noise they hold more than rounding of the largest one."""
    levels, power = [], np.array([4.0, 9.0])
    for held, wanted in (([2, 3, 7], (2.0, 3.0)), ([4], (0.0, 1.0)), ([], (0.0, 1.0))):
        stub = SimpleNamespace(_power=power)
        stub._held = lambda noise, held=held: levels.append(noise) or np.array(held)
        assert Snapshots.longest_waves(stub, 1e-30) == wanted
    assert set(levels) == {3 * ROUND_OFF}
