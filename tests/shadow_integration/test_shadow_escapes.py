"""Laws of the figures of motions that may escape."""

import numpy as np
import pytest
import synthetic_shadow as synthetic

from leastaction.figures.style import draw, finding
from leastaction_papers.scorecard.verdict import reproduces
from leastaction_papers.shadow_integration.figures.escape_paths import kaplan_meier

STOP = 100.0
PLANE = {
    "title": "Plane",
    "system": {
        "coordinates": {"x": {"unit": "1"}, "y": {"unit": "1"}},
        "parameters": {"m": {"value": 1.0, "unit": "kg m^2"}},
        "lagrangian": "m*(xdot**2 + ydot**2)/2 - m*(x**2 + y**2)/2",
    },
    "simulate": {"method": "runge_kutta", "time_step": 0.5},
    "validate": {"shadow": {"potential": {"below": 0.5, "saddles": [[1.0, 0.0]]}}},
}


def escaping(times, margin=1e-3):
    """Rollout of one replicate in the plane, V = |q|²/2 + margin at the saddle."""
    times, n = np.asarray(times, float), 11
    sides = np.linspace(-1.5, 1.5, n)
    rest = np.stack(np.meshgrid(sides, sides, indexing="ij"), axis=-1).reshape(-1, 2)
    near = np.stack(np.meshgrid(sides, sides, indexing="ij"), axis=-1).reshape(-1, 2)
    potential = (rest**2).sum(axis=1) / 2
    of_margin = {k: v for k, v in zip((0, 2, 4), (-1e-2, margin, margin), strict=True)}
    shape = margin + near[:, 0] ** 2 - near[:, 1] ** 2
    passage = np.arange(21) * 5.0
    path = np.stack([np.cos(passage), np.sin(passage)], axis=1)
    base = synthetic.rollout().drop_dims("dof")
    first = ("replicate", "order")
    return base.assign(
        survival_time=(("replicate", "survival_start"), times[None]),
        survival_censored=(
            ("replicate", "survival_start"),
            (times >= STOP)[None] * 1.0,
        ),
        passage_time=(("replicate", "passage"), passage[None]),
        passage_q=(("replicate", "passage", "dof"), path[None]),
        passage_energy=(("replicate", "passage"), 1e-6 * passage[None]),
        passage_drift=(("replicate",), [1e-6]),
        passage_end=(("replicate", "end", "dof"), path[None]),
        q_rest=(("rest", "dof"), rest),
        potential_true=(("rest",), potential),
        potential_estimate=((*first, "rest"), np.array([[potential] * 3])),
        potential_error=(first, [[1e-3, 1e-5, 1e-6]]),
        saddle_margin=(
            (*first, "saddle"),
            np.array([[[v] for v in of_margin.values()]]),
        ),
        saddle_margin_true=(("replicate", "saddle"), [[1e-3]]),
        near_offset=(("replicate", "near", "dof"), near[None]),
        near_estimate=((*first, "saddle", "near"), np.array([[[shape]] * 3])),
        near_true=(("replicate", "saddle", "near"), shape[None, None]),
    ).assign_coords(dof=["x", "y"])


def panel(**rollouts):
    models = {name: synthetic.model() for name in rollouts}
    return synthetic.panel(models, rollouts, PLANE)


def texts(figure):
    found = [axes.get_title(loc) for axes in figure.axes for loc in ("left", "right")]
    found += [t.get_text() for legend in figure.legends for t in legend.get_texts()]
    return " | ".join(found)


def test_without_censoring_it_is_the_share_of_survivors():
    times = np.array([3.0, 1.0, 2.0, 2.0])
    events, share = kaplan_meier(times, np.zeros(4))
    np.testing.assert_allclose(events, [0, 1, 2, 3])
    np.testing.assert_allclose(share, [1, 0.75, 0.25, 0])


def test_who_is_stopped_counts_until_then():
    """The example of Kaplan and Meier (1958), section 2."""
    times = np.array([0.8, 1.0, 2.7, 3.1, 5.4, 7.0, 9.2, 12.1])
    censored = np.array([0, 1, 1, 0, 0, 1, 0, 1])
    events, share = kaplan_meier(times, censored)
    np.testing.assert_allclose(events, [0, 0.8, 3.1, 5.4, 9.2])
    expected = np.cumprod([1, 7 / 8, 4 / 5, 3 / 4, 1 / 2])
    np.testing.assert_allclose(share, expected)


