"""Files that were damaged, and files that somebody made to do harm: strategies."""

import random
from contextlib import suppress

import netCDF4
import numpy as np
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
