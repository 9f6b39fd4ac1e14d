from io import StringIO
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from synthetic import STIFFNESS, config, model

from leastaction_papers.scorecard import tables
from leastaction_papers.scorecard.readable import measured_text, sum_text, typeset
from leastaction_papers.scorecard.tables import render

TEXTS = {"lagrangian": "L = 50% & _more_ {x}^2", "hamiltonian": "H"}


def panel(models=None, **publish):
    models = models or {"published": model(std=np.nan), "recommended": model()}
    example = config(texts=TEXTS, **publish)
    return SimpleNamespace(example="one", config=example, models=models, rollouts={})


def cell(table, source, column, **more):
    frame = tables.table(table, [panel(**more)]).rows.set_index("source")
    return frame.loc[source, column]


def test_sources_stand_in_order():
    frame = tables.table("lagrangian", [panel(), panel()]).rows
    sources = ["printed", "corrected", "recommended", "published"]
    assert frame["source"].tolist() == sources * 2


def test_table_1_is_derived_from_the_system():
    assert cell("lagrangian", "printed", "Lagrangian density") == TEXTS["lagrangian"]
    wanted = "L = 0.5 X'^2 - 4.5 X^2"
    assert cell("lagrangian", "corrected", "Lagrangian density") == wanted
    column = "Wiener potential (integral of sigma)"
    assert cell("lagrangian", "corrected", column) == "0.5 X"
    assert cell("lagrangian", "recommended", column) == "(0.5000 ± 0.0010) X"


def test_table_1_has_a_column_in_symbols():
    models = {"recommended": model()}
    example = config(texts={"symbolic": "as printed"})
    one = SimpleNamespace(example="one", config=example, models=models, rollouts={})
    frame = tables.table("lagrangian", [one]).rows.set_index("source")
    assert frame.loc["printed", "in symbols"] == "as printed"
    wanted = "L = 1/2 X'^2 - k/(2 m) X^2; potential sigma/m X"
    assert frame.loc["corrected", "in symbols"] == wanted
    assert frame.loc["recommended", "in symbols"] == ""


@pytest.mark.parametrize(
    ("springs", "shown"),
    [
        (["x**2", "(y - x)**2"], "X'' - 6 (y - X) = W1'; y'' + 6 (y - X) = 0"),
        (["x**2", "y**2", "x*y"], "X'' + 6 X - 6 y = W1'; y'' + 6 y - 6 X = 0"),
    ],
)
def test_springs_between_masses_stand_as_the_candidates_do(springs, shown):
    example = config()
    example["system"]["coordinates"]["y"] = {"unit": "m"}
    example["system"]["lagrangian"] = "xdot**2/2 + ydot**2/2 - 3*(x - y)**2"
    example["library"]["lagrangian"] = [{"terms": ["xdot**2", "ydot**2", *springs]}]
    one = SimpleNamespace(example="two", config=example, models={}, rollouts={})
    frame = tables.table("equation_of_motion", [one]).rows.set_index("source")
    assert frame.loc["corrected", "equation of motion"] == shown


def test_table_2_is_the_equation_of_motion_with_errors_apart():
    found = model([[1.1 * STIFFNESS, 0.5, 0.25, 0]] * 3, sigma=[0.25] * 3, std=np.nan)
    frame = tables.table(
        "equation_of_motion",
        [panel({"recommended": found}, rows=[PARAMETER_ERROR_ROW])],
    ).rows.set_index("source")
    assert frame.loc["corrected", "equation of motion"] == "X'' + 9 X = 0.5 W'"
    ours = frame.loc["recommended"]
    wanted = "X'' + 9.9 X - X^3 = (0.2500 ± 0.0010) W'"
    assert ours["equation of motion"] == wanted
    assert ours["coefficient error (%)"] == pytest.approx(10)
    assert ours["volatility error (%)"] == pytest.approx(50)
    mixed = 100 * np.linalg.norm([0.9, 1, 0.25]) / np.linalg.norm([9, 0, 0.5])
    assert ours["error of Table 2, sigma in the norm (%)"] == pytest.approx(mixed)
    assert ours["exact supports"] == "0 of 3"
    printed = frame.loc["printed", "error of Table 2, sigma in the norm (%)"]
    assert printed == 0.07


PARAMETER_ERROR_ROW = {"ours": {"parameter_error": True}, "printed": 0.07}


