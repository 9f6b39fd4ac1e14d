"""Modes of outputs without a law: closed forms, coverage, tones, invariances."""

import numpy as np
import pytest
from frames import frame
from numpy.testing import assert_allclose
from scipy.signal import lfilter

from leastaction.ensembles import innovations_form as form
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
