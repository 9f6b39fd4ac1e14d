"""Whiteness of innovations and lines in them: as many rejections as there should be."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2

from leastaction.ensembles import innovation_tests as tests
from leastaction.ensembles.innovation_tests import (
    LARGEST,
    _largest,
    largest_line,
    ljung_box,
)
from leastaction.ensembles.whittle import BandedStateSpace, tapered


def coefficients(rng):
    """Real and imaginary parts as the likelihood of a band has them, of white noise."""
    found = tapered(rng.standard_normal((3600, 1)))[1:-1:2]
    return np.concatenate([found.real, found.imag]) * np.sqrt(2)


@pytest.mark.parametrize("kind", ["white", "coefficients", "line"])
def test_p_values_are_uniform(kind, rng):
    rho = BandedStateSpace.correlation_of_neighbours
    found = []
    for _ in range(400):
        if kind == "line":
            records = [rng.standard_normal((n, 2)) for n in (500, 901)]
            found.append(largest_line(records, 0.1)[0])
        elif kind == "white":
            found.append(ljung_box([rng.standard_normal((1800, 1))], 200))
        else:
            found.append(ljung_box([coefficients(rng)], 200, rho))
    for level in (0.02, 0.1, 0.5):
        share = np.mean(np.array(found) < level)
        assert abs(share - level) < 4 * np.sqrt(level * (1 - level) / 400)


@pytest.mark.parametrize("neighbours", [0.0, 0.2])
@pytest.mark.parametrize(("most", "last"), [(200, 10), (4, 4)])
@pytest.mark.parametrize("least", [0.0, 1.5])
def test_ljung_and_box_is_a_sum_over_lags_up_to_a_quarter(
    most, last, least, neighbours
):
    """Of n r_h², with the covariances that neighbours have; p of the worst channel."""
    rng = np.random.default_rng(6)
    series = [
        (rng.standard_normal((n, 2)) + np.cos(1.3 * np.arange(n))[:, None]) * [1.0, 2.0]
        for n in (43, 7, 25)
    ]
    first, p = (2 if neighbours else 1), []
    for a in range(2):
        square = max(np.mean(np.concatenate(series)[:, a] ** 2), least)
        Q = 0.0
        for h in range(first, last + 1):
            pairs = [x[k, a] * x[k + h, a] for x in series for k in range(len(x) - h)]
            Q += len(pairs) * (np.mean(pairs) / square) ** 2
        # Covariances of √n r_h: 1 + 2ρ², 2ρ, ρ²; mean and variance of Q per lag.
        one, two, three = 1 + 2 * neighbours**2, 2 * neighbours, neighbours**2
        mean, half = one, one**2 + 2 * two**2 + 2 * three**2
        count = last + 1 - first
        p.append(chi2.sf(Q * mean / half, count * mean**2 / half))
    made = ljung_box(series, most, neighbours, least)
    assert made == pytest.approx(min(1.0, 2 * min(p)), rel=1e-9)


@pytest.mark.parametrize("size", [0.05, 0.5, 2.0])
def test_the_largest_ordinate_is_exponential(size):
    """1 − (1 − e^−g)^m, and its frequency, however small it is beside the mean."""
    time = np.arange(64)
    tone = 1 + size * np.cos(2 * np.pi * 5 * time / 64)
    x = np.stack([np.ones(64), tone], axis=1)
    g = (32 * size) ** 2 / 64 / (1 + size**2 / 2)
    m = 2 * 31 + 2 * 3  # of both channels and of both records, without the ends
    p, frequency = largest_line([x, np.zeros((8, 2))], 0.25)
    g *= 72 / 64  # zeros lower the mean square
    assert p == pytest.approx(1 - (1 - np.exp(-g)) ** m, rel=1e-9)
    assert frequency == pytest.approx(5 / (64 * 0.25))


@pytest.mark.parametrize("read_over", ["s", "Hz"])
def test_innovations_of_a_nonlinear_law_or_a_band_are_tested_as_they_are(read_over):
    """The largest excess kurtosis of a channel; no line and no past of a band."""
    rng, dt = np.random.default_rng(8), 0.2
    series = [rng.standard_t(5, (n, 2)) ** [1, 2] for n in (300, 170)]
    series[0][:, 0] += 3.0 * np.cos(1.1 * np.arange(300))
    V = [rng.uniform(1.0, 9.0, x.shape) for x in series]
    model = SimpleNamespace(
        innovations=lambda *_: (
            lambda number: (
                series[number] * np.sqrt(V[number]),
                V[number],
            )
        ),
        records=series,
        read_over=read_over,
        dt=dt,
        correlation_of_neighbours=0.1,
        linear=np.array([read_over == "Hz"]),
    )
    fit = SimpleNamespace(structure=SimpleNamespace(columns=(0,)), theta=None, order=2)
    made = tests.tested(model, fit)
    both = np.concatenate(series)
    kurtosis = (both**4).mean(axis=0) / (both**2).mean(axis=0) ** 2 - 3
    assert made.kurtosis == pytest.approx(np.abs(kurtosis).max())
    assert made.whiteness == pytest.approx(ljung_box(series, 200, 0.1))
    if read_over == "s":
        assert (made.line, made.frequency) == pytest.approx(largest_line(series, dt))
        assert made.past == pytest.approx(tests.predicted_share(series))
        assert made.past > 0.05
    else:
        assert (made.line, made.frequency, made.past) == (1.0, 0.0, 0.0)
    assert made.impulses is None


def test_a_shape_ends_after_two_thousand_samples():
    """Of a walk whose steady filter forgets half of it in some 50,000."""
    law, _, a = scalar_law(rate=1e-9)
    (shape,) = tests._shapes(law, np.array([[1.0]]), np.array([1e9]), 0.2)
    assert len(shape) == 2000


def test_a_line_that_is_missing_is_seen(rng):
    one = rng.standard_normal((1800, 1)) + 0.5 * np.cos(np.arange(1800))[:, None]
    assert ljung_box([one], 200) < 1e-6


def test_the_smallest_p_value_of_many_channels_counts_times_their_number(rng):
    one = rng.standard_normal((1800, 1)) + 0.2 * np.cos(np.arange(1800))[:, None]
    alone = ljung_box([one], 200)
    assert 0 < alone < 0.3
    assert ljung_box([np.hstack([one] * 3)], 200) == pytest.approx(3 * alone)


def test_a_tone_that_hardly_correlates_is_seen_and_named(rng):
    """A four-hundredth of the power, in the second of two channels and records."""
    tone = 0.07 * np.cos(0.7 * np.arange(20_000))
    records = [rng.standard_normal((n, 2)) for n in (300, 20_000)]
    records[1][:, 1] += tone
    assert ljung_box(records, 200) > 1e-3
    p, frequency = largest_line(records, 0.5)
    assert p < 1e-3
    assert frequency == pytest.approx(0.7 / (2 * np.pi * 0.5), abs=1e-4)


def test_the_largest_events_are_named_with_their_part_of_the_fourth_moment(rng):
    """Each with what lies near it, counted once, less what a Gaussian force gives."""
    z = rng.standard_normal(2000)
    events = np.sort(rng.choice(19, LARGEST, replace=False)) * 100 + 50
    z[events] = 30.0 + np.arange(LARGEST)
    places, carried = _largest(z, 4)
    np.testing.assert_array_equal(np.sort(places), events)
    near = (events[:, None] + np.arange(-4, 5)).ravel()
    normal = 3 * np.mean(z**2) ** 2
    expected = np.sum(z[near] ** 4) - len(near) * normal
    assert carried == pytest.approx(expected, rel=1e-9)


def scalar_law(rate=0.7, dt=0.2, noise=0.3, channels=1):
    """x' = −r x under a white force, seen by equal sensors with noise of a variance."""
    a = np.exp(-rate * dt)
    law = SimpleNamespace(
        transition=np.array([[a]]),
        covariance=np.array([[(1 - a**2) / (2 * rate)]]),
        sees=np.ones((channels, 1)),
        rates=np.array([[-rate]]),
    )
    return law, np.full(channels, noise), a


