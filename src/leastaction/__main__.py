"""The command ``leastaction``: from a table to a law, without Python or Snakemake."""

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

EXAMPLE = """example:
  leastaction describe swings.csv
  leastaction learn swings.csv --time t --trajectory run --coordinate theta:deg \\
    --out swings/
"""


def parser() -> argparse.ArgumentParser:
    """Options of both commands."""
    whole = argparse.ArgumentParser(
        "leastaction",
        description="Learn the law behind measured motion.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")
    seen = commands.add_parser(
        "describe", help="what the columns look like, and the YAML to start from"
    )
    found = commands.add_parser(
        "learn", help="write law.md, figures and model.nc of a table"
    )
    for one in (seen, found):
        one.add_argument("table", nargs="+", help="CSV, white space or NetCDF")
        one.add_argument("--separator", help="between columns, if it is not found")
        one.add_argument(
            "--skip-lines", type=int, default=0, metavar="N", help="above the table"
        )
    _add_columns(found.add_argument)
    _add_analysis(found.add_argument)
    return whole


def _add_columns(add: Callable) -> None:
    """Options that say what the columns of a table are."""
    add("--time", metavar="NAME[:UNIT]", help="column of the time; s if no unit")
    add("--rate", type=float, metavar="HZ", help="samples per second, without --time")
    add("--trajectory", metavar="NAME", help="column that tells trajectories apart")
    for name, example in (
        ("coordinate", "theta:deg, or theta='atan2(x - x0, y0 - y)'"),
        ("velocity", "theta:gyro:deg/s"),
        ("acceleration", "x:acc:m/s^2"),
        ("input", "x:force:N"),
    ):
        add(
            f"--{name}",
            action="append",
            default=[],
            required=name == "coordinate",
            metavar="NAME[:COLUMN]:UNIT",
            help=f"such as {example}; may be repeated",
        )
    add(
        "--unknown",
        action="append",
        default=[],
        metavar="NAME",
        help="in an expression, the centre of a circle: such as x0; may be repeated",
    )


def _add_analysis(add: Callable) -> None:
    """Options that say how a law is found, and where it is written."""
    add(
        "--excitation",
        choices=("none", "random"),
        default="none",
        help="random: a force that nobody recorded",
    )
    add(
        "--held-out",
        action="append",
        metavar="LABEL",
        help="trajectory for the prediction alone; may be repeated",
    )
    add(
        "--accept",
        action="append",
        default=[],
        metavar="REFUSAL",
        help="refusal to pass over, as its message names it; may be repeated",
    )
    add("--title", default="", help="heading of the law")
    add("--out", type=Path, default=Path("law"), metavar="FOLDER", help="default: law/")
    add("--quiet", action="store_true", help="no progress bar")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 1 after one message if the data cannot be used."""
    options = parser().parse_args(arguments)
    sys.stdout.reconfigure(encoding="utf-8")  # laws have letters that ASCII lacks
    from leastaction.recordings.error import RecordingError

    try:
        return {"describe": _describe, "learn": _learn}[options.command](options)
    except (RecordingError, OSError) as error:
        print(f"leastaction: {error}", file=sys.stderr)
        return 1


def _describe(options) -> int:
    from leastaction.recordings.describe import describe

    for path in options.table:
        about = describe(
            path, separator=options.separator, skip_lines=options.skip_lines
        )
        print(about)
    return 0


def _learn(options) -> int:
    from leastaction.core.files import save_figure, save_text
    from leastaction.recordings.error import RecordingError
    from leastaction.recordings.learn import learn

    if options.out.is_file():
        raise RecordingError(f"--out {options.out} is a file; name a folder")
    options.out.mkdir(parents=True, exist_ok=True)
    logging.getLogger("matplotlib").setLevel(logging.WARNING)
    law = learn(
        options.table,
        time=_time(options),
        trajectory=options.trajectory,
        coordinates=_columns("coordinate", options.coordinate, options.unknown),
        velocities=_columns("velocity", options.velocity),
        accelerations=_columns("acceleration", options.acceleration),
        inputs=_columns("input", options.input),
        excitation=options.excitation,
        held_out=options.held_out,
        accept=options.accept,
        title=options.title or Path(options.table[0]).stem.replace("$", ""),
        progress=not options.quiet,
        separator=options.separator,
        skip_lines=options.skip_lines,
    )
    law.save(options.out / "model.nc")
    save_text(law.to_markdown(), options.out / "law.md")
    for name in law.figures:
        save_figure(law.plot(name), options.out / f"{name}.png")
    print(law)
    return 0


def _time(options) -> dict:
    if options.time is None:
        return {} if options.rate is None else {"rate": options.rate}
    column, _, unit = options.time.partition(":")
    clock = {"column": column, "unit": unit or "s"}
    return clock if options.rate is None else clock | {"rate": options.rate}


def _columns(
    option: str, given: Sequence[str], unknown: Sequence[str] = ()
) -> dict | None:
    """`name:unit`, `name:column:unit` and `name=expression:unit` as under `import`."""
    from leastaction.core.expressions import names_in
    from leastaction.recordings.error import RecordingError

    found = {}
    for text in given:
        name, equals, rest = text.partition("=")
        if equals:
            expression, _, unit = rest.partition(":")
            constants = [n for n in unknown if n in names_in(expression)]
            found[name] = {"expression": expression, "unknown": constants} | (
                {"unit": unit} if unit else {}
            )
            continue
        name, _, rest = text.partition(":")
        column, _, unit = rest.rpartition(":")
        if not rest:
            raise RecordingError(
                f"--{option} {text!r} has no unit; write NAME:UNIT, such as theta:deg"
            )
        found[name] = {"column": column or name, "unit": unit}
    return found or None


if __name__ == "__main__":
    sys.exit(main())
