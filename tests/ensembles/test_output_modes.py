"""Modes of outputs without a law: closed forms, coverage, tones, invariances."""

from types import SimpleNamespace

import numpy as np
import pytest
from frames import frame
from numpy.testing import assert_allclose
from scipy.signal import csd, lfilter

from leastaction.ensembles import innovations_form as form
from leastaction.ensembles import output_modes as om
from leastaction.ensembles.modes import interval_of_ratio
from leastaction.ensembles.output_modes import (
    DRIFT,
    FEWEST_PERIODS,
    SLOW,
    TONE,
    output_modes,
    unbiased_ratio,
)
from leastaction.ensembles.stochastic_subspace import StochasticRealisation

DT, SAMPLES = 0.02, 6000
STIFFNESS, DAMPING = [400.0, 300.0], [0.6, 0.4]
SENSORS = "addot + ground", "bddot + ground"


def truth():
    """Frequencies, damping ratios and shapes, largest entry one, of the two storeys."""
    drift = np.eye(2) - np.eye(2, k=-1)
    K, C = (drift.T @ np.diag(x) @ drift for x in (STIFFNESS, DAMPING))
    rates = np.block([[np.zeros((2, 2)), np.eye(2)], [-K, -C]])
    values, vectors = np.linalg.eig(rates)
    upper = np.flatnonzero(values.imag > 0)
    upper = upper[np.argsort(np.abs(values[upper]))]
    shapes = vectors[:2, upper].T
    largest = np.abs(shapes).argmax(axis=1)
    shapes = shapes / shapes[np.arange(2), largest][:, None]
    size = np.abs(values[upper])
    return size / (2 * np.pi), -values[upper].real / size, shapes


def outputs(seed, samples=SAMPLES):
    """Absolute accelerations with noise of about 5 % of the motion."""
    data = frame(STIFFNESS, DAMPING, SENSORS, 0.1, samples, DT, seed)
    return data["reading"].values[0]


def found(*stretches, **more):
    return output_modes(list(stretches), DT, ["a", "b"], **more)


def test_no_mode_is_missing_none_is_invented_and_intervals_hold_the_truth():
    frequency, ratio, shapes = truth()
    inside = {"frequency": [], "damping_ratio": [], "shape": []}
    for seed in range(6):
        data = found(outputs(seed))
        assert list(data["kind"].values) == ["mode", "mode"]
        for name, known in (("frequency", frequency), ("damping_ratio", ratio)):
            low, high = (data[f"{name}_{end}"].values for end in ("low", "high"))
            inside[name] += list((low < known) & (known < high))
        for part, known in (("real", shapes.real), ("imaginary", shapes.imag)):
            std = data[f"shape_{part}_std"].values
            miss = np.abs(data[f"shape_{part}"].values - known)
            inside["shape"] += list((miss < 1.96 * std)[std > 1e-12])
    for name, those in inside.items():
        assert np.mean(those) > 0.85, name


def test_errors_are_those_of_the_bound_of_a_resonance():
    """Without structure, var ζ ≥ ζ / ω T of a line far above the noise."""
    data = found(outputs(1))
    omega = 2 * np.pi * data["frequency"].values
    # The likeliest ratio r is ζ (1 + var/r²).
    likeliest = data["damping_ratio"] + 1 / (omega * DT * SAMPLES)
    bound = np.sqrt(likeliest / (omega * DT * SAMPLES))
    assert_allclose(data["damping_ratio_std"], bound, rtol=0.1)


def test_several_records_are_as_good_as_one():
    whole = outputs(2, 3 * SAMPLES)
    parts = [whole[:5000], whole[5000:9000], whole[9000:]]
    one, several = found(whole), found(*parts)
    for name in ("frequency", "damping_ratio"):
        gap = np.abs(one[name] - several[name]) / one[f"{name}_std"]
        assert gap.max() < 1
        assert_allclose(one[f"{name}_std"], several[f"{name}_std"], rtol=0.15)