def test_shapes_are_innovations_after_an_impulse():
    """√V⁻¹ H (A (1 − K H))^j g of the steady filter, g the mean response of a step."""
    law, noise, a = scalar_law()
    P = law.covariance[0, 0]
    for _ in range(2000):
        P = a**2 * P * (1 - P / (P + 0.3)) + law.covariance[0, 0]
    V, keep = P + 0.3, 1 - P / (P + 0.3)
    mean = (1 - a) / (0.7 * 0.2)
    (shape,) = tests._shapes(law, np.array([[2.0]]), noise, 0.2)
    j = np.arange(len(shape))
    expected = 2 * mean * (a * keep) ** j / np.sqrt(V)
    np.testing.assert_allclose(shape[:, 0], expected, rtol=1e-9)
    ratio = np.abs(shape[:, 0]) / np.abs(shape[0, 0])
    assert ratio[-1] <= 1e-3 < ratio[-2]
    both = tests._shapes(law, np.array([[2.0, -1.0]]), noise, 0.2)
    np.testing.assert_allclose(both[1][: len(shape)], -shape / 2, rtol=1e-9)


def test_shapes_of_two_channels_are_white(monkeypatch):
    law, noise, _ = scalar_law(channels=2)
    (shape,) = tests._shapes(law, np.array([[1.0]]), noise, 0.2)
    assert shape.shape[1] == 2
    assert (np.abs(shape[:, 1]) < np.abs(shape[:, 0])).all()  # what is left to see
    monkeypatch.setattr(tests, "MOST_OF_SHAPE", 4)
    assert len(tests._shapes(law, np.array([[1.0]]), noise, 0.2)[0]) == 4
    law.covariance = np.array([[np.nan]])
    assert tests._shapes(law, np.array([[1.0]]), noise, 0.2) is None


