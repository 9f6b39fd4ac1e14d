"""Spectrum of a coordinate, and the noise of its sensor: laws of units and of noise."""

import numpy as np
import pytest
from recorded import completed, imported, rig, rows, write
from stages import differentiate

from leastaction.recordings.bandwidth_spline import (
    _stretches,
    difference_noise,
    noise_of,
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
