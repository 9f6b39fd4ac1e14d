"""Trapped particles simulated exactly: coverage, forms of the spectrum, pooling."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.constants import Boltzmann
from scipy.signal import lfilter
from scipy.stats import chi2

import leastaction as la
from leastaction import __main__ as program
from leastaction.core.settings import ConfigError
from leastaction.ensembles.kalman_filter import discretised
from leastaction.recordings import thermal_calibration
from leastaction.recordings.configuration import recording_from_config
from leastaction.recordings.law import _calibration
from leastaction.recordings.thermal_calibration import (
    Calibration,
    Fitted,
    Form,
    Spectrum,
    _backing,
    _blocks,
    _calibrated,
    _climbed,
    _covariance,
    _forms,
    _of,
    _pooled,
    _random_effects,
    _slopes,
    _spectrum,
    _start,
    calibration_of,
    known_of_particle,
)

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
        y = bead(seed, sensor, samples=10_000)
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
        y = oscillator(seed, samples=12_500)
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
        {"dof": ["z"], "channel": ["z"], **shown_in("m", 1.0)},
        {"time_step": 5e-6, "particle": json.dumps(given)},
    )
    table = calibration_of(observations).table
    numbers = ["value", "low", "high"]
    pd.testing.assert_frame_equal(table[numbers], known.table[numbers], rtol=1e-9)
    assert calibration_of(observations.assign_attrs(particle="{}")) is None
    milli = calibration_of(observations.assign_coords(shown_in("mV", 1e-3))).table
    assert milli.unit["variance"] == "mV²" and milli.unit["stiffness"] == "N/m"
    for name, power in (("variance", -6), ("force per unit", 3), ("stiffness", 0)):
        assert milli.value[name] * 10.0**power == pytest.approx(known.table.value[name])


def shown_in(unit, factor):
    """Coordinates of a dataset of the unit in which a user has a coordinate."""
    about = {"unit": unit, "factor": factor}
    return {f"coordinate_shown_{k}": ("dof", [v]) for k, v in about.items()}


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


DT = 1 / RATE
F = np.linspace(50, 0.49 * RATE, 400)
OF_OVERDAMPED = {"corner": CORNER, "D": 3.0}
OF_OSCILLATOR = {"f0": 4000.0, "damping": 5000.0, "variance": 2.0}


def form_of(values, sensor="filtered"):
    """Form with such parameters, and their logarithms."""
    return Form("corner" in values, sensor, tuple(values)), np.log([*values.values()])


def folded_lorentzian(f):
    """Σ_k 1/(f_c² + (f + k/dt)²), the closed form of the sum over all k."""
    a, x = 2 * np.pi * CORNER * DT, 2 * np.pi * f * DT
    return np.pi * DT / CORNER * np.sinh(a) / (np.cosh(a) - np.cos(x))


def test_forms_of_the_spectrum_are_those_of_langevin_equations():
    part = 1 / (1 + 1.5)
    diode = part + (1 - part) / (1 + (F / DIODE) ** 2)
    behind = {"diode": DIODE, "part": 1.5}
    lorentzian = 3.0 / np.pi**2 / (CORNER**2 + F**2)
    w, w0 = 2 * np.pi * F, 2 * np.pi * 4000.0
    ringing = 4 * 2.0 * 5000 * w0**2 / ((w0**2 - w**2) ** 2 + (5000 * w) ** 2)
    for values, sensor, expected in (
        (OF_OVERDAMPED, "filtered", lorentzian),
        (OF_OVERDAMPED | {"floor": 1e-8}, "filtered", lorentzian + 1e-8),
        (OF_OVERDAMPED | behind, "diode", lorentzian * diode),
        (OF_OSCILLATOR, "filtered", ringing),
    ):
        form, theta = form_of(values, sensor)
        assert form.has_diode == (sensor == "diode")
        assert form.density(theta, F, DT) == pytest.approx(expected, rel=1e-12)
    form, theta = form_of(OF_OVERDAMPED, "aliased")
    folded = 3.0 / np.pi**2 * folded_lorentzian(F)
    assert form.density(theta, F, DT) == pytest.approx(folded, rel=2e-4)
    form, theta = form_of(OF_OSCILLATOR | {"f0": 9000.0}, "aliased")
    wide = form._replace(sensor="filtered").density(
        theta, np.abs(F + np.arange(-300, 301)[:, None] * RATE).ravel(), DT
    )
    wide = wide.reshape(-1, len(F)).sum(axis=0)
    assert form.density(theta, F, DT) == pytest.approx(wide, rel=1e-4)


def test_an_oscillator_rings_below_its_critical_damping():
    for damping, rings in ((0.99, True), (1.01, False)):
        form, theta = form_of(OF_OSCILLATOR | {"damping": damping * 4000 * 4 * np.pi})
        assert form.rings(theta) is rings


def calibration(values, known, sensor="filtered", **changes):
    form, theta = form_of(values, sensor)
    covariance = np.diag(0.01 * np.arange(1, len(theta) + 1)) + 0.002
    about = {"wander": np.zeros(len(theta)), "backing": 0.5, "runs": 1} | changes
    return Calibration(Fitted(form, theta, covariance, **about), known, "V", "A bead")


def test_numbers_of_an_overdamped_particle_follow_from_its_drag():
    known = {"temperature": 293.0, "drag": 1e-8}
    values = OF_OVERDAMPED | {"diode": DIODE, "part": 1.5}
    table = calibration(values, known, "diode").table
    stiffness = 2 * np.pi * 1e-8 * CORNER
    metres = np.sqrt(Boltzmann * 293 / 1e-8 / 3.0)
    expected = {
        "corner frequency": (CORNER, "Hz", 0.012),
        "diffusion": (3.0, "V²/s", 0.022),
        "corner of the diode": (DIODE, "Hz", 0.032),
        "stiffness": (stiffness, "N/m", 0.012),
        "displacement per unit": (metres, "m/V", 0.022 / 4),
        # Of log f_c − log D / 2.
        "force per unit": (stiffness * metres, "N/V", 0.012 + 0.022 / 4 - 0.002),
        "drag": (1e-8, "kg/s", 0.0),
    }
    assert list(table.index) == list(expected)
    for name, (value, unit, variance) in expected.items():
        row, half = table.loc[name], 1.959964 * np.sqrt(variance)
        assert row.unit == unit and row.value == pytest.approx(value)
        assert np.log(row.high / row.value) == pytest.approx(half, rel=1e-5, abs=1e-12)
        assert np.log(row.value / row.low) == pytest.approx(half, rel=1e-5, abs=1e-12)
    assert list(calibration(OF_OVERDAMPED, {}).table.index) == [*expected][:2]


@pytest.mark.parametrize("given", ["mass", "drag"])
def test_numbers_of_an_oscillator_follow_from_its_mass_or_drag(given):
    mass, w0 = 2e-18, 2 * np.pi * 4000
    stated = {"mass": mass, "drag": mass * 5000}
    known = {"temperature": 293.0, given: stated[given]}
    table = calibration(OF_OSCILLATOR, known).table
    stiffness = mass * w0**2
    metres = np.sqrt(Boltzmann * 293 / stiffness / 2.0)
    # Variances of sums of logarithms of frequency, damping and variance.
    weights = {
        "natural frequency": (4000.0, "Hz", [1, 0, 0]),
        "damping rate": (5000.0, "1/s", [0, 1, 0]),
        "variance": (2.0, "V²", [0, 0, 1]),
        "stiffness": (stiffness, "N/m", [2, -1 * (given == "drag"), 0]),
        "displacement per unit": (metres, "m/V", [-1, (given == "drag") / 2, -0.5]),
        "force per unit": (
            stiffness * metres,
            "N/V",
            [1, -1 * (given == "drag") / 2, -0.5],
        ),
        "drag": (mass * 5000, "kg/s", [0, given == "mass", 0]),
        "mass": (mass, "kg", [0, -1 * (given == "drag"), 0]),
    }
    covariance = np.diag([0.01, 0.02, 0.03]) + 0.002
    assert list(table.index) == list(weights)
    for name, (value, unit, weight) in weights.items():
        row, w = table.loc[name], np.array(weight, dtype=float)
        half = 1.959964 * np.sqrt(w @ covariance @ w)
        assert row.unit == unit and row.value == pytest.approx(value)
        assert np.log(row.high / row.value) == pytest.approx(half, rel=1e-5, abs=1e-12)


def test_intervals_of_runs_that_wander_are_those_of_student():
    assert calibration(OF_OVERDAMPED, {}).fitted.quantile == pytest.approx(1.959964)
    wandering = calibration(OF_OVERDAMPED, {}, wander=np.array([0.1, 0]), runs=4)
    assert wandering.fitted.quantile == pytest.approx(3.182446, rel=1e-6)
    value, slope = wandering.fitted.value("D")
    assert value == pytest.approx(np.log(3.0)) and slope.tolist() == [0, 1]


def test_the_page_of_a_calibration():
    known = {"temperature": 293.0, "drag": 1e-8}
    text = str(calibration(OF_OVERDAMPED, known))
    assert text.startswith("# A bead\n\nThe motion is **overdamped**")
    # exp of 1.96 standard errors of a logarithm, half of the width.
    half = 2000 * np.sinh(1.959964 * 0.012**0.5)
    assert f"| corner frequency | 2000 | ± {half:.0f} | Hz |" in text
    assert re.search(r"\| stiffness \| 1\.26·10\^-4 \| ± 0\.27·10\^-4 \| N/m \|", text)
    assert "| drag | 1·10^-8 | given | kg/s |" in text
    assert "- statistical backing 50 %: the power spectrum agrees" in text
    assert "temperature 293 K, drag 1e-08 kg/s" in text and "runs;" not in text
    wander = np.array([0.05, 0.3])
    doubtful = {"wander": wander, "runs": 3, "backing": 9e-4}
    text = str(calibration(OF_OVERDAMPED, {}, **doubtful))
    assert "- 3 runs; between them the frequency varies by 5 %" in text
    assert "**contradicts**" in text and "give the temperature" in text
    assert "**contradicts**" not in str(calibration(OF_OVERDAMPED, {}, backing=1.1e-3))
    text = str(calibration(OF_OSCILLATOR, {}, wander=np.array([0.05, 0.3, 0]), runs=3))
    assert "m q̈ + γ q̇ + κ q" in text and "varies by 5 %" in text
    # A power of ten from 1e5 on and below 0.1.
    for size, shown in (
        (9e4, "90000"),
        (2e5, "2.00·10^5"),
        (0.2, "| 0.200 |"),
        (0.02, "2.00·10^-2"),
    ):
        assert shown in str(calibration(OF_OVERDAMPED | {"D": size}, {})), size


def test_drag_and_mass_follow_from_a_radius():
    stated = {"temperature": "20 degC", "radius": "0.5 um", "viscosity": 1e-3}
    known = known_of_particle(stated | {"temperature": 293, "density": "2 g/cm^3"})
    assert known["radius"] == pytest.approx(5e-7)
    assert known["drag"] == pytest.approx(6 * np.pi * 1e-3 * 5e-7)
    assert known["mass"] == pytest.approx(2000 * 4 / 3 * np.pi * 5e-7**3)
    stated = {"temperature": 293, "radius": 5e-7, "viscosity": 1e-3, "density": 2e3}
    own = known_of_particle(stated | {"drag": 1e-9, "mass": 1e-15})
    assert own["drag"] == 1e-9 and own["mass"] == 1e-15
    for one in ("viscosity", "density"):  # one of both is enough
        known_of_particle({k: v for k, v in stated.items() if k != one})
    assert known_of_particle({}) == {}
    with pytest.raises(la.RecordingError, match="positive"):
        known_of_particle({"temperature": 0})


def test_a_periodogram_has_the_power_of_the_motion(rng):
    y = 3.0 + rng.standard_normal(2001)
    run = _spectrum(y, DT, None)
    assert run.f[0] == pytest.approx(RATE / 2001) and len(run.f) == 1000
    assert run.f[-1] < RATE / 2
    assert run.power.sum() * run.f[0] == pytest.approx(y.var())
    window = 1 - np.cos(2 * np.pi * np.arange(2001) / 2001)
    z = (y - y.mean()) * window / np.sqrt(1.5)
    smooth = 2 * DT / 2001 * np.abs(np.fft.rfft(z)[1:]) ** 2
    assert run.tapered == pytest.approx(smooth, rel=0.05)
    assert len(_spectrum(y[:2000], DT, None).f) == 999  # not that of Nyquist
    part = _spectrum(y, DT, [[1000, 2000], [5000, 6000]])
    inside = (run.f >= 1000) & (run.f <= 2000) | (run.f >= 5000) & (run.f <= 6000)
    assert np.array_equal(part.f, run.f[inside])
    assert np.array_equal(part.power, run.power[inside])


def test_forms_that_there_may_be():
    """Diodes of overdamped motion, with a floor; floors of all."""
    over, ringing = ("corner", "D"), ("f0", "damping", "variance")
    floor, diode = ("floor",), ("diode", "part")
    expected = {
        *((True, s, over + f) for s in ("filtered", "aliased") for f in ((), floor)),
        *((True, s, over + floor + diode) for s in ("diode", "aliased diode")),
        *(
            (False, s, ringing + f)
            for s in ("filtered", "aliased")
            for f in ((), floor)
        ),
    }
    assert {tuple(form) for form in _forms()} == expected
    assert len(_forms()) == len(expected)


def test_ordinates_that_are_independent():
    f = np.arange(1.0, 8)
    run, longer = (
        Spectrum(f, 2 * f, 3 * f),
        Spectrum(np.arange(1.0, 9), *[np.ones(8)] * 2),
    )
    over, _ = form_of(OF_OVERDAMPED)
    ringing, _ = form_of(OF_OSCILLATOR)
    assert np.array_equal(_of(run, over), [f, 2 * f])
    assert np.array_equal(_of(run, ringing), [f[::2], 3 * f[::2]])
    same = Spectrum(f, 2 * f, 5 * f)
    assert np.array_equal(_pooled([run, same]), [f[::2], 4 * f[::2]])
    assert np.array_equal(_pooled([run, longer])[1], np.ones(4))
    blocks = [x.tolist() for x in _blocks(f, f**2, 3)]
    assert blocks == [[2.0, 5.0], pytest.approx([14 / 3, 77 / 3])]


@pytest.mark.parametrize("values", [OF_OVERDAMPED, OF_OSCILLATOR])
@pytest.mark.parametrize("sensor", ["filtered", "aliased"])
def test_the_likelihood_of_an_exact_spectrum_is_largest_at_its_parameters(
    values, sensor
):
    form, theta = form_of(values, sensor)
    power = form.density(theta, F, DT)
    start = theta + np.array([0.4, -0.6, 0.5])[: len(theta)]
    found, value = _climbed(form, start, F, power, DT)
    assert found == pytest.approx(theta, abs=1e-3)
    assert value == pytest.approx(np.sum(np.log(power) + 1), abs=1e-5)
    far = _start(form, F, power, DT)
    assert np.log(form.density(far, F, DT) / power) == pytest.approx(0, abs=0.1)


def test_the_information_of_a_whittle_likelihood():
    """Slopes of log P in closed form, and the inverse of their squares."""
    form, theta = form_of(OF_OVERDAMPED)
    of_corner = -2 * CORNER**2 / (CORNER**2 + F**2)
    slopes = np.stack([of_corner, np.ones_like(F)], axis=1)
    assert _slopes(form, theta, F, DT) == pytest.approx(slopes, rel=1e-6)
    information = slopes.T @ slopes + 0.01 * np.eye(2)
    expected = np.linalg.inv(information)
    assert _covariance(form, theta, F, DT) == pytest.approx(expected, rel=1e-4)
    form, theta = form_of(OF_OSCILLATOR)
    slopes = _slopes(form, theta, F, DT)
    # Every second ordinate under Hann's taper: neighbours correlate by 1/6, squared.
    information = slopes.T @ slopes * 18 / 19 + 0.01 * np.eye(3)
    expected = np.linalg.inv(information)
    assert _covariance(form, theta, F, DT) == pytest.approx(expected, rel=1e-9)


def test_runs_are_pooled_as_random_effects():
    """DerSimonian and Laird's moment estimate, computed run by run."""
    means, variances = np.array([1.0, 1.6, 2.5]), np.array([0.01, 0.04, 0.09])
    w = 1 / variances
    centre = (w * means).sum() / w.sum()
    excess = (w * (means - centre) ** 2).sum() - 2
    tau2 = excess / (w.sum() - (w**2).sum() / w.sum())
    each = np.stack([means, [5.0, 5.0, 5.0]], axis=1)
    spreads = np.array([np.diag([v, 0.01]) for v in variances])
    mean, covariance, wander = _random_effects(each, spreads)
    v = 1 / (variances + tau2)
    assert wander == pytest.approx([np.sqrt(tau2), 0.0])
    assert mean == pytest.approx([(v * means).sum() / v.sum(), 5.0])
    assert np.diag(covariance) == pytest.approx([1 / v.sum(), 0.01 / 3])
    mean, covariance, wander = _random_effects(each[:1], spreads[:1])
    assert mean.tolist() == [1.0, 5.0] and wander.tolist() == [0.0, 0.0]
    assert np.array_equal(covariance, spreads[0])


