"""Innovations form: its transforms, criterion and errors in closed form."""

import numpy as np
import pytest
from scipy.signal import lfilter

from leastaction.ensembles import innovations_form as method
from leastaction.ensembles.innovations_form import (
    LEAST_VARIANCE,
    Fit,
    InnovationsForm,
    criterion,
    diagonal,
    fit,
    modes_of,
    transforms,
)

RNG = np.random.default_rng
A = np.array([[0.5, 0.8, 0.0], [-0.8, 0.5, 0.1], [0.0, 0.0, 0.6]])
C = np.array([[1.0, 0.0, 0.5], [0.3, -2.0, 0.0]])
K = np.array([[0.2, 0.1], [0.0, 0.1], [0.3, -0.2]])


def test_coefficients_of_white_noise_have_unit_variance():
    y = RNG(0).standard_normal((4001, 2))
    one, part = transforms([y], 0.1, 10.0)[0], transforms([y], 0.1, 4.0)[0]
    assert len(one.z) == 2000 and len(part.z) == 800
    assert np.mean(np.abs(one.coefficients) ** 2) == pytest.approx(1, rel=0.05)
    assert (one.power, part.power) == pytest.approx((1.0, 0.4))
    assert np.abs(one.z) == pytest.approx(1.0)
    assert np.angle(part.z[0]) == pytest.approx(2 * np.pi / 4001 / 0.1 / 4.0)
    assert len(transforms([y[:4000]], 0.1, 50.0)[0].z) == 1999


def test_a_diagonal_form_has_the_same_responses():
    model = diagonal(A, C, K)
    assert (model.order, model.parameters) == (3, 12)
    assert sorted(model.paired.tolist()) == [False, True]
    assert np.linalg.norm(model.shapes, axis=1) == pytest.approx(
        np.linalg.norm(model.gains, axis=1)
    )
    for power in range(4):
        whole = C @ np.linalg.matrix_power(A, power) @ K
        parts = 0
        for pole, shape, gain, paired in zip(*model, strict=True):
            term = pole**power * np.outer(shape, gain)
            parts = parts + (2 * term.real if paired else term)
        assert parts == pytest.approx(whole)


def test_a_form_is_stationary_and_invertible_by_its_poles_and_zeros():
    assert diagonal(A, C, K).is_stationary()
    # Zeros, the eigenvalues of A − K C, have a modulus of .89, or 1.08.
    assert diagonal(A[:2, :2], C[:1, :2], K[:2, :1]).is_invertible()
    assert not diagonal(1.2 * A[:2, :2], C[:1, :2], K[:2, :1]).is_invertible()
    assert not diagonal(1.1 * A, C, K).is_stationary()
    # Zeros are the eigenvalues of A − K C.
    for gain, invertible in ((1.4, True), (1.6, False), (-0.6, False), (-0.4, True)):
        one = diagonal(np.array([[0.5]]), np.array([[1.0]]), np.array([[gain]]))
        assert one.is_invertible() == invertible


def test_the_criterion_is_minus_twice_the_likelihood_and_a_penalty():
    """y = W e with W = 1 + k/(z − a): of the true law e is white."""
    a, k, count = 0.7, 0.4, 20_001
    e = 0.3 * RNG(1).standard_normal(count)
    y = lfilter([1, k - a], [1, -a], e)[:, None]
    records = transforms([y], 1.0, 1.0)
    one = diagonal(np.array([[a]]), np.array([[1.0]]), np.array([[k]]))
    spectrum = np.fft.rfft(e)[1:] / np.sqrt(count)
    square = np.mean(np.abs(spectrum) ** 2)
    n = 2 * len(records[0].z)
    expected = n * np.log(square + LEAST_VARIANCE) + 2 * np.log(n)
    assert criterion(one, records) == pytest.approx(expected, abs=3)
    wrong = diagonal(np.array([[0.5]]), np.array([[1.0]]), np.array([[1.8]]))
    assert criterion(wrong, records) == np.inf
    start = diagonal(np.array([[0.5]]), np.array([[1.0]]), np.array([[0.6]]))
    best = fit(start, records)
    assert best.converged and best.criterion <= criterion(one, records)
    # Of an ARMA law the errors of pole and zero b = a − k (Box and Jenkins 1970).
    b = a - k
    bound = (1 - a * b) ** 2 / (a - b) ** 2 * (1 - a**2) / count
    assert best.covariance[4, 4] == pytest.approx(bound, rel=0.1)
    assert abs(best.model.poles[0].real - a) < 4 * np.sqrt(bound)
    assert best.noise[0, 0] == pytest.approx(square, rel=0.01)