@pytest.mark.parametrize("frequency", [1.0, 1.85, 1.95, 2.25, 7.0])
def test_a_tone_is_no_mode(frequency):
    time = DT * np.arange(SAMPLES)
    tone = np.sin(2 * np.pi * frequency * time)[:, None]
    y = outputs(3)
    data = found(y + 0.5 * y.std(axis=0) * tone)
    kinds = dict(
        zip(data["frequency"].values.round(2), data["kind"].values, strict=True)
    )
    assert kinds.pop(frequency) == TONE
    assert list(kinds.values()) == ["mode", "mode"]


def test_a_fragment_of_a_record_hides_no_tone():
    """It has less than a period, and in the band of the tone all that moves."""
    y = outputs(3)
    tone = np.sin(2 * np.pi * DT * np.arange(SAMPLES))[:, None]
    data = found(y + 0.5 * y.std(axis=0) * tone, y[:9])
    assert list(data["kind"].values) == [TONE, "mode", "mode"]


@pytest.mark.parametrize(
    ("frequency", "drift"), [(1.3, 0.03), (1.3, 0.1), (7.0, 0.01), (7.0, 0.1)]
)
def test_a_tone_that_drifts_is_no_mode(frequency, drift):
    """Of one sensor: less than a second of CPU time each."""
    part = np.arange(SAMPLES) / SAMPLES
    turns = frequency * DT * SAMPLES * (part + drift * (part**2 - part) / 2)
    y = outputs(3)[:, :1]
    tone = 0.5 * y.std() * np.sin(2 * np.pi * turns)[:, None]
    data = output_modes([y + tone], DT, ["a"])
    near = np.abs(data["frequency"].values / frequency - 1) < drift
    kinds = data["kind"].values
    assert set(kinds[near]) == {DRIFT} and list(kinds[~near]) == ["mode", "mode"]


@pytest.mark.parametrize("width", [1, 4])
def test_white_noise_has_no_mode(width):
    """In one record of four the likeliest model with a state had one."""
    for seed in range(10):
        y = np.random.default_rng([seed, width]).standard_normal((1500, width))
        data = output_modes([y], DT, list("abcd"[:width]))
        assert not data.sizes["mode"] and data.attrs["order"] == 0


@pytest.mark.parametrize(("pole", "seed"), [(1, 2), (1, 6), (0.99, 2)])
def test_coloured_noise_has_no_tone(pole, seed):
    """Random walks had the tone of a period, a first-order process one of nine."""
    e = np.random.default_rng([9, seed]).standard_normal((10_000, 2))
    y = lfilter([1], [1, -pole], e, axis=0)[2000:]
    assert TONE not in output_modes([y], DT, ["a", "b"])["kind"].values


def test_a_mode_of_few_periods_is_named_so():
    """Of seven periods, in one record or in two, it is no mode."""
    size = int(3.5 / truth()[0][0] / DT)
    y = outputs(3)
    parts = [y[k * size : (k + 1) * size] for k in range(8)]
    for count in (2, 8):
        for stretches in ([np.concatenate(parts[:count])], parts[:count]):
            data = found(*stretches)
            few = data["frequency"].values * DT * size * count < FEWEST_PERIODS
            kinds = data["kind"].values
            assert "mode" not in kinds[few] and SLOW not in kinds[~few]


def test_units_and_the_order_of_sensors_do_not_matter():
    y = outputs(4)
    one, other = found(y), found(y[:, ::-1] * [1e6, 1e3])
    for name in ("frequency", "damping_ratio", "frequency_std", "damping_ratio_std"):
        assert_allclose(one[name], other[name], rtol=1e-3)
    shape = other["shape_real"].values[:, ::-1] / [1e3, 1e6]
    shape /= np.abs(shape).max(axis=1, keepdims=True)
    assert_allclose(np.abs(shape), np.abs(one["shape_real"]), rtol=1e-3)