def test_table_3_is_the_legendre_transform():
    assert cell("hamiltonian", "corrected", "Hamiltonian") == "H = 0.5 X'^2 + 4.5 X^2"
    found = {"recommended": model([[-4.5, 0.5, -1.0, 0]], std=np.nan)}
    wanted = "H = 0.5 X'^2 + 4.5 X^2 + X^4"
    assert cell("hamiltonian", "recommended", "Hamiltonian", models=found) == wanted


def test_a_formula_is_that_of_the_most_frequent_support():
    exact, wrong = [STIFFNESS, 0.5, 0, 0], [-2.0, 0.5, -3.0, 0]
    found = {"published": model([exact, wrong, wrong], std=np.nan)}
    shown = cell("lagrangian", "published", "Lagrangian density", models=found)
    assert shown == "L = 0.5 X'^2 - 2 X^2 - 3 X^4"
    shown = cell("lagrangian", "published", "replicates with these terms", models=found)
    assert shown == "2 of 3"


def test_an_example_without_texts_or_truth_in_the_library():
    example = config()
    example["system"]["lagrangian"] += " - x**6"
    one = SimpleNamespace(
        example="one", config=example, models={"mine": model()}, rollouts={}
    )
    for name in ("lagrangian", "equation_of_motion", "hamiltonian"):
        found = tables.table(name, [one])
        assert found.rows["source"].tolist() == ["printed", "mine"]
        assert render(found, "md")


def test_numbers_have_as_many_digits_as_they_deserve():
    assert measured_text(499.9701, 0.0995) == "(499.97 ± 0.10)"
    assert measured_text(4998.2, 6.2) == "(4998.2 ± 6.2)"
    assert measured_text(4998.2, 62.0) == "(4998 ± 62)"
    assert measured_text(0.70718, np.nan) == "0.70718"
    assert sum_text([(-1.0, 0, "X"), (2.0, 0, "Y"), (0.0, 0, "Z")]) == "-X + 2 Y"
    assert sum_text([]) == "0"


def test_renderings():
    found = tables.table("lagrangian", [panel()])
    frame = found.rows
    back = pd.read_csv(StringIO(render(found, "csv")))
    assert back["Lagrangian density"].tolist() == frame["Lagrangian density"].tolist()
    tex = render(found, "tex")
    assert r"50\% \& \_more\_ \{x\}" in tex
    assert r"$\pm$" in tex
    assert tex.count(r"\\") == len(frame) + 1
    assert "nan" not in render(found, "md").lower()
    assert render(found, "md") == render(tables.table("lagrangian", [panel()]), "md")
    with pytest.raises(ValueError, match="csv, md, tex"):
        render(found, "xls")


def test_a_page_of_a_table_has_a_caption_and_typeset_formulas():
    found = tables.table("lagrangian", [panel()])
    page = render(found, "html", "Table 1 & more")
    assert "<caption>Table 1 &amp; more</caption>" in page
    assert "<caption>Paper<br>Table</caption>" in render(found, "html", "Paper\nTable")
    assert "L = 50% &amp; _more_ {x}<sup>2</sup>" in page
    assert "Ẋ<sup>2</sup>" in page and "X'^2" not in page


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("thdot**2*cos(th1)", "θ̇<sup>2</sup>\u2009cos θ<sub>1</sub>"),
        ("sin(th)**2", "sin<sup>2</sup> θ"),
        (
            "X_1'^2 - 2 u_xx^2",
            "Ẋ<sub>1</sub><sup>2</sup> − 2 u<sub>xx</sub><sup>2</sup>",
        ),
        ("theta'' + H^[[2]]", "θ̈ + H<sup>[2]</sup>"),
        ("H[[0]] by -0.08 %", "H<sup>[0]</sup> by −0.08 %"),
        ("<= 1e-05 m/s^1.5", "≤ 10<sup>−5</sup> m/s<sup>1.5</sup>"),
        ("(1.2 ± 3e+07)", "(1.2 ± 3·10<sup>7</sup>)"),
        (
            "E'z, Newmark's xL-SINDy, dt E[L^2] a",
            "E<sup>T</sup>z, Newmark's xL-SINDy, dt E[L<sup>2</sup>] a",
        ),
        (
            "<b> & published_lgp, linear_additive_1e9",
            "&lt;b&gt; &amp; published_lgp, linear_additive_1e9",
        ),
    ],
)
def test_formulas_are_typeset_and_words_are_left_alone(text, shown):
    assert typeset(text) == shown
