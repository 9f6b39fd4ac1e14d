"""Damaged and hostile files: refused in one sentence, or as good as they were.

`make test` tries some of each kind, always the same; `make attack` all.
"""

import json
import os
import shutil
import uuid
from functools import partial

import harm
import numpy as np
import pytest
from harm import cases, count, harmless, told
from hostile_files import (
    IMPORTS,
    LIBRARIES,
    SEEDS,
    damaged,
    spoil,
    spoilt_late,
    tables,
    write_foreign,
)
from hypothesis import given
from hypothesis import strategies as st
from recorded import imported, rig, rows, write
from support import observe, oscillator

from leastaction import load as load_law
from leastaction import recipes
from leastaction.core.contracts import ContractError
from leastaction.core.files import load, save
from leastaction.recordings.describe import describe
from leastaction.recordings.refusals import RecordingError
from leastaction.recordings.tables import open_table

LIBRARY = {
    "reference": "xdot**2/2",
    "lagrangian": [{"terms": ["x**2", "x**4", "cos(x)", "xdot**2/2"]}],
    "volatility": [{"terms": ["1"]}],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Folder with observations and a model; nothing but their copies may be written."""
    folder = tmp_path_factory.mktemp("files")
    observations = observe(oscillator(), trajectories=4, steps=300)
    save(observations, folder / "observations.nc", "observations")
    fitted = recipes.ensembles.recommended().fit(observations, LIBRARY)
    fitted.save(folder / "model.nc")
    str(load_law(folder / "model.nc"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(harm, "writable", str(folder))
        yield folder


@given(name=st.sampled_from(["observations.nc", "model.nc"]), seed=SEEDS)
@cases("files")
def test_a_damaged_file_is_refused(files, name, seed):
    content = (files / name).read_bytes()
    path = files / f"{uuid.uuid4()}.nc"
    path.write_bytes(damaged(content, seed))
    with harmless():
        try:
            found = load(path)
        except ContractError as error:
            assert "snakemake --forcerun" in str(error)
        else:
            assert path.read_bytes() == content, found
    path.unlink()


@given(st.data())
@cases("models")
def test_a_hostile_model_is_refused_or_shown(files, data):
    path = files / f"{uuid.uuid4()}.nc"
    shutil.copy(files / "model.nc", path)
    spoil(path, data.draw)
    with harmless():
        try:
            model = load_law(path)
            assert str(model) and model.latex_terms() and model.terms is not None
        except Exception as error:
            if not told(error):
                raise
    path.unlink()


@given(data=st.data())
@cases("tables")
def test_a_hostile_table_is_refused_or_imported(files, data):
    folder = files / "table"
    folder.mkdir(exist_ok=True)
    path = write(folder, rows(3, rate=20.0))
    path.write_bytes(data.draw(tables(path.read_bytes())))
    part = data.draw(IMPORTS)
    with harmless():
        try:
            found = imported(rig(**part), folder)
            assert np.isfinite(found["q"].values).all()
        except Exception as error:
            if not told(error):
                raise


def test_a_table_spoilt_below_its_first_lines_is_not_taken_in_silence(files):
    folder = files / "late"
    folder.mkdir(exist_ok=True)
    path = write(folder, rows(rate=50.0))
    content = path.read_text()
    good = json.loads(imported(rig(), folder).attrs["warnings"])
    for seed in range(count("late tables")):
        way, text = spoilt_late(content, seed)
        path.write_text(text)
        with harmless():
            try:
                found = imported(rig(), folder)
                assert json.loads(found.attrs["warnings"]) != good, way
            except Exception as error:
                assert told(error), way


def test_a_hostile_netcdf_table_is_refused_or_imported(files):
    folder = files / "foreign"
    folder.mkdir(exist_ok=True)
    path = folder / "rig.nc"
    write_foreign(path)
    table = rig(files="rig.nc", trajectory=None)
    imported(table, folder)
    for seed in range(count("foreign files")):
        write_foreign(path, seed)
        for read in (partial(imported, table, folder), partial(describe, path)):
            with harmless():
                try:
                    assert read() is not None
                except Exception as error:
                    assert told(error), seed


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_file_that_a_library_reads_is_bounded_and_whole(files, name):
    path = files / name
    make, refusal = LIBRARIES[name]
    make(path)
    with harmless():
        if not refusal:
            found = open_table(path, {"format": "auto", "skip_lines": 0})
            assert len(found.read(["theta"])) == 400
            return
        with pytest.raises(RecordingError, match=refusal):
            describe(path)


@pytest.mark.parametrize(
    "settings", [{"skip_lines": -1}, {"skip_lines": 10**60}, {"separator": "$x"}]
)
def test_settings_of_a_text_are_bounded(files, settings):
    path = write(files, rows(3, rate=20.0))
    with harmless(), pytest.raises(RecordingError, match=next(iter(settings))):
        describe(path, **settings)


@pytest.mark.parametrize("read", [load, describe])
def test_what_is_no_file_is_refused_at_once(files, read, tmp_path):
    os.mkfifo(tmp_path / "pipe.nc")
    for path in ("/dev/zero", tmp_path / "pipe.nc", tmp_path, "a\0b.nc"):
        with harmless(), pytest.raises(ValueError) as refusal:
            read(path)
        assert told(refusal.value)
