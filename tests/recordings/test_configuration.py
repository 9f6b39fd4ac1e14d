"""A recording as a user writes it: what is completed, and used."""

import re

import pytest
from recorded import completed, rig, write

from leastaction.core.settings import ConfigError, ConfigErrors
from leastaction.recordings.configuration import (
    MODULES,
    SETTINGS,
    Import,
    PublishedNumber,
    Workflow,
    are_there,
    column_and_unit,
    kind_of,
    read_recordings,
    recording_from_config,
)

TABLE = [
    [run, f"{0.1 * k:.1f}", 0.1 * k * (3 - k), 1.0] for run in "ab" for k in range(4)
]
HEADER = "run,t,theta,torque"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three tables, and one that Python would find by another name."""
    path = tmp_path_factory.mktemp("rig")
    for name in ("rig.csv", "rig_1.csv", "rig_2.csv"):
        write(path, TABLE, HEADER, name)
    return path


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ("rig_*.csv", ["rig_1.csv", "rig_2.csv"]),
        (["./x/../rig_2.csv", "rig.csv"], ["rig_2.csv", "rig.csv"]),
        ("$RIG_FOLDER/rig.csv", ["rig.csv"]),
        ("~/rig.csv", ["rig.csv"]),
    ],
)
def test_names_of_files_may_be_patterns_and_variables(
    files, names, folder, monkeypatch
):
    for variable in ("RIG_FOLDER", "HOME"):
        monkeypatch.setenv(variable, str(folder))
    (folder / "x").mkdir(exist_ok=True)
    one = completed(rig(files=files), folder)
    assert one["import"]["files"] == [str(folder / name) for name in names]


@pytest.mark.parametrize(
    ("made", "fine"), [("tables", True), ("other", False), (None, False)]
)
def test_a_table_that_the_workflow_makes_need_not_be_there(made, fine, folder):
    made = None if made is None else folder / made
    one = rig(files="tables/later.csv")
    if fine:
        assert recording_from_config("rig", one, folder, made)["kind"] == "motion"
        return
    with pytest.raises(ConfigError, match="there is no file"):
        recording_from_config("rig", one, folder, made)


@pytest.mark.parametrize("kind", ["motion", "snapshots"])
def test_a_stage_has_the_settings_and_modules_of_its_kind(kind, folder):
    """The law of a kind depends on its recipe; that of a motion on its table alone."""
    one = completed(rig() | {"kind": kind}, folder)
    settings = SETTINGS["import"](one)
    assert set(settings) == {"kind", "import", "held_out", "excitation", "accept"}
    assert settings["held_out"] is None and settings["kind"] == kind
    predicted = SETTINGS["predict"](one, "recommended")
    reading = MODULES["import"](one, None)
    judging = MODULES["predict"](one, "recommended")
    assert reading[0] == "leastaction.recordings.import_recording"
    if kind == "motion":
        assert kind_of(one) is None and len(reading) == 1
        assert set(predicted) == {"kind", "validate"}
        assert judging == ["leastaction.recordings.measured_rollout"]
    else:
        assert reading[1:] == [type(kind_of(one)).__module__]
        assert predicted["recipe"] == one["estimators"]["recommended"]
        assert predicted["library"] == one["library"]
        assert judging[:2] == ["leastaction.recordings.import_samples", reading[1]]
        assert len(judging) > 2
    assert kind_of("text") is None


ROWS_OF = {"files": ["a.csv"], "time": {"column": "t"}}


def test_what_is_not_written_has_its_default():
    part = Import(**ROWS_OF, coordinates={"x": {"unit": "m"}}, inputs={"x": {}})
    assert (part.gap, part.skip_lines, part.format, part.ends) == (
        *(5.0, 0, "auto"),
        "periodic",
    )
    assert part.columns == [] and part.separator is part.trajectory is None
    for column in (part.coordinates["x"], part.inputs["x"]):
        assert (column.offset, column.reverse) == (0.0, False)
    number = PublishedNumber(quantity="mass", value=2.0, term="xdot**2")
    assert (number.factor, number.unit, number.of) == (1.0, "1", "L")
    flow = Workflow(seed=0)
    assert flow.formats == ["svg", "png"] and flow.recordings == {}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Import, ROWS_OF | {"gap": 1.01}, {"gap": 1.0}),
        (Import, ROWS_OF | {"skip_lines": 3}, {"skip_lines": -1}),
        (Import, ROWS_OF | {"separator": ";"}, {"separator": ";;"}),
        (Import, ROWS_OF, {"files": []}),
        (Import, ROWS_OF, {"time": {"rate": 0.0}}),
        (Workflow, {"seed": 0}, {"seed": -1}),
        (Workflow, {"seed": 0, "formats": ["svg", "png", "pdf"]}, {"formats": ["svg"]}),
        (Workflow, {"seed": 0}, {"formats": ["png", "pdf"]}),
    ],
)
def test_settings_have_bounds(kind, good, bad):
    kind(**good)
    with pytest.raises(ValueError, match=next(iter(bad))):
        kind(**good | bad)


MISPLACED = [
    ({"states": {"p": "1"}}, {}, "import.states: a recording of kind motion has none"),
    ({"outputs": {"p": "1"}}, {}, "import.outputs: a recording of kind motion has"),
    ({"coordinates": {}}, {}, "import.coordinates: .* motion, such as --coordinate"),
    (
        {"coordinates": {}, "sensors": {"x1ddot": "g"}},
        {"excitation": "random"},
        "import.sensors: expected the coordinates",
    ),
    ({"sensors": {"theta": "rad"}}, {}, "import.sensors: excitation is none"),
    ({"temperature": "293 K"}, {}, "import.temperature: it is read with"),
    ({"inputs": {"theta": "N"}}, {"kind": "snapshots"}, "kind snapshots has none"),
    ({"coordinates": {}}, {"kind": "snapshots"}, "snapshots, such as --"),
    ({}, {"kind": "snapshots", "excitation": "random"}, "excitation: only a recording"),
    ({"time": {"column": "t", "rate": 9.0}}, {}, "import.time: give either"),
    ({"time": {}}, {}, "import.time: give either"),
    ({"time": {"column": "t", "unit": "kg"}}, {}, "kg"),
    ({"files": "none*.csv"}, {}, "import.files: nothing matches .*none"),
    ({"files": "none.csv"}, {}, "import.files: there is no file .*none.csv"),
    ({"coordinates": {"phi": "rad"}}, {}, "unknown column 'phi'"),
    ({"coordinates": {"phi 1": "rad"}}, {}, "phi 1"),
    ({"coordinates": {"theta": "kg"}}, {}, "a mass"),
    ({}, {"kind": "pendulum"}, "unknown kind 'pendulum'"),
    ({}, {"kind": 7}, "unknown kind"),
]


@pytest.mark.parametrize(("changes", "more", "words"), MISPLACED)
def test_what_does_not_belong_to_a_recording_is_a_problem(changes, more, words, folder):
    part = rig()["import"] | changes
    with pytest.raises(ConfigError) as error:
        completed({"import": part} | more, folder)
    assert len(error.value.problems) == 1
    assert re.search(words, error.value.problems[0])


def test_a_recording_is_completed(folder):
    """Short forms are written out; the library is that of its coordinates."""
    part = {"files": "rig.csv", "trajectory": "run", "time": "t"}
    part["coordinates"] = {"phi": " theta  [deg] "}
    one = completed({"import": part}, folder)
    entry = one["import"]["coordinates"]["phi"]
    assert (entry["column"], entry["unit"]) == ("theta", "deg")
    assert one["import"]["time"] == {"column": "t"}
    assert one["library"]["reference"] == "phidot**2/2"
    (folder / "seven.csv").write_text("7,t,theta\na,0,1\nb,1,2\n")
    table = rig(files="seven.csv", trajectory=7)
    assert completed(table, folder)["import"]["trajectory"] == "7"
    assert column_and_unit("deg") == {"unit": "deg"}


def test_recordings_have_a_folder_and_a_seed_each(folder, monkeypatch):
    config = {"recordings": {"one": rig(), "two": rig(files="rig_1.csv")}, "seed": 5}
    monkeypatch.chdir(folder)
    found = read_recordings(config, {"one": folder})
    assert list(found) == ["one", "two"]
    assert found["two"]["key"] == "recordings/two" and found["two"]["seed"] == 5
    config["recordings"] |= {"three": rig(files="no.csv"), "four": rig(time={})}
    with pytest.raises(ConfigErrors) as error:
        read_recordings(config, {})
    text = str(error.value)
    assert "recording three" in text and "recording four" in text and "two" not in text
    assert len(error.value.problems) == 2


def test_files_of_a_recording_are_there_or_not(folder):
    assert are_there(rig(files=["rig.csv", "rig_1.csv"]), folder)
    assert not are_there(rig(files=["rig.csv", "rig_9.csv"]), folder)
