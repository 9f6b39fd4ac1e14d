"""`leastaction.learn`: the road of a recording in memory, and its refusals."""

import logging
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from recorded import ROOT, completed
from scipy.integrate import solve_ivp

import leastaction as la
from leastaction.core.files import load
from leastaction.core.jobs import FILES, STAGES
from leastaction.recordings import learn as learning
from leastaction.recordings.configuration import SETTINGS, import_settings
from leastaction.recordings.import_samples import imported
from leastaction.recordings.law import Law
from leastaction.recordings.learn import described
from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.units_of_terms import coefficient_units

TIME = np.arange(0, 20, 0.02)


def springs(noise=1e-3):
    """Positions of a linear oscillator, ω = 3, five amplitudes."""
    rng = np.random.default_rng(1)
    return [
        a * np.cos(3 * TIME) + noise * rng.standard_normal(len(TIME))
        for a in (0.1, 0.2, 0.3, 0.4, 0.5)
    ]


def table(values, unit=1.0):
    return pd.concat(
        pd.DataFrame({"run": k, "t": TIME, "x": x / unit}) for k, x in enumerate(values)
    )


def learn(data, **more):
    return la.learn(data, progress=False, **more)


@pytest.fixture(scope="module")
def law():
    return learn({"x": springs()}, time=TIME)


def observed(data, time=None, trajectory=None, coordinates=None, **columns):
    """Observations that `learn` identifies a law of."""
    example, _ = described(data, time, coordinates, trajectory, columns, {})
    return imported(import_settings(example))[0]


@pytest.fixture(scope="module")
def arrays():
    return observed({"x": springs()}, TIME)


def assert_same(one, other, lost=0):
    """Equal observations, but for samples `lost` at the end of the first motion."""
    assert one.attrs["time_step"] == pytest.approx(other.attrs["time_step"], rel=1e-9)
    assert (one["held_out"].values == other["held_out"].values).all()
    counts = other["sample_count"].values - [lost, 0, 0, 0, 0]
    assert (one["sample_count"].values == counts).all()
    q, expected = (x["q"].values[0, :, 0] for x in (one, other))
    expected = np.delete(expected, slice(1000 - lost, 1000))
    np.testing.assert_allclose(q, expected, rtol=0, atol=1e-9)


def coefficients(law):
    return law.model["coefficient_estimate"].values


def test_arrays_give_their_law(law):
    assert law.verdict == "found"
    assert law.support == ["xdot**2", "x**2"]
    assert abs(law.coefficient("x**2") + 4.5) < 3 * law.standard_error("x**2") + 1e-6
    assert law.alternatives == []


@pytest.mark.parametrize(
    "data, more",
    [
        (np.array(springs()), {"time": TIME}),
        (springs(), {"time": [TIME] * 5}),
        (springs(), {"time": TIME, "coordinates": ["x"]}),
        (springs(), {"time": TIME, "coordinates": {"x": "m"}}),
    ],
)
def test_shapes_of_arrays_do_not_matter(arrays, data, more):
    assert_same(observed({"x": data}, **more), arrays)


def test_tables_and_datasets_give_the_same_law(law):
    frame = table(springs())
    columns = {"time": "t", "trajectory": "run", "coordinates": {"x": "m"}}
    assert (coefficients(learn(frame, **columns)) == coefficients(law)).all()
    dataset = xr.Dataset(
        {"x": (("trajectory", "time"), np.array(springs()), {"units": "m"})},
        coords={"time": TIME},
    )
    assert (coefficients(learn(dataset, time="time")) == coefficients(law)).all()


def dates():
    return pd.Timestamp("2026-11-23 09:00") + pd.to_timedelta(TIME, unit="s")


class Foreign:
    """A table of another package: columns by name."""

    def __init__(self, frame):
        self._frame, self.columns = frame, list(frame.columns)

    def __getitem__(self, name):
        return list(self._frame[name])


