"""The linear model about a path: noise, reversals, rows; against closed forms."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.linalg import expm

from leastaction.likelihood.measured_motion import (
    MOST_STEPS_OF_REVERSAL,
    START_VARIANCE,
    MeasuredMotion,
    smoothness_model,
)

DT = 0.1


@dataclass
class Linear:
    """M q̈ = −K q with the exact flow of a row; what it is calls for is noted."""

    mass: np.ndarray
    stiffness: np.ndarray
    width: float = 0.1
    calls: list = field(default_factory=list)
    light: int = -1  # row with a negative mass

    def flow(self, path, c, active, dt, steps, force, rows):
        n = len(self.mass)
        self.calls.append((steps, force, rows))
        inverse = np.linalg.inv(self.mass)
        F = np.block(
            [[np.zeros((n, n)), np.eye(n)], [-inverse @ self.stiffness, 0 * inverse]]
        )
        A = expm(F * dt)
        by_all = np.zeros((len(path), 2 * n, 2 * n + len(active)))
        by_all[:, :, : 2 * n] = A
        by_all[:, :, 2 * n :] = np.arange(1, len(active) + 1)
        mobility = np.tile(inverse, (len(path), 1, 1))
        if self.light >= 0:
            mobility[self.light] *= -1
        return path @ A.T, by_all, mobility


def motion_of(path, parts=None, equations=None, **about):
    n = path.shape[1] // 2
    equations = equations or Linear(np.eye(n), np.zeros((n, n)))
    parts = parts or [slice(0, len(path))]
    return MeasuredMotion(equations, path[:, :n].copy(), parts, DT, **about)


@pytest.mark.parametrize(
    ("mass", "stiffness", "tolerance"),
    [
        ([[2.0]], [[0.0]], 1e-12),
        ([[2.0, 0.5], [0.5, 1.0]], np.zeros((2, 2)), 1e-12),
        ([[2.0, 0.5], [0.5, 1.0]], [[3.0, -1.0], [-1.0, 2.0]], 2e-4),
    ],
)
def test_the_noise_of_a_white_force_is_that_of_the_exact_integral(
    mass, stiffness, tolerance
):
    one = Linear(np.array(mass), np.array(stiffness))
    n = len(mass)
    model, share = motion_of(np.zeros((4, 2 * n)), equations=one).linearised(
        np.zeros((4, 2 * n)), np.zeros(1), np.arange(1)
    )
    assert share == 0.0 and (model.relative_R == 1).all()
    inverse = np.linalg.inv(one.mass)
    F = np.block(
        [[np.zeros((n, n)), np.eye(n)], [-inverse @ one.stiffness, 0 * inverse]]
    )
    for i in range(n):
        G = np.concatenate([np.zeros(n), inverse[:, i]])
        # Van Loan 1978
        block = np.block([[-F, np.outer(G, G)], [np.zeros((2 * n, 2 * n)), F.T]])
        E = expm(block * DT)
        expected = E[2 * n :, 2 * n :].T @ E[: 2 * n, 2 * n :]
        size = np.abs(expected).max()
        np.testing.assert_allclose(model.Q[0, i], expected, atol=tolerance * size)
    assert model.Q.shape == (4, n, 2 * n, 2 * n)


def test_rows_of_several_trajectories_stay_apart():
    rng = np.random.default_rng(0)
    path = rng.standard_normal((6, 2))
    y = path[:, :1] + 0.1
    parts = [slice(0, 2), slice(2, 6)]
    equations = Linear(np.eye(1), np.zeros((1, 1)))
    force = np.ones(3)
    one = MeasuredMotion(
        equations, y, parts, DT, 2, lambda steps: steps * force, relative_R=3.0
    )
    assert one.dof == 1
    assert list(one.begin) == [True, False, True, False, False, False]
    assert list(one.block) == [0, 4, 8, 12, 16, 20]
    model, _ = one.linearised(path, np.zeros(2), np.arange(2))
    np.testing.assert_allclose(model.y, np.full((6, 1), 0.1))
    np.testing.assert_array_equal(model.relative_R, np.full((6, 1), 3.0))
    A = np.array([[1.0, DT], [0.0, 1.0]])
    last = [False, True, False, False, False, True]
    for k in range(6):
        if last[k]:
            assert not model.d[k].any()
            continue
        np.testing.assert_allclose(model.A[k], A)
        np.testing.assert_allclose(model.d[k], A @ path[k] - path[k + 1])
        np.testing.assert_array_equal(model.B[k], [[1.0, 2.0], [1.0, 2.0]])
    np.testing.assert_allclose(model.P0, START_VARIANCE * path.std(axis=0) ** 2)
    ((steps, nodes, rows),) = equations.calls
    assert steps == 2 and np.array_equal(nodes, 2 * force)
    assert list(rows) == [0, 1, 2, 3, 4, 4]


V = [1.0, 0.3, -0.3, -1.0]


@pytest.mark.parametrize(
    ("width", "rows", "steps"),
    [(0.1, [1], 16), (0.4, [0, 1, 2], 4), (1.3, [], None), (1e-4, [1], None)],
)
@pytest.mark.parametrize("relative", [False, True])
def test_where_friction_turns_the_integrator_takes_more_steps(
    width, rows, steps, relative
):
    """Two in its width: of a velocity, or of the difference of two."""
    v = np.array(V)
    rates = np.c_[5 + v, np.full(4, 5.0)] if relative else np.c_[v, np.full(4, 50.0)]
    path = np.hstack([np.zeros((4, 2)), rates])
    equations = Linear(np.eye(2), np.zeros((2, 2)), width)
    one = motion_of(path, equations=equations, dry=(1,), force=lambda n: np.array(n))
    one.linearised(path, np.array([0.0, 0.5]), np.arange(0))
    steps = MOST_STEPS_OF_REVERSAL if rows and steps is None else steps
    finer = [(n, list(r)) for n, force, r in equations.calls[1:] if force == n]
    assert finer == ([(steps, rows)] if rows else [])
    equations.calls.clear()
    one.linearised(path, np.array([0.5, 0.0]), np.arange(0))  # no dry friction
    assert len(equations.calls) == 1
    wider = one.with_width(9.0)
    assert wider.equations.width == 9.0 and one.equations.width == width


@pytest.mark.parametrize(
    ("rows", "light", "share"), [(4, 1, 0.25), (200, 7, 0.005), (4, -1, 0.0)]
)
def test_a_mass_matrix_may_be_indefinite_in_few_rows(rows, light, share):
    path = np.ones((rows, 2))
    equations = Linear(np.eye(1), np.zeros((1, 1)), light=light)
    one = motion_of(path, equations=equations)
    assert one.linearised(path, np.zeros(1), np.arange(0))[1] == pytest.approx(share)
    assert one.is_definite(path, np.zeros(1)) == (share < 0.01)
    equations.mass = np.array([[1e-320]])  # nothing moves it by a finite amount
    with np.errstate(all="ignore"):
        assert not one.is_definite(path, np.zeros(1))


def test_a_jerk_that_is_white_noise_is_so_over_two_rows_as_over_one():
    y = np.array([1.0, 2.0, np.nan, 4.0, 3.0, 3.5])
    begin = np.arange(6) == 0
    once, twice = (smoothness_model(y, begin, dt) for dt in (DT, 2 * DT))
    A, Q = once.A[0], once.Q[0, 0]
    np.testing.assert_allclose(A @ A, twice.A[0])
    np.testing.assert_allclose(A @ Q @ A.T + Q, twice.Q[0, 0])
    np.testing.assert_allclose(once.y[:, 0], y - 2.7)
    # The range, the largest rate, and what it changes by in a row.
    sizes = [3.0, 20.0, 2 * 20.0 / DT + 3.0]
    np.testing.assert_allclose(once.P0, START_VARIANCE * np.square(sizes))
    still = smoothness_model(np.ones(4), np.arange(4) == 0, DT)
    assert (still.P0 >= 0).all() and np.isfinite(still.P0).all()
    for part in (once.d, once.B, once.block):
        assert not part.any()
    assert (once.relative_R == 1).all()


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("fast", [True, False])
def test_a_start_without_a_law_is_free_in_any_unit(unit, fast):
    """Variances ten times those of the size, rate and acceleration of the samples."""
    y = np.array([0.0, 1.0, 0.5, np.nan, 2.0]) if fast else np.full(5, 3.0)
    y, dt, begin = unit * y, 0.1, np.arange(5) == 0
    made = smoothness_model(y, begin, dt)
    known = y[np.isfinite(y)]
    size, rate = np.ptp(known), np.abs(np.diff(known)).max() / dt
    sizes = [size, max(rate, size / (5 * dt)), 2 * rate / dt + size]
    expected = 10 * np.maximum(sizes, 1e-300 if fast else 0) ** 2
    np.testing.assert_allclose(made.P0, expected, rtol=1e-12, atol=0)
    np.testing.assert_allclose(made.y[:, 0], y - known.mean())
    assert made.begin is begin and not made.block.any() and made.block.shape == (5,)
    assert made.B.shape == (5, 3, 0)
    np.testing.assert_array_equal(made.d, np.zeros((5, 3)))
    np.testing.assert_array_equal(made.relative_R, np.ones((5, 1)))
    assert made.A.shape == (5, 3, 3) and made.Q.shape == (5, 1, 3, 3)


@pytest.mark.parametrize("size", [1e200, np.inf, np.nan])
@pytest.mark.parametrize("of", ["path", "flow"])
@pytest.mark.filterwarnings("error")
def test_a_motion_that_escapes_is_not_definite_and_warns_of_nothing(of, size):
    equations, path = Linear(np.eye(1), np.zeros((1, 1))), np.ones((5, 2))
    exact = equations.flow

    def escaping(*given):
        values = [value.copy() for value in exact(*given)]
        for value in values:
            value[1] = size
        return values

    if of == "path":
        path[2] = size
    else:
        equations.flow = escaping
    model, share = motion_of(path, equations=equations).linearised(
        path, np.zeros(1), np.arange(1)
    )
    assert np.isfinite(model.A[3]).all() and share == (of == "flow") * (
        0.0 if size == 1e200 else 1.0
    )
