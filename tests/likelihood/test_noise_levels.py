"""Noise levels by maximum likelihood, where it has a closed form."""

from types import SimpleNamespace

import numpy as np
import pytest

from leastaction.likelihood.augmented_kalman_filter import (
    LinearModel,
    augmented_filter,
)
from leastaction.likelihood.noise_levels import NoiseLevels, profiled, step_of, tuned


def quadratic(G, g):
    return SimpleNamespace(information=np.array(G), gradient=np.array(g))


@pytest.mark.parametrize("size", [1.0, 1e-9, 1e9])
def test_a_step_ends_at_the_maximum_whatever_the_units(size):
    G, g, D = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([2.0, -1.0]), [1.0, size]
    change, gain = step_of(quadratic(G * np.outer(D, D), g * D))
    np.testing.assert_allclose(change * D, np.linalg.solve(G, g))
    assert gain == pytest.approx(0.5 * g @ np.linalg.solve(G, g))


@pytest.mark.parametrize(
    ("G", "g", "change", "gain"),
    [
        (np.ones((2, 2)), [1.0, 1.0], [0.5, 0.5], 0.5),
        (np.diag([4.0, 0.0]), [2.0, 0.0], [0.5, 0.0], 0.5),
        (np.zeros((0, 0)), [], [], 0.0),
    ],
)
def test_directions_without_information_stay(G, g, change, gain):
    result = step_of(quadratic(G, g))
    np.testing.assert_allclose(result[0], change, atol=1e-12)
    assert result[1] == pytest.approx(gain)


def model_of(y, A, B=None):
    """A state that is measured: x_{k+1} = A x_k + B c + w, from zero."""
    n = len(y)
    B = np.zeros((n, 0)) if B is None else B
    return LinearModel(
        y[:, None],
        np.arange(n) == 0,
        np.zeros(n, dtype=int),
        np.full((n, 1, 1), A),
        np.ascontiguousarray(B[:, None, :]),
        np.zeros((n, 1)),
        np.ones((n, 1, 1, 1)),
        np.zeros(1),
        np.ones((n, 1)),
    )


def levels_of(process, sensor, least_process=1e-9, least_sensor=1e-9):
    values = (process, sensor, least_process, least_sensor)
    return NoiseLevels(*(np.array([float(x)]) for x in values))


def test_without_process_noise_it_is_a_regression(rng):
    columns = rng.standard_normal((400, 2))
    y = rng.standard_normal(400) * 0.3
    y[1:] += columns[:-1] @ [2.0, -1.0]
    X = np.vstack([np.zeros(2), columns[:-1]])
    rest = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    square = (rest**2).sum()
    model = model_of(y, 0.0, columns)
    for sensor in (0.2, 0.5):
        expected = -0.5 * (square / sensor**2 + 400 * np.log(sensor**2))
        value = profiled(model, levels_of(0.0, sensor))
        assert value == pytest.approx(expected)
    for begin in (0.3, 1e-4):
        levels = tuned(model, levels_of(1e-9, begin), fixed_process=True)
        assert levels.sensor[0] == pytest.approx(np.sqrt(square / 400), rel=2e-3)
        assert levels.process[0] == 1e-9


@pytest.mark.parametrize("begin", [(0.5, 1.0), (1e3, 1.0)])
def test_a_walk_and_its_sensor_have_their_noises(rng, begin):
    y = np.cumsum(0.5 * rng.standard_normal(4000)) + rng.standard_normal(4000)
    levels = tuned(model_of(y, 1.0), levels_of(*begin), (1.0, 1e-1, 1e-3))
    assert levels.process[0] == pytest.approx(0.5, rel=0.15)
    assert levels.sensor[0] == pytest.approx(1.0, rel=0.06)
    assert levels.is_free.all()
    here = profiled(model_of(y, 1.0), levels)
    for factor in (0.8, 1.25):
        for name in ("process", "sensor"):
            moved = levels._replace(**{name: factor * getattr(levels, name)})
            assert profiled(model_of(y, 1.0), moved) < here


def test_a_noise_that_is_not_there_ends_at_its_bound(rng):
    y = rng.standard_normal(500)
    levels = tuned(model_of(y, 1.0), levels_of(0.1, 1.0, 1e-3, 2.0), (1.0, 1e-2))
    assert levels.sensor[0] == pytest.approx(2.0)  # its bound is too large
    assert not levels.is_free.any()
    assert list(levels_of(1.0, 1.0, 1.0).is_free) == [False]
    assert list(levels_of(1.2, 1.0, 1.0).is_free) == [True]


