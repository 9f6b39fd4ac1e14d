"""Spectrum of a coordinate, and the noise of its sensor: laws of units and of noise."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from recorded import completed, imported, rig, rows, write
from scipy.signal import periodogram
from stages import differentiate

from leastaction.recordings import bandwidth_spline
from leastaction.recordings.bandwidth_spline import (
    Spectrum,
    _crossings,
    _knee,
    _smooth,
    _smoothed,
    _stretches,
    difference_noise,
    noise_of,
    oscillation,
    spectrum,
)
from leastaction.recordings.contracts import pieces, training

DT = 0.01
NOISE = 0.02


def swinging(samples=4000, frequency=3.0, seed=1):
    t = np.arange(samples) * DT
    noise = np.random.default_rng(seed).normal(size=samples)
    return np.sin(2 * np.pi * frequency * t) + NOISE * noise


def test_spectrum_of_a_sine_in_white_noise():
    found = spectrum([swinging(), swinging(seed=2)], DT)
    assert found.main == pytest.approx(3.0, abs=0.1)
    assert 4.5 <= found.bandwidth < 7.0
    # One-sided: white noise has 2 σ² dt at all frequencies, a sine ½ in its line.
    high = found.frequency > 10
    assert np.mean(found.density[high]) == pytest.approx(2 * NOISE**2 * DT, rel=0.05)
    assert np.mean(found.noise[high]) == pytest.approx(2 * NOISE**2 * DT, rel=0.5)
    line = np.abs(found.frequency - 3.0) < 0.5
    power = found.density[line].sum() * np.diff(found.frequency)[0]
    assert power == pytest.approx(0.5, rel=0.05)
    assert found.highest_noise == pytest.approx(NOISE, rel=0.1)
    for series in ([swinging()], [swinging(300), swinging()]):
        assert noise_of(series, spectrum(series, DT)) == pytest.approx(NOISE, rel=0.1)


@pytest.mark.parametrize("length, second", [(1.0, 1.0), (1e3, 1.0), (1.0, 1e-3)])
def test_spectrum_in_other_units(length, second):
    """An offset and a drift change nothing; units scale as the quantities do."""
    y = swinging(1500)
    plain = spectrum([y], DT)
    other = spectrum([length * (y + 7.0 + 0.3 * np.arange(len(y)))], second * DT)
    assert other.frequency * second == pytest.approx(plain.frequency)
    size = length**2 * second
    assert other.density == pytest.approx(size * plain.density, rel=1e-6)
    assert other.noise == pytest.approx(size * plain.noise, rel=1e-4)
    assert other.bandwidth * second == pytest.approx(plain.bandwidth)


@pytest.mark.parametrize("degree", range(6))
def test_difference_noise_of_a_polynomial(degree):
    """The difference of order k + 1 has no polynomial of degree k."""
    t = np.linspace(-1, 1, 4000)
    noise = np.random.default_rng(4).normal(size=len(t))
    series = [1e3 * t**degree + NOISE * noise, NOISE * noise[:2]]
    assert difference_noise(series) == pytest.approx(NOISE, rel=0.05)
    assert difference_noise([noise[:2]]) == 0.0


@pytest.mark.parametrize("length, longest", [(10, 20), (400, 100), (401, 100), (3, 1)])
def test_stretches_of_a_trajectory(length, longest):
    """Kept parts tile it; each has a margin of a twentieth, but for the ends."""
    part, margin = slice(5, 5 + length), longest // 20
    found = list(_stretches(part, longest))
    rows = [row for *_, inner in found for row in range(inner.start, inner.stop)]
    assert rows == list(range(part.start, part.stop))
    assert len(found) == -(-length // longest)
    for start, stop, inner in found:
        assert start == max(part.start, inner.start - margin)
        assert stop == min(part.stop, inner.stop + margin)


def test_derivatives_of_decaying_swings(tmp_path):
    """Closed forms of q, q̇, q̈ at rows that follow from the bandwidth."""
    write(tmp_path, rows(3, noise=1e-3, duration=30.0))
    example = completed(rig(), tmp_path)
    observations = training(imported(rig(), tmp_path))
    settings = example["estimators"]["recommended"]["differentiate"]
    found = differentiate(observations, settings, example["library"])
    parts, dt = pieces(observations), float(observations.attrs["time_step"])
    expected = spectrum([observations["q"].values[0, p, 0] for p in parts], dt)
    assert found["bandwidth"].item() == pytest.approx(expected.bandwidth)
    assert found["frequency"].item() == pytest.approx(expected.main)
    assert found["noise_std"].item() == pytest.approx(1e-3, rel=0.1)
    stride = round(1 / (settings["points"] * expected.bandwidth) / dt)
    trim = settings["trim"] / expected.bandwidth
    decay, omega = -0.05, 2 * np.pi * 1.1
    for number, part in enumerate(parts):
        here = found.isel(grid=found["trajectory_number"].values == number)
        row, inner = here["row"].values, here["inner"].values == 1
        assert row[0] == part.start and set(np.diff(row)) == {stride}
        assert part.stop - stride <= row[-1] < part.stop
        t, end = (row - part.start) * dt, (part.stop - 1 - part.start) * dt
        assert (inner == ((t >= trim) & (t <= end - trim))).all()
        exact = np.exp((decay + 1j * omega) * t) / (1 + 0.5 * number)
        for order, name in enumerate(("q", "qdot", "qddot")):
            expected_values = (exact * (decay + 1j * omega) ** order).real[inner]
            error = here[name].values[0, inner, 0] - expected_values
            assert np.sqrt(np.mean(error**2)) < 5e-4 * (2 * omega) ** order, name


def seen(density, noise=1.0, main=2.0, bandwidth=60.0, frequency=None):
    f = np.arange(1.0, 101) if frequency is None else frequency
    return Spectrum(f, density(f), np.full(len(f), noise), main, bandwidth)


def test_the_noise_of_the_highest_third_is_the_median_of_a_periodogram():
    of = seen(lambda f: np.where(f > 66.7, np.where(f > 90, 7.0, 3.0), 50.0))
    assert of.highest_noise == pytest.approx(np.sqrt(3.0 * 100 / np.log(2)))


def test_difference_noise_is_the_least_of_six_orders(rng):
    y, short = rng.standard_normal((2, 300))
    y = np.cumsum(y) / 3 + rng.standard_normal(300)
    binomials = [2, 6, 20, 70, 252, 924]
    each = [
        np.sqrt(np.mean(np.diff(y, k) ** 2) / binomials[k - 1]) for k in range(1, 7)
    ]
    assert difference_noise([y]) == pytest.approx(min(each), rel=1e-12)
    # The sixth difference of a sixth power is 6!; the seventh would be zero.
    power = np.arange(13.0) ** 6
    assert difference_noise([power]) == pytest.approx(720 / np.sqrt(924))
    fifth = [np.diff(power[:12], 5)]
    expected = np.sqrt(np.mean(np.square(fifth)) / 252)
    assert difference_noise([power[:12]]) == pytest.approx(expected)
    steps = np.concatenate([np.diff(y[:4]), np.diff(short[:3])])
    expected = np.sqrt(np.mean(steps**2) / 2)
    assert difference_noise([y[:4], short[:3]]) == pytest.approx(expected)


def test_motion_near_the_nyquist_frequency_is_no_noise(rng):
    y = [rng.standard_normal(500)]
    differences = difference_noise(y)

    class Estimate:
        highest_noise = 0.0

    for share, own in ((0.24, True), (0.26, False)):
        Estimate.highest_noise = share * differences
        expected = share * differences if own else differences
        assert noise_of(y, Estimate) == pytest.approx(expected)


def test_the_knee_is_beyond_the_main_frequency_and_below_the_noise():
    f = np.arange(1.0, 101)
    density = np.where(f < 40, 3.1, 2.9)
    knee = _knee(f, density, np.ones(100), 10.0, 0.005)
    assert 36 <= knee <= 44
    assert _knee(f, 0 * f + 1, np.ones(100), 10.0, 0.005) == 16.0
    assert _knee(f, 0 * f + 3.1, np.ones(100), 10.0, 0.005) == 100


def test_a_running_mean_of_logarithms(rng):
    density = np.exp(rng.standard_normal(60))
    padded = pd.Series(np.log(density)[[0] * 4 + [*range(60)] + [59] * 4])
    expected = np.exp(padded.rolling(9).mean()[8:].to_numpy())
    np.testing.assert_allclose(_smoothed(density), expected)
    np.testing.assert_array_equal(_smoothed(density[:26]), density[:26])
    assert not np.array_equal(_smoothed(density[:27]), density[:27])


def test_crossings_are_half_those_of_the_median():
    t = np.arange(1000)
    y = 5 + np.sin(2 * np.pi * 0.02 * t + 0.3)
    assert _crossings([y, y]) == pytest.approx(0.02, rel=0.02)


def test_an_oscillation_is_half_the_range_beside_a_drift(rng):
    """The largest of windows of a period that begin every quarter of one."""
    q = np.cumsum(rng.standard_normal((45, 2)), axis=0)
    expected = []
    for i in range(0, 45 - 20 + 1, 5):
        at = np.arange(20)
        rest = [y - np.polyval(np.polyfit(at, y, 1), at) for y in q[i : i + 20].T]
        expected.append([np.ptp(y) / 2 for y in rest])
    np.testing.assert_allclose(oscillation(q, 20), np.max(expected, axis=0))
    at = np.arange(45)
    whole = q[:, 0] - np.polyval(np.polyfit(at, q[:, 0], 1), at)
    assert oscillation(q[:, :1], 99)[0] == pytest.approx(np.ptp(whole) / 2)
    line = np.outer(at, [3.0, -1.0]) + 7
    np.testing.assert_allclose(oscillation(line, 20), 0, atol=1e-12)
    assert oscillation(q, 3).shape == (2,)


@pytest.mark.parametrize("angle", [False, True])
@pytest.mark.parametrize("size", [10.0, 1.0])
def test_the_main_frequency_of_turns_is_that_of_changes_of_sign(angle, size):
    """The rms frequency of the velocity, of an angle beyond a turn."""
    t = np.arange(8000) * DT
    y = size * (np.sin(2 * np.pi * t) + 0.6 * np.sin(2.8 * np.pi * t))
    y = y + 1e-4 * np.random.default_rng(0).standard_normal(len(t))
    power = np.array([1.0, (0.6 * 1.4) ** 2])
    rms = np.sqrt((power * [1, 1.4**2]).sum() / power.sum())
    expected = rms if angle and size > 1 else 1.0
    assert spectrum([y], DT, angle).main == pytest.approx(expected, rel=0.02)


def test_a_spectrum_is_that_of_second_differences(rng):
    """The mean over stretches of 8 and more samples, weighted by their lengths."""
    y = np.cumsum(rng.standard_normal(1502)) / 9 + rng.standard_normal(1502)
    found = spectrum([y, y[:9]], DT)
    d = np.diff(y, 2)
    how = {"window": "blackmanharris", "nfft": 2048, "detrend": "constant"}
    f, p = periodogram(d, 1 / DT, **how)
    f, p = f[1:-1], p[1:-1] / (2 * np.sin(np.pi * f[1:-1] * DT)) ** 4
    np.testing.assert_allclose(found.frequency, f)
    np.testing.assert_allclose(found.density, p, rtol=1e-9)
    assert found.frequency[0] == pytest.approx(1 / 2048 / DT)
    twice = spectrum([y, y], DT)
    np.testing.assert_allclose(twice.density, p, rtol=1e-9)


def test_a_spline_through_a_parabola_has_its_derivatives():
    t = np.arange(200) * DT
    y = 3 - 2 * t + 4 * t**2
    at = np.array([10, 57, 190])
    value, rate, acceleration = _smooth([y], [0], DT, 8, 1.0, at)
    np.testing.assert_allclose(value, y[at], atol=1e-6)
    np.testing.assert_allclose(rate, -2 + 8 * t[at], atol=1e-4)
    np.testing.assert_allclose(acceleration, 8, atol=1e-2)


@pytest.mark.parametrize("samples", [40, 47, 160])
def test_a_short_trajectory_has_a_knot_in_eight_samples(samples):
    """A quintic polynomial is one of its splines, whatever their knots are."""
    t = np.arange(samples) * DT
    y = np.polynomial.Polynomial([1.0, -2, 0.5, 30, -10, 5])
    at = np.array([3, samples // 2, samples - 4])
    found = _smooth([y(t)], [0], DT, 20, 1.2, at)
    exact = [y(t[at]), y.deriv()(t[at]), y.deriv(2)(t[at])]
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("trim", "inner"), [(2.0, None), (1e6, 1.0)])
def test_a_motion_shorter_than_its_ends_is_all_inner(trim, inner, tmp_path):
    """Points are samples at most."""
    write(tmp_path, rows(2, duration=4.0))
    example = completed(rig(), tmp_path)
    observations = training(imported(rig(), tmp_path))
    settings = example["estimators"]["recommended"]["differentiate"]
    settings = settings | {"points": 10**6, "trim": trim}
    found = differentiate(observations, settings, example["library"])
    np.testing.assert_array_equal(found["row"], np.arange(observations.sizes["sample"]))
    share = found["inner"].values.mean()
    assert share == inner if inner else 0.25 < share < 1


@pytest.mark.parametrize(("bandwidth", "points"), [(2.0, 4), (0.5, 2), (40.0, 4)])
def test_knots_points_and_ends_are_shares_of_the_bandwidth(
    bandwidth, points, monkeypatch
):
    """Five knots in 1/B, two samples each at least; all coordinates alike."""
    seen, dt = [], 0.01
    about = {"x": (bandwidth, 0.3), "y": (bandwidth / 2, 0.2)}

    def spectrum_of(series, step, angle):
        b, main = about["y" if angle else "x"]
        return SimpleNamespace(bandwidth=b, main=main)

    def smooth(channels, orders, step, spacing, inflation, at):
        seen.append((orders, spacing, inflation, len(channels[0])))
        return np.stack([channels[0][at], 0 * at, 0 * at])

    for name, function in {
        "check": lambda *of: None,
        "spectrum": spectrum_of,
        "_smooth": smooth,
        "noise_of": lambda series, psd: psd.main,
    }.items():
        monkeypatch.setattr(bandwidth_spline, name, function)
    q = np.random.default_rng(0).standard_normal((1, 1000, 2))
    motion = ("replicate", "sample", "dof"), q
    data = {"q": motion, "qddot": motion, "held_out": ("trajectory", [0, 0, 1])}
    data["first_sample"] = "trajectory", [0, 600, 900]
    data["sample_count"] = "trajectory", [600, 300, 100]
    coords = {"replicate": [0], "dof": ["x", "y"]}
    kinds = {"kinds": '{"y": "angle"}', "time_step": dt}
    observations = xr.Dataset(data, coords, kinds)
    settings = {"points": points, "trim": 2.0, "inflation": 1.2}
    found = bandwidth_spline.differentiate(observations, settings, None)
    spacing = max(round(20 / bandwidth), 2)
    assert {(tuple(o), s, i) for o, s, i, _ in seen} == {((0, 2), spacing, 1.2)}
    stride = max(round(100 / points / bandwidth), 1)
    rows = [np.arange(0, 600, stride), np.arange(600, 900, stride)]
    np.testing.assert_array_equal(found["row"], np.concatenate(rows))
    np.testing.assert_array_equal(found["q"].values[0], q[0, found["row"]])
    lengths, ends = [len(r) for r in rows], []
    assert (
        found["trajectory_number"].values.tolist()
        == np.repeat([0, 1], lengths).tolist()
    )
    for r, count in zip(rows, (600, 300), strict=True):
        when = (r - r[0]) * dt
        ends.append(
            (when >= 2 / bandwidth) & (when <= (count - 1) * dt - 2 / bandwidth)
        )
    inner = np.concatenate(ends)
    if inner.mean() < 0.25:
        inner[:] = True
    np.testing.assert_array_equal(found["inner"], inner)
    np.testing.assert_allclose(found["bandwidth"], [[bandwidth, bandwidth / 2]])
    np.testing.assert_allclose(found["frequency"], [[0.3, 0.2]])
    np.testing.assert_allclose(found["noise_std"], [[0.3, 0.2]])
