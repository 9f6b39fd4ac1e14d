"""Scores of damping and of a volatility that depends on the state."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from synthetic import STIFFNESS, config, model

from leastaction_papers.scorecard import scores, tables
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.scorecard import example_rows, pooled_rows
from leastaction_papers.scorecard.scores import volatility_law

DAMPING = ["xdot**2", "xdot**4"]


def varying(volatility="sigma + slope*x", **system):
    """m = 2: the acceleration has S = 0.5 + 1.5 x."""
    example = config(targets={"volatility_rms": 0.01, "volatility_support": 1.0})
    example["system"]["parameters"]["slope"] = {"value": 3.0, "unit": "N s^0.5/m"}
    example["system"]["volatility"] = {"x": volatility}
    example["system"].update(system)
    return example


def with_root(root, std=0.01, support=(1, 1, 1), n=5):
    found = model(n=n, constant=False)
    shape = ("replicate", "dof", "volatility_term")
    found["volatility_root_estimate"] = (shape, np.tile(root, (n, 1, 1)).astype(float))
    found["volatility_root_std"] = (shape, np.full((n, 1, 3), std))
    found["volatility_support"].values[:] = support
    found["volatility_is_constant"] = (("replicate", "dof"), np.zeros((n, 1)))
    return found


def damped(value=3.0):
    example = config()
    example["system"]["parameters"]["c"] = {"value": value, "unit": "N s/m"}
    example["system"]["dissipation"] = "c*xdot**2/2"
    example["library"]["dissipation"] = [{"terms": DAMPING}]
    return example


def with_damping(estimate, std=0.01, n=5):
    found = model(n=n)
    shape = ("replicate", "dissipation_term")
    d = np.tile(estimate, (n, 1)).astype(float)
    found["dissipation_coefficient_estimate"] = (shape, d)
    found["dissipation_coefficient_std"] = (shape, np.where(d != 0, std, 0.0))
    found["dissipation_support"] = (shape, (d != 0).astype("int8"))
    return found.assign_coords(dissipation_term=DAMPING)


def test_the_true_law_is_in_the_scale_of_the_acceleration():
    law = volatility_law(varying(), 0, 0.5)
    assert law.square.tolist() == [0.25, 1.5, 2.25]
    assert law.root.tolist() == [0.5, 1.5, 0.0]


@pytest.mark.parametrize("volatility", ["-sigma - slope*x", "slope*x + sigma"])
def test_the_sign_of_the_root_is_a_convention(volatility):
    assert volatility_law(varying(volatility), 0, 0.5).root[0] > 0


def test_what_no_candidates_describe_has_no_law():
    assert volatility_law(varying("sigma + slope*x**3"), 0, 0.5) is None
    law = volatility_law(varying("sqrt(sigma**2 + slope*x)"), 0, 1.0)
    assert law.square.tolist() == [1.0, 3.0, 0.0]
    assert law.root is None


def test_errors_of_the_root_are_term_by_term():
    law = volatility_law(varying(), 0, 0.5)
    found = with_root([0.505, 1.5, 0.0])
    np.testing.assert_allclose(
        scores.volatility_roots(found, law, 0).errors, [[0.01, 0.0]] * 5, atol=1e-12
    )
    assert scores.volatility_roots(found, law, 0).covered.all()
    off = scores.volatility_roots(with_root([0.53, 1.5, 0]), law, 0)
    assert not off.covered[0, 0]
    lost = with_root([np.nan] * 3)
    assert np.isinf(scores.volatility_roots(lost, law, 0).errors).all()
    assert scores.exact_volatility_terms(found, law, 0).all()
    assert not scores.exact_volatility_terms(
        with_root([0] * 3, 0, (1, 0, 1)), law, 0
    ).any()


def test_the_scorecard_has_both_coefficients_and_their_coverage():
    frame = example_rows(
        "paper", Panel("one", varying(), {"our": with_root([0.5, 1.5, 0])}, {})
    )
    shown = frame.set_index("quantity")
    for term in ("1", "x"):
        row = shown.loc[
            f"relative error of the volatility of x, coefficient of {term}, rms"
        ]
        assert (row["ours_median"], row["verdict"]) == (0.0, "meets")
    assert shown.loc["exact terms of S^2 of x", "verdict"] == "meets"
    assert not shown.index.str.contains("constant alone").any()
    assert pooled_rows([frame])["replicates"].item() == 5 * 3


def test_another_calculus_has_another_truth():
    """½ ab + ½ b² q̇ is no part of L: read as Itô, nothing can be compared."""
    example = varying("sigma + slope*xdot", calculus="stratonovich")
    assert scores.truth_of(example) is None
    example["library"]["calculus"] = "stratonovich"
    assert scores.truth_of(example) is not None
    position = varying(calculus="stratonovich")
    assert scores.truth_of(position) is not None


def test_damping_counts_in_the_support_and_has_its_own_error():
    truth = scores.truth_of(damped())
    assert truth.dissipation.tolist() == [0.75, 0.0]
    perfect = with_damping([0.75, 0.0])
    assert scores.exact_support(perfect, truth).all()
    assert (scores.dissipation(perfect, truth).error == 0).all()
    assert scores.dissipation(perfect, truth).covered.all()
    off = with_damping([0.9, 0.1])
    assert not scores.exact_support(off, truth).any()
    assert scores.dissipation(off, truth).error == pytest.approx(0.2)
    assert (scores.coefficients(off, truth).error == 0).all()


def test_a_method_without_damping_misses_it():
    truth = scores.truth_of(damped())
    assert not scores.exact_support(model(), truth).any()
    assert scores.dissipation(model(), truth).error == pytest.approx(1.0)
    without = scores.truth_of(damped(0.0))
    assert scores.exact_support(model(), without).all()


def test_damping_outside_the_library_leaves_no_truth():
    example = damped()
    del example["library"]["dissipation"]
    assert scores.truth_of(example) is None
    assert Panel("one", example, {}, {}).coefficients_true == {}
    panel = Panel("one", damped(), {}, {})
    assert panel.coefficients_true["x**2"] == pytest.approx(STIFFNESS)
    assert panel.dissipation_true == {"xdot**2": 0.75, "xdot**4": 0.0}


def test_the_scorecard_has_the_damping():
    frame = example_rows(
        "paper", Panel("one", damped(), {"our": with_damping([0.75, 0])}, {})
    )
    shown = frame.set_index("quantity")["ours_median"]
    assert shown["relative error of the damping, rms"] == 0.0
    assert shown["coverage of the 95 % interval: damping xdot**2"] == 1.0


def table(name, example, found):
    panel = SimpleNamespace(example="one", config=example, models=found, rollouts={})
    return tables.table(name, [panel]).rows.set_index("source")


def test_table_2_writes_the_damping_into_the_equation():
    column = "equation of motion"
    frame = table(
        "equation_of_motion", damped(), {"recommended": with_damping([0.8, 0.0])}
    )
    assert frame.loc["corrected", column] == "X'' + 9 X + 1.5 X' = 0.5 W'"
    assert "+ (1.600 ± 0.020) X' =" in frame.loc["recommended", column]


def test_tables_write_the_law_of_a_varying_volatility():
    found = {"recommended": with_root([0.5, 1.5, 0.0])}
    frame = table("equation_of_motion", varying(), found)
    motion = frame["equation of motion"]
    assert motion["corrected"].endswith("= (0.5 + 1.5 X) W'")
    assert re.search(
        r"= \(\(0.5.* ± .*\) \+ \(1.5.* ± .*\) X\) W'$", motion["recommended"]
    )
    frame = table("lagrangian", varying(), found)
    potential = frame["Wiener potential (integral of sigma)"]
    assert potential["recommended"] == "none: sigma depends on the state"
