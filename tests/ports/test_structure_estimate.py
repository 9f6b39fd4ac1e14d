"""J, R, B and H from driven motions: found, passive, or refused with the reason."""

import numpy as np
import pytest
from recipes_of_ports import MOTOR, STIFFENING, TANKS, fit, simulated
from scipy import stats
from scipy.linalg import eigvalsh

from leastaction.core.families import system_from_config
from leastaction.core.noise_sweep import recorded
from leastaction.ports import structure_estimate
from leastaction.ports.coefficient_fit import (
    PredictionErrors,
    Quadratic,
    Records,
    smooth,
    weak_regression,
)
from leastaction.ports.port_structure import Candidates, PortStructure
from leastaction.ports.recipes import PortRegression
from leastaction.ports.structure_estimate import (
    ASSUMPTIONS,
    Settled,
    covariance,
    refusal,
)
from leastaction.ports.structure_search import Fit, FreeCoefficients, fitted


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


POINTS = np.random.default_rng(0).normal(size=(40, 2))
TERMS = ["a**2", "b**2", "a*b", "a**4"]
LAW = PortStructure.of(Candidates.of(["a", "b"], TERMS), 1)
KNOWN = {"J_12": -1.0, "R_11": 0.2, "R_22": 0.3, "B_21": 1.0, "a**2": 0.5, "b**2": 1.0}


def theta_of(**changes) -> np.ndarray:
    return np.array([(KNOWN | changes).get(name, 0.0) for name in LAW.names])


def settled_at(
    theta, chi_square=2.0, left=300.0, dof=300, target=30, gap=99.0, size=1e3
):
    """A fit of all unknowns that are not zero, χ² left of the prediction errors."""
    free = theta != 0
    fit = Fit(theta=theta, free=free, chi_square=chi_square)
    matrix = size * np.random.default_rng(1).normal(
        size=(target, LAW.coefficients(theta).size)
    )
    return Settled(fit, Quadratic(matrix, np.zeros(target), left, dof, 400), gap)


def test_chi_square_of_a_form_is_that_of_its_coefficients_and_of_their_misfit():
    """In the units of the errors of free coefficients, inflated or not."""
    for left, inflation in ((150.0, 1.0), (600.0, 2.0)):
        end = settled_at(theta_of(), left=left)
        freed = 30 - 6
        assert end.ratio == pytest.approx((left + 2.0 * inflation) / (300 + freed))
        assert end.largest_ratio == pytest.approx(
            1 + 4 * np.sqrt(2 * (1 + structure_estimate.SIXTH_DIFFERENCES) / 300)
        )
        assert end.p_value == pytest.approx(stats.chi2.sf(2.0, freed))
    assert settled_at(theta_of(), target=6).p_value == 1.0
    assert settled_at(theta_of(), target=7).p_value == pytest.approx(
        stats.chi2.sf(2, 1)
    )


def test_a_form_is_rejected_by_its_ratio_or_its_p_value():
    dof = 300
    limit = 1 + 4 * np.sqrt(2 * (1 + structure_estimate.SIXTH_DIFFERENCES) / dof)
    for share, rejected in ((0.999, False), (1.001, True)):
        left = share * limit * (dof + 24)
        inflation = left / dof
        end = settled_at(theta_of(), left=left - 2.0 * inflation)
        assert abs(end.ratio / limit - share) < 0.01 and end.rejected == rejected
    worst = stats.chi2.isf(structure_estimate.LEVEL, 24)
    assert not settled_at(theta_of(), chi_square=0.999 * worst).rejected
    assert settled_at(theta_of(), chi_square=1.001 * worst).rejected


def test_covariances_are_those_of_the_free_unknowns():
    theta = theta_of(B_11=0.0)
    end = settled_at(theta, left=600.0, size=3.0)
    free = end.fit.free
    slopes = end.data.matrix @ LAW.jacobian(theta)[:, free]
    spread = covariance(LAW, end)
    inner = spread[np.ix_(free, free)]
    kept = 2 * np.linalg.pinv(slopes.T @ slopes, rcond=1e-12)
    moved = slopes @ inner @ slopes.T
    np.testing.assert_allclose(moved, slopes @ kept @ slopes.T, rtol=1e-6, atol=1e-9)
    assert not spread[~free].any() and not spread[:, ~free].any()


@pytest.mark.parametrize(
    ("theta", "more", "reason"),
    [
        ({}, {}, ""),
        ({}, {"gap": 2 * np.log(20) * 0.999}, "another set of entries fits nearly"),
        ({}, {"left": 9e3}, "no constant J, R and B fit: chi-square over its"),
        ({"a**2": -0.5}, {}, "H is not convex on the data"),
        ({"R_11": -0.2}, {}, "R has the eigenvalue -0.2"),
        ({"J_12": 0.0, "R_11": 0.0}, {}, "J - R is singular"),
    ],
)
def test_what_is_wrong_with_a_structure_is_named(theta, more, reason):
    end = settled_at(theta_of(**theta), **more)
    made = refusal(LAW, end, POINTS)
    assert made.startswith(reason) and bool(made) == bool(reason)
    assert refusal(LAW, None, POINTS).startswith("no motion of the fitted equation")


def test_directions_that_no_data_tell_are_named():
    """Without outputs the scale of H: J and R against its coefficients."""
    silent = PortStructure.of(LAW.candidates, 1, outputs=False)
    theta = np.array([KNOWN.get(name, 0.0) for name in silent.names])
    free = theta != 0
    fit = Fit(theta=theta, free=free, chi_square=1.0)
    size = silent.coefficients(theta).size
    matrix = 1e4 * np.random.default_rng(1).normal(size=(30, size))
    end = Settled(fit, Quadratic(matrix, np.zeros(30), 300.0, 300, 400), 99.0)
    made = refusal(silent, end, POINTS)
    names = "J_12, R_11, R_22, a**2, b**2"
    assert made.startswith(
        f"1 directions of J, R and H are open and move {names} alike"
    )
    assert "measure the outputs, or give an entry" in made


