"""Files that were damaged, and files that somebody made to do harm: strategies."""

import random
import zipfile
from contextlib import suppress

import netCDF4
import numpy as np
import openpyxl
import pyuff
import scipy.io
from hypothesis import strategies as st

from leastaction.core.files import add_mark

# What could run, hang, or fill the memory where a name or a term is expected.
HOSTILE_NAMES = [
    "x = 0\nimport os\ny",
    "__import__('os').system('true')",
    "x.y",
    "",
    "\0",
    "ｘ",
    "lambda",
    "x" * 10_000,
    "x;y",
    "{x}",
    "sin",
]
HOSTILE_TERMS = [
    *HOSTILE_NAMES,
    "*".join(f"(xdot+{i})" for i in range(150)),
    "*".join(f"sin({i + 1}*x)" for i in range(150)),
    "(x+xdot)**60",
    "9**9**9",
    "1/0",
    "log(-1)",
    "x" + "*x" * 2000,
    "xdot**2*" + "sin(" * 40 + "x" + ")" * 40,
]
HOSTILE_VALUES = [np.nan, np.inf, -np.inf, 1e308, 5e-324, -1.0, 0.0]


def damaged(content: bytes, seed: int) -> bytes:
    """The content of a file after a bad week; in a few cases what it was."""
    rng = random.Random(seed)
    size = len(content)
    at, length = rng.randrange(size), min(size, rng.choice([1, 20, 512, 4096]))
    lost = rng.choice([b"\0", b"\xff"]) * length
    match rng.choice(["flip", "tail", "cut", "append", "block", "swap"]):
        case "flip":
            changed = bytes([content[at] ^ 1 << rng.randrange(8)])
            return content[:at] + changed + content[at + 1 :]
        case "tail":
            return content[:-length] + lost
        case "cut":
            return content[:at]
        case "append":
            return content + rng.choice([b"\0", b"\n", content[-20:]])
        case "block":
            return (content[:at] + lost + content[at + length :])[:size]
    other = rng.randrange(size)
    block = content[other : other + length]
    return content[:at] + block + content[at + len(block) :]


SEEDS = st.integers(0, 2**32)

CELLS = st.one_of(
    st.sampled_from(
        [
            "",
            "nan",
            "inf",
            "-inf",
            "1e999",
            "1,5",
            "0x10",
            "1_0",
            "1j",
            "true",
            '"',
            "'",
        ]
        + ["\0", "#", "\ufeff", "\u202e", "-", "=1+1", "x" * 1000, "<script>", "1;2"]
        + ["9" * 400, "1e-400", "２", "\r", "\t", "0", "-0", "1e300"]
    ),
    st.floats().map(str),
    st.text(max_size=8),
)
# Whole files.
CONTENTS = [
    b"",
    b"\n" * 100,
    b"\xff\xfe" + "run,t,theta\n0,0,1\n".encode("utf-16-le"),
    b"\x1f\x8b\x08" + b"x" * 100,
    b"PK\x03\x04" + b"x" * 100,
    b"run,t,theta",
    b"run,t,theta\n" + b"0" * 5_000_000,
    b"run,t,theta\n" + b"0,0,0\n" * 100_000,
    b"run,t,theta\n" + b"".join(b"%d,0,0\n" % i for i in range(20_000)),
    b",".join(b"c%d" % i for i in range(50_000)) + b"\n" + b",".join([b"1"] * 50_000),
    b"run,t,theta\n" + b'"' * 1001,
    b'"run,t,theta\n0,0,0\n' * 50,
    b"," * 1_000_000 + b"\n" + b"," * 1_000_000,
    b"#" * 1_000_000 + b"\n0,0,0\n",
    b"run,t,theta\r" + b"0,0,0\r" * 50,
]


@st.composite
def tables(draw, content: bytes):
    """A table of swings with some cells, names or lines spoilt, or something else."""
    kind = draw(st.sampled_from(["cells", "cells", "cells", "bytes", "other"]))
    if kind == "other":
        return draw(st.sampled_from(CONTENTS))
    if kind == "bytes":
        return damaged(content, draw(SEEDS))
    lines = content.decode().splitlines()
    for _ in range(draw(st.integers(1, 4))):
        row = draw(st.sampled_from([0, 0, 1, 2, len(lines) - 1]))
        cells = lines[row].split(",")
        cells[draw(st.integers(0, len(cells) - 1))] = draw(CELLS)
        lines[row] = ",".join(cells[: draw(st.integers(1, len(cells)))])
    return "\n".join(lines).encode("utf-8", "surrogatepass")