def test_errors_of_modes_are_those_of_draws_of_the_parameters():
    """By the delta method, with units of the channels."""
    rate, scale = 20.0, np.array([1.0, 30.0])
    model = diagonal(A[:2, :2] * 0.99, C[:, :2], K[:2])
    size = model.poles.size
    count = 4 * 2 * size + 2 * size
    root = 1e-4 * RNG(2).standard_normal((count, count))
    one = Fit(model, root @ root.T, 0.0, np.eye(2), True)
    (mode,) = modes_of(one, rate, scale)
    continuous = rate * np.log(model.poles[0])
    assert mode.frequency == pytest.approx(abs(continuous) / (2 * np.pi))
    assert mode.damping_ratio == pytest.approx(-continuous.real / abs(continuous))
    shape = scale * model.shapes[0]
    assert mode.shape == pytest.approx(shape / shape[np.abs(shape).argmax()])
    values = []
    for draw in RNG(3).standard_normal((4000, count)) @ root.T:
        moved = InnovationsForm(
            model.poles + draw[-2] + 1j * draw[-1],
            model.shapes + draw[:2] + 1j * draw[2:4],
            *model[2:],
        )
        other = modes_of(one._replace(model=moved), rate, scale)[0]
        relative = other.shape[np.abs(shape).argmin()]
        values.append([*other[:2], relative.real, relative.imag])
    spread = np.cov(np.transpose(values))
    assert mode.covariance == pytest.approx(spread[:2, :2], rel=0.15)
    std = mode.shape_std[:, np.abs(shape).argmin()]
    assert std == pytest.approx(np.sqrt(np.diag(spread)[2:]), rel=0.06)
    assert not mode.shape_std[:, np.abs(shape).argmax()].any()


def by_hand(model, record, t):
    """W⁻¹ (d − C (1 − (Λ/z)^p)⁻¹ t), with the conjugates of `paired` written out.

    t is complex, one for each pole.
    """
    z, d, power = record
    both = [
        np.concatenate([x, x[model.paired].conj()])
        for x in (model.poles.astype(complex), model.shapes, model.gains, t)
    ]
    poles, shapes, gains, t = both
    e = []
    for point, value in zip(z, d, strict=True):
        W = np.eye(d.shape[1]) + shapes.T @ np.diag(1 / (point - poles)) @ gains
        leak = shapes.T @ (t / (1 - poles**power * point**-power))
        e.append(np.linalg.solve(W, value - leak))
    return np.array(e)


def moved_by(model, step, t, real_t):
    """Model and t with other real parameters, in the order of a fit, then of t."""
    count = len(model.poles)
    parameters = len(step) - len(real_t)
    model = method._moved(model, step[:parameters])
    real_t = real_t + step[parameters:]
    t = real_t[:count].astype(complex)
    t[model.paired] += 1j * real_t[count:]
    return model, t


def records_of(channels, seed=5):
    """Two records of unequal steps, of what is not the law of the model."""
    rng = RNG(seed)
    one = transforms([rng.standard_normal((60, channels))], 0.1, 4.0)
    return one + transforms([rng.standard_normal((41, channels))], 0.2, 4.0)


