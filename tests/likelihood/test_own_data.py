"""A table of a line: what is completed, read, refused, doubted and put into words."""

import json

import numpy as np
import pytest
from sensed import LENGTH, MODEL, sensed_field

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.own_data import Samples
from leastaction.likelihood.own_data import KINDS, LEAST_SAMPLES

KIND = KINDS["sensed_field"]


def example(**more):
    usual = {
        "sensors": {"u(0.5)": "a", "u_t(1.2)": "b"},
        "length": 2.0,
        "ends": "fixed, free",
    }
    return {"import": usual | more}


UNITS = {"sensors": {"u(0.5)": "mm", "u_t(1.2)": "mm/s"}}


def test_candidates_are_those_of_a_beam_unless_they_are_named():
    one = example()
    assert KIND.completed(one, UNITS) == []
    assert one["library"] == {
        "reference": "u_t**2/2",
        "lagrangian": ["u_t**2/2", "-u_xx**2/2", "-u_x**2/2", "-u**2/2"],
        "dissipation": ["u_t**2/2", "u_xt**2/2", "u_xxt**2/2"],
    }
    terms = [{"terms": ["-u_x**2/2", "-u**2/2"]}, "x*u**2"]
    one = example() | {"library": {"lagrangian": terms, "reference": "u_t**2"}}
    assert KIND.completed(one, UNITS) == []
    named = ["u_t**2", "-u_x**2/2", "-u**2/2", "x*u**2"]
    assert one["library"]["lagrangian"] == named
    one = example() | {"library": {"lagrangian": ["u**2", "u_t**2/2"]}}
    assert KIND.completed(one, UNITS) == []
    assert one["library"]["lagrangian"] == ["u**2", "u_t**2/2"]


BEYOND = "expected a place that moves, between 0 and 2 m"
PLACES = {
    "u(0)": ("fixed, free", False),
    "u(2)": ("fixed, free", True),
    "u(0.0)": ("clamped, free", False),
    "u(2.0)": ("free, clamped", False),
    "u(1e-8)": ("fixed, free", True),
    "u(1e-9)": ("fixed, free", False),
    "u(2.1)": ("free", False),
    "u(-0.1)": ("free", False),
    "u(0e0)": ("free", True),
}


@pytest.mark.parametrize("text", PLACES)
def test_a_sensor_is_where_the_line_moves(text):
    ends, moves = PLACES[text]
    problems = KIND.completed(
        example(sensors={text: "a"}, ends=ends), {"sensors": {text: "mm"}}
    )
    assert problems == ([] if moves else [f"import.sensors.{text}: {BEYOND}"])


@pytest.mark.parametrize(
    ("more", "units", "words"),
    [
        ({"ends": "loose"}, {}, "import: ends 'loose'; expected free"),
        ({"sensors": {"u at 1": "a"}}, {}, "import: the sensor 'u at 1'"),
        ({"sensors": {"u(1)": "a", "w(1)": "b"}}, {"w(1)": "mm"}, "of u, w; expected"),
        ({}, {"u_t(1.2)": "mm"}, "units are those of different fields"),
        ({}, {"u_t(1.2)": "mm/s^2"}, "units are those of different fields"),
        ({"library": {"lagrangian": ["u**3"]}}, {}, "is not quadratic"),
    ],
)
def test_what_is_no_line_is_said(more, units, words):
    library = more.pop("library", None)
    one = example(**more) | ({"library": library} if library else {})
    known = {"u(1)": "mm"} | UNITS["sensors"] | units
    (problem,) = KIND.completed(one, {"sensors": known})
    assert words in problem
    accelerations = example(sensors={"u(1)": "a", "u_tt(1)": "b"})
    units = {"sensors": {"u(1)": "mm", "u_tt(1)": "m/s^2"}}
    assert KIND.completed(accelerations, units) == []
    without = example()
    del without["import"]["length"]
    (problem,) = KIND.completed(without, UNITS)
    assert problem.startswith("import.length: it is missing")


