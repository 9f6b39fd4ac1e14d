"""J, R, B and H from driven motions: found, passive, or refused with the reason."""

import numpy as np
import pytest
from recipes_of_ports import MOTOR, STIFFENING, TANKS, fit, simulated
from scipy.linalg import eigvalsh

from leastaction.core.families import system_from_config
from leastaction.core.noise_sweep import recorded
from leastaction.ports.coefficient_fit import (
    PredictionErrors,
    Quadratic,
    Records,
    smooth,
    weak_regression,
)
from leastaction.ports.port_structure import Candidates
from leastaction.ports.recipes import PortRegression
from leastaction.ports.structure_estimate import ASSUMPTIONS
from leastaction.ports.structure_search import FreeCoefficients, fitted


@pytest.fixture(scope="module")
def motor():
    return simulated(MOTOR, noise=1e-3)


@pytest.fixture(scope="module")
def model(motor):
    """Of everything unknown."""
    return fit(motor)


def test_everything_unknown_is_found_with_outputs(model):
    """All entries of J, R, B and H, and no other, within five standard errors."""
    assert not model.refusal
    truth = system_from_config(MOTOR["system"]).dae
    for own, true, name in (
        (model.structure, truth.structure, "structure"),
        (model.dissipation, truth.dissipation, "dissipation"),
        (model.port, truth.port, "port"),
    ):
        spread = model.dataset[f"{name}_std"].values[0]
        assert np.array_equal(own != 0, true != 0)
        assert (np.abs(own - true) <= 5 * spread).all()
    found = dict(zip(model.dataset["term"].values, model.coefficients, strict=True))
    assert {k for k, v in found.items() if v} == {"phi**2", "p**2"}
    assert [*model.gauge_dimension] == list(ASSUMPTIONS)
    assert [*model.gauge_dimension.values()] == [3, 1, 0, 0]
    assert model.gain == 1
    assert "structure imposes" not in str(model)


def test_whole_motions_tell_at_least_what_windows_do(motor):
    """No direction has less information, and some have twice as much."""
    seen = recorded(motor, "independent", 1e-3)
    records = Records.of(seen, smooth(seen, {}, {}), True)
    candidates = Candidates.of(["phi", "p"], ["phi**2", "p**2"])
    q = weak_regression(records, candidates, 60).best
    windows, whole = (
        PredictionErrors(records, candidates, samples).quadratic(q).matrix
        for samples in (100, 400)
    )
    ratios = eigvalsh(windows.T @ windows, whole.T @ whole)
    assert ratios.max() < 1 and ratios.min() < 0.5


def test_identified_motion_is_passive(model):
    """R ≥ 0, H convex, and d(H)/dt ≤ yᵀu along a motion of the identified equation."""
    dae = model.dae
    assert np.linalg.eigvalsh(dae.dissipation).min() >= 0
    time = np.linspace(0, 5, 501)
    u = np.sin(2 * time)[:, None]
    x = dae.path(np.array([0.5, -0.3]), time, lambda t: np.sin(2 * t)[:, None])
    supplied = np.cumsum((dae.output(x) * u).sum(axis=1)) * time[1]
    assert (dae.hamiltonian(x) - dae.hamiltonian(x)[0] <= supplied + 1e-2).all()


def test_without_outputs_the_scale_is_named_and_not_told(motor):
    model = fit(motor, outputs=False)
    assert "1 directions of J, R and H are open" in model.refusal
    assert "measure the outputs" in model.refusal
    assert np.isnan(model.structure).all() and np.isfinite(model.port).all()
    assert model.gauge_dimension["found"] == 1


def test_a_given_entry_takes_the_place_of_outputs(motor):
    """J known and no outputs: B is seen from the input, the scale from J."""
    model = fit(motor, structure=[[0, -0.5], [0.5, 0]], outputs=False)
    assert not model.refusal
    assert abs(model.dissipation[0, 0] - 1) < 0.02


def test_dissipation_that_depends_on_the_states_is_refused():
    data = simulated(TANKS | {"system": TANKS["torricelli"]}, noise=1e-3)
    model = fit(data, terms=TANKS["terms"])
    assert "no constant J, R and B fit" in model.refusal
    first, *others = str(model).splitlines()
    assert first.startswith("No law found: no constant J, R and B fit: chi-square over")
    assert not any("=" in line for line in others)
    assert np.isnan(model.dissipation).all()


@pytest.mark.parametrize(
    ("port", "message"),
    [
        (lambda data: -0.7 * data["x"].values[..., :1], "a function of the states"),
        (lambda data: 0 * data["u"].values, "input v is zero"),
    ],
)
def test_inputs_that_excite_nothing_are_refused(motor, port, message):
    data = motor.assign(u=(motor["u"].dims, port(motor), motor["u"].attrs))
    assert message in fit(data).refusal


def test_coefficients_that_data_leave_open_have_the_least_norm(rng):
    """Four equations of six unknowns, the same to the last digit every time."""
    matrix, target = rng.normal(size=(4, 6)), rng.normal(size=4)
    data, every = Quadratic(matrix, target, 0.0, 10, 100), np.ones(6, dtype=bool)
    starts = (np.zeros(6), np.ones(6))
    first, second = (fitted(FreeCoefficients(6), data, s, every) for s in starts)
    assert np.array_equal(first.theta, second.theta) and first.chi_square < 1e-20
    assert np.allclose(first.theta, np.linalg.pinv(matrix) @ target)


def test_regression_without_structure_tells_no_structure(motor):
    model = fit(motor, method=PortRegression, outputs=False)
    assert np.isnan(model.structure).all()
    truth = system_from_config(MOTOR["system"]).dae
    x = np.array([[0.3, -0.2]])
    wanted = truth.efforts(x) @ truth.transformation.T + truth.port.T
    assert np.allclose(model.rates(x, np.ones((1, 1))), wanted, atol=1e-2)
    with pytest.raises(ValueError, match="no J, R and H"):
        _ = model.dae


def test_model_prints_what_it_tells(model):
    text = str(model)
    assert "J_12 = -0.5" in text and "phi**2 in H" in text
    assert "chi-square over degrees of freedom" in text.splitlines()[1]


def test_units_do_not_matter(motor, model):
    """States in micro- and kilo-units: the same law, and as many open directions."""
    factors = np.array([1e-6, 1e3])
    scaled = motor.assign({k: motor[k] * factors for k in ("x", "noise_x")})
    own, other = model, fit(scaled)
    ratio = np.outer(factors, factors)
    assert not other.refusal
    for name, unit in (("structure", ratio), ("dissipation", ratio), ("port", factors)):
        values = getattr(other, name) / np.reshape(unit, (2, -1))
        assert np.allclose(values, getattr(own, name), rtol=1e-6, atol=0)
    assert other.gauge_dimension == own.gauge_dimension


def test_a_fit_that_improves_towards_infinity_is_refused():
    """A dashpot 0.1 + q²/2: with J and R without bound χ² is that of noise."""
    quartic = {"polynomial": {"of": ["q", "p"], "degree": 4, "lowest": 2}}
    model = fit(simulated(STIFFENING, noise=0.05), terms=[quartic])
    assert "improves towards infinite entries" in model.refusal
    assert np.isnan(model.structure).all()