@pytest.mark.parametrize("channels", [1, 2])
def test_innovations_their_slopes_and_information_are_those_of_the_definition(
    channels, monkeypatch
):
    model = diagonal(0.8 * A, C[:channels], K[:, :channels])
    records = records_of(channels)
    state = method._state(model, records)
    count = sum(len(record.z) for record in records)
    expected = []
    for record, real_t in zip(records, state.transients, strict=True):
        _, t = moved_by(model, np.zeros(4 * channels * 2 + 4 + 3), None, real_t)
        expected.append(by_hand(model, record, t))
    for e, found in zip(expected, state.innovations, strict=True):
        np.testing.assert_allclose(found, e)
    stacked = np.concatenate(expected)
    noise = sum(np.outer(e, e.conj()).real for e in stacked) / count
    noise = noise + LEAST_VARIANCE * np.eye(channels)
    np.testing.assert_allclose(state.noise, noise)
    assert state.value == pytest.approx(2 * count * np.log(np.linalg.det(noise)))
    penalty = 2 * 3 * channels * np.log(2 * count)
    assert criterion(model, records) == pytest.approx(state.value + penalty)
    # Slopes by differences, of parameters and of t together; then t eliminated.
    white = np.linalg.inv(np.linalg.cholesky(noise))
    size = 8 * channels + 4
    information, slope = np.zeros((size, size)), np.zeros(size)
    for record, e, real_t in zip(records, expected, state.transients, strict=True):
        columns = []
        for i in range(size + len(real_t)):
            step = 1e-6 * (np.arange(size + len(real_t)) == i)
            ends = [
                by_hand(one, record, t)
                for one, t in (
                    moved_by(model, sign * step, None, real_t) for sign in (1, -1)
                )
            ]
            columns.append(((ends[0] - ends[1]) / 2e-6 @ white.T).ravel())
        J = np.array(columns).T
        slope += 2 * (J[:, :size].conj().T @ (e @ white.T).ravel()).real
        full = 2 * (J.conj().T @ J).real
        cross = full[size:, :size]
        information += (
            full[:size, :size]
            - cross.T @ np.linalg.lstsq(full[size:, size:], cross, rcond=None)[0]
        )
    for batch in (7, 1000):
        monkeypatch.setattr(method, "FREQUENCIES_PER_BATCH", batch)
        found, gradient = method._normal(model, records, state)
        scale = np.abs(information).max()
        np.testing.assert_allclose(found, information, atol=1e-6 * scale)
        np.testing.assert_allclose(gradient, slope, atol=1e-6 * np.abs(slope).max())


def test_transients_are_those_of_least_squares_of_whitened_innovations(rng):
    """Two rounds: with the covariance of innovations without any, then with it."""
    model, records = diagonal(0.8 * A, C, K), records_of(2)
    raw = [by_hand(model, record, np.zeros(2)) for record in records]
    noise, best = None, raw
    for _ in range(2):
        stacked = np.concatenate(best)
        noise = (stacked.T @ stacked.conj()).real / len(stacked)
        white, best = np.linalg.inv(np.linalg.cholesky(noise)), []
        for record, e in zip(records, raw, strict=True):
            leaks = []
            for i in range(3):
                step = np.zeros(8 * 2 + 4 + 3)
                step[8 * 2 + 4 + i] = 1.0
                _, t = moved_by(model, step, None, np.zeros(3))
                leaks.append(e - by_hand(model, record, t))
            rows = np.array([(leak @ white.T).ravel() for leak in leaks]).T
            right = (e @ white.T).ravel()
            stack = [np.concatenate([x.real, x.imag]) for x in (rows, right)]
            t = np.linalg.lstsq(*stack, rcond=None)[0]
            best.append(e - sum(x * leak for x, leak in zip(t, leaks, strict=True)))
    state = method._state(model, records)
    for e, found in zip(best, state.innovations, strict=True):
        np.testing.assert_allclose(found, e, atol=1e-8)


class Climb:
    """Fits with information one and a prescribed slope; values as they are asked."""

    def __init__(self, monkeypatch, slope, values):
        self.slope, self.values, self.shapes, self.normals = slope, values, [], 0
        monkeypatch.setattr(method, "_state", self._state)
        monkeypatch.setattr(method, "_normal", self._normal)

    def _state(self, model, records):
        self.shapes.append(model.shapes[0, 0].real)
        value = next(self.values)
        return method._State([], [], [], [], np.eye(1), value)

    def _normal(self, model, records, now):
        self.normals += 1
        return np.eye(6), np.array(self.slope)

    def fit(self):
        form = InnovationsForm(*np.array([[0.5], [1.0], [0.3]]), np.array([False]))
        form = form._replace(shapes=np.ones((1, 1)), gains=np.full((1, 1), 0.3))
        return fit(form, records_of(1))