@pytest.mark.parametrize("values", [OF_OVERDAMPED, OF_OSCILLATOR])
def test_the_backing_of_a_form_is_that_of_its_block_means(values):
    form, theta = form_of(values)
    f = np.linspace(10, 19_000, 2050)
    power = form.density(theta, f, DT)
    ratio = np.ones(len(f))
    step = 1 if form.overdamped else 2
    ratio[::step][:100] = 1.3
    run = Spectrum(f, power * ratio, power * ratio)
    blocks = 20 if form.overdamped else 10
    total = 0.3**2 * 100 / (1 if form.overdamped else 19 / 18)
    expected = chi2.sf(2 * total, 2 * (blocks - len(theta)))
    got = _backing(form, [theta, theta], [run, run], DT)
    assert got == pytest.approx(expected, rel=1e-9)


def test_a_run_needs_twelve_hundred_frequencies(monkeypatch):
    def fitted(runs, dt, has_mass):
        return [len(run.f) for run in runs], dt, has_mass

    monkeypatch.setattr(thermal_calibration, "_fitted", fitted)
    y = bead(5, samples=2401)[:, None]
    with pytest.raises(la.RecordingError, match="no run has 1200 frequencies"):
        _calibrated([y[:-1]], DT, {}, ("V",))
    for known in ({"mass": 1.0}, {"drag": 1.0}):
        found = _calibrated([y[:-1], y], DT, known, ("V", "A bead"), [[1, 1e9]])
        assert found.fitted == ([1200], DT, "mass" in known)
        assert (found.known, found.unit, found.title) == (known, "V", "A bead")