def test_paths_tell_the_distribution_of_times():
    one = panel(published=escaping([10.0, STOP]), recommended=escaping([STOP] * 2))
    found = texts(draw("escape_paths", [one], {}))
    assert "1 of 2 starts escape\nmedian about 10 s" in found
    assert "none of 2 starts escapes\nuntil 100 s" in found


def test_energies_share_one_scale():
    one = panel(published=escaping([10.0, STOP]), recommended=escaping([STOP] * 2))
    figure = draw("escape_energy", [one], {})
    shown = [axes for axes in figure.axes if axes.axison]
    assert len({axes.get_ylim() for axes in shown}) == 1
    assert all(axes.get_yscale() == "symlog" for axes in shown)


def escape_times(perturbation, expanded):
    """Steps until a logistic map with a hole is left, in one of two equal forms."""
    times = []
    for k in range(16):
        x, steps = 0.2 + k * perturbation, 0
        while not 0.4999 < x < 0.5001:
            x = 4 * x - 4 * x * x if expanded else 4 * x * (1 - x)
            steps += 1
        times.append(steps)
    return np.array(times, float)


def test_another_order_of_operations_changes_times_but_no_verdict():
    """As another processor does: rounding differs, and so does every single time."""
    first, other = escape_times(1e-12, False), escape_times(1e-12, True)
    assert (first != other).all()
    typical = 1 / (2 / np.pi * 2e-4)  # invariant density at the hole times its width
    for printed, said in ((typical, True), (1e4 * typical, False), (0.1, False)):
        assert {reproduces(printed, times) for times in (first, other)} == {said}


def test_another_draw_of_times_hardly_ever_changes_a_verdict(rng):
    """Times of escape are memoryless; those of Figure 7 are stopped at 18 000 s."""
    mean = {17740: 21500.0, 7069: 3100.0}
    for printed, about in mean.items():
        draws = np.minimum(rng.exponential(about, (400, 16)), 18000.0)
        assert np.mean([reproduces(printed, times) for times in draws]) > 0.99


@pytest.mark.parametrize(("margin", "said"), [(1e-4, "closed"), (-1e-4, "open")])
def test_a_channel_is_closed_if_the_saddle_is_above_the_start(margin, said):
    one = panel(recommended=escaping([STOP], margin))
    found = texts(draw("saddle_channels", [one], {}))
    assert said in found and r"10^{-4}" in found


@pytest.mark.parametrize(
    ("figure", "missing"),
    [
        ("escape_paths", "validate.shadow.survival"),
        ("saddle_channels", "validate.shadow.potential"),
    ],
)
def test_what_is_missing_is_named(figure, missing):
    with pytest.raises(ValueError, match=missing):
        draw(figure, [synthetic.panel()], {})


TIMES = [
    {"printed": time, "ours": {"estimator": name, "rollout": "survival_time"}}
    for name, time in (
        ("published", 17740.0),
        ("published_lgp", 7069.0),
        ("recommended", 17740.0),
    )
]


def test_findings_state_distributions_and_where_the_printed_times_lie():
    wide = [500.0, 3000.0, 9000.0, 14000.0, 18000.0]
    one = panel(
        published=escaping(wide),
        published_lgp=escaping([10.0, 11.0, 12.0]),
        recommended=escaping([STOP] * 3),
    )
    one.config["publish"] = {"rows": TIMES}
    said = finding("escape_paths", [one])
    assert "with LGP 3 of 3 starts escape, median about 10 s" in said
    assert "the recommended estimator none of 3 starts escapes, until 100 s" in said
    assert "17\u2009740 s of LSI is one more such draw" in said
    assert "7\u2009069 s of LGP is not such a draw" in said
    assert "the paper: 17\u2009740 s" in texts(draw("escape_paths", [one], {}))


@pytest.mark.parametrize(
    ("margin", "said"), [(1e-4, "0 of 1 saddles"), (-1e-4, "1 of 1 saddles")]
)
def test_the_finding_counts_open_saddles(margin, said):
    one = panel(recommended=escaping([STOP], margin))
    found = finding("saddle_channels", [one])
    assert said in found
    side = "above" if margin > 0 else "below"
    assert f"1.0·10⁻⁴ J {side} the energy of the start" in found
