"""A recording as a user writes it: what is completed, and used."""

import pytest
from recorded import completed, rig, write

from leastaction.core.settings import ConfigError
from leastaction.recordings.configuration import (
    MODULES,
    SETTINGS,
    kind_of,
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
