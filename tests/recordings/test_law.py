"""The page of a law: what is written of free runs, of alternatives, of the data."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import sympy as sp
import xarray as xr

from leastaction.recordings import law as law_module
from leastaction.recordings.columns import CONTRADICTION
from leastaction.recordings.excitation import UNRECORDED
from leastaction.recordings.law import (
    MOST_SHOWN,
    Law,
    LawPage,
    _alternatives,
    _joined,
    _modes,
    _scale_note,
    _seconds,
    law_of,
    rows_of,
    table,
)

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
            "Force error: x 5.0 % (rms of the unexplained force over windows",
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


def page(model=None, observations=None, rollout=None, **about):
    model = model_of() if model is None else model
    return Law(
        model, xr.Dataset() if observations is None else observations, rollout, **about
    )


def terms_of(*rows):
    """Table of terms as of a law: term, of, value, std, unit."""
    frame = pd.DataFrame(rows, columns=["term", "of", "value", "std", "unit"])
    return frame.assign(
        low=frame.value - 2 * frame["std"], high=frame.value + 2 * frame["std"]
    )


def test_rows_of_terms_have_intervals_units_and_errors():
    frame = terms_of(("x**2", "L", -2.0, 0.1, "N/m"), ("xdot**2", "L", 0.5, 0.0, "kg"))
    first, second = rows_of(frame, "coefficient")
    assert list(first) == ["term", "of", "coefficient", "95 % interval", "unit"]
    assert first["term"] == "`x**2`" and first["coefficient"] == "-2.00"
    assert first["95 % interval"] == "± 0.20" and first["unit"] == "N/m"
    assert second["95 % interval"] == "fixed (sets the scale)"
    frame = pd.DataFrame(
        {"quantity": ["mass", "drag"], "value": [2.0, 3.0], "std": [0.1, 2.0]}
        | {"percent": [5.04, np.nan], "unit": "kg", "grouped": ["", "x of L"]}
        | {"low": [1.8, -np.inf], "high": [2.2, np.inf]}
    )
    first, second = rows_of(frame, "value")
    assert list(first) == [
        "quantity",
        "value",
        "95 % interval",
        "standard error",
        "unit",
    ]
    assert (first["quantity"], first["standard error"]) == ("mass", "5 %")
    assert second["quantity"] == "drag and x of L: their sum alone is identified"
    assert (second["standard error"], second["95 % interval"]) == ("holds zero", "± ∞")


def test_lines_of_tables_lists_and_code_stay_together():
    parts = ["a", "| 1 |", "| 2 |", "- x", "- y", "b", "```text", "- z", "", "```", "c"]
    expected = ["a", "| 1 |\n| 2 |", "- x\n- y", "b", "```text\n- z\n\n```", "c"]
    assert _joined(parts) == expected
    assert _joined(["- a\n| b", "| c", "- d"]) == ["- a\n| b\n| c", "- d"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.123, "0.12 s"), (99.9, "1e+02 s"), (100.4, "100 s")]
)
def test_seconds_are_written_with_two_digits(seconds, text):
    assert _seconds(seconds) == text


class Stated(Law):
    """Law with what its page reads, in the place of what a fit gives."""

    reservations, warnings, terms, physical = [], [], terms_of(), terms_of()
    verdict, alternatives, modes, sensed_modes = "found", [], None, None
    not_identifiable = False

    def __init__(self, rollout=None, observations=None, **stated):
        about = {k: stated.pop(k) for k in ("title", "seconds") if k in stated}
        observations = xr.Dataset() if observations is None else observations
        LawPage.__init__(self, model_of(), observations, rollout, **about)
        for name, value in stated.items():
            setattr(type(self), name, value)


def stated(rollout=None, observations=None, **about):
    class One(Stated):
        pass

    return One(rollout, observations, **about)


def test_a_page_begins_with_its_verdict_and_reservations():
    assert stated().headline == "Law found"
    assert stated(verdict="no law found").headline == "No law found"
    one = stated(verdict="found, with reservations", reservations=["a", "b"])
    assert one.headline == "Law found, with reservations: a"
    one = stated(limits=["l"], reservations=["a"])
    assert (
        one.headline == "Law found: a" and stated(limits=["l"]).headline[-3:] == ": l"
    )
    nothing = {"_described": lambda self: ["law"], "_predicted": lambda self: []}
    nothing |= {"_amounts": lambda self: ["amounts"]}
    text = stated(title="rig", seconds=12.3, **nothing).to_markdown()
    assert text.startswith("# rig\n\n**Law found.**\n\nlaw\n\n## Notes on the data")
    assert text.endswith("- amounts\n- computing time: 12 s\n")
    doubtful = {"reservations": ["a", "b"], "warnings": ["a", "w"]}
    predicted = {"_predicted": lambda self: ["ahead"]}
    text = stated(**nothing | doubtful | predicted).to_markdown()
    assert text.startswith("**Law found: a.**\n\n- b\n\nlaw\n\n## What it predicts")
    assert "ahead\n\n## Notes on the data\n\n- w\n- amounts\n" in text
    unstable = stated(**nothing, limits=["l"], warnings=["l", "w"]).to_markdown()
    assert unstable.startswith("**Law found: l.**") and "- l\n" not in unstable
    lost = stated(verdict="no law found", **nothing).to_markdown()
    assert "law\n" not in lost and "computing" not in lost


def test_a_law_is_shown_by_its_terms():
    one = stated(title="rig")
    assert repr(one) == "One rig: found"
    frame = terms_of(("x**2", "L", -2.0, 0.1, "N/m"))
    assert repr(stated(terms=frame)) == f"One: found\n{frame}"


@pytest.mark.parametrize(
    ("remaining", "size", "lost", "texts", "verdict"),
    [
        (2.9, 1.0, False, [], "found"),
        (2.9, 1.0, False, ["a"], "found, with reservations"),
        (3.1, 1.0, False, [], "no law found"),
        (0.0, 20.0, False, [], "no law found"),
        (0.0, 1.0, True, [], "no law found"),
    ],
)
def test_the_verdict_of_a_random_motion(remaining, size, lost, texts, verdict):
    class One(Law):
        not_identifiable, reservations = lost, texts
        dataset = xr.Dataset({"remaining": remaining, "simulated_size": size})

        def __init__(self):
            LawPage.__init__(self, model_of(), xr.Dataset())

    assert One().verdict == verdict


@pytest.mark.parametrize(
    ("value", "std", "force", "driven", "forceless"),
    [
        (0.0, 0.0, 0, False, True),
        (0.1, 0.06, 0, False, True),  # its interval holds zero
        (0.1, 0.04, 0, False, False),
        (0.0, 0.0, 1, False, False),
        (0.0, 0.0, 0, True, False),
    ],
)
def test_a_law_of_inertia_alone_has_no_force(value, std, force, driven, forceless):
    @dataclass
    class OneSystem:
        dissipation: int = 1
        given: int = force

        @property
        def forces(self):
            return [0, self.given + self.dissipation]

    class One(Law):
        terms, interval_factor = terms_of(("xdot**2", "D", value, std, "")), 2.0
        system = OneSystem()

        def __init__(self):
            data = xr.Dataset({"input": 1.0} if driven else {})
            LawPage.__init__(self, model_of(), data, rollout_of())

    one = One()
    assert bool(one._is_forceless) is forceless
    if forceless:
        assert one.verdict == "no law found"


@pytest.mark.parametrize(
    ("masses", "driven", "opposed"),
    [
        ([-1.0, -2.0], True, True),
        ([-1.0, 2.0], True, False),
        ([-1.0, -2.0], False, False),
    ],
)
def test_an_input_that_makes_all_masses_negative_is_opposed(masses, driven, opposed):
    q = sp.Symbol("q")

    class OneSystem:
        state = (q,)
        mass_matrix = sp.diag(*masses) * sp.cos(q)

        def evaluated(self, expression):
            return expression

    class One(Law):
        system = OneSystem()

        def __init__(self):
            data = xr.Dataset({"input": 1.0} if driven else {})
            LawPage.__init__(self, model_of(), data)

    assert One()._is_opposed is opposed


def test_reservations_of_the_data_come_first():
    texts = [f"{UNRECORDED} force acts", f"{CONTRADICTION} a unit", "another remark"]

    class One(Law):
        _is_forceless = False

        def __init__(self):
            data = xr.Dataset(attrs={"warnings": json.dumps(texts)})
            LawPage.__init__(self, model_of(), data, rollout_of())

    one, own = One(), ["of the law"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(law_module, "reservations", lambda model, rollout: own)
        patch.setattr(law_module, "remarks", lambda model, data: ["remark"])
        assert one.reservations == [*texts[:2], "of the law"]
        assert one.warnings == [*texts, "of the law", "remark"]
        One._is_forceless = True
        assert one.reservations[0].startswith("the law has inertia")


SCALES = [
    (True, False, [("xdot**2", 0.5)], "from what is known of it: 0.5 for `xdot**2`."),
    (True, False, [], "The recorded input sets the scale"),
    (True, False, [], "In the equations of motion it is `F_x`."),
    (False, True, [("xdot**2", 0.5)], "L is scaled such that the first inertia"),
    (False, False, [("xdot**2", 0.5)], "up to a factor, which is fixed by a coef"),
    (False, False, [("a**2", 1), ("b**2", 2)], "a factor, one for each group of"),
    (False, False, [("a**2", 1), ("b**2", 2)], "of 1 for `a**2` and 2 for `b**2`."),
]


@pytest.mark.parametrize("case", range(len(SCALES)))
def test_the_scale_of_a_law_is_explained(case):
    driven, random, fixed, words = SCALES[case]
    observations = xr.Dataset({"input": 1.0} if driven else {})
    rows = [(term, "L", value, 0.0, "") for term, value in fixed]
    one = stated(terms=terms_of(*rows, ("x**2", "L", 3.0, 0.1, "")), inputs=("x",))
    assert words in _scale_note(observations, one, random)


def test_inputs_are_coordinates_with_a_unit():
    coords = {"dof": ["x", "y"], "input_unit": ("dof", ["", "N"])}
    one = stated(None, xr.Dataset(coords=coords), coordinates=("x", "y"))
    assert one.inputs == ("y",)
    assert stated(None, xr.Dataset(), coordinates=("x", "y")).inputs == ()


def test_intervals_rest_on_segments_or_the_likelihood():
    shaken = stated(dataset=xr.Dataset({"samples": 40}))
    assert shaken._error_bars() == (
        "intervals are based on the likelihood of 40 samples"
    )
    one = stated(rollout_of(), dataset=xr.Dataset({"stretches": 7}))
    one.model = xr.Dataset(
        {"amplitude_range": (("replicate", "dof", "end"), [[[0, 1e-3], [0, np.pi]]])}
    )
    text = one._error_bars()
    assert "the scores of 7 segments; amplitudes: x 0 … 1 mm, phi 0 … 180" in text


def test_a_rival_has_its_terms_and_its_error():
    (rival,) = page(rollout=rollout_of()).alternatives
    heading, line = _alternatives([rival])
    assert line == (
        "- cos(x) + x instead of x**4 (error +7 %): `x**2` -2, `cos(x)` 3.142"
    )
    assert _alternatives([])[0].startswith("No other law")


def test_modes_of_a_law_and_their_likeness_to_those_of_sensors():
    (text,) = _modes(None, None)
    assert "no stable equilibrium" in text
    empty = xr.Dataset(coords={"mode": []})
    assert "overdamped" in _modes(empty, None)[1]

    def modes(shape, kind, dim):
        parts = zip(("real", "imaginary"), (shape, 0 * shape), strict=True)
        return {f"{kind}_{part}": (("mode", dim), x) for part, x in parts}

    shape = np.array([[1.0, 0.5]])
    values = {n: ("mode", [1.0]) for n in ("frequency", "damping_ratio")}
    values |= {f"frequency_{end}": ("mode", [0.01]) for end in ("std", "low")}
    values |= {f"damping_ratio_{end}": ("mode", [0.01]) for end in ("low", "high")}
    values |= {"phase_collinearity": ("mode", [1.0]), "kind": ("mode", ["mode"])}
    values |= modes(shape, "sensed", "channel") | modes(shape, "shape", "dof")
    values |= modes(0.1 + 0 * shape, "shape", "dof") | {
        f"shape_{part}_std": (("mode", "dof"), 0.01 + 0 * shape)
        for part in ("real", "imaginary")
    }
    law = xr.Dataset(values, {"dof": ["a", "b"], "channel": ["p", "q"]})
    assert len(_modes(law, None)) == 3
    shown = xr.Dataset(modes(np.array([[0.5, -1.0], [1.0, 1.0]]), "shape", "channel"))
    *_, text = _modes(law, shown.assign_coords(mode=[1, 2]))
    assert text.endswith("0.900")
    assert len(_modes(law, shown.isel(mode=[]).assign_coords(mode=[]))) == 3


def test_a_relative_error_is_shown_if_the_interval_holds_no_zero():
    rows = [("mass", 2.0, 0.9, "kg", ""), ("drag", -2.0, 1.1, "kg/s", "")]

    class One(Law):
        not_identifiable, interval_factor = False, 2.0
        _unit_of = None

        def __init__(self, rollout):
            LawPage.__init__(self, model_of(), xr.Dataset(), rollout)

    One._unit_of = lambda self: None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(law_module, "physical_parameters", lambda *about: rows)
        table_of = One(rollout_of()).physical
        assert table_of.percent.iloc[0] == pytest.approx(45.0)
        assert np.isnan(table_of.percent.iloc[1])
        np.testing.assert_allclose(table_of.low, [0.2, -4.2])
        np.testing.assert_allclose(table_of.high, [3.8, 0.2])
        assert "percent" in table_of and table_of["std"].tolist() == [0.9, 1.1]
        assert len(One(None).physical) == 0


def test_a_law_of_another_kind_has_its_own_page():
    other = law_of(model_of(), xr.Dataset(attrs={"kind": "field"}), None, "a title")
    assert type(other).__name__ == "LawOfKind" and other.title == "a title"
    assert type(law_of(model_of(), xr.Dataset())) is Law


def test_what_is_saved_is_read_again(tmp_path, monkeypatch):
    """Title, source and time go with the observations."""
    written = {}

    def save(model, path, contract, parts):
        written.update(model=model, contract=contract, parts=parts)

    monkeypatch.setattr(law_module.files, "save", save)
    one = page(rollout=rollout_of(), title="rig", seconds=2.5, source="a.csv")
    one.save(tmp_path / "a.nc")
    assert written["contract"] == "model"
    assert written["parts"]["rollout"].attrs["contract"] == "measured_rollout"
    again = LawPage.of_parts(written["model"], written["parts"])
    assert (again.title, again.seconds, again.source) == ("rig", 2.5, "a.csv")
    assert again.observations.attrs == {} and again.rollout is not None
    page(source="b").save(tmp_path / "a.nc")
    again = LawPage.of_parts(written["model"], written["parts"])
    assert again.seconds is None and again.rollout is None and again.title == ""


def test_warnings_of_a_random_motion_have_its_inputs_and_modes(monkeypatch):
    """Each text once: of the data, of the law, then reservations."""
    seen = []

    def of_modes(dataset, sensed, known):
        seen.append((sensed, known))
        return ["modes"]

    monkeypatch.setattr(law_module, "of_modes", of_modes)
    monkeypatch.setattr(law_module, "remarks", lambda model, data: ["remarks"])
    about = {"gain": 2.5, "lag": 0.25}
    values = {f"input_{k}_estimate": v for k, v in about.items()}
    values |= {f"input_{k}_std": 0.01 for k in about}

    class One(Stated):
        warnings, dataset = Law.warnings, xr.Dataset(values)
        reservations, modes, sensed_modes = ["b", "c"], "known", "sensed"

    data = xr.Dataset(
        {"input": (("replicate", "sample", "dof"), np.ones((1, 3, 2)))},
        {"dof": list(NAMES)},
        {
            "warnings": json.dumps(["a", "b"]),
            "inputs": json.dumps({"phi": {"gain": "unknown", "lag": 0.0}}),
        },
    )
    model = xr.Dataset(attrs={"warnings": json.dumps(["d", "a"])})
    one = One(observations=data)
    one.model = model
    *noted, lag, gain, modes = one.warnings
    assert noted == ["a", "b", "d", "c"] and modes == "modes"
    assert "input of x acts 250 ± 20 ms" in lag and "2.5" in gain and "phi" in gain
    assert seen == [("sensed", "known")]
    One.limits, one.rollout = ["l"], xr.Dataset()
    assert one.warnings == [*noted, "l", "remarks"] and len(seen) == 1


def planned(monkeypatch, inputs=(), rollout=True):
    """A law of x² in L and D, and what its design is made from."""
    seen = []

    def experiments(compiled, data, covariance, place, shrink):
        seen.append((compiled, covariance, place, shrink))
        columns = ["excite", "amplitude", "frequency"]
        return pd.DataFrame([["phi", 1.0, 2.0], ["x", 3.0, 4.0]], columns=columns)

    folder = "leastaction.recordings"
    monkeypatch.setattr(f"{folder}.measured_rollout.CompiledLaw", lambda *_: "compiled")
    monkeypatch.setattr(f"{folder}.next_experiment.experiments", experiments)
    monkeypatch.setattr(
        f"{folder}.physical_parameters.covariance_of", lambda law: "covariance"
    )
    frame = terms_of(
        ("xdot**2", "L", 0.5, 0.0, "kg"),
        ("x**2", "L", -2.0, 0.1, "N/m"),
        ("x**2", "D", 1.0, 0.2, "N/m"),
        ("phi", "L", 1.0, 0.3, "N m"),
    )

    class One(Stated):
        terms, dataset, coordinates = frame, xr.Dataset(), NAMES

    One.inputs = inputs
    units = {"input_unit": ("dof", ["N", "N*m"])} if inputs else {}
    units |= {"coordinate_unit": ("dof", ["m", "rad"]), "dof": list(NAMES)}
    return One(xr.Dataset() if rollout else None, xr.Dataset(coords=units)), seen


@pytest.mark.parametrize(
    ("inputs", "units"), [((), ["rad", "m"]), (("x", "phi"), ["N*m", "N"])]
)
def test_an_experiment_is_designed_for_one_coefficient(inputs, units, monkeypatch):
    law, seen = planned(monkeypatch, inputs)
    designs = law.next_experiment("phi")
    assert designs.columns.tolist() == ["excite", "amplitude", "unit", "frequency"]
    assert designs.unit.tolist() == units
    law.next_experiment("x**2", "D", 0.9)
    assert seen == [
        ("compiled", "covariance", 3, 0.5),
        ("compiled", "covariance", 2, 0.9),
    ]


@pytest.mark.parametrize(
    ("term", "of", "shrink", "words"),
    [
        ("x**2", None, 0.5, "x\\*\\*2 of L, x\\*\\*2 of D, phi of L$"),
        ("phi", "D", 0.5, "phi is no coefficient with an interval"),
        ("xdot**2", "L", 0.5, "xdot\\*\\*2 is no coefficient"),
        ("y", None, 0.5, "y is no coefficient"),
        ("phi", None, 0.0, "shrink is 0"),
        ("phi", None, 1.0, "shrink is 1"),
        ("phi", None, -0.5, "shrink is -0.5"),
    ],
)
def test_a_coefficient_that_no_experiment_is_for(term, of, shrink, words, monkeypatch):
    with pytest.raises(ValueError, match=words):
        planned(monkeypatch)[0].next_experiment(term, of, shrink)
    law, _ = planned(monkeypatch, rollout=False)
    with pytest.raises(ValueError, match="record 16 times as long"):
        law.next_experiment("phi", shrink=0.25)


@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("physical", [False, True])
def test_a_law_is_described_in_sections(random, physical, monkeypatch):
    monkeypatch.setattr(law_module, "conserved", lambda law, data: ["energy", "spin"])
    monkeypatch.setattr(law_module, "_alternatives", lambda rivals: ["rivals"])
    monkeypatch.setattr(law_module, "_scale_note", lambda *about: f"scale {about[2]}")
    monkeypatch.setattr(law_module, "sensor_noise", lambda data: "1 um")
    monkeypatch.setattr(law_module, "random_force", lambda data: "Force. ")
    monkeypatch.setattr(law_module, "_modes", lambda *modes: [f"modes {modes}"])
    monkeypatch.setattr(law_module, "_calibration", lambda law: ["calibration"])
    numbers = pd.DataFrame(
        {"quantity": ["mass"], "value": [2.0], "std": [0.1], "percent": [5.0]}
        | {"unit": "kg", "grouped": "", "low": 1.8, "high": 2.2}
    )

    class One(Stated):
        terms = terms_of(("x**2", "L", -2.0, 0.1, "N/m"))
        system, modes, sensed_modes = "equations", "a", "b"
        dataset = xr.Dataset({"search_stop": "nothing was left"})

    One.physical = numbers if physical else terms_of()
    lines = One(None if random else xr.Dataset())._described()
    about = lines[:2] if physical else []
    assert [x.partition("\n")[0] for x in about[:1]] == about[:1]
    if physical:
        assert about[0] == "## Physical parameters" and "mass" in about[1]
    law, terms, *code = lines[len(about) : len(about) + 5]
    assert law == "## The law" and "`x**2`" in terms
    assert code == ["```text", "equations", "```"]
    rest = lines[len(about) + 5 :]
    if random:
        text, *more = rest
        assert text == (
            "Sensor noise (std, SI units): 1 um. Force. `Wdot` is white noise of unit "
            "intensity. scale True The search for terms ended because nothing was left."
        )
        assert more == ["modes ('a', 'b')", "calibration"]
    else:
        expected = ["scale False", "## What is conserved", "- energy", "- spin"]
        assert rest == [*expected, "## What the data cannot decide", "rivals"]
