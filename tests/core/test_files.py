"""Files between stages: absent or complete, checked at the door, equal if equal."""

import errno
import os
import re
import signal
import subprocess
import sys
import zlib
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import netCDF4
import numpy as np
import pytest
import xarray as xr
from support import observe, oscillator, recommended

from leastaction.core import files
from leastaction.core.contracts import ContractError, check, contracts, problems
from leastaction.core.files import (
    ROOM_FOR_METADATA,
    Replicates,
    add_mark,
    atomic_write,
    columns_of_foreign,
    entry_of,
    load,
    load_parts,
    open_foreign,
    save,
    save_figure,
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


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_copy_of_what_was_read_has_the_same_bytes(tmp_path, blocks, moments):
    """So do blocks of replicates, gathered."""
    pieces = [moments.assign_coords(replicate=[i]) for i in range(3)]
    save_replicates(pieces, tmp_path / "whole.nc", "moments")
    read = Replicates(tmp_path / "whole.nc")
    for i, end in enumerate([*range(1, blocks), 3]):
        block = Replicates(tmp_path / "whole.nc", block=(i, end))
        save_replicates((p for (p,) in block), tmp_path / f"{i}.nc")
    files = [Replicates(tmp_path / f"{i}.nc") for i in range(blocks)]
    assert sum(map(len, files)) == len(read)
    save_replicates((p for file in files for (p,) in file), tmp_path / "again.nc")
    whole, again = (tmp_path / f"{n}.nc" for n in ("whole", "again"))
    assert again.read_bytes() == whole.read_bytes()


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
from leastaction.core.files import load, save_replicates
def pieces():
    yield load(sys.argv[1])
    os.kill(os.getpid(), signal.SIGKILL)
save_replicates(pieces(), sys.argv[2], "observations")
"""


def test_a_killed_writer_leaves_nothing_at_the_target(tmp_path):
    target = tmp_path / "made" / "a.nc"
    save(ensemble(), tmp_path / "b.nc", "observations")
    given = [sys.executable, "-c", KILLED, tmp_path / "b.nc", target]
    assert subprocess.run(given, check=False).returncode == -signal.SIGKILL
    assert not target.exists() and list(target.parent.iterdir())
    save(ensemble(), target, "observations")
    assert list(target.parent.iterdir()) == [target]
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


def test_a_file_ends_in_the_checksum_of_all_its_bytes(tmp_path):
    """Of a file of several pieces, up to its last byte."""
    for size in (0, 1, 2**20, 2**20 + 7):
        path = tmp_path / "a.bin"
        path.write_bytes(content := np.random.default_rng(size).bytes(size))
        add_mark(path)
        assert path.read_bytes() == content + b"\nCRC-32 %08x\n" % zlib.crc32(content)
        files._check_mark(path)
    assert netCDF4.get_chunk_cache()[0] == 2**20


def test_a_checksum_is_compared_once_for_all_replicates(tmp_path, monkeypatch):
    """Also of a file that has to belong to its place, which is opened for that."""
    path, results = tmp_path / "p/e/observations.nc", {"p/e/observations": "1f"}
    save(ensemble((0, 1)), path, "observations", results)
    compared = []
    monkeypatch.setattr(files, "_check_mark", compared.append)
    assert len(list(Replicates(path, results=results))) == 2 and len(compared) == 1
    assert load(path, results=results).sizes["replicate"] == 2 and len(compared) == 2


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/dev/null", "is a device or a pipe; expected a file"),
        (".", "is a folder; expected a file in it"),
        ("a\0b", "is no path: it holds NUL"),
    ],
)
def test_what_is_no_file_is_refused(path, words):
    for read in (load, columns_of_foreign):
        with pytest.raises(ContractError, match=words):
            read(path)


@pytest.mark.parametrize(("part", "refused"), [(0.9, False), (1.2, True)])
def test_a_file_may_ask_for_four_times_its_bytes(tmp_path, part, refused):
    path = tmp_path / "a.nc"
    size = 200_000
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("n", size // 8)
        file.createVariable("x", "f8", ["n"])[:] = 1.0
        file.createDimension("much", int((4 * part - 1) * size / 8))
        file.createVariable("y", "f8", ["much"], zlib=True, chunksizes=[2**14])
    says = pytest.raises(ContractError, match="bytes, but its variables ask for")
    with netCDF4.Dataset(path) as file, says if refused else nullcontext():
        files._refuse_inflated(path, file)


def large(tmp_path, samples):
    """A dataset, not read, of one variable of so many numbers, none of them written."""
    path = tmp_path / "large.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("replicate", 1)
        file.createDimension("time", samples)
        shape = ("replicate", "time")
        file.createVariable("q", "f8", shape, chunksizes=(1, samples))
    return xr.open_dataset(path, engine="netcdf4")


@pytest.mark.parametrize(("more", "read"), [(0, True), (1, False)])
def test_variables_of_16_mb_are_read_ahead(tmp_path, monkeypatch, more, read):
    monkeypatch.setattr(files, "check", lambda piece, *_, **__: piece)
    with large(tmp_path, 2**21 + more) as dataset:
        piece = files._replicate(dataset, "a.nc", 0)
        assert piece["q"].variable._in_memory == read


@pytest.mark.parametrize(
    ("path", "results", "entry"),
    [
        ("out/p/e/observations.nc", {"p/e/observations": "1"}, "p/e/observations"),
        ("p/e/ours/model.1_of_2.nc", {"p/e/ours/model": "1"}, "p/e/ours/model"),
        ("p/e/ours/model.nc", {"e/ours/model": "1"}, "e/ours/model"),
        ("p/e/model.nc", {"e/model": "1"}, None),
        ("a/p/e/ours/model.nc", {"a/p/e/ours/model": "1"}, None),
    ],
)
def test_a_place_is_that_of_the_result_of_its_name(path, results, entry):
    if entry is not None:
        assert entry_of(path, results) == (entry, "1")
        return
    with pytest.raises(ContractError, match="is no place of one of the results"):
        entry_of(path, results)


def test_a_result_of_another_place_or_of_other_settings_is_refused(tmp_path):
    path = tmp_path / "p" / "e" / "observations.nc"
    results = {"p/e/observations": "1f"}
    save(ensemble((0, 1)), path, "observations", results)
    assert load(path, results=results).attrs["made_with"] == "1f"
    assert len(Replicates(path, results=results)) == 2
    assert len(files.load_all([path, path], results)) == 2
    with pytest.raises(ContractError, match="made with other settings"):
        Replicates(path, results={"p/e/observations": "2f"})
    copy = tmp_path / "q" / "e" / "observations.nc"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(path.read_bytes())
    with pytest.raises(ContractError, match="is the result p/e/obs.*expected q/e/obs"):
        load(copy, results={"q/e/observations": "1f"})
    save(ensemble(), copy, "observations")
    with pytest.raises(ContractError, match="of nothing that it names; expected q/e"):
        load(copy, results={"q/e/observations": "1f"})
    long = ensemble().assign_attrs(result="r" * 500, made_with="")
    save(long, copy, "observations")
    with pytest.raises(ContractError, match=f"result {'r' * 200}; expected"):
        load(copy, results={"q/e/observations": "1f"})


def test_files_without_replicates_are_refused(tmp_path):
    data = ensemble().isel(replicate=0, drop=True).assign_attrs(contract="observations")
    with pytest.raises(ContractError, match="differ in their replicates: .*None"):
        Replicates(marked(data, tmp_path / "a.nc"))


def test_parts_of_a_file_come_back_as_they_were_written(tmp_path):
    """Beside its dataset; times stay numbers, and a mark of absent values a value."""
    part = ensemble().assign_attrs(contract="observations")
    part["time"].attrs["units"] = "s"
    part["q"].attrs["missing_value"] = part["q"].values[0, 0, 0, 0]
    data, path = ensemble((0, 1)), tmp_path / "a.nc"
    save(data, path, "observations", parts={"first": part, "second": part})
    found = load_parts(path)
    assert list(found) == ["first", "second"]
    xr.testing.assert_equal(found["first"], part)
    xr.testing.assert_equal(load(path), data)
    with pytest.raises(ContractError, match="a.nc, bad"):
        bad = nan(ensemble()).assign_attrs(contract="observations")
        save(data, path, "observations", parts={"bad": bad})
    with pytest.raises(ContractError, match="there is nothing to write"):
        save_replicates([], path, "observations")


def test_times_of_a_calendar_stay_numbers(tmp_path):
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("n", 3)
        file.createVariable("t", "f8", ["n"])[:] = [0.0, 1.0, 2.0]
        file["t"].units = "days since 2000-01-01"
        file.createVariable("x", "f8", ["n"])[:] = [1.0, -9.0, 3.0]
        file["x"].missing_value = -9.0
        file.createVariable("one", "f8", [])[:] = 1.0
    assert columns_of_foreign(path) == ["t", "x"]
    with open_foreign(path, ["t", "x"]) as dataset:
        assert dataset["t"].values.tolist() == [0.0, 1.0, 2.0]
        np.testing.assert_array_equal(dataset["x"], [1.0, np.nan, 3.0])
    with open_foreign(path, ["x"]) as dataset:
        assert list(dataset.variables) == ["x"]
    own = ensemble().assign_attrs(contract="observations")
    own["q"].attrs["missing_value"] = own["q"].values[0, 0, 0, 0]
    found = load(marked(own, tmp_path / "b.nc"))
    np.testing.assert_array_equal(found["q"], own["q"])


def foreign(path, kind="f8", shape=(3,), attributes=(), **more):
    """A NetCDF file with a variable x, of which nothing is written."""
    with netCDF4.Dataset(path, "w") as file:
        names = [f"n{i}" for i in range(len(shape))]
        for name, size in zip(names, shape, strict=True):
            file.createDimension(name, size)
        if kind == "compound":
            kind = file.createCompoundType(np.dtype([("a", "f8")]), "pair")
        x = file.createVariable("x", kind, names, **more)
        for key, value in dict(attributes).items():
            x.setncattr(key, value)
        return [
            *files._oversized(file, ["x"]),
            *files._spoilt_attributes(file, ["x"]),
        ]


CHUNKS = {"chunksizes": (2**14,)}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({}, None),
        ({"kind": "i2"}, None),
        ({"kind": "u4"}, None),
        ({"kind": "S1"}, None),
        ({"kind": str}, None),
        ({"kind": "compound"}, "variable 'x' holds .*; expected numbers or text"),
        ({"shape": (2**23,), **CHUNKS}, None),
        ({"shape": (2**23 + 1,), **CHUNKS}, f"'x' asks for {2**26 + 8} bytes; exp"),
        ({"kind": str, "shape": (2**22,), **CHUNKS}, None),
        ({"kind": str, "shape": (2**22 + 1,), **CHUNKS}, f"asks for {2**26 + 16}"),
        ({"shape": (None,), "chunksizes": (2**23,)}, None),
        (
            {"shape": (None, 3), "chunksizes": (2**23, 2)},
            f"a chunk of 'x' asks for {2**27} bytes; expected {2**26} at most",
        ),
        ({"attributes": {"scale_factor": 2.0}}, None),
        ({"attributes": {"scale_factor": np.nan}}, "'scale_factor' of variable 'x'"),
        ({"attributes": {"add_offset": np.inf}}, "'add_offset' of variable 'x'"),
        ({"attributes": {"add_offset": "1"}}, "'1'; expected one number"),
        ({"attributes": {"scale_factor": [1.0, 2.0]}}, "expected one number"),
        ({"attributes": {"missing_value": np.nan}}, None),
        ({"attributes": {"missing_value": [1.0, 2.0]}}, "'missing_value' of variable"),
        ({"attributes": {"missing_value": "none"}}, "'none'; expected one number"),
        ({"attributes": {"other": "none"}}, None),
        ({"attributes": {"_Encoding": "UTF-8"}}, None),
        ({"attributes": {"_Encoding": "latin-1"}}, "text encoding 'latin-1'; expec"),
    ],
)
def test_a_variable_of_anybody_may_ask_for_64_mb_of_numbers(tmp_path, how, words):
    problems = foreign(tmp_path / "a.nc", **how)
    if words is None:
        assert not problems
        return
    (text,) = problems
    assert re.search(words, text)
    with pytest.raises(ContractError), open_foreign(tmp_path / "a.nc", ["x"]):
        pass


@pytest.mark.parametrize(
    ("error", "free", "full"),
    [
        (RuntimeError("NetCDF: HDF error"), 2**20, True),
        (RuntimeError("NetCDF: HDF error"), 2**20 + 1, False),
        (OSError(errno.ENOSPC, "no space"), 2**40, True),
        (OSError(errno.EIO, "broken"), 2**40, False),
    ],
)
def test_a_disk_is_full_without_a_mebibyte(tmp_path, monkeypatch, error, free, full):
    usage = SimpleNamespace(free=free)
    monkeypatch.setattr("leastaction.core.files.shutil.disk_usage", lambda _: usage)
    target = tmp_path / "a.txt"
    with pytest.raises((OSError, RuntimeError)) as caught, atomic_write(target):
        raise error
    assert ("the disk is full" in str(caught.value)) == full
    if full:
        assert caught.value.errno == errno.ENOSPC and str(free) in str(caught.value)


def test_numbers_of_one_replicate_are_one_chunk(tmp_path):
    """Text has the chunks of its library."""
    save(ensemble((0, 1)), tmp_path / "a.nc", "observations")
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        assert file["q"].chunking() == [1, 2, 6, 1]
        assert file.dimensions["replicate"].isunlimited()
        assert list(file["q"].ncattrs()) == sorted(file["q"].ncattrs())


@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_a_figure_has_the_format_of_its_suffix_and_no_date(tmp_path, kind):
    class Figure:
        def savefig(self, path, format, metadata):
            self.seen = format, metadata
            Path(path).write_text("x")

    figure = Figure()
    save_figure(figure, tmp_path / f"a.b.{kind}")
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": None}
    assert figure.seen == (kind, dates[kind])
    assert [p.name for p in tmp_path.iterdir()] == [f"a.b.{kind}"]
