"""Table of Lagrangians by noise: what is marked, and how it is written."""

import copy

import numpy as np
import pytest
from synthetic_sweep import PENDULUM, swept

from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.tables import BREAK, Table, render
from leastaction_papers.xl_sindy.tables import (
    lagrangian_by_every_noise,
    lagrangian_by_noise,
    number,
)

PRINTED = [
    {
        "item": "Table I",
        "noise_level": 0.1,
        "terms": [[0.085, "thdot**2"], [0.551, "sin(th)**2"], [-0.019, "thdot**2"]],
    },
    {
        "item": "Table I",
        "noise_level": 0.0,
        "terms": [[0.295, "thdot**2"], [5.797, "cos(th)"]],
    },
]


@pytest.fixture(scope="module")
def table():
    config = copy.deepcopy(PENDULUM) | {"publish": {"lagrangians": PRINTED}}
    models = {
        "recommended": swept(config),
        "published": swept(
            config, wrong=lambda level: 0.75 * (level > 0.01), with_std=False
        ),
    }
    return lagrangian_by_noise([Panel("pendulum", config, models, {})]).rows


def cell(table, level, source):
    rows = table[(table["noise sigma"] == level) & table["source"].str.match(source)]
    assert len(rows) == 1
    return rows.iloc[0]["Pendulum"].split("\n")


def test_levels_ascend_and_have_three_rows_each(table):
    assert table["noise sigma"].tolist() == ["", *["0"] * 3, *["0.1"] * 3]
    sources = ["published, shared noise", "recommended, independent noise"]
    assert table["source"].tolist() == ["true", *["printed", *sources] * 2]


def test_the_truth_is_that_of_the_system(table):
    assert cell(table, "", "true") == ["0.500 theta'^2", "+ 9.810 cos(theta)"]


def test_printed_terms_keep_their_order_and_their_decimals(table):
    assert cell(table, "0", "printed") == ["0.295 theta'^2", "+ 5.797 cos(theta)"]
    assert cell(table, "0.1", "printed") == [
        "0.085 theta'^2",
        "[+] + 0.551 sin(theta)^2",
        "[+] - 0.019 theta'^2",
        "[-] cos(theta)",
    ]


def test_ours_has_error_bars_counts_and_marks(table):
    found = cell(table, "0.1", "recommended")
    assert found[0] == "0.500 theta'^2"
    assert "±" in found[1]
    assert found[-1] == "structure right (4/4 right)"
    wrong = cell(table, "0.1", "published")
    assert [line for line in wrong if line.startswith("[+]")]
    assert wrong[-1] == "structure wrong (1/4 right)"
    assert "±" not in "".join(wrong)


def test_a_missing_true_term_is_named():
    config = copy.deepcopy(PENDULUM) | {"publish": {"lagrangians": PRINTED}}
    model = swept(config)
    model["coefficient_estimate"].loc[{"term": "cos(th)"}] = 0.0
    frame = lagrangian_by_noise([Panel("p", config, {"recommended": model}, {})]).rows
    assert "[-] cos(theta)" in cell(frame, "0", "recommended")
    assert cell(frame, "0", "published") == ["not done"]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (np.nan, "9.810"),
        (0.02, "(9.810 ± 0.020)"),
        (2e-5, "(9.81000 ± 0.00002)"),
        (2e-13, "(9.810 ± 2e-13)"),
    ],
)
def test_numbers_have_the_decimals_that_their_error_needs(error, text):
    assert number(9.81, error) == text


def test_every_format_has_the_marks_and_html_the_colours(table):
    for kind in ("csv", "md", "tex", "html"):
        text = render(Table(table), kind)
        assert text.count("[+] + 0.551") == 1, kind
        assert BREAK not in text
    page = render(Table(table), "html")
    assert '<span class="extra">[+] + 0.551 sin<sup>2</sup> θ</span><br>' in page
    assert '<span class="missing">[-] cos θ</span>' in page
    assert r"\newline" in render(Table(table), "tex")
    assert len(render(Table(table), "csv").splitlines()) == 1 + len(table)


def test_every_level_of_either_estimator_has_its_rows_and_no_empty_ones():
    config = copy.deepcopy(PENDULUM) | {"publish": {"lagrangians": PRINTED}}
    models = {
        "recommended": swept(config, levels=(0.0, 0.1, 0.8)),
        "published": swept(config, levels=(0.0, 1e-3), with_std=False),
    }
    frame = lagrangian_by_every_noise([Panel("pendulum", config, models, {})]).rows
    source = frame["source"].str.partition(",")[0]
    found = list(zip(frame["noise sigma"], source, strict=True))
    assert found == [
        ("", "true"),
        *(("0", source) for source in ("printed", "published", "recommended")),
        ("0.001", "published"),
        *(("0.1", source) for source in ("printed", "published", "recommended")),
        ("0.8", "recommended"),
    ]
    assert cell(frame, "0.1", "published") == ["not done"]


def test_examples_of_one_title_have_columns_of_their_own():
    config = copy.deepcopy(PENDULUM) | {"publish": {"lagrangians": PRINTED}}
    models = {"recommended": swept(config)}
    panels = [Panel(name, config, models, {}) for name in ("a", "b")]
    columns = list(lagrangian_by_noise(panels).rows.columns)
    assert columns[2:] == ["Pendulum (a)", "Pendulum (b)"]