def test_slopes_are_those_of_the_likelihood():
    y = outputs(5, 1500)
    y = y / y.std(axis=0)
    realised = StochasticRealisation([y], 1, 20, 4)
    model = form.diagonal(*realised.innovations_form(4))
    records = form.transforms([y[:900], y[900:]], DT, 1 / DT)
    _, slope = form._normal(model, records, form._state(model, records))
    for place in range(len(slope)):
        step = np.zeros(len(slope))
        step[place] = 1e-5
        ends = [form._state(form._moved(model, s * step), records) for s in (1, -1)]
        difference = (ends[0].value - ends[1].value) / 2e-5
        assert difference == pytest.approx(2 * slope[place], rel=2e-2, abs=1.0)


def test_damping_ratios_are_right_in_the_mean():
    """Their likeliest values are 1/ωT too large, a third of the first mode here."""
    assert np.isclose(unbiased_ratio(np.array([0.01]), np.array([0.005]))[0], 0.008)
    random, decays, steps = np.random.default_rng(6), 6.0, 400
    a = np.exp(-decays / steps)
    kicks = random.standard_normal((2, 4000, steps)) * np.sqrt(1 - a**2)
    kicks[:, :, 0] /= np.sqrt(1 - a**2)
    z = lfilter([1], [1, -a], kicks[0] + 1j * kicks[1], axis=1)
    both = (z[:, :-1].conj() * z[:, 1:]).sum(axis=1)
    rate = -np.log(np.abs(both / (np.abs(z[:, :-1]) ** 2).sum(axis=1))) * steps
    ratio = unbiased_ratio(rate, np.sqrt(np.maximum(rate, 0.0))) / decays
    assert np.mean(rate) / decays > 1.12
    assert np.mean(ratio) == pytest.approx(1, abs=0.04)


# Parts of the search on exact sums of lines, each a whole number of periods.
COUNT, STEP = 400, 0.05
T = COUNT * STEP


def lines(*parts, channels=(1.0,)) -> om.Series:
    """Σ a cos(2πkt/T + φ) of (a, k, φ), times a weight of each channel."""
    time = np.arange(COUNT) / COUNT
    y = sum(a * np.cos(2 * np.pi * k * time + phase) for a, k, phase in parts)
    return om.Series([y[:, None] * channels], np.ones(len(channels)), STEP)


def mode(place=60.0, ratio=0.0, shape=(1.0,), std=(0.0, 0.0)) -> form.Mode:
    covariance = np.diag(np.square(std))
    errors = np.zeros((2, len(shape)))
    return form.Mode(place / T, ratio, covariance, np.array(shape), errors)


def kurtosis(y) -> float:
    return (y**4).mean() / (y**2).mean() ** 2 - 3


def test_evenness_is_the_kurtosis_in_the_band_and_how_its_power_is_spread():
    parts = (1.0, 60, 0.3), (0.7, 61, 1.0), (0.5, 57, 2.0), (9.0, 70, 0.0)
    series = lines(*parts)
    inside = lines(*parts[:2]).stretches[0][:, 0]  # |f − f₀| < 2/T
    power = np.array([1.0, 0.49])
    even, spread = om.evenness(mode(), series)
    assert even == pytest.approx(kurtosis(inside), abs=1e-9)
    assert spread == pytest.approx(power.sum() ** 2 / (power**2).sum(), rel=1e-9)
    inside = lines(*parts[:3]).stretches[0][:, 0]
    wider = om.evenness(mode(), series, times=1.75)
    damped = om.evenness(mode(ratio=0.0146), series)  # 4 ζ f = 3.5/T
    assert wider[0] == damped[0] == pytest.approx(kurtosis(inside), abs=1e-9)
    assert om.evenness(mode(), lines((2.0, 60, 0.1)))[0] == pytest.approx(-1.5)
    known = om.evenness(mode(), series, [64.5 / T])  # 61 leaks into it, 60 does not
    assert known == (pytest.approx(-1.5), pytest.approx(1.0))
    nothing = om.evenness(mode(), series, [60 / T])
    assert nothing == (0.0, 1.0)
    assert om.evenness(mode(1.9), series) == (0.0, 1.0)  # its band is down to zero