def test_a_matched_filter_is_a_sum_over_shape_and_channels(rng):
    x, shape = rng.standard_normal((50, 2)), rng.standard_normal((7, 2))
    made = tests._matched(x, shape)
    expected = [np.sum(shape * x[k : k + 7]) for k in range(44)]
    np.testing.assert_allclose(made, expected, atol=1e-11)


def test_numbers_of_a_matched_filter(rng):
    """Kurtosis, its error by Lomnicki, the rate of impulses, what events carry."""
    shape = np.array([[2.0], [1.0], [0.5]])
    series = [rng.standard_t(6, (900, 1)), rng.standard_t(6, (400, 1))]
    one = tests._of_filter(shape, 0.7, series, 0.1)
    s = shape[:, 0] / np.sqrt(5.25)
    filtered = [np.convolve(x[:, 0], s[::-1], "valid") for x in series]
    z = np.concatenate(filtered)
    variance = (z**2).mean()
    kurtosis = (z**4).mean() / variance**2 - 3
    assert one.kurtosis == pytest.approx(kurtosis, rel=1e-9)
    rho = np.correlate(s, s, "full")
    error = np.sqrt(24 * (rho**4).sum() / len(z))
    assert one.score == pytest.approx(kurtosis / error, rel=1e-9)
    part = min(1.0, 5.25 * 0.1 * (rho**2).sum() / variance)
    rate = 3 * part**2 * (rho**4).sum() / (rho**2).sum() ** 2 / 0.1 / kurtosis
    assert part < 1 and one.rate == pytest.approx(rate, rel=1e-9)
    places, carried = _largest(z, 3)
    share = carried / (z**4 - 3 * variance**2).sum()
    assert one.part == pytest.approx(share, rel=1e-9)
    first = int(places[0])
    record, start = (0, 0) if first < len(filtered[0]) else (1, len(filtered[0]))
    assert one.records[0] == record
    assert one.times[0] == pytest.approx((first - start + 1) * 0.1)
    for sizes, x, z in zip(one.sizes, series, filtered, strict=True):
        assert len(sizes) == len(x) and np.isnan(sizes[0])
        expected = 0.7 / np.sqrt(5.25) * z
        np.testing.assert_allclose(sizes[1 : len(z) + 1], expected, rtol=1e-9)
        assert np.isnan(sizes[len(z) + 1 :]).all()
    assert one.significant == (one.score > tests.SURE_SCORE)


def test_impulses_of_a_light_tail_have_no_rate():
    rho = np.array([0.5, 1.0, 0.5])
    assert np.isinf(tests._rate(-0.1, 0.5, rho, 0.1))
    rate = 3 * 0.25 * 1.125 / 1.5**2 / 0.1 / 0.3
    assert tests._rate(0.3, 0.5, rho, 0.1) == pytest.approx(rate)


@pytest.mark.parametrize(("count", "counted"), [(160, True), (159, False)])
def test_a_past_of_twenty_needs_eight_parts_as_long(count, counted):
    x = np.cos(0.5 * np.arange(count))[:, None]
    share = tests.predicted_share([x])
    assert share == (pytest.approx(1.0) if counted else 0.0)
    assert tests.predicted_share([x, x[:50]]) == share


