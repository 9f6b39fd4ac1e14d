"""What samples say of their sensor: steps, stops, rests; with known answers."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.signal import lfilter

from leastaction.recordings import checks
from leastaction.recordings.bandwidth_spline import spectrum
from leastaction.recordings.checks import (
    LEAST_SATURATED,
    clipped_run,
    encoder_step,
    longest_rest,
    repeated_share,
    saturated,
)
from leastaction.recordings.columns import Column
from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.splitting import Clock, Trajectory

TIME = 0.01 * np.arange(4000)
SWING = np.sin(2 * np.pi * 0.3 * TIME)


@pytest.mark.parametrize("step", [0.01, 0.003, 1e-4 * np.pi])
@pytest.mark.parametrize("digits", [None, 6])
def test_an_encoder_has_its_step_even_if_digits_are_rounded(step, digits):
    y = step * np.rint(SWING / step)
    y = y if digits is None else np.round(y, digits)
    result, is_one = encoder_step([y[:2000], y[2000:] + 0.0])
    assert is_one and result == pytest.approx(step, rel=1e-4)


def test_what_is_no_encoder_has_no_step(rng):
    noisy = SWING + 0.01 * rng.standard_normal(4000)
    assert encoder_step([noisy]) == (0.0, False)
    fine = np.round(noisy, 3)  # ten steps in the noise
    assert encoder_step([fine]) == (0.0, False)
    uneven = np.sort(rng.standard_normal(40))[rng.integers(0, 40, 4000)]
    assert encoder_step([uneven]) == (0.0, False)
    assert encoder_step([np.array([0.0, 1.0] * 50)]) == (0.0, False)


def test_repeats_are_counted_within_each_run():
    series = [np.array([1.0, 1.0, 2.0]), np.array([2.0, 3.0, 3.0])]
    assert repeated_share(series) == pytest.approx(2 / 4)
    assert repeated_share([np.zeros(1)]) == 0.0


@pytest.mark.parametrize("sign", [1, -1])
def test_a_clipped_swing_stays_at_its_extreme_longer_than_it_may(sign):
    frequency, grain = 0.3, 1e-4
    run, allowed = clipped_run([sign * SWING], 0.01, frequency, grain)
    turn = np.sqrt(8 * grain) / (2 * np.pi * frequency)
    assert allowed == pytest.approx(3 + 2 * turn / 0.01, rel=1e-3)
    assert run <= allowed
    clipped = np.minimum(SWING, 0.8)
    top = np.flatnonzero(np.diff(np.append((clipped[:300] == 0.8).astype(int), 0)))
    run, allowed = clipped_run([SWING * 0.1, sign * clipped], 0.01, frequency, grain)
    assert run > allowed
    assert run == pytest.approx(top[1] - top[0], abs=1)


@pytest.mark.parametrize(
    ("count", "beside", "expected"),
    [
        (LEAST_SATURATED, 1, LEAST_SATURATED),
        (LEAST_SATURATED - 1, 1, 0),
        (24, 5, 0),
        (25, 5, 25),
    ],
)
def test_an_extreme_that_stands_out_is_saturated(count, beside, expected):
    values = np.concatenate([np.arange(20.0), np.full(beside - 1, 15.0)])
    top = np.full(count, 30.0)
    assert saturated(np.concatenate([values, top])) == expected
    assert saturated(-np.concatenate([values, top])) == expected
    both = np.concatenate([values, top, -top])
    below = count if count >= LEAST_SATURATED else 0  # one value each beside it
    assert saturated(both) == expected + below


@pytest.mark.parametrize(
    ("values", "rest"), [([1, 2, 3], 1), ([1, 1, 2, 2, 2, 3], 3), ([5, 5], 2), ([5], 1)]
)
def test_a_rest_is_counted_in_samples(values, rest):
    assert longest_rest(np.array(values, dtype=float)) == rest


CLOCK = Clock(0.01, 0.0, 0, False)


def settings(*accept, excitation="none", **of_import):
    sections = {"sensors": {}, "coordinates": {"q": {}}} | of_import
    return {"accept": list(accept), "excitation": excitation, "import": sections}


def column(unit="m", angle=False, factor=1.0, offset=0.0):
    return Column("q", "import.coordinates.q", factor, offset, unit, angle)


def run(*values, label="0"):
    values = np.stack(values, 1)
    time = 0.01 * np.arange(len(values))
    return Trajectory(label, time, values, "a.csv, line 2")


def of(**channels):
    return {"q": {}, "qdot": {}, "qddot": {}, "input": {}} | channels


def refused(y, settings, one=None, spans=None, **more):
    """The word of the refusal of one coordinate, or None."""
    channels, series = of(q={"q": one or column()}), {"q": [y[:, None]]}
    for name, values in more.items():
        of_it = Column(name, f"import.{name}.q", unit="m/s")
        channels[name], series[name] = {"q": of_it}, [values[:, None]]
    spans = np.array([np.ptp(y)]) if spans is None else spans
    runs = [run(y, *more.values())]
    try:
        checks.refuse(runs, series, channels, CLOCK, settings, spans)
    except RecordingError as error:
        return str(error)
    return None


def test_a_swing_is_not_refused():
    assert refused(SWING, settings()) is None


def test_a_coordinate_that_rests_has_its_value_in_the_unit_of_the_column():
    one = column(factor=1e-3, offset=2.0)
    text = refused(np.full(4000, 0.005), settings(), one)
    assert "a.csv, column 'q' (q): it is 7 in every row" in text


@pytest.mark.parametrize(
    ("size", "accept", "factor", "words"),
    [
        (29.0, (), 1.0, None),
        (31.0, (), 1.0, "spans 62 rad, 9.87 turns"),
        (31.0, (), -1.0, "9.87 turns"),
        (31.0, ("turns",), 1.0, None),
        (31.0, (), 0.5, None),  # its unit is not rad
    ],
)
def test_an_angle_in_radians_does_not_swing_by_ten_turns(size, accept, factor, words):
    one = column("rad", True, factor)
    text = refused(size * SWING, settings(*accept), one)
    assert text is None if words is None else words in text
    assert refused(size * SWING, settings(*accept)) is None


def test_a_joint_that_keeps_turning_is_no_sign_of_degrees():
    y = SWING + 40 * 0.01 * np.arange(4000) / 20
    turning = column("rad", True)
    assert refused(y, settings("length", "sampling"), turning) is None


@pytest.mark.parametrize(
    ("ratio", "noise", "accept", "words"),
    [
        (1.0, 0.0, (), None),
        (0.72, 0.0, (), None),
        (0.68, 0.0, (), "changes 0.68 times as fast"),
        (1.38, 0.0, (), None),
        (1.42, 0.0, (), "changes 1.42 times"),
        (-1.0, 0.0, (), "changes -1 times"),
        (1.42, 0.0, ("rates",), None),
        (0.5, 1.05, (), None),  # less than half of its power is the rate
        (0.5, 0.95, (), "times as fast"),
        (np.inf, 0.0, (), "channel is dead"),
    ],
)
def test_a_rate_is_that_of_its_coordinate(ratio, noise, accept, words):
    rate = np.gradient(SWING, 0.01)
    other = np.cos(4 * np.pi * 0.3 * TIME)
    recorded = rate / ratio + noise * rate.std() / ratio * other / other.std()
    text = refused(SWING, settings(*accept), qdot=recorded + 3)
    assert text is None if words is None else words in text
    if ratio == 1.42 and not accept:
        bad = np.gradient(rate, 0.01) / ratio
        text = refused(SWING, settings(), qdot=rate, qddot=bad)
        assert "(qddot of q): the coordinate changes 1.42" in text


def sampled(main, samples=400, noise=0.0, driven=False, random=False, **about):
    """Refusal of a swing of a main frequency, by `_refuse_sampling`."""
    t = 0.01 * np.arange(samples)
    y = np.sin(2 * np.pi * main * t)
    y = y + noise * np.random.default_rng(0).standard_normal(samples)
    estimate = SimpleNamespace(main=main)
    least = about.get("least", 3.0)
    how, accepted = (driven, random, True), set(about.get("accept", ()))
    try:
        checks._refuse_sampling("here", [y], [y], CLOCK, estimate, least, how, accepted)
    except RecordingError as error:
        return str(error)
    return None


def test_a_period_has_eight_samples_and_a_record_three_periods():
    assert sampled(12.4) is None
    assert "7.94 samples per main period" in sampled(12.6).replace("7.9 ", "7.94 ")
    assert sampled(12.6, accept=["sampling"]) is None
    assert sampled(0.76) is None
    text = sampled(0.74)
    assert "lasts 4 s, 3.0 periods; expected 3 periods" in text
    assert "ten in each of six" in text
    assert sampled(0.74, accept=["length"]) is None
    assert "some hundreds" in sampled(0.74, random=True)
    assert "expected 1 period at" in sampled(0.24, least=1.0)


def test_a_motion_is_five_times_above_its_noise():
    about = {"samples": 4000, "driven": True}
    assert sampled(2.0, noise=0.4, **about) is None
    assert "and its noise is 0.799" in sampled(2.0, noise=0.8, **about)
    assert sampled(2.0, noise=0.8, accept=["noise"], **about) is None
    # The noise of a step is its width over √12.
    estimate = SimpleNamespace(main=1.0)
    how = True, False, True
    for width, fails in ((0.6, False), (0.8, True)):
        y = width * np.rint(np.sin(0.02 * np.pi * np.arange(4000)) / width)
        try:
            checks._refuse_sampling("h", [y], [y], CLOCK, estimate, 3.0, how, set())
            said = False
        except RecordingError:
            said = True
        assert said == fails


def test_neighbours_of_a_random_motion_are_related():
    """White noise through a first-order filter correlates by its coefficient."""
    for a, accept, fails in ((0.5, (), True), (0.7, (), False), (0.5, (1,), False)):
        noise = np.random.default_rng(2).standard_normal(4000)
        y = lfilter([1], [1, -a], noise)
        how = True, True, True
        accepted = {"sampling"} if accept else set()
        estimate = SimpleNamespace(main=5.0)
        try:
            checks._refuse_sampling(
                "h", [y], [y], CLOCK, estimate, 3.0, how, accepted | {"noise"}
            )
            said = False
        except RecordingError as error:
            said = "correlate by 0." in str(error)
        assert said == fails


@pytest.mark.parametrize(
    ("values", "excitation", "accept", "words"),
    [
        ("clipped", "random", (), "are at its largest or smallest"),
        ("clipped", "random", ("saturation",), None),
        ("clipped", "none", (), None),
        ("stuck", "random", (), "3 main periods: the channel is"),
        ("rests", "random", (), None),
    ],
)
def test_a_random_motion_has_no_extreme_and_does_not_rest(
    values, excitation, accept, words
):
    noise = np.random.default_rng(1).standard_normal(8000)
    y = lfilter([1], [1, -1.96, 0.99], noise)
    if values == "clipped":
        y = np.clip(y, -2 * y.std(), 2 * y.std())
    else:
        main = spectrum([y], 0.01).main
        rows = int((3.4 if values == "stuck" else 2.5) / main / 0.01)
        y[3000 : 3000 + rows] = y[3000]
    how = settings(*accept, excitation=excitation)
    if values == "stuck":
        with pytest.raises(RecordingError, match=words):
            checks._refuse_saturation(
                "a.csv", [run(y)], [y[:, None]], of(q={"q": column()}), CLOCK
            )
    elif values == "rests":
        checks._refuse_saturation(
            "a.csv", [run(y)], [y[:, None]], of(q={"q": column()}), CLOCK
        )
    else:
        text = refused(y, how)
        assert text is None if words is None else words in text


def test_an_input_that_rests_is_dead():
    channels = of(q={"q": column()}, input={"q": Column("u", "import.inputs.q")})
    for force, dead in ((np.full(4000, 3.0), True), (SWING, False)):
        series = {"q": [SWING[:, None]], "input": [force[:, None]]}
        arguments = [run(SWING, force)], series, channels, CLOCK, settings()
        if dead:
            with pytest.raises(RecordingError, match="input of q.*3 in every row"):
                checks.refuse(*arguments, np.array([2.0, 0.0]))
        else:
            checks.refuse(*arguments, np.array([2.0, 2.0]))


def warned(y, one=None, clock=CLOCK, random=False):
    return checks._sensor_warnings("q", [y], [y], one or column(), clock, random)


LONG = np.sin(2 * np.pi * 1.0 * 0.01 * np.arange(1600))


@pytest.mark.parametrize(
    ("values", "one", "words"),
    [
        (LONG, column(), None),
        (LONG[:980], column(), r"recorded for 9\.\d main periods"),
        (np.minimum(LONG, 0.9), column(), "stays at its extreme for 15 samples"),
        (0.02 * np.rint(LONG / 0.02), column("rad"), "quantised in steps of 0.02 rad"),
        (
            0.2 * np.rint(LONG / 0.2),
            column(),
            r"steps of 0.2 m, 80 % of the samples repeat",
        ),
        (3.1 * LONG, column("rad", True), None),
        (3.2 * LONG, column("rad", True), "swings by 3.2 rad to either side"),
        (3.2 * LONG, column("rad", True, 0.5), None),
        (0.36 * LONG, column("rad", True), None),
        (0.34 * LONG, column("rad", True), "differ by 0.96 % there"),
        (0.34 * LONG, column(), None),
    ],
)
def test_what_is_said_of_a_sensor(values, one, words):
    texts = warned(values, one)
    if words is None:
        assert texts == []
    else:
        assert any(re.search(words, text) for text in texts), texts


def test_noise_and_samples_of_a_period_are_remarked():
    noise = np.random.default_rng(0).standard_normal(1600)
    assert warned(LONG + 0.009 * noise) == []
    (text,) = warned(LONG + 0.012 * noise)
    assert "weak terms stay undetected" in text and "times the standard" in text
    for rows, few in ((21, False), (19, True)):
        y = np.sin(2 * np.pi * np.arange(1600) / rows + 0.1)
        texts = [t for t in warned(y) if "samples per main period" in t]
        assert len(texts) == few
    random = [t for t in warned(LONG, random=True) if "main periods" in t]
    assert len(random) == 1 and "recorded for 15.6 main periods" in random[0]


def warnings(sizes, held=None, clock=CLOCK, accept=(), **about):
    """Of damped-free swings of some sizes, each ten periods."""
    runs = [run(size * LONG, label=f"r{k}") for k, size in enumerate(sizes)]
    series = {"q": [t.values for t in runs]}
    held = np.zeros(len(sizes)) if held is None else np.array(held)
    channels = of(q={"q": column()}) | about
    how = settings(*accept)
    return checks.warnings_of(runs, series, channels, clock, how, held)


def test_what_is_said_of_amplitudes():
    assert warnings([1.0, 2.1]) == []
    (text,) = warnings([1.0, 1.9])
    assert "differ by a factor of 1.9 only" in text
    driven = {"input": {"q": Column("u", "import.inputs.q")}}
    assert warnings([1.0, 1.9], **driven) == []
    for third, outside in ((0.92, False), (0.9, True), (2.3, False), (2.32, True)):
        texts = warnings([1.0, 2.1, third], [0, 0, 1])
        assert len(texts) == outside
        assert all("held-out trajectory r2 has an amplitude" in t for t in texts)


def test_what_is_said_of_a_clock():
    for clock, words in (
        (Clock(0.01, 0.0, 0, True, True), "interpolated to the slowest, 100 Hz"),
        (Clock(0.01, 1.1e-3, 0, True), "uneven by 0.11 %"),
        (Clock(0.01, 0.9e-3, 0, True), None),
        (Clock(0.01, 1.1e-3, 0, False), None),
        (Clock(0.01, 0.0, 2, False), "rows were interpolated: 2"),
    ):
        texts = warnings([1.0, 2.1], clock=clock)
        assert len(texts) == bool(words)
        assert all(words in text for text in texts)


def test_swings_are_parts_of_three_periods():
    for rows, count in ((1600, 5), (250, 1), (590, 1), (640, 2)):
        parts = checks._swings(LONG[:rows, None], CLOCK, [False])
        assert len(parts) == count and sum(map(len, parts)) == rows


@pytest.mark.parametrize(("count", "is_one"), [(410, True), (400, False)])
def test_an_encoder_repeats_its_levels(count, is_one):
    """A third as many levels as samples is too many; so are two alone."""
    levels = np.abs(np.arange(count) % 268 - 134)
    assert encoder_step([levels * 0.5])[1] is is_one
    assert encoder_step([np.repeat([0.0, 1.0], 100)])[1] is False
    assert encoder_step([np.repeat([0.0, 1.0, 2.0], 100)]) == (1.0, True)
