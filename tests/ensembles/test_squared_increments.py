"""Volatility from squared increments: a constant if it is one, its law if it is not."""

from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
import xarray as xr
from support import OSCILLATOR_LIBRARY, observe, oscillator, recommended

from leastaction.core.expressions import symbol
from leastaction.ensembles import squared_increments as method


def chosen(volatility):
    return {
        term: c
        for term, c in zip(volatility.terms, volatility.coefficients[0], strict=True)
        if c != 0
    }


def test_additive_noise_is_a_constant(replicated):
    """Twelve candidates, many of which imitate a constant on one energy shell."""
    first = replicated[:12]
    constant = [bool(one.volatility.constant[0]) for one in first]
    assert sum(constant) >= 11
    for one in first:
        if one.volatility.constant[0]:
            assert chosen(one.volatility) == pytest.approx({"1": 1.0}, abs=0.04)


def test_multiplicative_noise_gives_its_law():
    """S = 1 + 4x, S² = 1 + 8x + 16x²; here without sin x, which is too like x."""
    start = {"x": 0.5}
    truth = oscillator(volatility="1 + 4*x")
    cubic = [{"polynomial": {"of": ["x", "xdot"], "degree": 3}}]
    found = recommended(
        observe(truth, trajectories=40, steps=1000, start=start),
        {**OSCILLATOR_LIBRARY, "volatility": cubic},
    ).volatility
    assert not found.constant[0]
    assert chosen(found) == pytest.approx({"1": 1.0, "x": 8.0, "x**2": 16.0}, rel=0.12)


def test_volatility_of_the_velocity_gives_its_law():
    truth = oscillator(volatility="sqrt(1 + 0.25*xdot**2)")
    found = recommended(
        observe(truth, trajectories=40, steps=2000), OSCILLATOR_LIBRARY
    ).volatility
    assert chosen(found) == pytest.approx({"1": 1.0, "xdot**2": 0.25}, rel=0.15)


def test_the_standard_error_is_that_of_a_variance(replicated):
    """σ̂ scatters by σ/√2N over replicates."""
    sigma = np.array([one.volatility.volatility[0] for one in replicated])
    error = np.array([one.volatility.std[0] for one in replicated])
    assert error == pytest.approx(1 / np.sqrt(2 * 40_000), rel=0.05)
    assert 0.65 < (sigma - 1.0).std() / error.mean() < 1.4
    assert abs(sigma.mean() - 1.0) < 4 * error.mean() / np.sqrt(sigma.size)


STEP, PATHS, SAMPLES = 0.02, 2, 30
LAW = {
    "reference": "xdot**2/2",
    "lagrangian": [{"terms": ["xdot**2", "x**2", "x**4"]}],
    "dissipation": [{"terms": ["xdot**2"]}],
    "volatility": [{"terms": ["1", "x**2"]}],
}
COEFFICIENTS = np.array([0.5, -1.5, 0.0, 0.1])


def by_numpy(functions, coordinates, parameters=()):
    """Evaluator of expressions without a compiler."""
    names = [*coordinates, *(f"{x}dot" for x in coordinates), *parameters]
    of = [sp.lambdify([symbol(n) for n in names], f) for f in functions]

    def evaluate(q, qdot, values=()):
        state = [*q.T, *qdot.T, *values]
        return np.stack([f(*state) + 0 * q[:, 0] for f in of], axis=-1)

    return evaluate


@pytest.fixture
def uncompiled(monkeypatch):
    monkeypatch.setattr(method, "evaluator", by_numpy)


def noisy(rng, paths=PATHS, samples=SAMPLES):
    q, v = 0.1 * rng.standard_normal((2, paths, samples, 1)).cumsum(axis=2)
    return q + 1.0, v


def increments(q, v, dt=STEP):
    """p = v, f = −3 x − 0.2 v of L = v²/2 − 3 x²/2 and D = v²/10, f' = ∂f/∂x v."""
    f, rate = -3 * q - 0.2 * v, -3 * v
    left = np.diff(v, axis=1) - dt / 2 * (f[:, 1:] + f[:, :-1])
    return left + dt**2 / 12 * np.diff(rate, axis=1)


def test_increments_without_the_drift_are_those_of_all_steps_in_pieces(
    uncompiled, monkeypatch, rng
):
    q, v = noisy(rng)
    one = method.Residual(LAW, ["x"], [0, 1, 3])
    expected = increments(q, v)
    found = one.increments(q[0], v[0], STEP, COEFFICIENTS)
    np.testing.assert_allclose(found, expected[0], atol=1e-12)
    for size in (7, 1000):
        monkeypatch.setattr(method, "INCREMENTS_PER_BATCH", size)
        for first in (0, 1):
            pieces = [*one.windows(q, v, STEP, COEFFICIENTS, first)]
            r = np.concatenate([piece[2] for piece in pieces])
            np.testing.assert_allclose(r, expected[:, first:].reshape(-1, 1))
            for x, rate, part in pieces:
                assert len(x) == len(rate) == len(part) + 1 + first
    every = method.Residual(LAW, ["x"])
    more = every.increments(q[0], v[0], STEP, COEFFICIENTS + [0, 0, 0.3, 0])
    assert not np.allclose(more, found)
    np.testing.assert_allclose(
        one.increments(q[0], v[0], STEP, COEFFICIENTS + [0, 0, 0.3, 0]), found
    )