def test_the_past_is_learned_in_one_half_and_tested_in_the_other(rng):
    """Windows of twenty in turns: the share of an autoregression is its own."""
    white = rng.standard_normal((6000, 2))
    x = white.copy()
    for k in range(1, 6000):
        x[k, 1] += 0.6 * x[k - 1, 1] + 0.3 * white[k - 1, 0]
    windows = np.lib.stride_tricks.sliding_window_view(x, 21, axis=0)
    past = windows[..., :-1].reshape(len(windows), -1)
    parts = np.array_split(np.arange(len(windows)), 8)
    learn, test = (np.concatenate(parts[k::2]) for k in (0, 1))
    weights = np.linalg.lstsq(past[learn], windows[learn, :, -1])[0]
    left = windows[test, :, -1] - past[test] @ weights
    share = 1 - (left**2).mean(axis=0) / (windows[test, :, -1] ** 2).mean(axis=0)
    made = tests.predicted_share([x])
    assert made == pytest.approx(share.max(), rel=1e-9) and made > 0.3


@pytest.mark.parametrize(("linear", "order"), [(True, 2), (False, 2), (False, 1)])
def test_filters_of_two_orders_disagree_by_a_step(linear, order):
    """I⁻¹ g in standard errors of the coefficients, of the other order."""
    information = np.array([[4.0, 1.0, 0.3], [1.0, 2.0, 0.1], [0.3, 0.1, 5.0]])
    gradient, others = np.array([0.4, -0.2, 9.0]), []

    def pieces(structure, theta, axes, other):
        others.append(other)
        return 0.0, gradient, None

    model = SimpleNamespace(linear=np.array([linear, True]))
    likelihood = SimpleNamespace(model=model, pieces=pieces)
    axes = np.diag([2.0, 1.0, 1.0])
    fit = SimpleNamespace(
        structure=SimpleNamespace(columns=(0, 1)),
        theta=None,
        axes=axes,
        order=order,
        information=information,
        covariance=axes @ np.linalg.inv(information) @ axes,
    )
    made = tests.order_disagreement(likelihood, fit)
    step = axes @ np.linalg.solve(information, gradient)
    sizes = np.sqrt(np.diag(fit.covariance))
    expected = np.abs(step / sizes)[:2].max()
    assert made == (0.0 if linear else pytest.approx(expected, rel=1e-6))
    assert others == ([] if linear else [3 - order])


def oscillator(y, force=0.0, spring=4.0, channels=((1.0, 0.0),), **more):
    """x'' = −k x + w from x = 1, as the state space has it, without a random force."""
    y = np.asarray(y, dtype=float)
    inverse = np.array([[0.5]])
    parameters = SimpleNamespace(
        gain=2.0, lag=0.0, coefficients=None, root=np.zeros((1, 1)), rate=0.0
    )
    about = {
        "dof": 1,
        "dt": 0.05,
        "steps": 4,
        "scale": np.array([1.0, 2.0]),
        "read_over": "s",
        "records": [SimpleNamespace(y=y)],
        "parameters": lambda *_: parameters,
        "recorded": lambda number, lag: np.full((2 * len(y) - 1, 1), force),
        "matrices": lambda _: (np.array(channels), np.zeros((len(channels), 1)), None),
        "starts": [SimpleNamespace(mean=np.array([1.0, 0.0]))],
        "at": lambda c, state: (inverse, -spring * state[:1], None),
    }
    return SimpleNamespace(**about | more)


def size_of(model) -> float:
    structure = SimpleNamespace(force="diagonal", coloured=False)
    return tests.simulated_size(model, SimpleNamespace(structure=structure, theta=None))


def test_the_size_of_a_simulated_motion_is_that_over_the_record():
    """Of the channel that differs most; a recorded force moves it by g M⁻¹ w."""
    time = 0.05 * np.arange(200)
    x, v = np.cos(2 * time), -2 * np.sin(2 * time)
    assert size_of(oscillator(x[:, None])) == pytest.approx(1.0, rel=0.02)
    assert size_of(oscillator(2 * x[:, None])) == pytest.approx(0.5, rel=0.02)
    both = ((1.0, 0.0), (0.0, 1.0))
    y = np.stack([1.5 * x, v / 3], axis=1)
    y[3, 0] = np.nan
    assert size_of(oscillator(y, channels=both)) == pytest.approx(3.0, rel=0.02)
    pushed = 0.75 + 0.25 * np.cos(2 * time)  # about w g/(2 k)
    made = size_of(oscillator(pushed[:, None], force=3.0))
    assert made == pytest.approx(1.0, rel=0.02)


def test_a_motion_that_leaves_all_bounds_is_infinite_and_a_band_has_none():
    y = np.ones((400, 1))
    assert np.isinf(size_of(oscillator(y, spring=-100.0)))
    assert np.isnan(size_of(oscillator(y, read_over="Hz")))