# Ways to spoil a good table below its first 60 lines, each of its lines and a place.
LATE = {
    "decimal commas from there on": lambda lines, at, rng: [
        *lines[:at],
        *(line.replace(".", ",") for line in lines[at:]),
    ],
    "one decimal comma": lambda lines, at, rng: [
        *lines[:at],
        ",".join(lines[at].rsplit(".", 1)),
        *lines[at + 1 :],
    ],
    "more cells": lambda lines, at, rng: [
        *lines[:at],
        lines[at] + ",1" * rng.choice([1, 1, 2, 10_000]),
        *lines[at + 1 :],
    ],
    "a short row": lambda lines, at, rng: [
        *lines[:at],
        lines[at].rpartition(",")[0],
        *lines[at + 1 :],
    ],
    "a lost column": lambda lines, at, rng: [
        *lines[:at],
        *(line.partition(",")[2] for line in lines[at:]),
    ],
    "a second heading": lambda lines, at, rng: [*lines[:at], lines[0], *lines[at:]],
    "text": lambda lines, at, rng: [
        *lines[:at],
        lines[at].rpartition(",")[0]
        + rng.choice([",OVL", ",1_0", ",0x10", ",1e", ",--", ",1 5", ",12:30"]),
        *lines[at + 1 :],
    ],
    "another separator": lambda lines, at, rng: [
        *lines[:at],
        *(line.replace(",", rng.choice([";", "\t", " "])) for line in lines[at:]),
    ],
    "an open quotation mark": lambda lines, at, rng: [
        *lines[:at],
        lines[at].replace(",", ',"', 1),
        *lines[at + 1 :],
    ],
    "a lost block": lambda lines, at, rng: [
        *lines[:at],
        "\0" * rng.choice([1, 512, 4096]) + lines[at][2:],
        *lines[at + 1 :],
    ],
    "a cut in a row": lambda lines, at, rng: [*lines[:at], lines[at].split(",")[0]],
    "rows in another order": lambda lines, at, rng: [
        *lines[:at],
        lines[at + 1],
        lines[at],
        *lines[at + 2 :],
    ],
    "an empty cell": lambda lines, at, rng: [
        *lines[:at],
        lines[at].rpartition(",")[0] + rng.choice([",", ",nan", ",NaN", ",N/A"]),
        *lines[at + 1 :],
    ],
}


def spoilt_late(content: str, seed: int) -> tuple[str, str]:
    """What was done to a table below its first 60 lines, and the table."""
    rng, lines = random.Random(seed), content.splitlines()
    way = list(LATE)[seed % len(LATE)]
    at = rng.randrange(70, len(lines) - 5)
    while at % 400 in (0, 1, 399):  # where a trajectory begins anew
        at += 1
    text = "\n".join([*LATE[way](lines, at, rng), ""])
    is_german = seed // len(LATE) % 2
    return way, text.translate({44: ";", 46: ","}) if is_german else text


def write_foreign(path, seed: int | None = None) -> None:
    """A user's NetCDF table of `t` and `theta` over `row`, spoilt by a seed."""
    rng = random.Random(seed)
    way = "flip" if seed is None else list(FOREIGN)[seed % len(FOREIGN)]
    path.unlink(missing_ok=True)  # a file that could not be opened may be in use
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("row", 400)
        if FOREIGN[way]:
            FOREIGN[way](file, rng)
        for name in ("t", "theta"):
            _plain(file, name)
    if way == "flip" and seed is not None:
        content = bytearray(path.read_bytes())
        for _ in range(rng.choice([1, 5])):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)


def _plain(file, name):
    """The good variable of a name, or the one that stands in its place."""
    if name not in file.variables:
        time = np.arange(400) / 20
        values = {"t": time, "theta": np.exp(-0.05 * time) * np.cos(7 * time)}
        file.createVariable(name, "f8", "row")[:] = values[name]
    return file.variables[name]


def _replace(file, name, kind, length=None, **options):
    """Another variable in the place of one; its dimension may be new."""
    if length is not None:
        file.createDimension(f"of_{name}", length)
    dim = "row" if length is None else f"of_{name}"
    return file.createVariable(name, kind, dim, **options)


