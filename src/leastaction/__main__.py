"""The command ``leastaction``: from a table to a law, without Python or Snakemake."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

EXAMPLE = """example:
  leastaction demo swings.csv
  leastaction describe swings.csv
  leastaction learn swings.csv --time t --trajectory run --coordinate theta:rad
"""
# That a law is exported to; `recordings.source_code` has them, which imports algebra.
LANGUAGES = ("c", "numpy", "jax")
# Exit status of a program that a signal ended: 128 and its number.
INTERRUPTED, PIPE_CLOSED = 130, 141


# Options of the commands: name, metavar (with three dots: may be repeated), help, and
# what else argparse should know.
READING = (
    ("separator", None, "between columns, if it is not found"),
    ("skip-lines", "N", "above the table", {"type": int, "default": 0}),
    ("columns", "NAMES", "of a table without: t,theta,torque"),
)
CLOCK = (
    ("time", "NAME[:UNIT]", "column of the time, and its unit if not in its heading"),
    ("rate", "HZ", "samples per second, without --time", {"type": float}),
    ("trajectory", "NAME", "column that separates trajectories"),
    ("gap", "STEPS", "of time, that begin a trajectory", {"type": float}),
)
FILES = "CSV, white space, NetCDF, .mat, .uff or .xlsx"
_COLUMN, _QUANTITY = "NAME[:COLUMN]:UNIT[,KEY=VALUE]...", "'NUMBER UNIT'"
LEARN = (
    ("coordinate", _COLUMN, "such as theta:deg, or theta='atan2(x - x0, y0 - y)'"),
    ("velocity", _COLUMN, "such as theta:gyro:deg/s"),
    ("acceleration", _COLUMN, "such as x:acc:m/s^2"),
    (
        *("sensor", _COLUMN),
        "such as 'x1ddot + ground:floor 1:m/s^2' (random excitation)",
    ),
    ("input", _COLUMN, "such as x:force:N"),
    ("state", _COLUMN, "such as p:momentum:'kg m/s' (kind ports)"),
    ("output", _COLUMN, "such as v:current:A (kind ports)"),
    ("position", _COLUMN, "such as x:m, of a field in a long table"),
    ("length", "METRES", "of the line of a field", {"type": float}),
    ("ends", "ENDS", "of the line of a field, such as clamped,free"),
    ("unknown", "NAME...", "in an expression, the centre of a circle: such as x0"),
    (
        *("kind", None),
        "of the table: motion (default), density, field, ports or snapshots",
        {"default": "motion"},
    ),
    ("term", "FUNCTION:TERM...", "of L, D, S^2 or H, such as L:-x**2/2"),
    ("known", "FUNCTION:TERM...", "of L, D, S^2 or H, such as D:xdot**2/2=0.5"),
    (
        *("excitation", None, "random: an unrecorded random force"),
        {"choices": ("none", "random"), "default": "none"},
    ),
    ("reference", "TERMS", "known inertia, such as 1.2*xdot**2/2"),
    ("held-out", "LABEL...", "trajectory for the prediction alone", {"default": None}),
    ("accept", "REFUSAL...", "refusal to pass over, as its message names it"),
    ("test", "TABLE...", "another table with the same columns, to be predicted"),
    ("title", None, "heading of the law", {"default": ""}),
    ("out", "FOLDER", "default: law/", {"type": Path, "default": Path("law")}),
    ("quiet", None, "no progress bar", {"action": "store_true"}),
)
MODES = (
    (
        *("sensor", "NAME[:COLUMN]:UNIT"),
        "output, such as roof:m/s^2; all columns if there is none",
        {"action": "append", "default": []},
    ),
    ("band", "HZ", "highest frequency of interest", {"type": float}),
    ("place", "NAME=X,Y...", "of a sensor, for the figure of shapes"),
    (
        *("shape", "NAME=X,NAME=Y,......"),
        "known shape whose MAC is printed, such as roof=1,mid=0.6",
    ),
    (
        *("setups", None),
        "each table is a set-up; sensors with the same name did not move",
        {"action": "store_true"},
    ),
    ("title", None, "heading", {"default": ""}),
    ("out", "FOLDER", "modes/", {"type": Path, "default": Path("modes")}),
)
CALIBRATE = (
    ("sensor", "NAME[:COLUMN]:UNIT", "of the position, such as z:V"),
    ("temperature", _QUANTITY, "such as '293 K'"),
    ("mass", _QUANTITY, "such as '3e-18 kg'"),
    ("drag", _QUANTITY, "such as '9.4e-9 kg/s'"),
    ("radius", _QUANTITY, "such as '0.5 um'"),
    ("viscosity", _QUANTITY, "such as '1.0e-3 Pa*s'"),
    ("density", _QUANTITY, "such as '2000 kg/m^3'"),
    ("band", "LOW:HIGH...", "frequencies to trust, Hz", {"default": None}),
    ("title", None, "heading", {"default": ""}),
    ("out", "FILE", None, {"type": Path, "default": Path("calibration.md")}),
)


class _Version(argparse.Action):
    """Print the version, which is looked up only then."""

    def __call__(self, parser, *_):
        import leastaction

        print(f"leastaction {leastaction.__version__}")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    """Options of all commands."""
    program = argparse.ArgumentParser(
        "leastaction",
        description="Learn the law behind measured motion.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    program.add_argument("--version", action=_Version, nargs=0, help="and exit")
    commands = program.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, about: str, run: Callable, *rows: tuple):
        one = commands.add_parser(name, help=about)
        one.set_defaults(run=run)
        if rows:
            one.add_argument("table", nargs="+", help=FILES)
        for row in rows:
            _add_option(one, *row)
        return one

    command("demo", "write a table to try with: a pendulum", _demo).add_argument(
        "words",
        nargs="*",
        metavar="[KIND] [TABLE]",
        help="kind of the table, density, field, ports or snapshots; file, swings.csv",
    )
    about = "what the columns look like, and how to learn from them"
    command("describe", about, _describe, *READING)
    about = "write law.md, figures and model.nc of a table"
    command("learn", about, _learn, *READING, *CLOCK, *LEARN)
    about = "write modes.md, .csv and .npz, and figures, of a randomly shaken table"
    command("modes", about, _modes, *READING, *CLOCK, *MODES)
    about = "stiffness and sensor of a trapped particle from its spectrum"
    command("calibrate", about, _calibrate, *READING, *CLOCK, *CALIBRATE)
    about = "write the accelerations of a model.nc as C, NumPy or JAX"
    export = command("export", about, _export)
    export.add_argument("model", help="as `learn` wrote it, such as law/model.nc")
    export.add_argument("source", help="to write: model.c or model.py")
    export.add_argument("--language", choices=LANGUAGES, help="jax, for model.py")
    return program


def _add_option(command, name: str, metavar: str, about: str, more=()) -> None:
    """Add an option from a row of one of the tables."""
    more = dict(more) | ({"metavar": metavar} if metavar else {})
    if metavar and metavar.endswith("..."):
        more = {"action": "append", "default": []} | more
        more["metavar"] = metavar.removesuffix("...")
        about += "; may be repeated"
    command.add_argument(f"--{name}", help=about, **more)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 1 after one message if the data cannot be used."""
    sys.stdout.reconfigure(encoding="utf-8")  # laws have letters that ASCII lacks
    try:
        try:
            return _run(parser().parse_args(arguments))
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has ended, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except OSError as error:  # such as a disk that is full
        print(f"leastaction: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("leastaction: interrupted", file=sys.stderr)
        return INTERRUPTED


def _run(options: argparse.Namespace) -> int:
    from leastaction.recordings.interfaces import SHELL, in_words
    from leastaction.recordings.refusals import RecordingError

    try:
        options.run(options)
    except RecordingError as error:
        print(f"leastaction: {in_words(SHELL, error.written)}", file=sys.stderr)
        return 1
    return 0


def _demo(options) -> None:
    from leastaction.core.files import save_text
    from leastaction.recordings.demo import demo_of
    from leastaction.recordings.refusals import RecordingError

    path, table, about, more = demo_of(options.words)
    if Path(path).exists():
        raise RecordingError(f"{path} exists; name another file: leastaction demo FILE")
    save_text(table(), path)
    print(f"{path}: {about}, simulated. Now:")
    print(f"leastaction learn {path} {more}")


def _describe(options) -> None:
    from leastaction.recordings.describe import describe

    for path in options.table:
        print(describe(path, **_reading(options)))


def _learn(options) -> None:
    from leastaction.core.files import save_figure, save_text
    from leastaction.recordings.command_line import (
        columns_of_options,
        library_of_options,
    )
    from leastaction.recordings.configuration import MOTION, OF_KINDS
    from leastaction.recordings.import_recording import plain_text
    from leastaction.recordings.interfaces import OPTIONS
    from leastaction.recordings.learn import check_table, learn
    from leastaction.recordings.refusals import RecordingError

    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    columns = {
        section: columns_of_options(name, getattr(options, name), options.unknown)
        for name, section in OPTIONS.items()
    }
    columns["coordinates"] = columns["coordinates"] or {}
    names = list(columns["coordinates"])
    reading = {key: columns.pop(key) for key in ("sensors", *OF_KINDS)}
    reading |= {key: getattr(options, key) for key in ("gap", "length", "ends")}
    source = ", ".join(Path(path).name for path in options.table)
    if all(Path(path).exists() for path in options.table):
        _refuse_other_law(options.out, source)
    how = {
        "time": _time(options),
        "trajectory": options.trajectory,
        **columns,
        **_reading(options),
        **{key: value for key, value in reading.items() if value is not None},
    }
    sections = {"excitation": options.excitation, "kind": options.kind}
    for path in options.test:  # before a law is sought
        if (options.kind, options.excitation) != (MOTION, "none"):
            raise RecordingError(
                "--test: a law of another kind than motion, or of a random force, "
                "predicts no other table; leave it out"
            )
        check_table(path, how, sections)
    law = learn(
        options.table,
        **how,
        kind=options.kind,
        excitation=options.excitation,
        library=library_of_options(
            options.reference, options.term, options.known, names
        ),
        held_out=options.held_out,
        accept=options.accept,
        title=options.title or Path(options.table[0]).stem.replace("$", ""),
        progress=not options.quiet,
    )
    page = law.to_markdown()
    for path in options.test:
        about = f"\n## What it predicts of {plain_text(Path(path).name)}\n\n"
        page += about + law.test(path, **how).prediction()
    options.out.mkdir(parents=True, exist_ok=True)
    law.save(options.out / "model.nc")
    save_text(page, options.out / "law.md")
    for name in law.figures:
        save_figure(law.plot(name), options.out / f"{name}.png")
    print(page, end="")
    made = ["law.md", *(f"{name}.png" for name in law.figures), "model.nc"]
    print(f"Written to {options.out}/: {', '.join(made)}", file=sys.stderr)


def _modes(options) -> None:
    from leastaction.core.files import save_figure, save_text
    from leastaction.recordings.command_line import (
        columns_of_options,
        places_of_options,
        shapes_of_options,
    )
    from leastaction.recordings.modal_analysis import modes

    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    tables = options.table
    setups = [[table] for table in tables] if options.setups else [tables]
    title = ", ".join(Path(setup[0]).stem for setup in setups)
    first, *others = (
        modes(
            setup,
            time=_time(options),
            sensors=columns_of_options("sensor", options.sensor),
            trajectory=options.trajectory,
            band=options.band,
            geometry=places_of_options(options.place),
            shapes=shapes_of_options(options.shape),
            title=options.title or title.replace("$", ""),
            **_reading(options),
            **({} if options.gap is None else {"gap": options.gap}),
        )
        for setup in setups
    )
    merged = first.merge(*others) if others else first
    options.out.mkdir(parents=True, exist_ok=True)
    save_text(merged.to_markdown(), options.out / "modes.md")
    merged.to_csv(options.out / "modes.csv")
    merged.to_npz(options.out / "modes.npz")
    for name in merged.figures:
        save_figure(merged.plot(name), options.out / f"{name}.png")
    print(merged)
    made = ["modes.md", "modes.csv", "modes.npz"]
    made += [f"{name}.png" for name in merged.figures]
    print(f"Written to {options.out}/: {', '.join(made)}", file=sys.stderr)


def _calibrate(options) -> None:
    from leastaction.core.files import save_text
    from leastaction.recordings.command_line import bands_of_options, columns_of_options
    from leastaction.recordings.configuration import KNOWN_OF_PARTICLE
    from leastaction.recordings.thermal_calibration import calibrate

    calibration = calibrate(
        options.table,
        time=_time(options),
        sensor=columns_of_options("sensor", [options.sensor] * bool(options.sensor)),
        trajectory=options.trajectory,
        band=bands_of_options(options.band),
        title=options.title or Path(options.table[0]).stem.replace("$", ""),
        **{name: getattr(options, name) for name in KNOWN_OF_PARTICLE},
        **_reading(options),
        **({} if options.gap is None else {"gap": options.gap}),
    )
    save_text(calibration.to_markdown(), options.out)
    print(calibration)


def _export(options) -> None:
    from leastaction.core.contracts import ContractError
    from leastaction.core.files import save_text
    from leastaction.core.model import load
    from leastaction.core.system import System
    from leastaction.recordings.refusals import RecordingError
    from leastaction.recordings.source_code import language_of, left_out, source_code

    try:
        language = language_of(options.source, options.language)
        model = load(options.model)
        system = getattr(model, "system", None)
    except (ContractError, ValueError) as error:
        raise RecordingError(str(error)) from None
    if type(system) is not System:
        raise RecordingError(
            f"{options.model} holds no Lagrangian of coordinates; expected a model.nc "
            "as `leastaction learn` writes it"
        )
    missing = left_out(model.dataset)
    save_text(source_code(system, language, missing), options.source)
    about = f"; left out: {'; '.join(missing)}" if missing else ""
    print(f"{options.source}: qddot = acceleration(q, qdot, force), SI units{about}")


def _reading(options) -> dict:
    """How a table is to be read."""
    reading = {"separator": options.separator, "skip_lines": options.skip_lines}
    if options.columns:
        reading["columns"] = [name.strip() for name in options.columns.split(",")]
    return reading


def _refuse_other_law(folder: Path, source: str) -> None:
    """Refuse a folder with the law of another table, and what is no folder."""
    from leastaction.core.contracts import ContractError
    from leastaction.core.files import load_parts
    from leastaction.recordings.refusals import RecordingError

    if folder.is_file():
        raise RecordingError(f"--out {folder} is a file; name a folder")
    path = folder / "model.nc"
    if not path.exists():
        return
    try:
        other = load_parts(path).get("observations")
    except ContractError:
        other = None
    of = "another table" if other is None else other.attrs.get("source", "")
    if of != source:
        raise RecordingError(
            f"{folder}/ holds the law of {of or 'another table'}; write --out FOLDER "
            f"for that of {source}, or delete it"
        )


def _time(options) -> dict:
    from leastaction.recordings.refusals import RecordingError

    if options.time is None and options.rate is None:
        raise RecordingError(
            "write the column of the time, --time NAME[:UNIT], or --rate HZ if there "
            "is none"
        )
    if options.time is None:
        return {"rate": options.rate}
    column, _, unit = options.time.partition(":")
    clock = {"column": column} | ({"unit": unit} if unit else {})
    return clock if options.rate is None else clock | {"rate": options.rate}


if __name__ == "__main__":
    sys.exit(main())