SHORT, LONG = ("corner", "D"), ("corner", "D", "floor")
RINGING = ("f0", "damping", "variance")


def chosen(monkeypatch, fits, runs=3, has_mass=False, frequencies=400):
    """What is fitted if forms have such parameters and values per spectrum."""
    forms = {Form(over, "filtered", names): fit for over, names, *fit in fits}
    run = Spectrum(np.arange(1.0, frequencies + 1), *[np.ones(frequencies)] * 2)
    calls = []

    def climbed(form, theta, f, power, dt):
        calls.append((form, tuple(theta)))
        return np.array(forms[form][0]), forms[form][1]

    module = thermal_calibration
    monkeypatch.setattr(module, "_forms", lambda: list(forms))
    monkeypatch.setattr(
        module, "_start", lambda form, *_: np.full(len(form.names), 9.0)
    )
    monkeypatch.setattr(module, "_climbed", climbed)
    monkeypatch.setattr(module, "_pooled", lambda runs: (run.f, run.power))
    monkeypatch.setattr(
        module, "_covariance", lambda form, theta, f, dt: 0.3 * np.eye(len(theta))
    )
    monkeypatch.setattr(module, "_backing", lambda *about: 0.25)
    fitted = module._fitted([run] * runs, DT, has_mass)
    # Every run starts from the pooled parameters.
    best = tuple(forms[fitted.form][0])
    assert calls[len(forms) :] == [(fitted.form, best)] * runs
    assert (fitted.runs, fitted.backing) == (runs, 0.25)
    return fitted


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize(("share", "names"), [(0.98, SHORT), (1.02, LONG)])
def test_a_parameter_costs_the_logarithm_of_all_ordinates(
    share, names, runs, monkeypatch
):
    """Schwarz's criterion, 2 Σ over runs + n log N of all of them."""
    gain = share * np.log(400 * runs) / 2 / runs
    fits = [(True, SHORT, [1.0, 2.0], 50.0), (True, LONG, [1.4, 2.5, 7.0], 50.0 - gain)]
    fitted = chosen(monkeypatch, fits, runs)
    assert fitted.form.names == names
    # Rivals weigh exp(−ΔBIC/2), half of the difference that is left.
    left = abs(1 - share) * np.log(400 * runs)
    weight = np.exp(-left / 2) / (1 + np.exp(-left / 2))
    apart = np.array([0.4, 0.5, 0.0][: len(names)])
    expected = 0.3 / runs * np.eye(len(names))
    expected += weight * (1 - weight) * np.outer(apart, apart)
    np.testing.assert_allclose(fitted.covariance, expected, rtol=1e-9)
    best = [1.0, 2.0] if names == SHORT else [1.4, 2.5, 7.0]
    np.testing.assert_allclose(fitted.theta, best)


