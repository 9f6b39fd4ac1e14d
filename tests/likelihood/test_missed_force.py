"""Tones and memories: the forces that stand for them, and what of them is seen."""

from types import SimpleNamespace

import numpy as np
import pytest

from leastaction.likelihood.augmented_kalman_filter import (
    Innovations,
    LinearModel,
    augmented_filter,
)
from leastaction.likelihood.covariance import of_stretches
from leastaction.likelihood.missed_force import (
    LAGS_OF_MEMORY,
    Memory,
    _dispersion,
    _scores_left,
    is_line,
    lagged_velocities,
    memory,
    of_forces,
    power_at,
    tone,
    waves,
)

DT = 0.05


def fit_of(rows=200, dof=1, parts=None, **more):
    parts = parts or [slice(0, rows)]
    motion = SimpleNamespace(y=np.zeros((rows, dof)), dof=dof, dt=DT, parts=parts)
    return SimpleNamespace(motion=motion, **more)


def test_a_unit_force_moves_velocity_and_position():
    """By M⁻¹ Δt and M⁻¹ Δt²/2, from the covariance of a white force."""
    inverse = np.array([[0.5, -0.2], [-0.2, 1.0]])
    Q = np.zeros((3, 2, 4, 4))
    for i in range(2):
        Q[:, i, 2:, 2:] = DT * np.outer(inverse[:, i], inverse[:, i])
    push = of_forces(fit_of(3, 2, model=SimpleNamespace(Q=Q)))
    signed = inverse * np.sign(np.diag(inverse))
    np.testing.assert_allclose(push[1, 2:], DT * signed)
    np.testing.assert_allclose(push[1, :2], DT**2 / 2 * signed)


def test_lagged_velocities_follow_theirs_with_their_time_constants():
    """z of a step in the velocity falls as exp(−t/T), T = lag · period/2π."""
    period, rows = 2.0, 60
    v = np.zeros((2 * rows, 2))
    v[:rows, 0], v[0, 0], v[rows:, 1] = 0.0, 1.0, 3.0
    parts = [slice(0, rows), slice(rows, 2 * rows)]
    path = np.hstack([np.full_like(v, 7.0), v])
    forces = lagged_velocities(fit_of(2 * rows, 2, parts, path=path), period)
    assert forces.shape == (2 * rows, 2, 2 * len(LAGS_OF_MEMORY))
    for j, lag in enumerate(LAGS_OF_MEMORY):
        T = lag * period / (2 * np.pi)
        decay = np.exp(-DT * np.arange(rows) / T)
        np.testing.assert_allclose(forces[:rows, 0, 2 * j], decay, atol=1e-12)
        np.testing.assert_allclose(forces[rows:, 1, 2 * j + 1], 3.0)  # from its begin
        assert not forces[:, 1, 2 * j].any() and not forces[:, 0, 2 * j + 1].any()


def test_waves_are_those_of_each_coordinate_and_trajectory():
    parts = [slice(0, 50), slice(50, 200)]
    one = fit_of(200, 2, parts)
    forces = waves(one, 1.5)
    phase = 2 * np.pi * 1.5 * DT * np.arange(200)
    assert forces.shape == (200, 2, 8)
    total = forces.sum(axis=2)
    np.testing.assert_allclose(
        total, np.repeat((np.cos(phase) + np.sin(phase))[:, None], 2, 1)
    )
    for p, part in enumerate(parts):
        for i in range(2):
            np.testing.assert_allclose(
                forces[part, i, 4 * p + 2 * i], np.cos(phase[part])
            )
    assert (np.count_nonzero(forces, axis=2) <= 2).all()
    assert waves(one, np.nan).shape == (200, 2, 0)


def test_power_at_an_ordinate_is_that_of_the_periodogram(rng):
    series = [rng.standard_normal((100, 2)), rng.standard_normal((100, 2))]
    frequencies = np.fft.rfftfreq(100, DT)
    expected = sum((np.abs(np.fft.rfft(x, axis=0)) ** 2).sum(axis=1) for x in series)
    np.testing.assert_allclose(power_at(series, DT, frequencies), expected)