TABLES = {
    "dates": lambda f: f.assign(t=np.tile(dates(), 5)),
    "dates of a zone": lambda f: f.assign(t=np.tile(dates().tz_localize("UTC"), 5)),
    "durations": lambda f: f.assign(t=pd.to_timedelta(f.t, unit="s")),
    "an index": lambda f: f.set_index(["run", "t"]),
    "numbers as text": lambda f: f.assign(x=f.x.map(repr), t=f.t.map(repr)),
    "numbers as objects": lambda f: f.assign(x=f.x.astype(object)),
    "nullable numbers": lambda f: f.convert_dtypes(),
    "another package": Foreign,
    "a mapping": lambda f: {name: f[name].to_numpy() for name in f},
    "a structured array": lambda f: f.to_records(index=False),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_all_kinds_give_the_same_observations(arrays, name):
    columns = {"time": "t", "trajectory": "run", "coordinates": {"x": "m"}}
    assert_same(observed(TABLES[name](table(springs())), **columns), arrays)


@pytest.mark.parametrize(
    "time",
    [
        0.02,
        np.timedelta64(20, "ms"),
        dates(),
        list(dates().to_pydatetime()),
        (1e9 * TIME).round().astype("timedelta64[ns]"),
        pd.Series(TIME, index=range(7, 7 + len(TIME))),
        [TIME[:900], TIME, TIME, TIME, TIME],
    ],
)
def test_times_of_all_kinds_give_the_same_observations(arrays, time):
    values, lost = springs(), 0
    if isinstance(time, list) and len(time) == 5:
        values[0], lost = values[0][:900], 100
    assert_same(observed({"x": values}, time), arrays, lost)


def test_units_of_a_dataset_are_used(law):
    values = np.array(springs())
    dataset = xr.Dataset(
        {"x": (("swing", "ms"), 1e3 * values, {"units": "mm"})},
        coords={"ms": ("ms", 1e3 * TIME, {"units": "ms"})},
    )
    for more in ({}, {"coordinates": ["x"]}):
        found = learn(dataset, time="ms", **more)
        assert np.allclose(coefficients(found), coefficients(law), rtol=1e-6)

    # Forced, of 2 kg: ẍ = −9 x − 0.3 ẋ + sin(t)/2.
    def rate(t, state):
        return state[1], -9 * state[0] - 0.3 * state[1] + np.sin(t) / 2

    x = solve_ivp(rate, (0, 20), [0.3, 0.0], t_eval=TIME, rtol=1e-9).y[0]
    x += 1e-4 * np.random.default_rng(2).standard_normal(len(x))
    forced = {"x": ("ms", 1e3 * x, {"units": "mm"}), "force": ("ms", np.sin(TIME))}
    forced = xr.Dataset(forced, coords=dataset.coords)
    found = learn(forced, time="ms", inputs={"x": "force [N]"})
    assert "input" in found.observations
    assert found.coefficient("xdot**2") == pytest.approx(1.0, rel=0.01)


def test_velocities_are_known_by_their_name():
    rates = [np.gradient(x, TIME) for x in springs()]
    found = learn({"x": springs(), "xdot": rates}, time=TIME)
    assert found.coordinates == ("x",) and "qdot" in found.observations


def test_a_unit_is_converted(law):
    found = learn(
        table(springs(), 1e-3).rename(columns={"x": "position [mm]"}),
        time="t",
        trajectory="run",
        coordinates={"x": "position [mm]"},
    )
    assert found.coefficient("x**2") == pytest.approx(law.coefficient("x**2"), rel=1e-9)


def run_script(name: str, *arguments):
    spec = spec_from_file_location(name, ROOT / "workflow/scripts" / f"{name}.py")
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main(*arguments)


def by_the_workflow(given, folder):
    """Files of the scripts of the workflow, one after the other."""
    example = completed(given, folder)

    def settings(stage):
        return SETTINGS[stage](example, "recommended")

    first, *made, rollout = (
        folder / f"{name}.nc" for name in ("observations", *FILES, "rollout")
    )
    model = made[-1]
    run_script("import", settings("import"), first)
    stages = {stage: settings(stage) for stage in STAGES}
    run_script("estimate", first, {"recommended": stages}, made)
    random = example["excitation"] == "random"
    if not random:
        run_script("predict", first, model, settings("predict"), rollout)
    rollouts = [] if random else [rollout]
    law = folder / "law.md"
    timed = folder / "identify.tsv"
    timed.write_text("wall\tuser\tsystem\n99.9\t12.1\t0.2\n")
    about = {"title": example["title"], "results": {}}
    saved = folder / "law.nc"
    run_script("write_law", first, model, rollouts, [timed], about, law, saved)
    return model, law, saved


def shaken(duration=20):
    """Position and velocity of an oscillator under white noise."""
    truth = la.System(
        "xdot**2/2 - 20*x**2", dissipation="0.3*xdot**2", volatility={"x": "1"}
    )
    data = truth.simulate(
        duration=duration,
        time_step=2e-3,
        trajectories=3,
        initial_state={"x": 0.1, "xdot": 0.0},
    )
    return [
        pd.DataFrame({"t": data.time.values, "x": q[:, 0], "v": v[:, 0]})
        for q, v in zip(data.q.values[0], data.qdot.values[0], strict=True)
    ]


@pytest.mark.parametrize("random", [False, True])
def test_learn_and_the_workflow_agree_bit_by_bit(tmp_path, random):
    if random:
        parts = (part.iloc[::4] for part in shaken(10))  # 125 samples in a period
        frame = pd.concat(part.assign(run=k) for k, part in enumerate(parts))
        columns = {"coordinates": {"x": "m"}, "velocities": {"x": "v [m/s]"}}
        about = {"excitation": "random"}
    else:
        frame, columns, about = table(springs()), {"coordinates": {"x": "m"}}, {}
    frame.to_csv(tmp_path / "rig.csv", index=False)
    part = {"files": "rig.csv", "time": "t", "trajectory": "run", **columns}
    given = {"title": "A rig", "import": part, **about}
    model, text, saved = by_the_workflow(given, tmp_path)
    law = learn(
        tmp_path / "rig.csv",
        time="t",
        trajectory="run",
        title="A rig",
        **columns,
        **about,
    )
    law.save(tmp_path / "again.nc")
    same, one = (load(p).drop_attrs(deep=False) for p in (tmp_path / "again.nc", model))
    assert same.identical(one)
    assert law.seconds > 0
    law.seconds = 12.3
    assert law.to_markdown() == text.read_text()
    assert la.load(saved).to_markdown() == text.read_text()
    assert la.load(model).interval_factor == law.interval_factor


def test_a_law_predicts_and_draws(law, tmp_path):
    path = law.predict([0.2], [0.0], np.linspace(0, 1, 11))
    assert np.allclose(path.q[:, 0], 0.2 * np.cos(3 * path.time), atol=1e-4)
    assert law.function()([0.2], [0.0]) == pytest.approx([-1.8], rel=1e-3)
    assert law.sympy["lagrangian"].free_symbols == {*law.system.state}
    assert float(np.abs(law.residuals().residual).max()) < 0.01
    for name in law.figures:
        assert law.plot(name).axes
    with pytest.raises(ValueError, match="unknown figure 'phase'"):
        law.plot("phase")
    assert law.to_markdown() == str(law)
    assert repr(law) == f"Law: found\n{law.terms}"
    assert r"x^{2}" in law._repr_markdown_() and r"\pm" in law._repr_markdown_()
    assert str(law).startswith("**Law found.**")


def test_coefficients_have_units(law):
    """In J for N and m; without an input those of the term that is given."""
    free = coefficient_units(law, law.observations)
    assert [free("L", "xdot**2"), free("L", "x**2")] == ["1", "1/s²"]
    assert [free("D", "xdot**2"), free("D", "abs(xdot)")] == ["1/s", "m/s²"]
    assert free("L", "x + x**2") == ""

    def driven(kind, term, unit="N"):
        told = law.observations.assign_coords(input_unit=("dof", [unit]))
        return coefficient_units(law, told)(kind, term)

    assert [driven("L", t) for t in ("xdot**2", "x**2", "x")] == ["kg", "N/m", "N"]
    assert [driven("D", t) for t in ("abs(xdot)", "xdot**2")] == ["N", "kg/s"]
    assert driven("L", "x**3", "V") == "V/m²"


def test_what_a_stage_warns_of_reaches_the_law(monkeypatch):
    module = import_module("leastaction.recordings.bandwidth_spline")
    differentiate = module.differentiate

    def loud(*arguments):
        logging.getLogger("leastaction.anywhere").warning("sensor %d hums", 3)
        return differentiate(*arguments)

    monkeypatch.setattr(module, "differentiate", loud)
    law = learn({"x": springs()}, time=TIME)
    assert law.warnings.count("sensor 3 hums") == 1
    assert "- sensor 3 hums" in law.to_markdown()


def test_inertia_alone_is_no_law(law):
    """Steps of a random walk, or noise, have one over windows that are short enough."""
    alone = law.model["coefficient_estimate"].where(law.model["term"] == "xdot**2", 0.0)
    free = Law(
        law.model.assign(coefficient_estimate=alone), law.observations, law.rollout
    )
    assert free.verdict == "no law found"
    assert "no force" in free.reservations[0]


def test_a_law_states_what_it_was_learned_from(law):
    text = law.to_markdown()
    assert "training data: 4 trajectories, 4000 samples, 80 s" in text
    assert "held-out data: 1 trajectory, 1000 samples, 20 s" in text
    assert "computing time: " in text


def test_a_random_motion_has_no_path(tmp_path):
    law = learn(
        shaken(),
        time="t",
        coordinates={"x": "m"},
        velocities={"x": "v [m/s]"},
        excitation="random",
    )
    assert law.verdict == "found" and law.figures[0] == "spectra"
    assert not law.reservations  # sixty periods, in which the damper stays
    assert ("D", "xdot**2") in {*zip(law.terms.of, law.terms.term, strict=True)}
    for name in law.figures:
        assert law.plot(name).axes
    frequency = law.modes["frequency"].item()
    assert frequency == pytest.approx(40**0.5 / (2 * np.pi), rel=0.02)
    assert "| 1 | " in law.to_markdown()
    with pytest.raises(ValueError, match="no path"):
        law.residuals()
    rival = xr.full_like(law.model["alternatives"], "D: xdot**4 instead of D: xdot**2")
    torn = Law(law.model.assign(alternatives=rival), law.observations)
    assert torn.verdict == "found, with reservations"
    assert "D: xdot**4 instead of D: xdot**2" in torn.reservations[0]
    rows = np.unique(law.dataset["innovation_trajectory"], return_counts=True)[1].max()
    for periods, said in ((1, "drifts"), (5, "a tone acts")):
        frequency = periods / rows / float(law.dataset["sample_step"])
        line = {"line_p_value": 0.0, "line_frequency": frequency}
        seen = {name: xr.full_like(law.model[name], x) for name, x in line.items()}
        told = Law(law.model.assign(seen), law.observations).reservations
        assert said in told[-1]


WRONG = {
    "unit": ({}, {"coordinates": {"x": "furlongs per"}}, "is not a unit"),
    "name": ({"a b": springs()}, {}, "cannot name a quantity"),
    "lengths": ({"x": springs(), "y": springs()[:3]}, {}, "expected arrays of equal"),
    "times": ({}, {"time": TIME[:-1]}, "one time for every sample"),
    "unsorted": ({}, {"time": TIME[::-1]}, "time goes back"),
    "step": ({}, {"time": -1.0}, "expected the times of the samples"),
    "text": ({"x": ["a", "b"]}, {}, "expected numbers"),
    "number": ({"x": 5.0}, {}, "expected numbers of shape"),
    "nothing": ({}, {"time": None}, "expected the times of the samples"),
    "no sample": ({"x": TIME[:0]}, {"time": TIME[:0]}, "there is no row"),
    "truth": ({"x": TIME > 3}, {}, "x holds bool; expected numbers"),
    "complex": ({"x": TIME + 1j}, {}, "x holds complex128; expected numbers"),
    "columns": ({"x": np.array(springs()).T}, {}, "1000 trajectories of 5 samples"),
    "axes": (
        {"x": np.array(springs()).T},
        {"time": TIME},
        "look like .time, trajectory.; expected .trajectory, time., such as x.T, or an "
        "array for each",
    ),
    "number as name": ({0: springs()}, {}, "cannot name a quantity"),
    "time as name": ({"time": springs()}, {}, "time cannot name a coordinate"),
    "trajectory": ({}, {"trajectory": "run"}, "a column of a table"),
    "files": ({}, {"files": "a.csv"}, "files are the data"),
    "list of velocities": ({}, {"velocities": ["v"]}, "expected 'key: value'"),
    "no unit": ({}, {"coordinates": {"x": ""}}, "'' is not a unit"),
    "own column": (
        {"x": springs(), "u": springs()},
        {"inputs": {"x": "u"}},
        "the column 'x' is that of coordinates.x; name its own",
    ),
    "word": ({}, {"accept": "turn"}, "'turn' is not one of"),
    "of another family": (
        {},
        {"recipe": {"identify": {"method": "null_vector"}}},
        "identify method 'null_vector' needs assemble method",
    ),
    "singular": (
        {},
        {"library": {"lagrangian": ["xdot**2", "sqrt(x)"]}},
        "the forces of sqrt.x. are not finite",
    ),
    "cube": ({"x": np.zeros((2, 3, 4))}, {}, "expected numbers of shape"),
    "key": ({}, {"seperator": ";"}, "unknown key 'seperator'"),
    "refusal": ({}, {"accept": ["noise!"]}, "'noise!' is not one of"),
    "candidate": ({}, {"library": {"also": {"lagrangian": ["x+"]}}}, "library"),
    "input": (
        {},
        {"coordinates": {"x": "m"}, "inputs": {"y": "x [N]"}},
        "there is no coordinate 'y'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_all_mistakes_are_reported_at_once(name, monkeypatch):
    data, more, told = WRONG[name]
    module = import_module("leastaction.recordings.bandwidth_spline")
    if name != "singular":
        monkeypatch.setattr(module, "differentiate", None)  # nothing is computed
    with pytest.raises(la.RecordingError, match=told) as error:
        learn(data or {"x": springs()}, **{"time": TIME, **more})
    assert len(str(error.value).splitlines()) <= 3  # a caret stands below its text


def test_what_is_not_finite_is_reported():
    broken = springs()
    broken[1][7] = np.inf
    with pytest.raises(la.RecordingError, match="column 'x': the cell is infinite"):
        learn({"x": broken}, time=TIME)


TABLE = {"time": "t", "trajectory": "run", "coordinates": {"x": "m"}}
WRONG_TABLES = {
    "truth": (lambda f: f.assign(x=f.x > 0), {}, "the cell holds 'True'"),
    "complex": (lambda f: f.assign(x=f.x + 1j), {}, "expected a number"),
    "words": (
        lambda f: f.assign(x="a"),
        {},
        "line 1, column 'x': the cell holds 'a'",
    ),
    "twice": (lambda f: pd.concat([f, f[["x"]]], axis=1), {}, "'x' appears twice"),
    "unsorted": (lambda f: f[::-1], {}, "the table, line 2, time: time goes back"),
    "no row": (lambda f: f[:0], {}, "the table: there is no row"),
    "three": (lambda f: f[:3], {}, "the longest stretch without a gap has 3 rows"),
    "still": (lambda f: f.assign(x=1.0), {}, "it is 1 in every row"),
    "times": (lambda f: f, {"time": TIME}, "time is ndarray; of a table write the na"),
    "a list": (
        lambda f: f,
        {"trajectory": ["run"]},
        "trajectory: expected text",
    ),
}


@pytest.mark.parametrize("name", WRONG_TABLES)
def test_what_is_wrong_with_a_table_is_reported_in_one_sentence(name):
    change, more, told = WRONG_TABLES[name]
    with pytest.raises(la.RecordingError, match=told) as error:
        learn(change(table(springs())), **{**TABLE, **more})
    assert len(str(error.value).splitlines()) == 1


def test_what_does_not_oscillate_is_a_warning():
    """The first example of PySINDy's README, and a noisy decay."""
    time = np.linspace(0, 1, 100)
    noise = 1e-3 * np.random.default_rng(5).standard_normal(100)
    for decay in (3 * np.exp(-2 * time), np.exp(-3 * time) + noise):
        with pytest.raises(la.RecordingError, match="no Lagrangian here") as error:
            learn({"x": decay, "y": 0.5 * np.exp(time)}, time=time)
        assert "Record longer" not in str(error.value)


def test_no_data_at_all():
    with pytest.raises(la.RecordingError, match="expected a path"):
        learn(7, time=TIME)
    with pytest.raises(la.RecordingError, match="coordinates are missing"):
        learn(table(springs()), time="t")


def test_columns_are_described():
    rng = np.random.default_rng(0)
    angle = np.degrees(6 * np.cos(3 * TIME)) % 360
    frame = pd.DataFrame(
        {
            "ms": 1e3 * TIME,
            "phi": angle,
            "enc": np.round(100 * np.cos(3 * TIME)),
            "rate": -300 * np.sin(3 * TIME) + 0.1 * rng.standard_normal(len(TIME)),
            "dead": 0.0,
            "run": np.arange(len(TIME)) // 500.0,
            "u [V]": np.where(np.arange(len(TIME)) % 5 == 0, TIME, np.nan),
        }
    )
    about = la.describe(frame)
    found = {c.name: c for c in about.columns}
    started = about.settings["recordings"]["the_table"]["import"]
    assert started["trajectory"] == "run"
    assert started["inputs"] == {"phi": {"column": "u [V]", "unit": "V"}}
    assert found["ms"].role == "time" and found["ms"].unit == "ms"
    assert found["phi"].unit == "deg" and "wraps" in str(found["phi"].remarks)
    assert "steps of 1" in found["enc"].remarks
    assert found["dead"].role == "constant"


@pytest.mark.parametrize(
    ("name", "role", "unit"),
    [
        ("F", "input", "N"),
        ("torque_2", "input", "N*m"),
        ("motor [A]", "input", "A"),
        ("u [mm]", "coordinate", "mm"),
        ("tilt", "coordinate", "m"),
    ],
)
def test_a_force_is_no_coordinate(name, role, unit):
    values = np.random.default_rng(4).standard_normal(len(TIME))
    frame = pd.DataFrame({"t": TIME, "x": np.cos(3 * TIME), name: values})
    about = {c.name: c for c in la.describe(frame).columns}[name]
    assert (about.role, about.unit) == (role, unit)


def test_guesses_of_columns_fit_each_other():
    x, y = np.cos(3 * TIME), np.random.default_rng(4).standard_normal(len(TIME))
    for columns, expected in (
        ({"q1": x, "tau1": y}, {"q1": ("coordinate", "rad")}),
        ({"q1 [m]": x, "tau1": y}, {"q1 [m]": ("coordinate", "m")}),
        ({"q1": x, "tau1": y, "F": y}, {"q1": ("coordinate", "m")}),
        ({"diode [V]": y}, {"diode [V]": ("coordinate", "V")}),
        ({"x": x, "drive [V]": y}, {"drive [V]": ("input", "V")}),
        ({"acc1": y}, {"acc1": ("acceleration", "m/s^2")}),
    ):
        about = la.describe(pd.DataFrame({"t": TIME} | columns))
        seen = {c.name: (c.role, c.unit) for c in about.columns}
        assert expected.items() <= seen.items()


def test_a_second_clock_and_accelerations_are_no_coordinates():
    x = np.cos(3 * TIME)
    noise = np.random.default_rng(5).standard_normal((2, len(TIME)))
    both = pd.DataFrame(
        {"t": TIME, "ms": 1e3 * TIME, "x": x, "acc [g]": -9 * x / 9.8 + 1e-3 * noise[0]}
    )
    found = {c.name: (c.role, c.of) for c in la.describe(both).columns}
    assert found["ms"] == ("clock", "") and found["acc [g]"] == ("acceleration", "x")
    about = la.describe(pd.DataFrame({"a [g]": noise[0], "b [m/s^2]": noise[1]}))
    (recording,) = about.settings["recordings"].values()
    assert recording["excitation"] == "random"
    assert list(recording["import"]["sensors"]) == [
        "x1ddot + ground",
        "x2ddot + ground",
    ]


def test_a_rate_that_no_column_determines_is_to_be_filled_in(tmp_path):
    values = np.random.default_rng(6).standard_normal((500, 2))
    table = pd.DataFrame(values, columns=["roof [g]", "floor [g]"])
    table.to_csv(tmp_path / "frame.csv", index=False)
    shown = str(la.describe(tmp_path / "frame.csv"))
    assert "No column is a clock" in shown and "rate: null" in shown
    assert shown.count("--rate HZ") == 2 and "leastaction modes" in shown


def test_an_undamped_motion_loses_no_energy():
    noise = 1e-4 * np.random.default_rng(3).standard_normal((4, 500))
    swings = np.array([a * np.cos(3 * TIME[:500]) for a in (0.5, 0.7, 0.9, 1.1)])
    law = la.learn({"x": swings + noise}, time=TIME[:500], progress=False)
    energy = law.to_markdown().partition("## What is conserved\n\n- ")[2]
    assert energy.startswith(("Energy is conserved", "Energy may be conserved"))


BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("snakemake", "grimp", "pygments"):
            raise ImportError(name)

sys.meta_path.insert(0, Blocked())
import leastaction as la
heavy = {"numpy", "scipy", "sympy", "xarray", "pandas", "numba", "matplotlib", "pint"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
import numpy as np
t, rng = np.arange(0, 6, 0.05), np.random.default_rng(1)
noise = 1e-3 * rng.standard_normal((3, len(t)))
la.learn({"x": [*(noise + np.outer([0.1, 0.2, 0.3], np.cos(3 * t)))]}, time=t)
"""


def test_the_package_needs_no_snakemake_and_starts_light():
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no bar where there is no terminal


def test_two_motors_with_one_unknown_gain():
    """Two carts on springs, currents in A, 2.5 N/A; one mass is known."""
    time = np.arange(0, 10, 0.01)
    one, two = (
        lambda t: np.sin(np.pi * t) + 0.7 * np.sin(7 * t),
        lambda t: 0.8 * np.cos(4.4 * t) + 0.6 * np.sin(10 * t),
    )

    def rate(t, state):
        x, y, v, w = state
        pull = 15 * (x - y)
        return v, w, 2.5 * one(t) - 20 * x - pull, (2.5 * two(t) + pull - 10 * y) / 0.7

    motion = solve_ivp(rate, (0, 10), [0] * 4, "DOP853", time, rtol=1e-9).y[:2]
    motion += 1e-4 * np.random.default_rng(5).standard_normal(motion.shape)
    motor = {"unit": "A", "gain": "shared"}
    law = la.learn(
        {"x": motion[0], "y": motion[1], "i": one(time), "j": two(time)},
        time=time,
        coordinates={"x": "m", "y": "m"},
        inputs={"x": motor | {"column": "i"}, "y": motor | {"column": "j"}},
        library={
            "reference": "0.5*xdot**2",
            "lagrangian": ["xdot**2", "ydot**2", "x**2", "y**2", "(x - y)**2", "x**4"],
            "dissipation": ["xdot**2", "ydot**2"],
        },
        progress=False,
    )
    terms = law.terms.set_index(["of", "term"])
    for term, value in {"ydot**2": 0.35, "x**2": -10, "(x - y)**2": -7.5}.items():
        assert terms.low["L", term] < value < terms.high["L", term], term
    (gain,) = {re.search(r"of y is ([\d.]+)", text) for text in law.warnings} - {None}
    assert float(gain[1]) == pytest.approx(2.5, abs=1e-3)


def test_arrays_become_a_table_of_trajectories():
    two = [np.arange(3.0), np.arange(2.0)]
    files, (frame,), keys, units = learning.tables_of({"x": two}, two, None)
    assert keys == {"time": {"column": "time"}, "trajectory": "trajectory"}
    assert frame["x"].tolist() == frame["time"].tolist() == [0, 1, 2, 0, 1]
    assert frame["trajectory"].tolist() == [0, 0, 0, 1, 1] and units == {"x": None}
    _, (frame,), keys, _ = learning.tables_of(np.arange(4.0), 0.1, None)
    assert keys == {"time": {"rate": 10.0}} and list(frame) == ["x", "trajectory"]
    both = np.arange(6.0).reshape(2, 3)
    _, (frame,), keys, _ = learning.tables_of({"x": both}, np.arange(3.0), None)
    assert frame["time"].tolist() == [0, 1, 2] * 2 and "trajectory" in keys
    assert learning.tables_of("a.csv", "t", "run") == (
        ["a.csv"],
        [],
        {"time": "t", "trajectory": "run"},
        {},
    )


@pytest.mark.parametrize(
    ("data", "time", "words"),
    [
        ({"x": np.zeros((5, 2))}, np.arange(5.0), "they look like .time, trajectory"),
        ({"x": np.zeros(5)}, np.arange(4.0), "expected one time for every sample"),
        ({"time": np.zeros(5)}, 0.1, "time cannot name a coordinate"),
        ({"x": np.zeros(5)}, 0.0, "time is 0.0; expected"),
        ({"x": np.zeros(5)}, np.inf, "time is inf; expected"),
        ({"x": np.zeros(5)}, True, "time is True; expected"),
        (np.zeros((5, 2)), 0.1, "or la.learn.{'x': x.:, 0., 'xdot': x.:, 1.}, t"),
        (np.zeros((2, 5)), 0.1, "data are ndarray; expected a path"),
        (np.zeros((5, 3)), 0.1, "'x2': x.:, 2.}, t.$"),
    ],
)
def test_arrays_that_are_none_are_refused(data, time, words):
    with pytest.raises(RecordingError, match=words):
        learning.tables_of(data, time, None)


def test_a_step_may_be_a_duration_or_a_number():
    from datetime import timedelta

    for step in (
        0.25,
        np.array(0.25),
        timedelta(milliseconds=250),
        np.timedelta64(250, "ms"),
    ):
        assert learning._step(step) == 0.25
    assert learning._step([0.0, 1.0]) is learning._step(np.arange(2.0)) is None


def test_coordinates_and_rates_are_known_by_name():
    columns = dict.fromkeys(("velocities", "accelerations", "inputs"))
    columns["inputs"] = {"x": "F [N]"}
    units = {"x": "mm", "xdot": "", "theta_1": "", "thetaddot": "", "F": None}
    assert learning._by_name(units, columns) == {
        "x": "mm",
        "theta_1": "rad",
        "thetaddot": "m",
    }
    assert columns["velocities"] == {"x": {"column": "xdot", "unit": "mm/s"}}
    assert columns["accelerations"] is None
    stated = dict.fromkeys(columns) | {"velocities": {"x": {"column": "v"}}}
    found = learning._by_name(dict.fromkeys(("x", "xddot", "v", "xdot")), stated)
    assert found == {"x": "m", "xdot": "m"}
    assert stated["accelerations"] == {"x": {"column": "xddot", "unit": "m/s^2"}}
    for name, angle in (
        ("phi_2", True),
        ("Theta", True),
        ("x", False),
        ("phix", False),
    ):
        assert learning.angle_by_name(name) is angle
    with pytest.raises(RecordingError, match="coordinates are missing"):
        learning._by_name({}, columns)
