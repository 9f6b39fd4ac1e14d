"""Innovations form: its transforms, criterion and errors in closed form."""

import numpy as np
import pytest
from scipy.signal import lfilter

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
