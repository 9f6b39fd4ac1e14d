"""Files between stages: absent or complete, checked at the door, equal if equal."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import netCDF4
import numpy as np
import pytest
import xarray as xr
from support import observe, oscillator, recommended

from leastaction.core.contracts import ContractError, check, contracts, problems
from leastaction.core.files import (
    ROOM_FOR_METADATA,
    Replicates,
    add_mark,
    load,
    save,
    save_replicates,
    save_text,
    sizes,
)
from leastaction.core.model import load as load_model

HERE = ":".join(str(folder) for folder in Path(__file__).parents[:2])


def ensemble(replicates=(0,), steps=6, seed=0):
    """A small valid dataset of observations."""
    shape = (len(replicates), 2, steps, 1)
    draw = np.random.default_rng(seed + np.asarray(replicates).sum())
    dims = ("replicate", "trajectory", "time", "dof")
    return xr.Dataset(
        {
            name: (
                dims,
                draw.normal(size=shape),
                {"units": unit, "long_name": f"the {name}"},
            )
            for name, unit in (("q", "m"), ("qdot", "m/s"))
        },
        coords={
            "replicate": list(replicates),
            "time": ("time", np.arange(steps) * 0.1, {"units": "s"}),
            "dof": ["x"],
        },
    )


def spoilt(change):
    data = ensemble().copy(deep=True)
    return change(data)


def stuck(data):
    time = data["time"].values.copy()
    time[3] = time[2]
    return data.assign_coords(time=time)


def uneven(data):
    time = data["time"].values.copy()
    time[-1] += 0.05
    return data.assign_coords(time=time)


def nan(data):
    data["q"][0, 1, 3, 0] = np.nan
    return data


def infinite(data):
    data["qdot"][0, 0, 5, 0] = -np.inf
    return data


def no_units(data):
    del data["q"].attrs["units"]
    return data


WRONG = {
    "missing": (lambda d: d.drop_vars("q"), "'q'.*is missing"),
    "dimensions": (
        lambda d: d.transpose("replicate", "time", "trajectory", "dof"),
        "'q' has dimensions.*expected",
    ),
    "units": (no_units, "'q' lacks the attribute units"),
    "empty": (lambda d: d.isel(trajectory=slice(0, 0)), "'q' is empty"),
    "nan": (nan, "1 values that are not finite.*'trajectory': 1, 'time': 3"),
    "infinite": (infinite, "'qdot'.*not finite.*'trajectory': 0, 'time': 5"),
    "name": (
        lambda d: d.assign_coords(dof=["x = 0\nimport os\ny"]),
        "cannot name a quantity: expected ASCII letters",
    ),
    "short": (lambda d: d.isel(time=slice(0, 2)), "'time' has 2 samples"),
    "stuck": (stuck, "'time' does not increase at sample 3"),
    "uneven": (uneven, "'time' is not uniform"),
}


def test_valid_data_have_no_problems_and_come_through_unchanged():
    data = ensemble()
    assert problems(data, "observations") == []
    assert check(data, "observations") is data


@pytest.mark.parametrize("name", WRONG)
def test_each_fault_is_found_and_located(name):
    change, message = WRONG[name]
    with pytest.raises(ContractError, match=message):
        check(spoilt(change), "observations", "my.nc")


def test_all_problems_are_reported_at_once():
    data = stuck(nan(no_units(ensemble().copy(deep=True)))).drop_vars("qdot")
    with pytest.raises(ContractError) as caught:
        check(data, "observations", "my.nc")
    text = str(caught.value)
    assert text.startswith("my.nc is not a valid 'observations' dataset")
    for part in ("lacks", "not finite", "missing", "does not increase", "simulate"):
        assert part in text
    assert text.count("\n  - ") == 4


def test_the_wrong_kind_of_file_gets_the_advice(tmp_path):
    save(ensemble(), tmp_path / "a.nc", "observations")
    with pytest.raises(ContractError) as caught:
        load(tmp_path / "a.nc", "model")
    text = str(caught.value)
    assert "'observations' (made by simulate)" in text
    assert "'model' (made by identify)" in text
    assert "choose methods that fit together" in text
    assert "missing" not in text


def marked(dataset, path):
    """Write a file past the check of its contents, as a wrong version might have."""
    dataset.to_netcdf(path)
    add_mark(path)
    return path


@pytest.mark.parametrize("mark", [False, True])
def test_a_file_from_elsewhere_is_refused_in_words(tmp_path, mark):
    ensemble().to_netcdf(tmp_path / "foreign.nc")
    if mark:
        add_mark(tmp_path / "foreign.nc")
    with pytest.raises(ContractError, match="not made by leastaction"):
        load(tmp_path / "foreign.nc")
    with pytest.raises(ContractError, match="not made by leastaction"):
        list(Replicates(tmp_path / "foreign.nc"))


def test_an_unknown_contract_is_refused_in_words():
    with pytest.raises(ContractError, match="not made by leastaction"):
        check(ensemble().assign_attrs(contract="horoscope"), "observations")


@pytest.mark.parametrize("contract", contracts())
def test_every_contract_says_who_makes_it_and_what_its_variables_mean(contract):
    promised = contracts()[contract]
    assert promised.made_by
    assert all(v.long_name for v in promised.variables.values() if v.units)


def test_a_file_gives_back_what_was_saved(tmp_path):
    data = ensemble((0, 1))
    save(data, tmp_path / "deep" / "er" / "a.nc", "observations")
    found = load(tmp_path / "deep" / "er" / "a.nc", "observations")
    xr.testing.assert_equal(found, data)
    assert found["q"].attrs == data["q"].attrs
    assert found.attrs["contract"] == "observations"


def test_equal_content_gives_equal_bytes(tmp_path):
    save(ensemble(), tmp_path / "a.nc", "observations")
    program = (
        "import sys; sys.path[:0] = sys.argv[1].split(':');"
        "from test_files import ensemble;"
        "from leastaction.core.files import save;"
        "save(ensemble(), sys.argv[2], 'observations')"
    )
    subprocess.run(
        [sys.executable, "-c", program, HERE, tmp_path / "b.nc"],
        check=True,
    )
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()
    save(ensemble(seed=1), tmp_path / "c.nc", "observations")
    assert (tmp_path / "a.nc").read_bytes() != (tmp_path / "c.nc").read_bytes()


def test_writing_replicate_by_replicate_equals_writing_at_once(tmp_path):
    whole = ensemble((0, 1, 2))
    pieces = (whole.isel(replicate=slice(i, i + 1)) for i in range(3))
    save_replicates(pieces, tmp_path / "pieces.nc", "observations")
    save(whole, tmp_path / "whole.nc", "observations")
    one, other = (load(tmp_path / f"{n}.nc") for n in ("pieces", "whole"))
    xr.testing.assert_identical(one, other)


def test_a_copy_of_what_was_read_has_the_same_bytes(tmp_path, moments):
    pieces = [moments.assign_coords(replicate=[i]) for i in range(3)]
    whole, again = (tmp_path / f"{name}.nc" for name in ("whole", "again"))
    save_replicates(pieces, whole, "moments")
    save_replicates((piece for (piece,) in Replicates(whole)), again)
    assert again.read_bytes() == whole.read_bytes()
    assert len(Replicates(whole, first=2)) == 2


@pytest.mark.parametrize("written", [0, 1])
def test_the_last_to_start_writes_the_file(tmp_path, written):
    def overtaken():
        for replicate in range(written):
            yield ensemble((replicate,))
        save(ensemble((5,)), tmp_path / "a.nc", "observations")
        yield ensemble((written,))

    with pytest.raises(OSError, match="another job has begun to write this file"):
        save_replicates(overtaken(), tmp_path / "a.nc", "observations")
    assert load(tmp_path / "a.nc")["replicate"].values.tolist() == [5]
    assert len(list(tmp_path.iterdir())) == 1


def test_texts_are_appended_too(tmp_path, observations):
    """The alternatives of a model are a text for each replicate."""
    from support import model_of

    pieces = [
        model_of(observations, {"xdot**2": 0.5, "x**2": -k}, [[1.0]])
        .assign_coords(replicate=[i])
        .assign(
            alternatives=(
                "replicate",
                np.array([text], dtype=object),
                {"units": "1", "long_name": "alternatives"},
            )
        )
        for i, (k, text) in enumerate([(1.0, ""), (2.0, "cos(x); x**4")])
    ]
    save_replicates(pieces, tmp_path / "model.nc", "model")
    found = load(tmp_path / "model.nc", "model")
    assert found["alternatives"].values.tolist() == ["", "cos(x); x**4"]
    assert found["coefficient_estimate"].values[:, 1].tolist() == [-1.0, -2.0]


def test_replicates_come_side_by_side(tmp_path):
    for name in ("a", "b"):
        save(ensemble((3, 4), seed=ord(name)), tmp_path / f"{name}.nc", "observations")
    both = Replicates(tmp_path / "a.nc", tmp_path / "b.nc")
    assert len(both) == 2
    for number, (a, b) in zip((3, 4), both, strict=True):
        assert a["replicate"].values.tolist() == [number]
        assert b["replicate"].values.tolist() == [number]
        assert not a["q"].equals(b["q"])


def test_numbers_of_a_file_are_looked_through(tmp_path):
    data = nan(ensemble()).assign_attrs(contract="observations")
    file = marked(data, tmp_path / "a.nc")
    with pytest.raises(ContractError, match="not finite"):
        list(Replicates(file))


def test_large_variables_are_read_when_they_are_used(tmp_path, monkeypatch):
    save(ensemble((3, 4)), tmp_path / "a.nc", "observations")
    at_once = [piece for (piece,) in Replicates(tmp_path / "a.nc")]
    monkeypatch.setattr("leastaction.core.files.MOST_BYTES_READ_AHEAD", 0)
    for whole, (piece,) in zip(at_once, Replicates(tmp_path / "a.nc"), strict=True):
        assert not piece["q"].variable._in_memory
        np.testing.assert_array_equal(piece["q"].values, whole["q"].values)


def test_files_that_differ_in_replicates_are_refused(tmp_path):
    save(ensemble((0, 1)), tmp_path / "a.nc", "observations")
    save(ensemble((0,)), tmp_path / "b.nc", "observations")
    with pytest.raises(ContractError, match="differ in their replicates"):
        Replicates(tmp_path / "a.nc", tmp_path / "b.nc")


def faulty_pieces():
    yield ensemble((0,))
    yield nan(ensemble((1,)).copy(deep=True))


def failing_pieces():
    yield ensemble((0,))
    raise RuntimeError("the second replicate failed")


@pytest.mark.parametrize("pieces", [faulty_pieces, failing_pieces])
def test_a_failed_writer_leaves_nothing(tmp_path, pieces):
    with pytest.raises((ContractError, RuntimeError)):
        save_replicates(pieces(), tmp_path / "a.nc", "observations")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("room", "error"), [(0.5, OSError), (2, RuntimeError)])
def test_a_disk_without_room_for_a_piece_is_full(tmp_path, monkeypatch, room, error):
    data = ensemble(steps=100_000)

    def fails(*_):
        raise RuntimeError("NetCDF: HDF error")

    free = SimpleNamespace(free=ROOM_FOR_METADATA + int(room * data.nbytes))
    monkeypatch.setattr("leastaction.core.files._create", fails)
    monkeypatch.setattr("leastaction.core.files.shutil.disk_usage", lambda _: free)
    with pytest.raises(error, match="disk is full" if error is OSError else "HDF"):
        save(data, tmp_path / "a.nc", "observations")


def test_a_failed_writer_leaves_the_older_file_alone(tmp_path):
    save(ensemble(), tmp_path / "a.nc", "observations")
    before = (tmp_path / "a.nc").read_bytes()
    with pytest.raises(RuntimeError):
        save_replicates(failing_pieces(), tmp_path / "a.nc", "observations")
    assert (tmp_path / "a.nc").read_bytes() == before


KILLED = """
import os, signal, sys
sys.path[:0] = sys.argv[1].split(":")
from test_files import ensemble
from leastaction.core.files import save_replicates
def pieces():
    yield ensemble((0,))
    os.kill(os.getpid(), signal.SIGKILL)