def tone_of(values, variance=1.0):
    z = np.asarray(values)
    innovations = SimpleNamespace(e=z * np.sqrt(variance), V=np.full_like(z, variance))
    parts = [slice(0, len(z) // 2), slice(len(z) // 2, len(z))]
    return tone(fit_of(len(z), 1, parts, innovations=innovations))


@pytest.mark.parametrize("frequency", [1.0, 1.517, 4.0])
@pytest.mark.parametrize("variance", [1.0, 1e-8])
def test_a_tone_has_its_frequency_and_noise_has_none(rng, frequency, variance):
    noise = rng.standard_normal((1600, 1))
    t = DT * np.arange(1600)[:, None]
    one = np.sin(2 * np.pi * frequency * t)
    result = tone_of(noise + one, variance)
    assert result == pytest.approx(frequency, abs=2e-3)
    assert np.isnan(tone_of(noise, variance))
    many = sum(np.sin(2 * np.pi * f * t + f) for f in (frequency, 2.3, 3.1, 5.2))
    assert np.isnan(tone_of(noise + many, variance))


def memory_of(gain, coefficients=(1.0, 0.0)):
    root = np.array([[2.0, 1.0], [0.0, 3.0]])
    change, widening = np.array([0.5, -2.0]), np.array([[0.1, 0.2], [0.3, 0.4]])
    return Memory(gain, 10.0, 1.0, change, widening, np.array(coefficients), root)


@pytest.mark.parametrize("gain", [10.5, 10.0, 6.0, 4.0])
def test_a_memory_widens_intervals_by_its_probability(gain):
    one = memory_of(gain)
    probability = 1 / (1 + np.exp(-(gain - 10.0) / 2))
    rows = np.array([[0.5, -2.0], [0.1, 0.2], [0.3, 0.4]])
    expected = np.sqrt(probability) * rows * (probability > 0.05)
    np.testing.assert_allclose(one.deviations, expected)


@pytest.mark.parametrize(
    ("far", "explained"), [((1.0, 0.2), True), ((3.0, 0.0), False)]
)
def test_a_memory_is_explained_by_that_of_whole_runs_if_less_is_left(far, explained):
    """4 of a gain of 4 is left of coefficients that double; .2²·10 of the other."""
    assert memory_of(4.0).explained_by(memory_of(9.0, far)) is explained


def test_a_line_of_an_input_is_one_by_its_own_height(rng):
    time = DT * np.arange(2000)
    noise = rng.standard_normal((2000, 1))
    line = 0.5 * np.sin(2 * np.pi * 1.3 * time)[:, None]
    assert is_line([noise + line, noise[::-1] + line], DT, 1.3)
    assert not is_line([noise + line], DT, 1.3 + 2 / (2000 * DT))
    assert not is_line([noise], DT, 1.3)


@pytest.mark.parametrize("dispersion", [1.0, 4.0])
def test_stretches_tell_how_much_more_than_chance_their_scores_vary(dispersion):
    """A likelihood ratio of so many times χ² has as many times the odds against it."""
    rng, white = np.random.default_rng(3), np.tile([1.0, -1.0], 1000)
    count = 2000
    e, V = white[rng.permutation(count)][:, None], np.ones((count, 1))
    innovations = Innovations(np.zeros((count, 1, 1)), 0.0, 0.0, count, e, V)
    scores = np.sqrt(dispersion / count) * rng.standard_normal((count, 2))
    rows, stretches = of_stretches(innovations, scores)
    variance = (rows**2).sum() / 2
    assert variance == pytest.approx(dispersion, rel=4 * stretches**-0.5)
    one = Memory(12.0, 10.0, 1.0, np.ones(1), np.ones((2, 1)), np.ones(2), np.eye(2))
    more = one._replace(
        gain=12 * dispersion, threshold=10 * dispersion, dispersion=dispersion
    )
    np.testing.assert_allclose(more.deviations, one.deviations)


def linear_fit(rng, rows=400):
    """A damped oscillator with a white force, two active coefficients, two parts."""
    begin = np.zeros(rows, dtype=bool)
    begin[[0, rows // 2]] = True
    A = np.array([[1.0, DT], [-2.0 * DT, 1 - 0.5 * DT]])
    Q = np.zeros((rows, 1, 2, 2))
    Q[:, 0, 1, 1] = DT
    x, y = np.zeros(2), np.empty((rows, 1))
    for k in range(rows):
        x = np.zeros(2) if begin[k] else A @ x
        x = x + [0.0, 0.5 * np.sqrt(DT) * rng.standard_normal()]
        y[k] = x[0] + 0.2 * rng.standard_normal()
    model = LinearModel(
        y,
        begin,
        np.arange(rows) // 20,
        np.broadcast_to(A, (rows, 2, 2)).copy(),
        rng.standard_normal((rows, 2, 2)) * [[0.0], [DT]],
        np.zeros((rows, 2)),
        Q,
        np.array([0.1, 0.1]),
        np.ones((rows, 1)),
    )
    levels = SimpleNamespace(process=np.array([0.5]), sensor=np.array([0.2]))
    innovations = augmented_filter(model, levels.process, levels.sensor)
    parts = [slice(0, rows // 2), slice(rows // 2, rows)]
    more = {"model": model, "levels": levels, "innovations": innovations}
    more |= {"active": np.array([0, 1]), "path": rng.standard_normal((rows, 2))}
    return fit_of(rows, 1, parts, **more)


def test_a_memory_is_the_partial_regression_on_lagged_velocities():
    """2Δℓ, coefficients and covariances of the regression with them and without."""
    fit = linear_fit(np.random.default_rng(4))
    assert np.isnan(tone(fit))
    found = memory(fit, 3.0)
    columns = of_forces(fit) @ lagged_velocities(fit, 3.0)
    every = np.concatenate([fit.model.B, columns], axis=2)
    wide = augmented_filter(
        fit.model._replace(B=every), np.array([0.5]), np.array([0.2])
    )
    G, g = wide.information, wide.gradient
    joint, alone = np.linalg.solve(G, g), np.linalg.solve(G[:2, :2], g[:2])
    assert found.gain == pytest.approx(g @ joint - g[:2] @ alone, rel=1e-6)
    np.testing.assert_allclose(found.coefficients, joint[2:], rtol=1e-6)
    np.testing.assert_allclose(found.change, joint[:2] - alone, rtol=1e-5)
    more = np.linalg.inv(G)[:2, :2] - np.linalg.inv(G[:2, :2])
    np.testing.assert_allclose(found.widening.T @ found.widening, more, rtol=1e-5)
    schur = G[2:, 2:] - G[2:, :2] @ np.linalg.solve(G[:2, :2], G[:2, 2:])
    np.testing.assert_allclose(found.root.T @ found.root, schur, rtol=1e-6)
    assert found.dispersion == 1.0  # of white innovations
    lags = len(LAGS_OF_MEMORY)
    assert found.threshold == pytest.approx(lags * (np.log(400) + 2 * np.log(lags)))


def test_scores_that_are_left_are_those_of_the_joint_fit():
    """Of stretches, g_b − G_b δ with the δ at which their sum is zero."""
    fit = linear_fit(np.random.default_rng(5))
    innovations = fit.innovations
    size = np.sqrt(np.diag(innovations.information))
    left = _scores_left(innovations, size)
    delta = np.linalg.solve(innovations.information, innovations.gradient)
    moment = innovations.moment
    expected = (-moment[:, 0, 1:] - moment[:, 1:, 1:] @ delta) / size
    np.testing.assert_allclose(left, expected, atol=1e-10)
    np.testing.assert_allclose(left.sum(axis=0), 0.0, atol=1e-9)


@pytest.mark.parametrize(("offset", "seen"), [(0.5, True), (-0.5, True), (1.0, False)])
def test_a_line_is_within_half_an_ordinate(rng, offset, seen):
    time, width = DT * np.arange(2000), 1 / (2000 * DT)
    noise = rng.standard_normal((2000, 1))
    line = 2 * np.sin(2 * np.pi * 1.3 * time)[:, None]
    assert is_line([noise + line], DT, 1.3 + offset * width) == seen


def test_a_dispersion_is_that_of_scores_or_the_length_of_correlation(rng):
    """Of innovations that are not white; of white ones it is one."""
    count = 1200
    white = rng.standard_normal((count, 1))
    coloured = np.repeat(white[::4], 4, axis=0)[:count]
    moment = np.zeros((24, 1, 1))
    for e, is_white in ((white, True), (coloured, False)):
        innovations = Innovations(moment, 0.0, 0.0, count, e, np.ones_like(e))
        for size in (1e-3, 9.0):
            scores = size * rng.standard_normal((24, 3))
            rows, _ = of_stretches(innovations, scores)
            variance = (rows**2).sum() / 3
            length = innovations.correlation_length
            expected = 1.0 if is_white else max(variance, length)
            assert _dispersion(innovations, scores) == pytest.approx(expected)
            if not is_white:
                assert 2.5 < length < 6 and (variance > length) == (size == 9.0)