@pytest.mark.parametrize("size", [1e200, np.inf])
@pytest.mark.parametrize("part", ["y", "A", "B"])
@pytest.mark.filterwarnings("error")
def test_a_filter_that_diverges_has_no_likelihood_and_warns_of_nothing(part, size):
    sizes = {"y": 1.0, "A": 1.0, "B": 0.0} | {part: size}
    y = np.arange(9.0)
    y[5:] *= sizes["y"]
    model = model_of(y, sizes["A"], np.full((9, 2), sizes["B"]))
    assert profiled(model, levels_of(1, 1)) == -np.inf
    levels = tuned(model, levels_of(1, 1), (1.0, 0.1))
    assert np.isfinite(levels.process) and np.isfinite(levels.sensor)


@pytest.mark.filterwarnings("error")
def test_a_coordinate_at_rest_has_no_noise():
    levels = tuned(model_of(np.zeros(9), 1.0), levels_of(0, 0.1, 0, 0), (1.0, 0.1))
    assert 0 <= levels.process[0] < 1e-12 and 0 <= levels.sensor[0] < 1e-12


@pytest.mark.parametrize(("left", "kept"), [(3e-11, True), (1e-11, False)])
def test_a_direction_counts_beyond_the_round_off_of_its_rows(left, kept):
    """An eigenvalue of 2e-11 of an information of two with a unit diagonal."""
    G = np.array([[1.0, 1 - left], [1 - left, 1.0]])
    change, gain = step_of(quadratic(G, [1e-6, -1e-6]))
    assert (change[0] > 1) == kept
    assert change[0] == pytest.approx(-change[1], rel=1e-3, abs=1e-9)
    assert gain == pytest.approx(1e-12 / left if kept else 0.0, rel=1e-2)


@pytest.mark.parametrize("beyond", [-1.5, 1.5, np.nan])
@pytest.mark.parametrize("size", [1.0, 1e3])
def test_a_correlation_is_none_or_one_at_most_whatever_the_round_off(beyond, size):
    """Of one there is one direction, of NaN there are both."""
    sign = -1.0 if beyond < 0 else 1.0
    unit = np.array([size, 1.0])
    G = np.array([[1.0, beyond], [beyond, 1.0]]) * np.outer(unit, unit)
    change, gain = step_of(quadratic(G, unit * [1.0, sign]))
    part = 1.0 if np.isnan(beyond) else 0.5
    np.testing.assert_allclose(change * unit, [part, part * sign])
    assert gain == pytest.approx(part)


@pytest.mark.parametrize("starts", [(), (1e-4,), (1.0, 1e-4)])
def test_the_best_of_several_starts_is_searched_from(monkeypatch, rng, starts):
    """Each start is scaled by the rms of its innovations."""
    y = np.cumsum(rng.standard_normal(200))
    model, begun = model_of(y, 1.0), []
    result = SimpleNamespace(x=np.log([2.0, 3.0]))

    def search(cost, begin, method, bounds, options):
        begun.append((begin, bounds, options, cost(begin)))
        assert method == "L-BFGS-B"
        return result

    monkeypatch.setattr("scipy.optimize.minimize", search)
    levels = levels_of(0.01, 3.0, 1e-9, 1e-6)
    final = tuned(model, levels, starts)
    assert final.process == pytest.approx([2.0])
    assert final.sensor == pytest.approx([3.0])
    ((begin, bounds, options, cost),) = begun
    values = []
    for factor in (1.0, *starts):
        moved = levels_of(max(0.01 * factor, 1e-9), 3.0)
        filtered = augmented_filter(model, moved.process, moved.sensor)
        size = np.sqrt(filtered.moment[0, 0, 0] / 200)
        scaled = levels_of(size * moved.process[0], size * 3.0)
        values.append((profiled(model, scaled), size * moved.process[0], size * 3.0))
    value, *best = max(values)
    np.testing.assert_allclose(np.exp(begin), best)
    assert cost == pytest.approx(-value)
    low = np.log([1e-9, 1e-6])
    np.testing.assert_allclose([pair[0] for pair in bounds], low)
    high = np.maximum(low, begin) + 12.0
    np.testing.assert_allclose([pair[1] for pair in bounds], high)
    assert options["ftol"] == pytest.approx(1e-2 / max(abs(cost), 1.0))
    assert (options["eps"], options["maxiter"]) == (1e-3, 40)


def test_a_start_below_a_bound_begins_there(monkeypatch, rng):
    begun = []

    def search(cost, begin, **_):
        begun.append(np.exp(begin))
        return SimpleNamespace(x=begin)

    monkeypatch.setattr("scipy.optimize.minimize", search)
    model = model_of(rng.standard_normal(50), 0.0)
    tuned(model, levels_of(1e-3, 1.0, 0.5, 7.0), (1e-3,))
    np.testing.assert_allclose(begun, [[0.5, 7.0]])
    fixed = tuned(model, levels_of(1e-3, 1.0, 0.5, 7.0), (), fixed_process=True)
    assert fixed.sensor == pytest.approx([7.0]) and len(begun[-1]) == 1