def test_evenness_is_that_of_the_channel_that_moves_most():
    """Over its scale; of several stretches the mean square and fourth power."""
    one, two = lines((1.0, 60, 0.0)), lines((1.0, 60, 0.0), (1.0, 61, 0.0))
    both = np.hstack([one.stretches[0], two.stretches[0]])
    series = om.Series([both], np.array([1.0, 10.0]), STEP)
    assert om.evenness(mode(shape=(1.0, 9.0)), series)[0] == pytest.approx(-1.5)
    second = om.evenness(mode(shape=(1.0, -11.0)), series)[0]
    assert second == pytest.approx(kurtosis(two.stretches[0][:, 0]), abs=1e-9)
    joined = om.Series([*one.stretches, *two.stretches], np.ones(1), STEP)
    y = np.concatenate([x[:, 0] for x in joined.stretches])
    assert om.evenness(mode(), joined)[0] == pytest.approx(kurtosis(y), abs=1e-9)


def test_a_line_is_sought_within_two_of_its_widths():
    series = lines((1.0, 60.3, 0.4))
    for near in (58.4, 60.0, 62.2):
        assert om._line(series, near / T) == pytest.approx(60.3 / T, abs=3e-3 / T)
    assert abs(om._line(series, 57.0 / T) - 60.3 / T) > 0.5 / T
    slow = om._line(lines((1.0, 0.6, 0.2)), 0.3 / T)
    assert slow > om.GRID / T


def test_lines_are_taken_off_with_their_complex_amplitudes():
    rest = lines((0.3, 90, 0.2), channels=(1.0, -2.0))
    whole = lines((1.0, 60, 0.4), (0.5, 71, -1.0), channels=(1.0, 2.0))
    both = [rest.stretches[0] + whole.stretches[0]]
    series = rest._replace(stretches=both)
    left, (amplitudes,) = om._without(series, [60 / T, 71 / T])
    np.testing.assert_allclose(left.stretches[0], rest.stretches[0], atol=1e-10)
    expected = np.outer([np.exp(0.4j), 0.5 * np.exp(-1j)], [1.0, 2.0])
    np.testing.assert_allclose(amplitudes, expected, atol=1e-10)
    assert om._without(series, []) == (series, [])