save_replicates(pieces(), sys.argv[2], "observations")
"""


def test_a_killed_writer_leaves_nothing_at_the_target(tmp_path):
    target = tmp_path / "a.nc"
    killed = subprocess.run([sys.executable, "-c", KILLED, HERE, target], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not target.exists()
    save(ensemble(), target, "observations")
    assert [p.name for p in tmp_path.iterdir()] == ["a.nc"]
    load(target, "observations")


def zeroed(content, draw):
    """Its last block comes back as zeros, as from a disk without power."""
    lost = int(draw.choice([16, 512, 4096, 65536]))
    return content[:-lost] + bytes(min(lost, len(content)))


def truncated(content, draw):
    return content[: int(draw.integers(len(content)))]


def lengthened(content, draw):
    return content + draw.bytes(int(draw.integers(1, 100)))


def flipped(content, draw):
    """One bit, anywhere: the checksum is part of the file."""
    bit = int(draw.integers(8 * len(content)))
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("damage", [zeroed, truncated, lengthened, flipped])
def test_a_damaged_file_is_refused(tmp_path, damage, moments):
    """Every reader says so, and how to make it again."""
    path, draw = tmp_path / "a.nc", np.random.default_rng(0)
    for name, data in (("observations", ensemble((0, 1))), ("moments", moments)):
        save(data, path, name)
        content = path.read_bytes()
        for _ in range(20):
            path.write_bytes(damage(content, draw))
            for read in (load, load_model, Replicates, sizes):
                with pytest.raises(
                    ContractError,
                    match=r"a\.nc is damaged.*end is (missing|wrong); make it again "
                    r"with: snakemake --forcerun \S+a\.nc$",
                ):
                    read(path)
        path.write_bytes(content)
        xr.testing.assert_equal(load(path), data)


def test_a_file_that_asks_for_more_than_it_has_is_not_read(tmp_path):
    """75 GB of zeros in a few kB: refused before anything of that size is asked for."""
    path = tmp_path / "a.nc"
    save(ensemble(), path, "observations")
    with netCDF4.Dataset(path, "a") as file:
        file.createDimension("much", 10**10)
        file.createVariable("zeros", "f8", ["much"], zlib=True, chunksizes=[2**20])
    add_mark(path)
    with pytest.raises(ContractError, match="variables ask for 80000000"):
        load(path)


def test_text_that_is_no_netcdf_and_absent_files_are_told_apart(tmp_path):
    (tmp_path / "a.nc").write_text("t,x\n0,1\n")
    with pytest.raises(ContractError, match="end is missing"):
        load(tmp_path / "a.nc")
    add_mark(tmp_path / "a.nc")
    with pytest.raises(ContractError, match="not readable NetCDF"):
        load(tmp_path / "a.nc")
    with pytest.raises(ContractError, match="does not exist"):
        load(tmp_path / "b.nc")


IN_GREEK = r"""
import logging, sys
from pathlib import Path
from leastaction.__main__ import main
from leastaction_papers.configuration.config import read_yaml
from leastaction.core.files import load_text, save_text
from leastaction.core.process import job
folder = Path(sys.argv[1])
save_text("title: \u03c3", folder / "a.yaml")
assert load_text(folder / "a.yaml") == "title: \u03c3"
assert read_yaml(folder / "a.yaml") == {"title": "\u03c3"}
with job(folder / "a.log"):
    logging.info("\u03c3")
    main(["describe", str(folder / "a.csv")])