FOREIGN = {
    "huge": lambda f, rng: _replace(
        f,
        "theta",
        "f8",
        rng.choice([10**8, 10**10, 10**12]),
        zlib=True,
        chunksizes=[2**20],
    ),
    "text": lambda f, rng: _replace(f, "theta", str, rng.choice([10**7, 10**9])),
    "chunk": lambda f, rng: _replace(
        f, "theta", "f8", 3 * 10**8, zlib=True, chunksizes=[3 * 10**8]
    ),
    "empty": lambda f, rng: [_replace(f, n, "f8", 0) for n in ("t", "theta")],
    "text in cells": lambda f, rng: _replace(f, "theta", str),
    "letters": lambda f, rng: _replace(f, "theta", "S1"),
    "attribute": lambda f, rng: _plain(f, rng.choice(["t", "theta"])).setncattr(
        rng.choice(["scale_factor", "add_offset", "missing_value", "_Encoding"]),
        rng.choice(["x", [1.0, 2.0], "9**9**9", np.nan, np.inf, 0.0, 1e300]),
    ),
    "encoded text": lambda f, rng: _replace(f, "theta", "S1").setncattr(
        "_Encoding", rng.choice(["none", "utf-7", "rot13", "idna"])
    ),
    "units": lambda f, rng: _plain(f, "t").setncattr(
        "units", rng.choice(["9**9**9", "days since 0000-99-99", "x" * 10_000])
    ),
    "flip": None,
    "values": lambda f, rng: _plain(f, rng.choice(["t", "theta"])).__setitem__(
        slice(rng.choice([0, 100]), None),
        rng.choice([np.nan, np.inf, 1e308, 1e-310, 0.0]),
    ),
    "other type": lambda f, rng: _replace(
        f,
        "theta",
        rng.choice(
            [
                f.createCompoundType(np.dtype([("a", "f8"), ("b", "i4")]), "pair"),
                f.createVLType(np.float64, "many"),
                f.createEnumType(np.int8, "kind", {"a": 0, "b": 1}),
            ]
        ),
    ),
    "whole numbers": lambda f, rng: _replace(f, "theta", rng.choice(["i1", "u8"])),
}


def _page(path, *changes: tuple[bytes, bytes]) -> None:
    """A workbook of `t` and `theta`; texts of its page replaced."""
    book = openpyxl.Workbook()
    for row in (("t", "theta"), *zip(TIME.tolist(), SWING.tolist(), strict=True)):
        book.active.append(row)
    book.save(path)
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    for old, new in changes:
        assert old in parts[PAGE]
        parts[PAGE] = parts[PAGE].replace(old, new)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)


def _far_cell(path, place: str, row: int) -> None:
    cell = f'<row r="{row}"><c r="{place}"><v>1</v></c></row></sheetData>'
    _page(path, (b"</sheetData>", cell.encode()))


def _arrays(path, **changes) -> None:
    scipy.io.savemat(
        path, {"t": TIME, "theta": SWING} | changes, do_compression=bool(changes)
    )


def _series(path, *changes) -> None:
    """A universal file with the series `theta` and one for each of the changes."""
    path.unlink(missing_ok=True)
    kinds = {"abscissa_spacing": 1, "ordinate_spec_data_type": 8, "binary": 0}
    names = dict.fromkeys(("rsp_ent_name", "ref_ent_name"), "")
    places = dict.fromkeys(("rsp_node", "rsp_dir", "ref_node", "ref_dir"), 1)
    for change in ({}, *changes):
        series = {"id1": "theta", "data": SWING, "x": TIME} | change
        clock = {"abscissa_inc": series["x"][1], "abscissa_min": 0.0, "num_pts": 400}
        common = {"type": 58, "func_type": 1, "ord_data_type": 4}
        common |= {"orddenom_spec_data_type": 0, "abscissa_num_pts": 400}
        part = common | kinds | names | places | clock | series
        pyuff.UFF(str(path)).write_sets(part, "add")


