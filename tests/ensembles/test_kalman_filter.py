"""Exact steps of linear systems against closed forms."""

import numpy as np
import pytest
import sympy as sp
from scipy.linalg import expm
from scipy.stats import multivariate_normal

from leastaction.core.euler_lagrange import symbols
from leastaction.core.expressions import symbol
from leastaction.core.library import Library
from leastaction.core.system import System
from leastaction.ensembles.kalman_filter import (
    ACCELERATION,
    COEFFICIENT,
    SETTLED,
    SLOPE,
    WIDTH,
    _of_covariance,
    _smooth,
    derivatives,
    discretised,
    response,
    run,
    stationary,
)


@pytest.mark.parametrize("rate", [0.1, 3.0, 400.0])
def test_a_decay_of_any_rate_has_its_variance(rate):
    """dx = −a x dt + σ dW over dt: e^(−a dt), σ² (1 − e^(−2 a dt))/2a."""
    dt, A, Q = 0.5, *discretised(np.array([[-rate]]), np.array([[4.0]]), 0.5)
    assert A[0, 0] == pytest.approx(np.exp(-rate * dt), rel=1e-9)
    assert Q[0, 0] == pytest.approx(-2 * np.expm1(-2 * rate * dt) / rate)
    assert stationary(A, Q)[0, 0] == pytest.approx(2 / rate)


def test_a_stiff_step_is_as_exact_as_a_soft_one():
    rates = np.array([[0.0, 1.0], [-4.0, -900.0]])
    noise = np.diag([0.0, 2.0])
    A, Q = discretised(rates, noise, 0.1)
    assert pytest.approx(expm(0.1 * rates), abs=1e-12) == A
    P = stationary(A, Q)
    assert rates @ P + P @ rates.T + noise == pytest.approx(0, abs=1e-9)


def test_forces_that_are_linear_over_a_step():
    """ẍ = w0 + (w1 − w0) t/h from rest: h (w0/3 + w1/6) h, h (w0 + w1)/2."""
    h = 0.3
    begin, end = response(np.array([[0.0, 1.0], [0.0, 0.0]]), h)
    assert begin[:, 1] == pytest.approx([h**2 / 3, h / 2])
    assert end[:, 1] == pytest.approx([h**2 / 6, h / 2])


def test_what_is_not_stable_has_no_stationary_covariance():
    one = np.ones((1, 1))
    assert stationary(1.01 * one, one) is None
    assert stationary(one, one) is None
    assert stationary(np.nan * one, one) is None
    assert stationary(0.5 * one, 3 * one)[0, 0] == pytest.approx(4.0)


def filtered(y, a=0.9, q=0.5, r=0.2, drive=0.0, offset=0.0, P=1.0):
    e, V = np.empty_like(y), np.empty_like(y)
    one = np.ones((1, 1))
    moved = a * one, q * one, drive * one
    sensor = one, offset * one, np.array([r])
    finite = run(y, *moved, *sensor, np.zeros(1), P * one, e, V)
    return finite, e[:, 0], V[:, 0]


def test_a_scalar_filter_settles_at_the_riccati_equation():
    """P = a² P r/(P + r) + q; a gap makes variances grow again."""
    y = np.random.default_rng(0).standard_normal((120, 1))
    y[60] = np.nan
    finite, e, V = filtered(y)
    P = V[59] - 0.2
    assert finite
    assert pytest.approx(0.81 * P * 0.2 / (P + 0.2) + 0.5, rel=SETTLED * 10) == P
    assert (e[60], V[60]) == (0, 1)
    after = 0.81 * (0.81 * P * 0.2 / (P + 0.2) + 0.5) + 0.5
    assert V[61] == pytest.approx(after + 0.2)
    assert V[119] == pytest.approx(V[59])
    x, p = 0.0, 1.0
    for k in range(50):
        assert (e[k], V[k]) == pytest.approx((y[k, 0] - x, p + 0.2))
        x = 0.9 * (x + p / (p + 0.2) * e[k])
        p = 0.81 * p * 0.2 / (p + 0.2) + 0.5


def test_constant_forces_and_offsets_are_followed():
    """x⁺ = a x + d ends at d/(1 − a); the sensor adds its offset."""
    y = np.full((400, 1), 0.3 / 0.1 + 5.0)
    finite, e, _ = filtered(y, drive=0.3, offset=5.0)
    assert finite and abs(e[-1]) < 1e-9
    assert not filtered(np.full((3, 1), 1e200))[0]
    assert not filtered(y[:3], r=-9.0)[0]


def test_smoothed_signs_have_slopes_and_their_limits():
    v, width = sp.symbols("v width", real=True)
    sign, size = (_smooth(of(v), width) for of in (sp.sign, sp.Abs))
    for speed in (-30.0, 20.0):
        at = {v: speed, width: 0.01}
        assert float(sign.subs(at)) == pytest.approx(np.sign(speed), abs=1e-6)
        assert float(size.subs(at)) == pytest.approx(abs(speed), abs=1e-5)
    assert float(sp.diff(sign, v).subs({v: 0.0, width: 0.5})) == pytest.approx(2.0)


