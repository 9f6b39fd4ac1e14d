"""Trapped particles simulated exactly: coverage, forms of the spectrum, pooling."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.constants import Boltzmann
from scipy.signal import lfilter

import leastaction as la
from leastaction import __main__ as program
from leastaction.core.settings import ConfigError
from leastaction.ensembles.kalman_filter import discretised
from leastaction.recordings.configuration import recording_from_config
from leastaction.recordings.law import _calibration
from leastaction.recordings.thermal_calibration import Form, calibration_of

RATE, CORNER, METRES, TEMPERATURE = 40_000.0, 2000.0, 5e-7, 293.0
DRAG = 6 * np.pi * 1e-3 * 0.5e-6
KNOWN = {"temperature": "293 K", "radius": "0.5 um", "viscosity": "1e-3 Pa*s"}
FINER, SLOW_PART, DIODE = 8, 0.7, 6000.0


def bead(seed, sensor="aliased", corner=CORNER, samples=60_000):
    """What a sensor shows of an overdamped bead, with 1 % of noise."""
    rng = np.random.default_rng(seed)
    finer = 1 if sensor == "aliased" else FINER
    a = np.exp(-2 * np.pi * corner / RATE / finer)
    force = np.sqrt(1 - a**2) * rng.standard_normal(samples * finer)
    x = lfilter([1], [1, -a], force)
    if finer > 1:
        transform = np.fft.rfft(x)
        f = np.fft.rfftfreq(len(x), 1 / RATE / finer)
        if sensor == "diode":
            transform *= np.sqrt(1 - SLOW_PART + SLOW_PART / (1 + (f / DIODE) ** 2))
        x = np.fft.irfft(transform[: samples // 2 + 1] / finer, samples)
    size = np.sqrt(Boltzmann * TEMPERATURE / (2 * np.pi * DRAG * corner)) / METRES
    return size * (x + 0.01 * rng.standard_normal(samples))


@pytest.mark.parametrize("sensor", ["aliased", "filtered"])
def test_intervals_of_a_bead_in_water_hold_the_truth(sensor):
    truth = {"corner frequency": CORNER, "displacement per unit": METRES}
    inside = []
    for seed in range(12):  # fewer pass with intervals half as wide
        y = bead(seed, sensor, samples=20_000)
        found = la.calibrate({"v": y}, time=1 / RATE, **KNOWN)
        assert found.overdamped and found.fitted.form.sensor == sensor
        assert found.backing > 1e-3 and "mass" not in found.table.index
        assert "**overdamped**" in str(found)
        table = found.table
        low, high = table.low, table.high
        inside += [low[name] < value < high[name] for name, value in truth.items()]
        stiffness = 2 * np.pi * DRAG * table.value["corner frequency"]
        assert table.value["stiffness"] == pytest.approx(stiffness)
        force = stiffness * table.value["displacement per unit"]
        assert table.value["force per unit"] == pytest.approx(force)
    assert np.mean(inside) > 0.85


def test_what_a_diode_lets_through_is_folded():
    """The sum over 4000 folds of the spectrum behind the diode."""
    names = "corner", "D", "floor", "diode", "part"
    theta = np.log([CORNER, 1.0, 1e-24, DIODE, 1.5])
    form = Form(True, "aliased diode", names)
    f, folds = np.linspace(100, 0.49 * RATE, 30), np.arange(-4000, 4001)[:, None]
    behind = form._replace(sensor="diode")
    each = behind.density(theta, np.abs(f + folds * RATE).ravel(), 1 / RATE)
    whole = each.reshape(len(folds), -1).sum(axis=0)
    assert form.density(theta, f, 1 / RATE) == pytest.approx(whole, rel=1e-3)


def test_a_slow_diode_is_part_of_the_form():
    found = la.calibrate({"v": bead(1, "diode")}, time=1 / RATE, **KNOWN)
    assert found.fitted.form.sensor == "diode" and found.backing > 1e-3
    low, high = found.table.low, found.table.high
    assert low["corner frequency"] < CORNER < high["corner frequency"]
    assert low["corner of the diode"] < DIODE < high["corner of the diode"]


def oscillator(seed, samples=25_000, rate=2e5, frequency=3e4, damping=8e3, mass=3e-18):
    """A levitated particle, m/1e-9, exactly sampled."""
    rng, w = np.random.default_rng(seed), 2 * np.pi * frequency
    size = Boltzmann * TEMPERATURE / mass
    rates = np.array([[0, w], [-w, -damping]])
    A, Q = discretised(rates, np.diag([0, 2 * damping * size]), 1 / rate)
    kicks = rng.standard_normal((samples, 2)) @ np.linalg.cholesky(Q).T
    state, path = np.sqrt(size) * rng.standard_normal(2), []
    for kick in kicks:
        path.append(state[0])
        state = A @ state + kick
    x = np.array(path) / w / 1e-9
    return x + 0.2 * x.std() * rng.standard_normal(samples)


def test_a_levitated_particle_keeps_its_inertia():
    truth = {
        "natural frequency": 3e4,
        "damping rate": 8e3,
        "displacement per unit": 1e-9,
        "stiffness": 3e-18 * (2 * np.pi * 3e4) ** 2,
    }
    inside = []
    for seed in range(8):  # fewer pass with intervals half as wide
        y = oscillator(seed)
        given = {"temperature": TEMPERATURE, "mass": "3e-18 kg"}
        found = la.calibrate({"z": y}, time=5e-6, **given)
        assert not found.overdamped and found.backing > 1e-3
        low, high = found.table.low, found.table.high
        inside += [low[name] < value < high[name] for name, value in truth.items()]
    assert np.mean(inside) > 0.85


def test_what_runs_wander_by_is_in_the_interval():
    rng = np.random.default_rng(7)
    corners = CORNER * (1 + 0.1 * rng.standard_normal(6))
    runs = [bead(20 + k, corner=c) for k, c in enumerate(corners)]
    pooled = la.calibrate({"v": runs}, time=1 / RATE).table.loc["corner frequency"]
    half = (pooled.high - pooled.low) / 2 / pooled.value
    assert half == pytest.approx(2.57 * corners.std(ddof=1) / CORNER / 6**0.5, rel=0.3)
    assert pooled.low < CORNER < pooled.high


def test_a_tone_refutes_the_form_and_a_band_leaves_it_out():
    y = bead(3)
    y = y + 0.3 * y.std() * np.sin(2 * np.pi * 3300 / RATE * np.arange(len(y)))
    assert la.calibrate({"v": y}, time=1 / RATE).backing < 1e-3
    bands = [[1, 3290], [3310, 2e4]]
    assert la.calibrate({"v": y}, time=1 / RATE, band=bands).backing > 1e-3


def test_the_command_prints_newtons_per_metre(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"v": bead(4)}).to_csv("bead.csv", index=False)
    # A table of volts alone has no clock.
    line = "leastaction calibrate bead.csv --rate HZ --sensor"
    assert line in str(la.describe("bead.csv"))
    words = [f"--{name}={text}" for name, text in KNOWN.items()]
    words = ["--rate", str(RATE), "--band", "1:20000", *words]
    assert program.main(["calibrate", "bead.csv", *words]) == 0
    text = capsys.readouterr().out
    assert "| stiffness | " in text and "N/m |" in text
    assert (tmp_path / "calibration.md").read_text().strip() == text.strip()


WRONG = {
    "temperature is missing": {"mass": "1e-18 kg"},
    "write something like '1 kg'": {"temperature": 293, "mass": "1 m"},
    "neither drag nor mass": {"temperature": 293, "radius": "1 um"},
    "expected a positive number": {"temperature": -1},
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_known_is_checked(message):
    with pytest.raises(la.RecordingError, match=message):
        la.calibrate({"v": bead(0, samples=5000)}, time=1 / RATE, **WRONG[message])


def test_a_law_whose_bath_has_a_temperature_is_calibrated():
    """The keys of `import`, also in a YAML; the section is that of `calibrate`."""
    given = {"temperature": "293 K", "mass": "3e-18 kg"}
    y = oscillator(1, samples=12_000)
    known = la.calibrate({"z": y}, time=5e-6, **given)
    observations = xr.Dataset(
        {
            "reading": (("replicate", "sample", "channel"), y[None, :, None]),
            "first_sample": ("trajectory", [0]),
            "sample_count": ("trajectory", [len(y)]),
        },
        {"dof": ["z"], "channel": ["z"], "coordinate_unit": ("dof", ["m"])},
        {"time_step": 5e-6, "particle": json.dumps(given)},
    )
    table = calibration_of(observations).table
    numbers = ["value", "low", "high"]
    pd.testing.assert_frame_equal(table[numbers], known.table[numbers], rtol=1e-9)
    assert calibration_of(observations.assign_attrs(particle="{}")) is None


def test_a_law_without_a_calibration_states_why():
    class Short:
        @property
        def calibration(self):
            raise la.RecordingError("no run has 1200 frequencies in the band")

    assert _calibration(Short())[1] == (
        "There is none: no run has 1200 frequencies in the band"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"temperature": "293"}, "import: temperature: '293' is no quantity"),
        ({"excitation": "none"}, "import.temperature: it is read with `excitation"),
    ],
)
def test_a_wrong_bath_is_refused_before_any_job(changes, message, tmp_path):
    (tmp_path / "bead.csv").write_text("z\n")
    part = {"files": "bead.csv", "time": {"rate": 2e5}, "coordinates": {"z": "m"}}
    recording = {"excitation": "random", "import": part | {"temperature": "293 K"}}
    for key, value in changes.items():
        (recording if key == "excitation" else recording["import"])[key] = value
    with pytest.raises(ConfigError, match=re.escape(message)):
        recording_from_config("bead", recording, tmp_path)


def test_the_bath_of_a_recording_reaches_the_law(tmp_path):
    from leastaction.recordings.configuration import import_settings
    from leastaction.recordings.import_recording import import_recording
    from leastaction.recordings.learn import described

    y = oscillator(2, samples=4000)
    reading = {"temperature": "293 K", "mass": "3e-18 kg"}
    example, _ = described(
        {"z": y},
        5e-6,
        {"z": "m"},
        None,
        {},
        reading,
        {"excitation": "random", "accept": ["sampling"]},
    )
    observations = import_recording(import_settings(example))
    assert json.loads(observations.attrs["particle"]) == reading
