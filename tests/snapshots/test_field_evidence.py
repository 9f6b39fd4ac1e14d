"""Speed, force and damping of a field with exact waves."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from leastaction.snapshots.field_evidence import (
    ATTRIBUTES,
    CLEARLY,
    FARTHEST,
    LEAST_SNAPSHOTS,
    ROUND_OFF,
    Loss,
    Snapshots,
    identify,
    mirrored,
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


@pytest.mark.parametrize("mirror", [-1, 1])
def test_a_line_with_ends_is_half_of_a_ring(mirror):
    """An odd or even field of twice the length; fixed ends are at rest."""
    u = np.random.default_rng(2).normal(size=(2, 3, 6))
    ring = mirrored(u, mirror)
    assert ring.shape == (2, 3, 10)
    back = np.roll(ring[..., ::-1], 1, axis=-1)
    assert back == pytest.approx(mirror * ring)
    inner = slice(1, 5)
    assert (ring[..., inner] == u[..., inner]).all()
    assert (ring[..., 0] == (0 if mirror < 0 else u[..., 0])).all()
    snapshots = Snapshots(ring, DT, 0.5, mirror=mirror)
    assert snapshots.count == 2 * 1 * 10 // 2
    assert (snapshots._parts == 1).all()
    whole = Snapshots(ring, DT, 0.5)
    assert whole.count == 20 and whole._parts.tolist() == [1, 2, 2, 2, 2, 1]
    odd = Snapshots(ring[..., :9], DT, 0.5)
    assert odd._parts.tolist() == [1, 2, 2, 2, 2]


def test_a_wave_is_held_if_its_power_is_clearly_that_of_no_noise():
    x = 2 * np.pi * np.arange(16) / 16
    u = np.random.default_rng(3).normal(size=(4, 25, 16))
    noisy = Snapshots(u, DT, 0.5)
    power = (np.abs(np.fft.rfft(u)) ** 2).mean(axis=(0, 1)) / 16
    assert noisy._power == pytest.approx(power)
    level = np.sqrt(power[5] / (1 + CLEARLY / 10))
    assert 5 in noisy._held(0.999 * level) and 5 not in noisy._held(1.001 * level)
    waves = np.cos(2 * x) * np.ones((4, 25, 1)) + 1e-3 * np.sin(5 * x)
    clean = Snapshots(waves, DT, 0.5)
    assert clean.shortest_wave(1e-5) == 5 and clean.longest_waves(1e-5) == (2.0, 5.0)
    assert clean.longest_waves(0.1) == (0.0, 1.0) and clean.shortest_wave(9.0) == 0


def test_a_damping_is_a_factor_per_step():
    one = Snapshots(np.ones((1, 9, 8)), DT, 0.5).with_damping(0.7)
    assert one.decay == pytest.approx(np.exp(-0.07)) and one.steps["spacing"] == 0.5


@pytest.mark.parametrize("decay", [1.0, 0.9])
def test_rows_of_noise_are_white_over_the_root_of_their_covariance(decay):
    """J₁ e_{n+1} + (1 + g)/2 J₀ e_n + g J₁ e_{n−1}, and a misfit of each row."""
    rng, count, misfit = np.random.default_rng(4), 20_000, 3e-5
    j0, j1 = -1.3, 0.9
    e = rng.normal(size=(count, 9)) + 1j * rng.normal(size=(count, 9))
    rows = j1 * e[:, 2:] + (1 + decay) / 2 * j0 * e[:, 1:-1] + decay * j1 * e[:, :-2]
    other = rng.normal(size=(2, *rows.shape))
    rows = rows + np.sqrt(misfit) / DT**2 * (other[0] + 1j * other[1])
    one = Snapshots(np.zeros((1, 9, 2)), DT, 0.5, decay)
    one._parts = np.array([2])
    symbol = np.array([j0, j1]).reshape(2, 1, 1)
    white, volume = one._decorrelated(rows[:, :, None, None], symbol, misfit)
    both = white[:, 0].reshape(2, 7, count)
    covariance = np.einsum("pkn,pln->kl", both, both) / (2 * count)
    assert covariance == pytest.approx(2 * np.eye(7), abs=0.06)
    raw = np.einsum("nk,nl->kl", rows, rows.conj()).real / (2 * count)
    determinant = np.linalg.slogdet(raw)[1]
    assert volume == pytest.approx(-count * determinant, rel=0.05)
    exact, none = one._decorrelated(rows[:, :, None, None], symbol, np.inf)
    assert none == 0 and len(exact) == 2 * rows.size
    assert exact[: rows.size, 0] == pytest.approx(np.sqrt(2) * rows.real.T.ravel())