@pytest.mark.parametrize(("promise", "converged"), [(0.0099, True), (0.0101, False)])
def test_a_climb_ends_where_a_step_promises_a_hundredth(
    monkeypatch, promise, converged
):
    """Or after 25 steps."""
    slope = [promise**0.5, 0, 0, 0, 0, 0]
    one = Climb(monkeypatch, slope, iter(-np.arange(99.0)))
    best = one.fit()
    assert best.converged == converged
    # The information of the last step is that of the maximum.
    assert one.normals == (1 if converged else 26)
    count = 2 * sum(len(record.z) for record in records_of(1))
    value = 0.0 if converged else -25.0
    assert best.criterion == pytest.approx(value + 2 * np.log(count))
    np.testing.assert_array_equal(best.covariance, np.eye(6))


@pytest.mark.parametrize(
    ("fails", "begin"), [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.001), (4, 0.005)]
)
def test_steps_are_damped_five_times_more_until_they_gain(monkeypatch, fails, begin):
    """From 10⁻³ on, up to 10⁴; after a gain, 25 times less, or not at all."""

    def values():
        yield 0.0
        yield from [1.0] * fails
        yield -1.0
        yield from [9.0] * 99

    one = Climb(monkeypatch, [0.2, 0, 0, 0, 0, 0], values())
    best = one.fit()
    dampings = np.concatenate([[0.0], 1e-3 * 5.0 ** np.arange(99)])
    tried = np.array(one.shapes[1 : fails + 2])
    np.testing.assert_allclose(tried, 1 - 0.2 / (1 + dampings[: fails + 1]))
    rest = dampings[dampings >= begin]
    rest = rest[rest < 1e4]
    np.testing.assert_allclose(one.shapes[fails + 2 :], tried[-1] - 0.2 / (1 + rest))
    assert not best.converged and best.model.shapes[0, 0] == tried[-1]


def test_a_step_to_an_unstable_law_is_damped(monkeypatch):
    """A pole of .5 goes up by 1/(1 + damping): below one from .625·5 on."""
    one = Climb(monkeypatch, [0, 0, 0, 0, -1.0, 0], iter([0.0, -1.0, *[9.0] * 99]))
    best = one.fit()
    assert best.model.poles[0] == pytest.approx(0.5 + 1 / (1 + 1e-3 * 5.0**5))


def test_modes_of_several_poles_are_those_of_each_alone():
    """By rising frequency; real poles are no modes."""
    rng = RNG(7)
    poles = np.array([0.6 + 0.7j, 0.5, 0.9 + 0.3j])
    shapes, gains = rng.standard_normal((2, 3, 2)) + 1j * rng.standard_normal((2, 3, 2))
    model = InnovationsForm(poles, shapes, gains, np.array([True, False, True]))
    assert (model.order, model.parameters) == (5, 20)
    root = 1e-3 * rng.standard_normal((30, 30))
    covariance, scale = root @ root.T, np.array([2.0, 5.0])
    one = Fit(model, covariance, 0.0, np.eye(2), True)
    modes = modes_of(one, 10.0, scale)
    assert len(modes) == 2 and modes[0].frequency < modes[1].frequency
    for mode, r in zip(modes, (2, 0), strict=True):
        blocks = [6 * k + 2 * r + np.arange(2) for k in range(4)]
        rows = np.concatenate([*blocks, [24 + r, 27 + r]])
        alone = InnovationsForm(*(x[[r]] for x in model))
        part = Fit(alone, covariance[np.ix_(rows, rows)], 0.0, np.eye(2), True)
        (expected,) = modes_of(part, 10.0, scale)
        for found, value in zip(mode, expected, strict=True):
            np.testing.assert_allclose(found, value)


@pytest.mark.parametrize(("part", "rank"), [(0.9, 1), (1.1, 2)])
def test_the_inverse_leaves_out_what_is_rounding(part, rank):
    r = 1 - part * 2e-10
    inverse = method._inverse(np.array([[9.0, 3 * r], [3 * r, 1.0]]))
    assert np.linalg.matrix_rank(inverse, tol=1e-3) == rank
    known = method._inverse(np.diag([4.0, 0.0]))
    np.testing.assert_allclose(known, np.diag([0.25, 0.0]))
