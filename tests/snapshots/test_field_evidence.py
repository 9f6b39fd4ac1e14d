"""Speed, force and damping of a field with exact waves."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from leastaction.snapshots import field_evidence
from leastaction.snapshots.discrete_density import STENCILS, StencilBasis
from leastaction.snapshots.field_evidence import (
    ATTRIBUTES,
    CHOICES,
    CLEARLY,
    FARTHEST,
    LEAST_SNAPSHOTS,
    ROUND_OFF,
    Fit,
    Loss,
    Snapshots,
    identify,
    mirrored,
    others,
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


def parabola(top: float, std: float):
    """ℓ of a damping."""

    def with_damping(rate):
        value = 5 - (rate - top) ** 2 / (2 * std**2)
        fit = SimpleNamespace(log_density=value)
        return SimpleNamespace(_fit=lambda basis, misfit: fit)

    u = np.zeros((3, 12, 8))
    return SimpleNamespace(u=u, steps={"time_step": 0.1}, with_damping=with_damping)


@pytest.mark.parametrize(("top", "std"), [(0.3, 0.02), (-0.1, 0.4), (2.0, 1e-3)])
def test_a_damping_and_its_error_are_those_of_the_density(top, std):
    loss = Snapshots.loss(parabola(top, std), SimpleNamespace(basis=None, misfit=0.0))
    assert loss.rate == pytest.approx(top, abs=0.02 * std)
    assert loss.std == pytest.approx(std, rel=1e-4)


def test_a_density_without_a_top_has_no_error():
    stub = parabola(0.0, np.inf)
    assert np.isinf(Snapshots.loss(stub, SimpleNamespace(basis=None, misfit=0)).std)


@pytest.mark.parametrize("mirror", [0, -1, 1])
def test_noisier_snapshots_have_as_much_noise_again(mirror):
    u = np.random.default_rng(5).normal(size=(20, 30, 9))
    u = mirrored(u, mirror) if mirror else u
    one = Snapshots(u, DT, 0.5, decay=0.9, mirror=mirror)
    basis = StencilBasis("edges", 1, 2, 3.0, DT, 0.5).scaled_by(2 * u)
    fit = SimpleNamespace(noise=0.3, basis=basis)
    noisier = one.noisier(fit, np.random.default_rng(1))
    noise = noisier.u - u
    assert noise[..., 1:4].std() == pytest.approx(0.3, rel=0.05)
    assert (noisier.decay, noisier.mirror, noisier.steps) == (0.9, mirror, one.steps)
    if mirror:
        back = np.roll(noise[..., ::-1], 1, axis=-1)
        assert back == pytest.approx(mirror * noise, abs=1e-12)
    unit, *_ = noisier._rows[basis.family]
    assert unit.scales is basis.scales and unit.length_scale == 1.0


@pytest.mark.parametrize(("nodes", "enough"), [(17, False), (18, True)])
def test_a_fit_has_three_rows_per_function(nodes, enough):
    """6 functions of 18 rows, in one motion of three snapshots."""
    one = Snapshots(np.ones((1, 3, nodes)), DT, 0.5)
    one._fit = lambda basis, misfit: (basis, misfit)
    assert StencilBasis("edges", 1, 2, 3.0, DT, 0.5).size == 6
    made = one.fit(0.1, "edges", 1, 2, 3.0)
    assert (made is not None) == enough
    assert one.fit(0.1, "edges", 1, 2, 3.0) is made
    if enough:
        assert made[1] == 0.1 and made[0].length_scale == 3.0


def test_a_stencil_is_narrower_than_half_of_the_ring():
    one = Snapshots(np.ones((9, 30, 7)), DT, 0.5)
    one._fit = lambda basis, misfit: basis
    assert one.fit(0.1, "edges", 3, 2, 3.0).width == 3
    assert one.fit(0.1, "edges", 4, 2, 3.0) is None
    even = Snapshots(np.ones((9, 30, 8)), DT, 0.5)
    even._fit = lambda basis, misfit: basis
    assert even.fit(0.1, "edges", 4, 2, 3.0) is None


@pytest.mark.parametrize(("functions", "enough"), [(20, True), (21, False)])
def test_waves_above_the_noise_make_three_rows_per_function(functions, enough):
    """Three waves of two parts, in ten inner snapshots: 60 rows."""
    stub = SimpleNamespace(u=np.zeros((2, 7, 9)), _parts=np.array([1, 2, 2, 2, 2]))
    stub._held = lambda noise: np.array([1, 2, 4])
    fit = SimpleNamespace(noise=0.1, basis=SimpleNamespace(size=functions))
    assert Snapshots._determines(stub, fit) is enough


def landscape(height):
    """Snapshots whose fits are the places of a landscape of densities."""
    tried = []

    def fit(misfit, stencil, *sizes):
        tried.append((misfit, *sizes))
        value = height(misfit, *sizes)
        return None if value is None else SimpleNamespace(log_density=value)

    return SimpleNamespace(fit=fit), tried


STEPS = {k: tuple(v) for k, v in CHOICES.items()}


def test_a_search_goes_uphill_to_its_top():
    def height(misfit, width, degree, length, even):
        return -abs(width - 5) - abs(degree - 6) - abs(length - 2) + even + misfit

    stub, tried = landscape(lambda m, *rest: height(min(m, 2.0), *rest))
    Snapshots._uphill(stub, "edges", STEPS)
    assert tried[0] == (0.1, 2, 4, 3.0, True)  # the middle
    assert (np.inf, 5, 6, 2.0, True) in tried
    assert all(one[1] <= 6 for one in tried)


def test_a_search_begins_at_the_highest_degree_that_there_is_room_for():
    stub, tried = landscape(lambda m, w, degree, *rest: 1.0 if degree == 2 else None)
    Snapshots._uphill(stub, "edges", STEPS)
    assert [one[2] for one in tried[:2]] == [4, 2] and len(tried) > 4
    stub, tried = landscape(lambda *_: None)
    Snapshots._uphill(stub, "edges", STEPS)
    assert [one[2] for one in tried] == [4, 2]


def chosen(densities, distances, monkeypatch, sizes=None):
    """The choice among fits of these densities, stable so far away."""
    u = np.random.default_rng(6).normal(size=(3, 20, 12))
    one, asked = Snapshots(u, DT, 0.5), []
    far = dict(zip(densities, distances, strict=True))

    def uphill(stencil, steps):
        asked.append((stencil, steps))
        for value in densities:
            system = SimpleNamespace(factor=lambda damping, value=value: value)
            fit = Fit(None, 0.1, system, 1.0, value)
            fit.__dict__["coefficients"] = value
            one._fits[stencil, value] = fit

    def stabilised(basis, coefficients, factor, waves):
        assert factor == coefficients
        return coefficients, far[coefficients]

    one._uphill = uphill
    one._determines = lambda fit: fit.log_density != 99.0
    monkeypatch.setattr(field_evidence, "stabilised", stabilised)
    return one.most_probable(sizes or {}), asked


def test_a_fit_loses_half_of_its_squared_distance_to_a_stable_one(monkeypatch):
    far = [0.0, 4.0, 1.0, 0.0, 0.0]
    best, asked = chosen([99.0, 10.0, 9.0, 8.4, 1.0], far, monkeypatch)
    assert best.fit.log_density == 9.0 and best.distance == 1.0
    assert best.log_density == 8.5
    assert [stencil for stencil, _ in asked] == list(STENCILS)
    assert asked[0][1] == STEPS
    best, _ = chosen([10.0, 9.0], [np.inf, np.inf], monkeypatch)
    assert best.fit.log_density == 10.0 and np.isinf(best.distance)
    sizes = {"stencil": "edges", "width": 3}
    _, asked = chosen([10.0], [0.0], monkeypatch, sizes)
    assert [stencil for stencil, _ in asked] == ["edges"]
    assert asked[0][1] == STEPS | {"width": (3,)}
    with pytest.raises(ValueError, match="648 rows .* from 20 snapshots of 3 motions"):
        chosen([99.0], [0.0], monkeypatch)


@pytest.mark.parametrize("rate", [0.0201, 0.0199])
@pytest.mark.parametrize("settles", [True, False])
def test_a_field_is_damped_beyond_the_price_of_a_parameter(rate, settles, monkeypatch):
    """γ² > log N var γ; then the rate and the density are found in turns."""
    rates = []

    class Stub:
        count = round(np.exp(4))

        def most_probable(self, sizes):
            return SimpleNamespace(fit=len(rates))

        def loss(self, fit):
            return Loss(0.3 + (0.0009 if settles else 0.0011) * fit, 0.01)

        def with_damping(self, rate):
            rates.append(rate)
            return self

    found = SimpleNamespace(damping=rate, damping_std=0.01)
    monkeypatch.setattr(field_evidence, "measured", lambda *_: found)
    result = field_evidence.damped(Stub(), {})
    assert result[2] is found
    price = np.sqrt(np.log(Stub.count)) * 0.01
    assert len(rates) == (0 if rate < price else 1 if settles else 3)
    assert price == pytest.approx(0.02, rel=2e-3)


def test_a_grid_is_that_of_a_ring():
    about = {"domain_left": "periodic", "domain_length": 6.0, "time_step": 0.2}
    data = xr.Dataset(
        {"q": (("time", "dof"), np.zeros((3, 12)))},
        coords={"time": [0.0, 0.2, 0.4]},
        attrs=about,
    )
    assert field_evidence.grid_of(data) == pytest.approx((0.2, 0.5))
    with pytest.raises(ValueError, match="not those of a field on a periodic line"):
        field_evidence.grid_of(data.assign_attrs(domain_left="fixed"))
    padded = field_evidence._padded(np.array([3.0]), 3, 1.0)
    assert padded.tolist() == [3.0, 1.0, 1.0]


class Fitted:
    """Stands for snapshots; a fit is what it is asked for."""

    def __init__(self, *given, noise=0.0, waves="all"):
        self.given, self.noise, self.waves = given, noise, waves
        self.steps = {"time_step": given[1]}

    def _fit(self, basis, misfit):
        assert basis.width > 0
        system = SimpleNamespace(factor=lambda damping: ("factor", damping))
        of = basis.width, basis.time_step, basis.scales is None, misfit
        return SimpleNamespace(
            basis=replace(basis, scales=np.ones(1)) if basis.scales is None else basis,
            coefficients=of,
            noise=Fitted.sigma,
            system=system,
            damping=0.5,
        )

    def every_second(self):
        return Fitted(None, 2 * DT, waves="coarse") if Fitted.coarse else None

    def noisier(self, fit, rng):
        return Fitted(None, DT, waves=f"noisy {rng.integers(10**9)}")


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("coarse", [True, False])
@pytest.mark.parametrize("sigma", [0.0, 1e-3])
def test_other_fits_differ_by_a_cell_a_step_and_a_draw_of_noise(
    monkeypatch, width, coarse, sigma
):
    """Each stabilised with its own factor and waves, and weighed as a square."""
    monkeypatch.setattr(Fitted, "coarse", coarse, raising=False)
    monkeypatch.setattr(Fitted, "sigma", sigma, raising=False)
    made = []

    def snapshots(*given):
        made.append(Fitted(*given))
        return made[-1]

    def stabilised(basis, coefficients, factor, waves):
        assert factor == ("factor", 0.5)
        return (*coefficients, waves), 7.0

    monkeypatch.setattr(field_evidence, "Snapshots", snapshots)
    monkeypatch.setattr(field_evidence, "stabilised", stabilised)
    monkeypatch.setattr(field_evidence, "DiscreteDensity", lambda *given: given)
    observations = xr.Dataset(
        {"q": (("replicate", "trajectory", "time", "dof"), np.zeros((1, 2, 9, 6)))},
        coords={"time": DT * np.arange(9)},
        attrs={"mirror": -1} if coarse else {},
    )
    basis = StencilBasis("edges", width, 2, 1.0, DT, 0.3, decay=0.9)
    found = [(w, *d[1], far) for w, d, far in others(observations, basis, 0.2)]
    ((u, step, *rest),) = [one.given for one in made]
    assert u.shape == (2, 9, 6) and step == pytest.approx(DT)
    assert rest == [0.3, 0.9, -1 if coarse else 0]
    expected = [(1.0, width - 1, DT, True, 0.2, "all", 7.0)] * (width > 1)
    if coarse:
        expected.append((1 / 9, width, 2 * DT, True, 0.2, "coarse", 7.0))
    count = len(expected)
    assert found[:count] == expected
    noisy = found[count:]
    assert len(noisy) == (8 if sigma else 0)
    assert {one[:5] for one in noisy} <= {(1 / 8, width, DT, False, 0.1)}
    assert len({one[5] for one in noisy}) == len(noisy)  # drawn anew