def test_innovations_of_several_sensors_have_the_density_of_all_samples(rng):
    """That of one normal vector of all that is measured; gaps are left out."""
    n, channels, steps = 3, 2, 30
    A, C = 0.4 * rng.standard_normal((n, n)), rng.standard_normal((channels, n))
    root = rng.standard_normal((n, n))
    Q, noise, P = root @ root.T, np.array([0.3, 0.7]), np.diag([2.0, 1.0, 3.0])
    drive, offset = rng.standard_normal((4, n)), rng.standard_normal((3, channels))
    start = rng.standard_normal(n)
    mean, variance = [start], [P]
    cross = {(0, 0): P}
    for k in range(1, steps):
        mean.append(A @ mean[-1] + drive[min(k - 1, 3)])
        variance.append(A @ variance[-1] @ A.T + Q)
        for j in range(k):
            cross[k, j] = A @ cross[k - 1, j]
        cross[k, k] = variance[k]
    whole = np.zeros((steps, channels, steps, channels))
    for (k, j), block in cross.items():
        whole[k, :, j] = C @ block @ C.T
        whole[j, :, k] = whole[k, :, j].T
        if k == j:
            whole[k, :, k] += np.diag(noise)
    at = np.array([C @ m + offset[min(k, 2)] for k, m in enumerate(mean)])
    size = steps * channels
    whole = whole.reshape(size, size)
    y = rng.multivariate_normal(at.ravel(), whole).reshape(steps, channels)
    y[5, 1] = y[9] = np.nan
    e, V = np.empty_like(y), np.empty_like(y)
    assert run(y, A, Q, drive, C, offset, noise, start.copy(), P.copy(), e, V)
    present = np.flatnonzero(np.isfinite(y.ravel()))
    expected = multivariate_normal(
        at.ravel()[present], whole[np.ix_(present, present)]
    ).logpdf(y.ravel()[present])
    value = -0.5 * np.sum(e**2 / V + np.log(V)) - 0.5 * len(present) * np.log(2 * np.pi)
    assert value == pytest.approx(expected, rel=1e-9)


def test_what_is_not_finite_has_no_covariance_and_a_growing_state_is_exact():
    """A pole at +a: e^(a dt), and a variance σ² (e^(2 a dt) − 1)/2a."""
    A, Q = discretised(np.array([[2.0]]), np.array([[3.0]]), 0.5)
    assert A[0, 0] == pytest.approx(np.exp(1.0))
    assert Q[0, 0] == pytest.approx(3 * np.expm1(2.0) / 4)
    A, Q = discretised(np.array([[np.nan]]), np.array([[3.0]]), 0.5)
    assert not np.isfinite(A).any() and stationary(A, Q) is None


def test_equations_of_the_filter_are_the_motion_its_slopes_and_curvature(rng):
    """M⁻¹F, its derivatives by the state, ½ Σ f_ab P_ab, by algebra of the system."""
    coordinates = ("a", "b")
    config = {
        "reference": "adot**2/2",
        "lagrangian": [
            {"terms": ["adot**2", "bdot**2", "adot*bdot*cos(a - b)", "cos(a)", "b**4"]}
        ],
        "dissipation": [{"terms": ["adot**2", "abs(bdot)"]}],
    }
    library = Library.from_config(config, coordinates)
    c, width = [0.9, 0.6, 0.4, 2.0, -0.3, 0.05, 0.02], 0.1
    lagrangian = sum(x * t for x, t in zip(c, library.terms, strict=False))
    loss = c[5] * library.dissipation[0] + c[6] * sp.sqrt(symbol("bdot") ** 2 + 0.01)
    truth = System(lagrangian, {}, coordinates, dissipation=loss)
    state = symbols(library.variables)
    x = rng.uniform(0.2, 0.9, 4)
    P = np.cov(rng.standard_normal((4, 9)))
    at = dict(zip(state, x, strict=True))
    f = truth.mass_matrix.LUsolve(truth.forces)
    numbers = [np.array(m.subs(at), dtype=float) for m in (f, f.jacobian(state))]
    hessian = [[f.diff(s).diff(t).subs(at) for t in state] for s in state]
    second = np.array(hessian, dtype=float)[..., 0]
    values = at | {symbol(WIDTH): width}
    values |= {symbol(COEFFICIENT.format(i)): x for i, x in enumerate(c)}
    values |= {symbol(ACCELERATION.format(a)): numbers[0][a, 0] for a in range(2)}
    values |= {
        symbol(SLOPE.format(a, s)): numbers[1][a, s] for a in range(2) for s in range(4)
    }
    values |= {_of_covariance(s, t): P[s, t] for s in range(4) for t in range(4)}
    balance, slopes, curvature = (
        np.array([sp.sympify(e).subs(values) for e in part], dtype=float)
        for part in derivatives(library)
    )
    M, F = balance[:4].reshape(2, 2), balance[4:]
    np.testing.assert_allclose(np.linalg.solve(M, F), numbers[0][:, 0])
    np.testing.assert_allclose(np.linalg.solve(M, slopes.reshape(2, 4)), numbers[1])
    expected = np.einsum("sta,st->a", second, P) / 2
    np.testing.assert_allclose(np.linalg.solve(M, curvature), expected)