TIME = np.arange(400) / 20
SWING = np.exp(-0.05 * TIME) * np.cos(7 * TIME)
PAGE = "xl/worksheets/sheet1.xml"
# What makes a file that a library reads, and what its refusal says, if it is one.
LIBRARIES = {
    "good.xlsx": (_page, ""),
    "stated size.xlsx": (lambda p: _page(p, (b"A1:B401", b"A1:B200")), ""),
    "last row.xlsx": (lambda p: _far_cell(p, "XFD1048576", 2**20), "row 1048576 is"),
    "no row.xlsx": (lambda p: _far_cell(p, "A9999999", 9999999), "row 1048577 is"),
    "wide row.xlsx": (lambda p: _far_cell(p, "C402", 402), "row 402 is outside"),
    "bomb.xlsx": (
        lambda p: _page(p, (b"</sheetData>", b"</sheetData>" + b" " * 2**25)),
        "unpacks to more than",
    ),
    "good.mat": (_arrays, ""),
    "whole.mat": (lambda p: _arrays(p, theta=(99 * SWING).astype("i2")), ""),
    "complex.mat": (lambda p: _arrays(p, theta=SWING + 1j), "complex"),
    "nested.mat": (lambda p: scipy.io.savemat(p, {"a": {"t": TIME}}), "no numbers"),
    "bomb.mat": (lambda p: _arrays(p, x=np.zeros(2**24)), "unpacks to more than"),
    "good.uff": (_series, ""),
    "clock.uff": (lambda p: _series(p, {"id1": "b", "x": 2 * TIME}), "another clock"),
    "text.uff": (lambda p: p.write_text("hello"), "no numbers"),
}

IMPORTS = st.dictionaries(
    st.sampled_from(["separator", "skip_lines", "gap", "columns", "format", "time"]),
    st.sampled_from(
        [
            None,
            ",",
            ";",
            "x",
            "\0",
            "",
            ".*",
            0,
            1,
            10**9,
            -1,
            ["a"],
            ["run"] * 3,
            "netcdf",
        ]
        + [
            "text",
            "9**9**9",
            {"rate": 1e300},
            {"column": "t", "unit": "9**9**9"},
            1e-300,
        ]
    ),
    max_size=2,
)


def spoil(path, draw) -> None:
    """Change a file of ours in one to three places, with a mark that fits."""
    for _ in range(draw(st.integers(1, 3))):
        with netCDF4.Dataset(path, "a") as file, suppress(Exception):
            draw(st.sampled_from(SPOILS))(file, draw)
    add_mark(path)


def _variable(file, draw, text: bool):
    names = [n for n, v in file.variables.items() if (v.dtype is str) == text]
    return file.variables[draw(st.sampled_from(names))]


def _text(file, draw):
    variable = _variable(file, draw, text=True)
    value = draw(st.sampled_from(HOSTILE_TERMS)).replace("\0", "")
    place = tuple(draw(st.integers(0, n - 1)) for n in variable.shape)
    variable[place or ...] = value


def _numbers(file, draw):
    variable = _variable(file, draw, text=False)
    variable[...] = draw(st.sampled_from(HOSTILE_VALUES))


def _huge(file, draw):
    length = draw(st.sampled_from([10**6, 10**8, 10**10]))
    file.createDimension(f"huge_{length}", length)
    name = draw(st.sampled_from(["much", f"huge_{length}"]))
    if draw(st.booleans()):
        file.createVariable(name, str, [f"huge_{length}"])
        return
    file.createVariable(
        name, "f8", [f"huge_{length}"], zlib=True, chunksizes=[min(length, 2**20)]
    )


def _attribute(file, draw):
    name = draw(st.sampled_from(["contract", "calculus", "field", "dof", "note"]))
    values = [*HOSTILE_NAMES[:3], "model", "observations", 3, [1, 2], 1.5]
    file.setncattr(name, draw(st.sampled_from(values)))


def _renamed(file, draw):
    name = draw(st.sampled_from(list(file.variables)))
    file.renameVariable(name, draw(st.sampled_from(["other", "a b", "x" * 200])))


def _dimension(file, draw):
    name = draw(st.sampled_from(list(file.dimensions)))
    file.renameDimension(name, "renamed")


def _kind(file, draw):
    name = draw(st.sampled_from(list(file.variables)))
    dims = file.variables[name].dimensions
    file.renameVariable(name, f"old_{len(file.variables)}")
    kind = draw(st.sampled_from(["i1", "f4", "S1", str, "u8"]))
    file.createVariable(name, kind, dims)


def _unit(file, draw):
    variable = file.variables[draw(st.sampled_from(list(file.variables)))]
    name = draw(st.sampled_from(["units", "long_name", "scale_factor", "calendar"]))
    variable.setncattr(name, draw(st.sampled_from(["9**9**9", 1e300, "x", [1, 2]])))


SPOILS = [_text, _text, _numbers, _huge, _attribute, _renamed, _dimension, _kind, _unit]
