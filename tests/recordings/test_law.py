"""The page of a law: what is written of free runs, of alternatives, of the data."""

import json

import numpy as np
import pytest
import xarray as xr

from leastaction.recordings.law import MOST_SHOWN, law_of, table

NAMES = ("x", "phi")


def rollout_of(count=2, **more):
    """Free runs of two coordinates, in mm and deg; errors grow with the number."""
    errors = np.outer(np.arange(1.0, count + 1), [0.001, 0.002])
    values = {
        "rms_error": (("replicate", "trajectory", "dof"), errors[None]),
        "maximum_error": (("replicate", "trajectory", "dof"), 3 * errors[None]),
        "half_range": (("trajectory", "dof"), np.tile([0.1, np.pi / 2], (count, 1))),
        "one_step_error": (("replicate", "dof"), [[2e-6, np.nan]]),
    }
    values |= {k: (("replicate", "dof"), [x]) for k, x in more.items()}
    coords = {
        "dof": list(NAMES),
        "coordinate_shown_unit": ("dof", ["mm", "deg"]),
        "coordinate_shown_factor": ("dof", [1e-3, np.pi / 180]),
        "label": ("trajectory", [f"run {k}" for k in range(count)]),
    }
    attrs = {"learned_from": 0, "start": 0.25, "time_step": 125.0, "force_window": 0.5}
    return xr.Dataset(values, coords, attrs)


def model_of(**values):
    """A law x² and two rivals; only what pages read."""
    rivals = {
        "coefficients": {"x**2": -2.0, "cos(x)": 3.14159},
        "has": ["cos(x)", "x"],
        "instead_of": ["x**4"],
        "error_ratio": 1.07,
    }
    text = xr.DataArray(json.dumps([rivals]))
    return xr.Dataset({"equivalent_models": text}).assign(values)


def test_free_runs_are_shown_in_the_units_of_the_user():
    text = law_of(model_of(), xr.Dataset(), rollout_of()).prediction()
    assert "Free runs (simulations) of held-out trajectories" in text
    assert "to the first 0.25 s" in text
    assert "| run 0 | x | 0.1 mm | 0.10 % | 0.30 % |" in text
    assert "| run 1 | phi | 0.36 deg | 0.40 % | 1.20 % |" in text
    assert "One-step-ahead prediction (125 s), rms error: x 0.002 mm." in text
    assert "worst of" not in text and "Force error" not in text


@pytest.mark.parametrize("learned_from", [0, 1])
@pytest.mark.parametrize("count", [MOST_SHOWN, MOST_SHOWN + 2])
def test_the_worst_of_many_free_runs_are_shown_in_their_order(count, learned_from):
    rollout = rollout_of(count).assign_attrs(learned_from=learned_from)
    text = law_of(model_of(), xr.Dataset(), rollout).prediction()
    shown = [k for k in range(count) if f"| run {k} | x |" in text]
    assert shown == [*range(count - MOST_SHOWN, count)]
    assert ("training trajectories" in text) == bool(learned_from)
    median = np.median(np.arange(1, count + 1))
    sentence = (
        f"the {MOST_SHOWN} worst of {count} trajectories; median rms error / half"
    )
    assert (sentence in text) == (count > MOST_SHOWN)
    sentence = f"all: x {0.1 * median:.2f} %, phi {0.2 * median:.2f} %."
    assert (sentence in text) == (count > MOST_SHOWN)


@pytest.mark.parametrize(
    ("errors", "sentence"),
    [
        (
            [0.05, np.nan],
            "Force error: x 5.0 % (rms of the unexplained force, averaged",
        ),
        ([np.nan, np.nan], "No force error: the held-out motion has no input."),
    ],
)
def test_the_error_of_the_force_is_that_of_driven_coordinates(errors, sentence):
    rollout = rollout_of(force_error=errors)
    assert sentence in law_of(model_of(), xr.Dataset(), rollout).prediction()


@pytest.mark.parametrize("held", [[0, 0, 0], [0, 1, 0], [1, 1, 0]])
def test_a_page_states_how_much_was_learned_from_and_held_out(held):
    data = {"held_out": ("trajectory", held), "sample_count": ("trajectory", [5, 7, 9])}
    observations = xr.Dataset(data, attrs={"time_step": 0.5})
    law = law_of(model_of(stretches=0), observations, rollout_of())
    law.model = xr.Dataset(
        {"amplitude_range": (("replicate", "dof", "end"), [[[1e-3, 2e-3], [0, np.pi]]])}
    )
    first, *rest = law._amounts()
    assert "the likelihood; amplitudes: x 1 … 2 mm, phi 0 … 180 deg" in first
    counts = {0: [(3, 21), None], 1: [(2, 14), (1, 7)], 2: [(1, 9), (2, 12)]}[sum(held)]
    expected = [
        f"{what} data: {n} trajector{'y' if n == 1 else 'ies'}, {samples} samples, "
        f"{samples / 2:.4g} s"
        for what, pair in zip(("training", "held-out"), counts, strict=True)
        if pair
        for n, samples in [pair]
    ]
    assert rest == expected


def test_rivals_have_their_errors_and_refusals_without_a_path():
    law = law_of(model_of(), xr.Dataset(), rollout_of())
    (rival,) = law.alternatives
    assert rival["has"] == ["cos(x)", "x"]
    assert law_of(xr.Dataset(), xr.Dataset(), rollout_of()).alternatives == []
    assert law.rms_error.shape == (2, 2)
    shaken = law_of(model_of(), xr.Dataset())
    assert law.figures == ("prediction", "residuals", "dynamics")
    assert shaken.figures[0] == "spectra"
    for refused in (lambda: shaken.rms_error, shaken.residuals, shaken.score):
        with pytest.raises(ValueError, match="no path to be predicted"):
            refused()
    for shrink, words in ((0.5, "record 4 times as long"), (0.1, "100 times")):
        with pytest.raises(ValueError, match=words):
            shaken.next_experiment("x**2", shrink=shrink)
    for shrink in (0.0, 1.0, -1.0):
        with pytest.raises(ValueError, match="expected a number between 0 and 1"):
            law.next_experiment("x**2", shrink=shrink)


def test_a_score_is_one_less_what_is_missed_of_the_variance():
    rng = np.random.default_rng(0)
    measured, error = rng.standard_normal((2, 1, 50, 2))
    dims = ("replicate", "path_sample", "dof")
    rollout = rollout_of().assign(
        q_measured=(dims, measured), q_estimate=(dims, measured + 0.3 * error)
    )
    missed = (0.09 * error[0] ** 2).mean(axis=0) / measured[0].var(axis=0)
    score = law_of(model_of(), xr.Dataset(), rollout).score()
    assert score == pytest.approx(1 - missed.mean())


def test_a_table_has_a_heading_and_a_line_below_it():
    rows = [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]
    assert table(rows) == "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