"""


def test_texts_are_utf_8_whatever_the_locale(tmp_path):
    table = "t,σ\n" + "".join(f"{i / 100},{i % 7}\n" for i in range(50))
    (tmp_path / "a.csv").write_text(table, "utf-8")
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    told = subprocess.run(
        [sys.executable, "-c", IN_GREEK, tmp_path],
        env=os.environ | ascii_only,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    assert "σ" in told.decode("utf-8")
    assert "σ" in (tmp_path / "a.log").read_text("utf-8")


def test_text_files_are_whole(tmp_path):
    save_text("σ = 1\n", tmp_path / "sub" / "a.txt")
    assert (tmp_path / "sub" / "a.txt").read_text() == "σ = 1\n"
    assert len(list((tmp_path / "sub").iterdir())) == 1


@pytest.mark.parametrize("damping", [[], ["xdot**2", "abs(xdot)"]])
def test_models_with_and_without_damping_candidates_come_back(tmp_path, damping):
    paths = observe(oscillator(), trajectories=2, steps=200)
    library = {
        "reference": "xdot**2/2",
        "lagrangian": [{"terms": ["xdot**2", "x**2"]}],
        "dissipation": [{"terms": damping}] if damping else [],
        "volatility": [{"terms": ["1"]}],
    }
    model = recommended(paths, library).model
    pieces = [model, model.assign_coords(replicate=[1])]
    save_replicates(pieces, tmp_path / "model.nc", "model")
    found = load(tmp_path / "model.nc", "model")
    assert found.sizes["replicate"] == 2
    assert found.sizes["dissipation_term"] == len(damping)
    assert [str(t) for t in found["dissipation_term"].values] == damping
    assert len(Replicates(tmp_path / "model.nc")) == 2