def test_entries_with_errors_as_large_as_themselves_are_unbounded():
    theta = theta_of()
    fit = Fit(theta=theta, free=theta != 0, chi_square=0.0)
    place = LAW.names.index("R_22")
    limit = 0.3 / structure_estimate.STANDARD_ERRORS
    for share, named in ((0.99, False), (1.01, True)):
        spread = np.zeros((theta.size,) * 2)
        spread[place, place] = (share * limit) ** 2
        made = structure_estimate._unbounded(LAW, fit, spread, [])
        assert made.startswith("R_22 are needed") == named == bool(made)
        assert structure_estimate._unbounded(LAW, fit, spread, [1]) == ""


def test_an_eigenvalue_of_r_may_be_negative_within_its_error():
    theta = theta_of(R_11=-0.1)
    place = LAW.names.index("R_11")
    unit = abs(LAW.without_units(LAW.matrices(theta)[1])[0, 0]) / 0.1
    limit = 0.1 / structure_estimate.STANDARD_ERRORS
    for share, refused in ((0.99, True), (1.01, False)):
        spread = np.zeros((theta.size,) * 2)
        spread[place, place] = (share * limit) ** 2
        made = structure_estimate._not_passive(LAW, theta, spread)
        assert made.startswith("R has the eigenvalue") == refused == bool(made)
        if refused:
            assert f"{-0.1 * unit:.2f}"[:4] in made


def records_of(x, u, y=None, noise=1e-3) -> Records:
    x, u = np.asarray(x), np.asarray(u)
    y = x[..., :0] if y is None else np.asarray(y)
    return Records(0.1, x, u, y, x, np.full(2, noise), np.full(y.shape[2], noise))


def test_a_stiffness_is_that_of_states_and_outputs_that_count_alike():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(2, 50, 2)) * [0.5, 20.0]
    u = rng.normal(size=(2, 50, 1))
    port = np.array([[0.0], [3.0]])
    rms = np.sqrt((x**2).mean(axis=(0, 1)))
    plain = structure_estimate.typical_stiffness(records_of(x, u), port)
    np.testing.assert_allclose(plain, 1 / rms**2, rtol=1e-12)
    y = 7.0 * (x / rms**2) @ port
    scaled = structure_estimate.typical_stiffness(records_of(x, u, y), port)
    np.testing.assert_allclose(scaled, 7 / rms**2, rtol=1e-12)
    still = structure_estimate.typical_stiffness(records_of(x, u, 0 * y), port)
    np.testing.assert_allclose(still, plain, rtol=1e-12)
    x[..., 0] = 0.0
    assert structure_estimate.typical_stiffness(records_of(x, u), port)[0] == 1.0


def test_an_input_needs_a_part_of_its_own():
    """What is left of it by functions and other inputs, over the noise in them."""
    rng = np.random.default_rng(3)
    x, free = rng.normal(size=(2, 300, 2)), rng.normal(size=(2, 300, 1))
    candidates = Candidates.of(["a", "b"], ["a**2", "b**2"])

    def said(u, noise=1e-3):
        records = records_of(x, u, noise=noise)
        return structure_estimate.not_excited(records, candidates, ["v", "w"])

    assert said(free) == ""
    assert said(0 * free).startswith("input v is zero: column 1 of B is not excited")
    both = np.concatenate([free, 0 * free], axis=2)
    assert said(both).startswith("input w is zero: column 2 of B")
    alike = np.concatenate([free, 2 * free], axis=2)
    assert said(alike).startswith("input v is a function of the states or of the other")
    pushed = 2 * x[..., :1]
    assert said(pushed).startswith("input v is a function of the states")
    # Twice the noise, in standard deviations, of what the states make of it.
    for share, refused in ((0.9, True), (1.1, False)):
        part = 2 * 0.02 * 2 * share * free / free.std()
        assert bool(said(pushed + part, noise=0.02)) == refused
    constant = np.ones_like(free)
    assert bool(said(constant)) is False or "function" in said(constant)


def test_unknowns_of_a_wider_law_are_those_of_the_narrow_one():
    entries = [[0, "?"], ["?", 0]]
    narrow = PortStructure.of(LAW.candidates, 1, entries, "diagonal")
    theta = np.array([KNOWN.get(name, 0.0) for name in narrow.names])
    made = structure_estimate._unknowns(LAW, narrow, theta)
    np.testing.assert_array_equal(made, theta_of())


def test_errors_of_entries_are_those_of_their_unknowns():
    theta = theta_of()
    spread = np.diag(np.arange(1.0, theta.size + 1) ** 2)
    fit = Fit(theta=theta, free=theta != 0, chi_square=0.0)
    made = structure_estimate._of_structure(LAW, fit, spread)
    errors = dict(zip(LAW.names, np.arange(1.0, theta.size + 1), strict=True))
    j, r = errors["J_12"], [errors[f"R_{k}"] for k in ("11", "12", "22")]
    np.testing.assert_array_equal(made["structure_std"], [[0, j], [j, 0]])
    np.testing.assert_array_equal(made["dissipation_std"], [r[:2], r[1:]])
    np.testing.assert_array_equal(made["structure_estimate"], [[0, -1], [1, 0]])
    np.testing.assert_array_equal(made["dissipation_estimate"], np.diag([0.2, 0.3]))
    assert made["coefficient_estimate"].tolist() == [0.5, 1.0, 0.0, 0.0]
    np.testing.assert_array_equal(
        made["coefficient_std"], [errors[name] for name in TERMS]
    )