def test_readings_are_stretches_about_their_mean(rng):
    y = [rng.standard_normal((n, 2)) + [3.0, -1.0] for n in (200, 430)]
    samples = Samples(
        {"sensors": y},
        {"sensors": ("u(0.5)", "u_t(1.2)")},
        {"sensors": ("mm", "mm/s")},
        0.02,
        ("a", "b"),
        {"length": 2, "ends": "fixed"},
    )
    made = KIND.observations(samples)
    pieces = np.stack([y[0], y[1][:200], y[1][200:400]])
    np.testing.assert_allclose(made.reading.values[0], pieces - pieces.mean((0, 1)))
    np.testing.assert_allclose(made.time, 0.02 * np.arange(200))
    assert made.replicate.values.tolist() == [0]
    assert made.channel.values.tolist() == ["u(0.5)", "u_t(1.2)"]
    assert made.attrs["time_step"] == 0.02 and made.attrs["domain_length"] == 2.0
    assert made.attrs["domain_ends"] == "fixed"
    assert list(made.attrs["units"]) == ["mm", "mm/s"] and LEAST_SAMPLES == 200
    with pytest.raises(ValueError, match="has 199 samples; expected 200 or more"):
        KIND.observations(samples.part([0], slice(199)))


def rollout(error=0.1, expected=0.1):
    misses = {"name": "u(0.3)", "unit": "mm", "size": 1.0, "noise": 0.0}
    misses |= {"error": error, "expected": expected}
    numbers = json.dumps({"channels": [misses], "begin": 0})
    return MODEL.assign_attrs(numbers=numbers)


def findings(of=MODEL, predictions=None, **numbers):
    moved = of.assign({k: ("replicate", [float(v)]) for k, v in numbers.items()})
    return KIND.findings(moved, None, predictions or rollout())


def test_a_law_has_its_rows_units_and_words():
    found = findings()
    assert found.refusals == found.reservations == []
    assert found.terms == [
        ("u_t**2/2", "L", 1.0, 0.0, "1"),
        ("-u_x**2/2", "L", 4.0, 0.2, "m^2/s^2"),
        ("u_t**2/2", "D", 0.4, 0.1, "1/s"),
        ("1", "S", 0.5, 0.3, "m^1.5/s^1.5"),
    ]
    assert findings(MODEL.assign_attrs(units=["rad", "rad"])).terms[-1][-1] == (
        "rad^1.5/s^1.5"
    )
    half = NORMAL_QUANTILE * 0.5
    assert found.undecided == [
        f"L: -u**2/2 is not in the law; it would be 2.00 ± {half:.2f}",
    ]
    assert (
        found.about.startswith("Modes\n")
        and "left out: 0.02 standard" in (found.notes[0])
    )
    assert found.predicted[0] == "One-step predictions of held-out data:"