@pytest.mark.parametrize(
    ("damping", "has_mass", "overdamped"),
    [(11.9, False, False), (13.2, False, True), (13.2, True, False)],
)
def test_inertia_is_believed_if_it_rings_or_a_mass_is_given(
    damping, has_mass, overdamped, monkeypatch
):
    """Critical damping is 4π f₀ = 12.6; forms of another motion are no rivals."""
    oscillator = [0.0, np.log(damping), 1.0]
    fits = [(True, SHORT, [1.0, 2.0], 50.0), (False, RINGING, oscillator, 20.0)]
    fitted = chosen(monkeypatch, fits, 1, has_mass)
    assert fitted.form.overdamped is overdamped
    count = len(fitted.form.names)
    np.testing.assert_allclose(fitted.covariance, 0.3 * np.eye(count))


@pytest.mark.parametrize(("channels", "dof"), [(2, 1), (1, 2)])
def test_one_sensor_of_one_coordinate_is_calibrated(channels, dof):
    names, sensors = ["z", "y"], ["z", "zdot"]
    y = np.zeros((1, 10, channels))
    observations = xr.Dataset(
        {
            "reading": (("replicate", "sample", "channel"), y),
            "first_sample": ("trajectory", [0]),
            "sample_count": ("trajectory", [10]),
        },
        {"dof": names[:dof], "channel": sensors[:channels]}
        | {"coordinate_unit": ("dof", ["m"] * dof)},
        {"time_step": 5e-6, "particle": json.dumps({"temperature": 293})},
    )
    with pytest.raises(la.RecordingError, match="are several sensors"):
        calibration_of(observations)


def test_a_table_of_two_sensors_names_the_one_that_is_calibrated(monkeypatch):
    y = bead(1, samples=4000)
    with pytest.raises(la.RecordingError, match="there are 2 columns, a, b; name that"):
        la.calibrate({"a": y, "b": y[::-1]}, time=1 / RATE)
    seen = []
    monkeypatch.setattr(thermal_calibration, "_calibrated", lambda *a: seen.append(a))
    known = {"temperature": 293, "mass": 1.0, "drag": 2.0, "density": 4.0}
    known |= {"radius": 3.0, "viscosity": 5.0}
    la.calibrate(
        {"a": y, "b": y},
        time=1 / RATE,
        sensor={"b": "V"},
        title="t",
        band="w",
        **known,
    )
    ((series, dt, stated, about, band),) = seen
    assert np.allclose(series[0][:, 0], y) and dt == pytest.approx(1 / RATE)
    assert stated == known and about == ("V", "t") and band == "w"
    la.calibrate({"b": y}, time=1 / RATE, sensor={"b": {"unit": "mV", "reverse": True}})
    np.testing.assert_allclose(seen[1][0][0][:, 0], -y)
    assert seen[1][3] == ("mV", "")
