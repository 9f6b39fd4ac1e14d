from pathlib import Path

import numpy as np
import pytest
import yaml
from synthetic import SIGMA, STIFFNESS, config, model, rollout

from leastaction_papers.scorecard import scores

EXAMPLES = Path(__file__).parents[2] / "config" / "examples" / "stochastic_lagrangian"


@pytest.fixture
def truth():
    return scores.truth_of(config())


def test_truth_is_in_units_of_the_reference(truth):
    assert truth.scale == 0.5
    assert truth.coefficients.tolist() == [STIFFNESS, 0.5, 0.0, 0.0]
    assert truth.volatility.tolist() == [SIGMA]
    assert truth.terms == [0]


def test_no_truth_outside_the_library():
    example = config()
    example["library"]["lagrangian"] = [{"terms": ["xdot**2", "x**4"]}]
    assert scores.truth_of(example) is None


def test_volatility_that_depends_on_the_state_is_no_number():
    example = config()
    example["system"]["volatility"] = {"x": "sigma*x"}
    assert np.isnan(scores.truth_of(example).volatility).all()


def test_correlated_wiener_processes_add_in_quadrature():
    example = config()
    example["system"]["volatility"] = [["3*sigma", "-4*sigma"]]
    assert scores.truth_of(example).volatility.tolist() == [2.5]


def test_a_perfect_model_has_no_error(truth):
    perfect = model()
    assert scores.exact_support(perfect, truth).all()
    assert (scores.coefficients(perfect, truth).error == 0).all()
    assert (scores.volatilities(perfect, truth).errors == 0).all()
    assert (scores.parameter_error(perfect, truth) == 0).all()
    assert scores.coefficients(perfect, truth).covered.all()
    assert scores.constant_volatility(perfect).all()


def test_a_wrong_term_spoils_the_support_of_its_replicate_alone(truth):
    found = model([[STIFFNESS, 0.5, 0, 0], [STIFFNESS, 0.5, 1e-9, 0], [0, 0.5, 0, 0]])
    assert scores.exact_support(found, truth).tolist() == [True, False, False]
    assert scores.coefficients(found, truth).error.tolist() == [0.0, 0.0, 1.0]


def test_errors_are_relative(truth):
    found = model([[1.1 * STIFFNESS, 0.5, 0, 0]], sigma=[0.9 * SIGMA])
    assert scores.coefficients(found, truth).error == pytest.approx([0.1])
    assert scores.volatilities(found, truth).errors == pytest.approx(np.array([[0.1]]))


def test_parameter_error_is_that_of_table_2(truth):
    found = model([[-4.6, 0.5, 0.25, 0]], sigma=[0.7])
    error, size = np.array([0.2, -1.0, 0.2]), np.array([9.0, 0.0, 0.5])
    wanted = 100 * np.linalg.norm(error) / np.linalg.norm(size)
    assert scores.parameter_error(found, truth) == pytest.approx([wanted])


def test_parameter_error_recomputes_the_printed_one():
    example = yaml.safe_load((EXAMPLES / "pendulum.yaml").read_text())
    truth = scores.truth_of(example)
    found = np.where(truth.support, truth.coefficients * 9.80 / 9.81, 0.0)
    printed = model([[0, 0, 0, 0]], sigma=[0.11]).isel(term=[0] * len(found))
    printed = printed.assign_coords(term=truth.library.names)
    printed["coefficient_estimate"].values[0] = found
    assert scores.parameter_error(printed, truth) == pytest.approx([0.1441], abs=1e-4)


def test_intervals_cover_up_to_1_96_standard_errors(truth):
    off = [STIFFNESS + 0.0195, STIFFNESS + 0.0197, 0.0]
    found = model([[c, 0.5, 0, 0] for c in off], sigma=[0.5019, 0.502, 0.498])
    coverage = scores.coefficients(found, truth).covered
    assert coverage.tolist() == [[True], [False], [False]]
    assert scores.volatilities(found, truth).covered.ravel().tolist() == [
        True,
        False,
        False,
    ]


def test_no_coverage_without_standard_errors(truth):
    found = model(std=np.nan, sigma_std=np.nan)
    assert not scores.coefficients(found, truth).has_std
    assert not scores.volatilities(found, truth).has_std
    assert not scores.coefficients(model(std=0.0), truth).has_std


def test_constant_volatility_needs_the_constant_and_nothing_else():
    assert not scores.constant_volatility(model(constant=False)).any()
    both = model()
    both["volatility_support"].values[1, 0, 1] = 1
    assert scores.constant_volatility(both).tolist() == [True, False, True, True, True]


def test_a_diverged_rollout_is_infinitely_wrong():
    assert np.isinf(scores.rollout_errors(rollout(np.nan))["std_error"]).all()
    assert (scores.rollout_errors(rollout(0.1))["std_error"] == 0.1).all()


def test_a_model_of_another_library_is_refused(truth):
    with pytest.raises(ValueError, match="another library"):
        scores.exact_support(model().isel(term=[1, 0, 2, 3]), truth)


def test_terms_are_found_however_they_are_written(truth):
    assert scores.term_position("x*x", truth.library) == 0
    assert scores.term_position("abs(x)*x", truth.library) == 3
    with pytest.raises(ValueError, match="not a candidate"):
        scores.term_position("x**3", truth.library)
    with pytest.raises(ValueError, match="unknown name"):
        scores.term_position("__import__", truth.library)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda p: p.stem)
def test_typed_corrections_are_those_of_the_system(path):
    example = yaml.safe_load(path.read_text())
    truth = scores.truth_of(example)
    checked = 0
    for row in example["publish"]["rows"]:
        ours = row["ours"]
        if "coefficient" in ours:
            i = scores.term_position(ours["coefficient"], truth.library)
            wanted = ours.get("factor", 1) * truth.coefficients[i]
        elif "volatility" in ours:
            a = truth.library.coordinates.index(ours["volatility"])
            wanted = ours.get("factor", 1) * truth.volatility[a]
        else:
            continue
        checked += 1
        assert row["corrected"] == pytest.approx(wanted, rel=1e-12), row["quantity"]
    assert checked >= 3
