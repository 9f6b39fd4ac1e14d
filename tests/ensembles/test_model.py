"""The identified model: what is printed, simulated and read back."""

import numpy as np
import pytest
import sympy as sp
from support import (
    OSCILLATOR_LIBRARY,
    model_of,
    observe,
    oscillator,
    recommended,
    system,
)

from leastaction import IdentifiedModel, load
from leastaction.core.contracts import ContractError
from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.files import save
from leastaction.core.model import rounded
from leastaction.ensembles.strong_taylor import integrator


@pytest.fixture(scope="module")
def path(tmp_path_factory, observations):
    target = tmp_path_factory.mktemp("model") / "model.nc"
    save(recommended(observations, OSCILLATOR_LIBRARY).model, target, "model")
    return target


@pytest.fixture(scope="module")
def pair():
    """Observations of two degrees of freedom, for their names only."""
    truth = system("adot**2/2 + bdot**2/2", ("a", "b"))
    return observe(truth, trajectories=1, steps=3)


def test_a_file_alone_gives_the_model_back(path):
    model = load(path)
    assert model.coordinates == ("x",)
    assert set(model.support) == {"x**2", "xdot**2"}
    assert model.coefficient("xdot**2") == 0.5
    assert model.standard_error("xdot**2") == 0.0
    assert abs(model.coefficient("x**2") + 12.5) < 4.5 * model.standard_error("x**2")
    assert model.coefficient("x**4") == 0.0


def test_it_prints_its_lagrangian_with_errors_and_the_laws(path):
    model = load(path)
    text = str(model)
    width = NORMAL_QUANTILE * model.standard_error("x**2")
    shown = " ± ".join(rounded(model.coefficient("x**2"), width))
    assert f"{shown}  x**2" in text
    assert "0.5 (fixed)  xdot**2" in text
    for title in ("Lagrangian", "Volatility", "Equations of motion", "Hamiltonian"):
        assert title in text
    assert "cannot tell" not in text


@pytest.mark.parametrize(
    ("trusted", "said"),
    [
        (1.0, "The fit passes its own tests (jump 0.8)"),
        (0.0, "The fit is NOT to be trusted: it fails its own tests (jump 0.8)"),
    ],
)
def test_an_estimate_reports_whether_it_is_reliable(observations, trusted, said):
    data = model_of(observations, {"xdot**2": 0.5, "x**2": -1.0}, [[1.0]])
    assert "own tests" not in str(IdentifiedModel(data.isel(replicate=0)))
    data = data.assign(trusted=("replicate", [trusted]), jump=("replicate", [0.8]))
    assert said in str(IdentifiedModel(data.isel(replicate=0)))


def test_alternatives_are_listed(observations):
    data = model_of(observations, {"xdot**2": 0.5, "x**2": -1.0}, [[1.0]])
    data["alternatives"].values[0] = "cos(x)"
    assert "cannot distinguish these terms from: cos(x)" in str(
        IdentifiedModel(data.isel(replicate=0))
    )


def test_its_system_has_the_law_of_its_coefficients(path):
    model = load(path)
    x, v = model.system.state
    acceleration = model.system.evaluated(model.system.acceleration[0])
    assert sp.simplify(acceleration - 2 * model.coefficient("x**2") * x) == 0
    energy = model.system.evaluated(model.system.hamiltonian)
    expected = v**2 / 2 - model.coefficient("x**2") * x**2
    assert sp.simplify(energy - expected) == 0


def test_it_simulates_like_the_truth_it_came_from(path, rng):
    normals = rng.standard_normal((2, 2000, 1))
    start = np.array([1.0, 0.0])
    found, true = (
        integrator(s)(start, normals, 1e-3) for s in (load(path).system, oscillator())
    )
    assert np.abs(found - true).max() < 0.1 * np.abs(true).max()


def model(pair, *arguments, **keywords):
    return IdentifiedModel(model_of(pair, *arguments, **keywords).isel(replicate=0))


FREE = {"adot**2": 0.5, "bdot**2": 0.5}