def test_errors_of_a_tone_are_those_of_rife_and_boorstyn():
    """In white noise of variance σ²: 6σ²/(π² a² N³ Δ²) and 4σ²/N of the amplitude."""
    rng, sigma = np.random.default_rng(2), np.array([0.1, 0.3])
    scale = np.array([2.0, 5.0])
    wave = lines((1.0, 60.3, 0.4), channels=(1.0, 0.6))
    y = wave.stretches[0] + sigma * rng.normal(size=(COUNT, 2))
    short = wave.stretches[0][:200] + sigma * rng.normal(size=(200, 2))
    series = om.Series([short, y], scale, STEP)
    (tone,) = om._as_modes(series, [60.3 / T])
    rest, amplitudes = om._without(series, [60.3 / T])
    total = 0.0
    for left, a in zip(rest.stretches, amplitudes, strict=True):
        n = len(left)
        places = np.arange(n // 2 + 1) - 60.3 * n / COUNT
        noise = (np.abs(np.fft.rfft(left, axis=0)) ** 2 / n)[np.abs(places) < 4]
        noise = noise.mean(axis=0)
        total += (np.pi**2 * np.abs(a[0]) ** 2 * n**3 * STEP**2 / (6 * noise)).sum()
    assert tone.covariance[0, 0] == pytest.approx(1 / total, rel=1e-6)
    assert tone.covariance[1, 1] == 0 and tone.damping_ratio == 0
    assert tone.frequency == 60.3 / T
    shape = amplitudes[1][0] * scale
    np.testing.assert_allclose(tone.shape, shape / shape[1], rtol=1e-9)
    error = np.sqrt(2 * noise[0] / COUNT) * 2 / abs(shape[1])
    np.testing.assert_allclose(tone.shape_std, [[error, 0.0]] * 2, rtol=1e-6)
    assert np.sqrt(noise[0]) == pytest.approx(0.1, rel=0.5)


POLES = np.array([[6, 3.0, 0.1], [8, 3.04, 0.1], [10, 2.96, 0.1], [12, 9.0, 0.1]])


@pytest.mark.parametrize(
    ("made", "order", "kind"),
    [
        (mode(60, 0.02, std=(0.01, 0)), 6, "mode"),
        (mode(60, 0.158, std=(0.01, 0)), 6, "mode"),
        (mode(60, 0.160, std=(0.01, 0)), 6, "background"),
        (mode(60, 0.02, std=(0.0079, 0)), 6, "unconfirmed"),  # 5 standard errors
        (mode(60, 0.02, std=(0.0081, 0)), 6, "mode"),
        (mode(60, 0.02, std=(0.01, 0)), 10, "unconfirmed"),
        (mode(60, 0.02, std=(0.01, 0)), 12, "mode"),  # nothing is of higher order
        (mode(7.9, 0.02, std=(9.0, 0)), 6, "slow"),
        (mode(8.1, 0.02, std=(9.0, 0)), 6, "mode"),
    ],
)
def test_what_a_pair_of_poles_is(made, order, kind, monkeypatch):
    monkeypatch.setattr(om, "_drifts", lambda *_: False)
    identified = om.IdentifiedModes([], order, None)
    assert om._kind(made, POLES, identified, lines((1.0, 60, 0.0))) == kind
    monkeypatch.setattr(om, "_drifts", lambda *_: True)
    drifts = om._kind(made, POLES, identified, lines((1.0, 60, 0.0)))
    assert drifts == (kind if kind in ("background", "slow") else DRIFT)


@pytest.mark.parametrize(
    ("decays", "even", "tone"),
    [
        (1.99, -1.31, True),
        (2.01, -1.31, False),
        (1.99, -1.29, False),
        (0.21, -1.2, False),
        (0.19, -0.97, True),
        (0.19, -0.95, False),
        (-1.0, -0.97, True),
    ],
)
def test_tones_are_even_and_hardly_decay(decays, even, tone, monkeypatch):
    """By e^−decays over the record; 4/5 of the power make −3/2 · 0.64."""
    monkeypatch.setattr(om, "evenness", lambda *_: (even, 1.0))
    made = mode(60, decays / (2 * np.pi * 60))
    series = lines((1.0, 60, 0.0))
    assert om._tones([made], series) == [60 / T] * tone
    assert om._tones([mode(7.9, made.damping_ratio / 10)], series) == []


def test_tones_that_are_known_are_left_out_of_the_next(monkeypatch):
    """The least damped first."""
    calls = []

    def evenness(one, series, known):
        calls.append((one.frequency, list(known)))
        return -1.5, 1.0

    monkeypatch.setattr(om, "evenness", evenness)
    series = lines((1.0, 60, 0.0))
    found = om._tones([mode(60, 1e-4), mode(80, -1e-5)], series)
    assert found == [80 / T, 60 / T]
    assert calls == [(80 / T, []), (60 / T, [80 / T])]


@pytest.mark.parametrize(("even", "drifts"), [(-1.2, True), (-1.18, False)])
def test_a_drift_is_even_in_a_band_that_holds_it(even, drifts, monkeypatch):
    """At eight lines −1.19 is rare; bands grow to a quarter of the frequency."""
    asked = []

    def evenness(one, series, times):
        asked.append(times)
        return (even if times == 4 else 0.0), 8.0

    monkeypatch.setattr(om, "evenness", evenness)
    assert om._drifts(mode(60), lines((1.0, 60, 0.0))) == drifts
    assert asked == ([1, 2, 4] if drifts else [1, 2, 4])  # 2 · 8/T is above 15/T
    asked.clear()
    assert not om._drifts(mode(8), lines((1.0, 60, 0.0))) and asked == []


@pytest.mark.parametrize(
    ("highest", "upper"), [(None, 24.0), (5.0, 5.0), (9.9, 9.9), (30.0, 30.0)]
)
def test_a_pole_beside_a_tone_is_its_error_and_frequencies_end(
    highest, upper, monkeypatch
):
    """Within two lines of 1/T, if it is no wider than one; up to what is sampled."""
    line = 1 / T
    tone = mode(60)
    beside = [mode(60 + k, ratio) for k in (1.9, 2.1) for ratio in (0.9 / 61.9, 0.02)]
    monkeypatch.setattr(om, "main_frequency", lambda *_: 2 * np.pi * 2.0)
    fitted = SimpleNamespace(converged=True)
    asked = []

    def separated(series, rate):
        asked.append(rate)
        modes = [mode(250.0, 0.02), *beside]
        return om.IdentifiedModes(modes, 8, fitted), POLES, [tone], series

    monkeypatch.setattr(om, "_separated", separated)
    monkeypatch.setattr(om, "_kind", lambda *_: "mode")
    y = lines((1.0, 60, 0.0)).stretches
    made = output_modes(y, STEP, ["a"], highest)
    kept = [60.0, 61.9, 62.1, 62.1] + [250.0] * (upper * T > 250)
    np.testing.assert_allclose(made.frequency, np.array(kept) * line)
    assert list(made.kind.values[:2]) == ["tone", "mode"]
    assert asked == [pytest.approx(min(2.5 * upper, 1 / STEP))]
    assert made.attrs["highest_frequency"] == pytest.approx(min(upper, 10.0))
    assert made.attrs["periods"] == pytest.approx(2.0 * T)
    assert made.attrs["order"] == 8 and made.attrs["converged"] == 1


def test_a_spectrum_is_that_of_welch():
    rng = np.random.default_rng(4)
    y = rng.normal(size=(4000, 2)) @ [[1.0, 0.5], [0.0, 1.0]]
    series = om.Series([y, y[:50]], np.ones(2), STEP)
    f, largest = om._spectrum(series, 10.0)
    g, density = csd(y.T[:, None], y.T[None], 20.0, nperseg=2400)
    inside = (g > 0) & (g < 5)
    np.testing.assert_array_equal(f, g[inside])
    values = np.linalg.eigvalsh(np.moveaxis(density, -1, 0)[inside])[:, 1]
    np.testing.assert_allclose(largest, values, rtol=1e-9)


def test_a_table_of_modes_has_intervals_without_the_bias_of_the_ratio():
    one = form.Mode(
        3.0, 0.02, np.diag([0.1, 0.01]) ** 2, np.array([1, 0.5j]), np.full((2, 2), 0.3)
    )
    spectrum = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    data = om._dataset([one], ["mode"], POLES, spectrum, ["a", "b"])
    row = data.isel(mode=0)
    ratio = 0.02 / (1 + 0.25)
    assert float(row.damping_ratio) == pytest.approx(ratio)
    low, high = interval_of_ratio(np.array([ratio]), np.array([0.01]))
    ends = row.damping_ratio_low, row.damping_ratio_high
    np.testing.assert_allclose(ends, [low[0], high[0]])
    half = 1.959964 * 0.1
    np.testing.assert_allclose(
        [row.frequency_low, row.frequency, row.frequency_high], [3 - half, 3, 3 + half]
    )
    assert float(row.frequency_std) == pytest.approx(0.1)
    assert row.shape_real.values.tolist() == [1, 0]
    assert row.shape_imaginary.values.tolist() == [0, 0.5]
    assert row.shape_real_std.values.tolist() == [0.3, 0.3]
    assert data.pole_order.values.tolist() == [6, 8, 10, 12]
    assert data.pole_frequency.values[1] == 3.04 and data.mode.values.tolist() == [1]
    empty = om._dataset([], [], POLES[:0], spectrum, ["a", "b"])
    assert empty.sizes["mode"] == 0 and empty.shape_real.shape == (0, 2)


def test_series_are_of_unit_variance_about_their_common_mean():
    stretches = [np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([[5.0, 5.0]])]
    series = om._scaled(stretches, 0.5)
    values = np.concatenate(series.stretches)
    np.testing.assert_allclose(values[:, 0], np.array([-2, 0, 2]) / np.sqrt(8 / 3))
    assert not values[:, 1].any() and series.scale[1] == 1.0
    assert series.duration == 1.5