DOUBTS = {
    "apart": ({"open_error": 0.51}, 1, 0, "error of a stiffness is 51 %; place more"),
    "no bound": ({"open_error": np.inf}, 1, 0, "error of a stiffness has no bound"),
    "told apart": ({"open_error": 0.49}, 0, 0, ""),
    "a term": (
        {"best_score": 12.1},
        0,
        1,
        "L: x*u has a score of 12, and chance gives",
    ),
    "no term": ({"best_score": 11.9}, 0, 0, ""),
    "coloured": ({"whiteness": 0.9e-3}, 0, 1, "not white (p = 0.0009): the ends are"),
    "white": ({"whiteness": 1.1e-3}, 0, 0, ""),
    "other line": ({"whiteness": 1e-9, "best_score": 40}, 1, 2, "; a term is missing:"),
    "memory": ({"memory_score": -4.1}, 0, 1, "the force has a memory (z = -4.1)"),
    "chance": ({"memory_score": 3.9}, 0, 0, ""),
    "both": ({"memory_score": 5, "whiteness": 1e-4}, 0, 1, "innovations are not white"),
    "unsettled": ({"converged": 0}, 0, 1, "did not settle"),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_a_doubt_is_said_beyond_its_threshold(name):
    numbers, refused, reserved, words = DOUBTS[name]
    found = findings(**numbers)
    assert (len(found.refusals), len(found.reservations)) == (refused, reserved)
    text = (*found.refusals, *found.reservations)
    assert not words or any(words in one for one in text)
    assert bool(found.terms) == bool(found.about) == (not refused)


def test_predictions_that_fail_are_a_reservation_and_with_colour_a_refusal():
    missed = rollout(0.3, 0.1)
    found = findings(predictions=missed)
    assert not found.refusals
    assert "one-step predictions of held-out data miss u(0.3)" in found.reservations[0]
    coloured = findings(predictions=missed, whiteness=1e-5)
    assert "white in space and time; one-step predictions" in coloured.refusals[0]
    assert coloured.reservations[0].startswith("innovations are not white")
    rival = findings(MODEL.assign_attrs(alternatives="a + b"))
    assert rival.reservations == ["another law fits nearly as well: a + b"]


def test_a_prediction_is_one_sample_ahead_of_each_sensor(rng):
    model = sensed_field()
    y = rng.standard_normal((2, 30, 2))
    held_out = KIND.observations(
        Samples(
            {"sensors": [np.vstack([y[0]] * 7), np.vstack([y[1]] * 7)]},
            {"sensors": ("u(0.3)", "u(0.9)")},
            {"sensors": ("mm", "mm")},
            0.05,
            ("a", "b"),
            {"length": LENGTH, "ends": "fixed"},
        )
    )
    made = KIND.predict(held_out, model, None, None, {})
    assert made.names == ["u_0_3", "u_0_9"] and list(made.units) == ["mm", "mm"]
    assert made.labels == ["stretch 1", "stretch 2"]
    misses = made.numbers["channels"]
    assert [one["noise"] for one in misses] == pytest.approx([0.2, 0.3])
    for k, one in enumerate(misses):
        errors = np.concatenate(
            [(m - e)[:, k] for m, e in zip(made.measured, made.estimate, strict=True)]
        )
        band = np.concatenate([b[:, k] for b in made.band]) / NORMAL_QUANTILE
        assert one["error"] == pytest.approx(np.sqrt(np.mean(errors**2)))
        assert one["expected"] == pytest.approx(np.sqrt(np.mean(band**2)))
        assert (band > (0.2, 0.3)[k]).all()
    np.testing.assert_array_equal(made.measured, held_out.reading.values[0])


def test_a_demonstration_is_a_cantilever():
    """ω = √0.2 β², ζ small: peaks of the spectrum, shapes and noise in closed form."""
    rows = [line.split(",") for line in KIND.demo().split()]
    assert rows[0] == ["t", "s1", "s2", "s3", "s4", "s5"]
    data = np.array(rows[1:], dtype=float)
    assert data.shape == (6000, 6)
    np.testing.assert_allclose(data[:, 0], 0.02 * np.arange(6000), atol=1e-9)
    x = np.array([0.2, 0.4, 0.6, 0.8, 1.0])
    spectrum = np.fft.rfft(data[:, 1:], axis=0)
    omega = 2 * np.pi * np.fft.rfftfreq(6000, 0.02)
    for beta in (1.8751040687, 4.6940911330, 7.8547574382, 10.9955407349):
        w, rate, z = np.sqrt(0.2) * beta**2, 0.1 + 5e-4 * beta**4, beta * x
        near = np.abs(omega / w - 1) < 0.1
        power = np.abs(spectrum[near]) ** 2
        mean = (omega[near] * power.sum(1)).sum() / power.sum()
        assert mean == pytest.approx(w, rel=0.01)
        if beta > 8:
            continue
        ratio = (np.cosh(beta) + np.cos(beta)) / (np.sinh(beta) + np.sin(beta))
        shape = np.cosh(z) - np.cos(z) - ratio * (np.sinh(z) - np.sin(z))
        cross = (spectrum[near].conj()[:, 4:] * spectrum[near]).sum(0).real
        atol = 0.015 if beta < 5 else 0.15  # other modes are near the third one
        np.testing.assert_allclose(cross / cross[4], shape / shape[4], atol=atol)
        # φ² S² / (2 c ω²), within the chance of so many independent amplitudes.
        variance = 2 * power[:, 4].sum() / 6000**2 / (4 / (2 * rate * w**2))
        assert abs(variance - 1) < 2 * np.sqrt(4 / (120 * rate)) + 0.05
    white = np.abs(spectrum[-500:]) ** 2
    noise = np.sqrt(white.mean(axis=0) / 6000) / data[:, 1:].std(axis=0)
    assert ((noise > 0.0095) & (noise < 0.014)).all()  # and of high modes