def test_a_central_residual_of_a_motion_is_small_to_second_order(uncompiled):
    """Of ẍ = −3 x; and L = v²/2 − 3 x²/2."""
    one = method.Residual(LAW, ["x"], [0, 1])
    errors = []
    for dt in (0.02, 0.01):
        t = np.arange(0, 1.001, dt)[:, None]
        q, v = np.cos(3**0.5 * t), -(3**0.5) * np.sin(3**0.5 * t)
        residual, value = one.central(q, v, dt, COEFFICIENTS)
        np.testing.assert_allclose(value, (v**2 / 2 - 1.5 * q**2)[1:-1, 0])
        errors.append(np.abs(residual).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.02)
    assert errors[1] < 1e-3


def observed(q, v):
    dims = ("replicate", "trajectory", "time", "dof")
    return xr.Dataset(
        {"q": (dims, q[None]), "qdot": (dims, v[None])},
        {"time": STEP * np.arange(q.shape[1]), "dof": ["x"], "replicate": [0]},
    )


@pytest.mark.parametrize("few", [10, 10**6])
@pytest.mark.parametrize("law", ["none", "constant", "state"])
def test_whether_a_square_is_constant_is_decided_on_samples_evenly_spaced(
    uncompiled, monkeypatch, rng, few, law
):
    q, v = noisy(rng)
    r = increments(q, v)[..., 0]
    seen, later = [], []

    def select(gram, most, samples):
        seen.append((gram, most, samples))
        chosen = {"none": [0.0, 0.0], "constant": [9.0, 0.0], "state": [9.0, 1.0]}
        return np.array(chosen[law]), np.eye(2)

    def fit(averaged, terms, most):
        later.extend(averaged())
        return method.variance_function.interpret(
            np.array([4.0, 2.0]), np.eye(2), terms
        )

    monkeypatch.setattr(method.variance_function, "SAMPLES_TO_SEE_A_LAW", few)
    monkeypatch.setattr(method.variance_function, "select", select)
    monkeypatch.setattr(method.variance_function, "fit", fit)
    estimate = SimpleNamespace(joint_coefficients=COEFFICIENTS)
    found = method.identify(observed(q, v), estimate, {"max_terms": 2}, LAW)
    sparse = 5 if few == 10 else 1  # of 58 increments
    x, square = q[:, :-1:sparse, 0], r[:, ::sparse] ** 2 / STEP
    rows = np.stack([x**0, x**2, square], axis=-1).reshape(-1, 3)
    ((gram, most, samples),) = seen
    np.testing.assert_allclose(gram, rows.T @ rows)
    assert (most, samples) == (2, len(rows))
    variance, count = np.mean(r**2) / STEP, r.size
    np.testing.assert_allclose(found.covariance, [[variance]])
    np.testing.assert_allclose(found.volatility, [variance**0.5])
    np.testing.assert_allclose(found.std, [(variance / 2 / count) ** 0.5])
    assert found.terms == ["1", "x**2"] and found.constant == [law != "state"]
    expected = {"none": [0, 0], "constant": [variance, 0], "state": [4.0, 2.0]}[law]
    np.testing.assert_allclose(found.coefficients, [expected])
    if law == "constant":
        root = variance**0.5
        np.testing.assert_allclose(found.root, [[root, 0]])
        np.testing.assert_allclose(found.root_std, [[root / (2 * count) ** 0.5, 0]])
        error = variance * (2 / count) ** 0.5
        np.testing.assert_allclose(found.coefficient_std, [[error, 0]])
    if law != "state":
        assert not later
        return
    squares = np.concatenate([s for _, s in later])
    np.testing.assert_allclose(squares, r[:, 1:].ravel() ** 2 / STEP)
    averages = np.concatenate([a for a, _ in later])
    np.testing.assert_allclose(averages[:, 0], 1.0)
    ends = np.sort([q[:, 1:-1, 0].ravel() ** 2, q[:, 2:, 0].ravel() ** 2], axis=0)
    assert (np.abs(averages[:, 1] - ends.mean(axis=0)) < 0.4).all()


@pytest.mark.parametrize(
    ("slope", "constant", "square", "warned"),
    [
        (0.059, 2.0, True, False),
        (0.061, 2.0, True, True),
        (0.061, -2.0, True, True),
        (0.061, 2.0, False, False),
        (0.061, 0.0, True, False),
    ],
)
def test_a_volatility_that_changes_within_a_step_is_told(
    monkeypatch, caplog, slope, constant, square, warned
):
    """By three hundredths of its constant part; changes to and fro are noise."""
    x = np.arange(50.0)[:, None]
    root = np.array([constant, slope])
    law = SimpleNamespace(is_square=square, root=root)
    monkeypatch.setattr(method.variance_function, "fit", lambda *_: law)
    terms = [sp.Integer(1), symbol("x")]

    def told(q):
        caplog.clear()
        how = (lambda q, v: np.hstack([q**0, q])), terms, 2, (q, q)
        assert method._state_dependent(lambda: [], *how, "x") is law
        return "the volatility of x changes by 0.03" in caplog.text

    assert told(x) == warned
    assert not told(x % 2)