@pytest.mark.parametrize(
    "s",
    [
        [[1.0, 0.0], [0.6, 0.8]],
        [[2.0, 0.0], [0.0, 0.5]],
        [[1.0, 0.0], [1.0, 0.0]],
        [[0.0, 0.0], [0.0, 3.0]],
        [[0.0, 0.0], [0.0, 0.0]],
    ],
    ids=["correlated", "diagonal", "shared", "one only", "none"],
)
def test_correlated_noise_keeps_its_covariance(pair, s):
    covariance = np.array(s) @ np.array(s).T
    found = model(pair, FREE, covariance).system
    volatility = np.array(found.evaluated(found.volatility), dtype=float)
    np.testing.assert_allclose(volatility @ volatility.T, covariance, atol=1e-12)


def test_correlated_noise_is_simulated_as_such(pair, rng):
    covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
    run = integrator(model(pair, FREE, covariance).system)
    normals = rng.standard_normal((2, 20_000, 2))
    steps = np.diff(run(np.zeros(4), normals, 0.01)[:, 2:], axis=0)
    found = steps.T @ steps / (0.01 * len(steps))
    np.testing.assert_allclose(found, covariance, atol=4.5 * 2 * np.sqrt(2 / 20_000))


def test_a_volatility_that_varies_is_the_root_of_its_square(pair):
    square = [{"1": 1.0, "a**2": 4.0}, {"1": 2.0}]
    found = model(pair, FREE, np.diag([1.0, 2.0]), g_square=square).system
    a = found.q[0]
    values = found.evaluated(found.volatility)
    assert sp.simplify(values[0, 0] ** 2 - 1 - 4 * a**2) == 0
    assert float(values[1, 1]) == pytest.approx(np.sqrt(2.0))
    assert values[0, 1] == values[1, 0] == 0


def test_a_root_that_is_known_is_taken_with_its_sign(pair):
    data = model_of(pair, FREE, np.eye(2), g_square=[{"1": 1.0, "a": 8.0}, {"1": 2.0}])
    terms = list(data["volatility_term"].values)
    data["volatility_root_estimate"].values[0] = 0.0
    for dof, root in enumerate(({"1": 1.0, "a": 4.0}, {"1": -3.0})):
        for term, value in root.items():
            data["volatility_root_estimate"].values[0, dof, terms.index(term)] = value
    found = IdentifiedModel(data.isel(replicate=0))
    values = found.system.evaluated(found.system.volatility)
    assert sp.simplify(values[0, 0] - 1 - 4 * found.system.q[0]) == 0
    assert float(values[1, 1]) == -3.0
    assert "Volatility of a\n  1  1\n  4  a" in str(found)


def test_a_square_that_gets_negative_has_a_floor(pair):
    """S² = 1 + 4a − a² crosses zero; S stays real, positive and smooth."""
    square = [{"1": 1.0, "a": 4.0, "a**2": -1.0}, {"1": 2.0}]
    found = model(pair, FREE, np.diag([1.0, 2.0]), g_square=square).system
    root = sp.lambdify(found.q, found.evaluated(found.volatility[0, 0]))
    a = np.linspace(-2, 6, 4001)
    values, exact = root(a, 0), np.maximum(1 + 4 * a - a**2, 0)
    assert (values > 0).all()
    np.testing.assert_allclose(values**2, exact, atol=2e-6)
    assert "Squared volatility of a" in str(model(pair, FREE, np.eye(2), square))


def test_the_calculus_is_kept_in_the_file(tmp_path, observations):
    library = {**OSCILLATOR_LIBRARY, "calculus": "stratonovich"}
    save(recommended(observations, library).model, tmp_path / "model.nc", "model")
    found = load(tmp_path / "model.nc")
    assert found.system.calculus == "stratonovich"
    assert "Equations of motion in the sense of Ito" in str(found)


def test_models_of_one_support_share_their_compiled_integrator(pair):
    from leastaction.ensembles.strong_taylor import _blocks

    one, other = (
        model(pair, {**FREE, "a**2": k}, np.eye(2)).system for k in (-1.0, -3.0)
    )
    assert _blocks(one) == _blocks(other)
    assert (one.parameter_values != other.parameter_values).any()


def test_a_replicate_that_is_not_there_is_refused(path):
    with pytest.raises(IndexError, match=r"replicates 0 \.\.\. 0, not 3"):
        load(path, 3)


def test_another_file_is_refused(tmp_path, observations):
    save(observations, tmp_path / "observations.nc", "observations")
    with pytest.raises(ContractError, match="choose methods"):
        load(tmp_path / "observations.nc")
