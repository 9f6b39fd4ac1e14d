"""A recording of a user: what the YAML says, completed and checked before any job.

Algebra, units and tables are imported where a recording is read: without one, as in
every job of the papers, a plan does without them.
"""

import glob
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from leastaction.core import jobs
from leastaction.core.families import unknown
from leastaction.core.method import rollout
from leastaction.core.recipe import Recipe
from leastaction.core.settings import (
    Candidates,
    ConfigError,
    ConfigErrors,
    Expression,
    Flag,
    Integer,
    Known,
    Names,
    Number,
    Pair,
    Positive,
    Settings,
    Style,
    Text,
    Title,
    absent,
    complete,
    or_word,
)
from leastaction.core.yaml_files import check_label
from leastaction.recordings.refusals import RecordingError

if TYPE_CHECKING:
    from leastaction.core.own_data import Kind

FOLDER = "recordings"
# Kind of a recording of a mechanism, which is that of this family.
MOTION = "motion"
# Sections of `import`: columns of a motion, and columns that only other kinds have.
CHANNELS = ("coordinates", "velocities", "accelerations", "inputs")
OF_MOTION = {"coordinates": True, "sensors": False}
OF_KINDS = ("states", "outputs", "position")
# What is known of a trapped particle, in the unit that it is turned into.
KNOWN_OF_PARTICLE = {
    "temperature": "K",
    "mass": "kg",
    "drag": "kg/s",
    "radius": "m",
    "viscosity": "Pa*s",
    "density": "kg/m**3",
}


class Column(Settings):
    """A column and its unit."""

    column: Text | None = absent("Its name; the key itself, if absent.")
    unit: Text = Field(
        description="Unit of its numbers: rad, deg, count, m, mm, N, N m, V, 1, ..."
    )
    per_turn: Positive | None = absent("Counts of one turn, where the unit is count.")
    offset: Number = Field(
        0.0, description="Subtracted first, in the unit of the column."
    )
    reverse: Flag = Field(
        False, description="Whether the sensor counts the other way round."
    )


class Coordinate(Column):
    """A column and its unit, or an expression of columns."""

    unit: Text | None = absent(
        "Unit of its numbers: rad, deg, count, m, mm, px, 1, ...; of an expression "
        "rad, if absent."
    )
    expression: Expression | None = absent(
        'Of columns, by their names, in the place of a column: "atan2(x - x0, y0 - y)".'
    )
    unknown: Names | None = absent(
        "Names in the expression that are no columns, but the centre of a circle, "
        "which is estimated: [x0, y0]."
    )


class Input(Column):
    """A column that drives a coordinate, and what lies between it and the force."""

    unit: Text | None = absent("Unit of its numbers, or of the expression.")
    expression: Expression | None = absent(
        'Of columns, by their names, in the place of one: "-a*sin(theta)"; each is '
        "taken in its own unit."
    )
    offset: or_word(Number, "unknown") = Field(
        0.0,
        description="Subtracted first, in the unit of the column; unknown: a candidate "
        "of the law.",
    )
    gain: or_word(Number, "unknown", "shared") | None = absent(
        "Generalised force per unit of the column, both SI; unknown: found, if "
        "library.reference gives the scale; shared: one unknown gain of all inputs. "
        "The column is the force itself if absent."
    )
    lag: or_word(Number, "unknown") | None = absent(
        "Time after its record at which the input acts, s, negative if it was recorded "
        "late; unknown: found with an interval. If absent, a significant one is found."
    )
    time_constant: or_word(Positive, "unknown") | None = absent(
        "Time constant of a first-order lag between input and force, s; or unknown."
    )


class Clock(Settings):
    """The column of the time and its unit, or the rate of the samples."""

    column: Text | None = absent("Column of the time.")
    unit: Text | None = absent(
        "Unit of the time: s, ms, us; that of its heading, `t [ms]`, or s, if absent."
    )
    rate: Positive | None = absent("Samples per second, if no column has the time, Hz.")


class Import(Settings):
    """Where the samples are, and what the columns mean."""

    files: Names = Field(
        min_length=1,
        description="One file or several, relative to this YAML file; ~ and variables "
        "of the environment such as $LEASTACTION_DATA are known.",
    )
    format: Literal["auto", "text", "netcdf"] = Field(
        "auto",
        description="text (CSV or a whitespace table), netcdf, or by the file itself.",
    )
    separator: Annotated[Text, Field(max_length=1)] | None = Field(
        None,
        description="Character between columns; found from the file if absent.",
    )
    skip_lines: Integer = Field(
        0, ge=0, description="Lines above the names of the columns."
    )
    columns: Names = Field(
        [], description="Names of the columns of a file that has none."
    )
    trajectory: Text | None = Field(
        None,
        description="Column that separates trajectories. Without it a new one begins "
        "where time starts again, at a gap, and with every file.",
    )
    time: Clock = Field(
        description="The column of the time and its unit, or the rate of the samples."
    )
    gap: Number = Field(
        5.0,
        gt=1,
        description="A step of this many median steps begins a new trajectory.",
    )
    coordinates: dict[str, Coordinate] = Field(
        {},
        description="Generalised coordinates by the name that formulas use; of a field "
        "its name, and as its column a pattern such as `u_*`, one column per node.",
    )
    velocities: dict[str, Column] = Field(
        {}, description="Recorded velocities, of every coordinate or of none."
    )
    accelerations: dict[str, Column] = Field(
        {}, description="Recorded accelerations, of every coordinate or of none."
    )
    sensors: dict[str, Column] = Field(
        {},
        description="Columns of a randomly excited motion by what they measure, in the "
        "place of columns of coordinates: x2 - x1, x1dot, x1ddot, or x1ddot + ground "
        "of an accelerometer on shaking ground; of a field u(0.2), u_t(0.2) or "
        "u_tt(0.2) at 0.2 m.",
    )
    inputs: dict[str, Input] = Field(
        {},
        description="Generalised forces that act on coordinates, as recorded; of kind "
        "ports, inputs by the names of the ports.",
    )
    states: dict[str, Column] = Field({}, description="Of kind ports: recorded states.")
    outputs: dict[str, Column] = Field(
        {}, description="Of kind ports: outputs by the names of the ports."
    )
    position: dict[str, Column] = Field(
        {},
        description="Of a field in a long table: the column of the position, by its "
        "name, with its unit.",
    )
    length: Positive | None = absent(
        "Of a field whose columns are evenly spaced nodes: length of the line, m."
    )
    ends: Text = Field(
        "periodic",
        description="Ends of the line of a field: periodic, the first node follows the "
        "last; fixed, u is zero at both end nodes; free, its slope is. With sensors at "
        "some places clamped, too, or the left and the right end: clamped, free.",
    )
    temperature: Text | None = absent(
        "Of the bath of a trapped particle, with its unit, 293 K; with one of mass, "
        "drag and radius (of a sphere, with the viscosity of the fluid or the density "
        "of the particle) the law has its stiffness and sensor in SI units."
    )
    mass: Text | None = absent("Of that particle, 3e-18 kg.")
    drag: Text | None = absent("Of that particle, 9.4e-9 kg/s.")
    radius: Text | None = absent("Of that particle, 0.5 um.")
    viscosity: Text | None = absent("Of the fluid around it, 1.0e-3 Pa*s.")
    density: Text | None = absent("Of that particle, 2000 kg/m^3.")


class Also(Settings):
    """Terms beside the recommended ones."""

    lagrangian: Names | None = absent("Of L.")
    dissipation: Names | None = absent("Of D.")
    stribeck: dict[str, Pair] | None = absent(
        "Of D, friction that falls from F_s + F_c to F_c as |v| grows beyond a "
        "velocity v_s, F_s exp(-|v|/v_s): by velocity the smallest and largest v_s "
        "that are tried, in SI units, such as {xdot: [0.001, 0.1]}."
    )


class RecordedLibrary(Settings):
    """Candidates; the recommended ones for the kinds of coordinates if absent."""

    reference: Text | None = absent(
        "Kinetic terms that give L its scale, with their coefficients, xdot**2/2: one, "
        "or a sum of one for each group of coordinates that no term connects; the "
        "first inertia if absent. A recorded input gives the scale alone."
    )
    inertia: Literal["free", "constant", "diagonal"] | None = absent(
        "What is known of the kinetic energy: free, nothing; constant, it does not "
        "change with the position; diagonal, it is one of squares of single velocities."
    )
    also: Also | None = absent("Terms beside the recommended ones.")
    lagrangian: Candidates | None = absent("Candidates of L.")
    dissipation: Candidates | None = absent("Candidates of the Rayleigh function.")
    volatility: Candidates | None = absent("Candidates of the squared volatility.")
    known: Known | None = absent("Of kind density: coefficients that are given.")
    hamiltonian: Candidates | None = absent("Of kind ports: candidates of H.")


class Estimators(Settings):
    """Recipes by name."""

    recommended: Recipe = Field(description="The recipe of the law.")


class Prediction(Settings):
    """Prediction of trajectories that were held out."""

    held_out: list[Expression] | None = Field(
        None,
        description="Trajectories held out for validation, as the trajectory column "
        "names them; one in four, of middling amplitude, if absent.",
    )
    start: Positive | None = Field(
        None,
        description="Part of a held-out trajectory that fixes its initial state, s; "
        "0.45 main periods if absent.",
    )


class PublishedNumber(Settings):
    """A number that is known of this machine by other means, and where ours stands."""

    quantity: Text = Field(description="What it is.")
    value: Number = Field(description="Its reference value.")
    error: Positive | None = absent("Half width of its 95 % interval.")
    unit: Text = Field("1", description="Unit of both.")
    of: Literal["L", "D", "S"] = Field("L", description="Function that has the term.")
    term: Text = Field(description="Term of our law.")
    factor: Number = Field(1.0, description="Ours is its coefficient times this.")
    over: Text | None = absent("Term of L whose coefficient ours is divided by.")


class PublishedRun(Settings):
    """The error of a free run that somebody published."""

    model: Text = Field(description="Of what, on which data.")
    value: Number = Field(description="rms error, in the unit of the runs.")
    source: Text = Field(description="Where it is published.")


class Published(Settings):
    """What others found of a machine whose recordings anybody can get."""

    about: Text = Field(description="The machine, in a sentence or two.")
    source: Text = Field(description="Who measured it, and where it is published.")
    url: Text = Field(description="Where the data are.")
    files: dict[str, Text] = Field(
        description="How each file of LEASTACTION_DATA is made of what is published."
    )
    numbers: list[PublishedNumber] = Field([], description="Reference parameters.")
    numbers_from: Text = Field("", description="How these were found.")
    runs: list[PublishedRun] = Field([], description="Published free runs.")
    runs_in: Text = Field("1", description="Unit of the errors of free runs.")


def _shown(formats: list) -> list:
    """Check that pages can show every figure."""
    missing = [kind for kind in ("svg", "png") if kind not in formats]
    if missing:
        words = {"missing": " and ".join(missing)}
        raise PydanticCustomError("formats", "pages need {missing}, too", words)
    return formats


class Workflow(Settings):
    """Settings of the workflow that recordings use, too."""

    seed: Integer = Field(ge=0, description="Root of all random numbers.")
    pathvars: dict[str, Text] = Field(
        {},
        description="Snakemake's: other folders than `results` and `logs`, by name.",
    )
    recordings: dict[str, dict[str, Any]] = Field(
        {},
        description="Recordings of your own by name (workflow/schemas/recording.json); "
        "write them into a file of your own and pass it with --configfile.",
    )
    formats: Annotated[list[Literal["svg", "png", "pdf"]], AfterValidator(_shown)] = (
        Field(
            ["svg", "png"],
            description="Formats of every figure; pages need SVG and PNG.",
        )
    )
    figures: Style = Field(default_factory=Style, description="Style of every figure.")


class Recording(Settings):
    """A recording, under `recordings` of a file of your own."""

    title: Title = Field("", description="Name in figures and tables.")
    kind: Text = Field(
        MOTION,
        description="What was measured: motion, of a mechanism; density, one long "
        "record of a stationary motion; field, u at nodes of a line; ports, states, "
        "inputs and outputs of a port-Hamiltonian system; snapshots, positions at "
        "coarse steps, without candidates.",
    )
    data: Import = Field(
        alias="import", description="Where the samples are, and what the columns mean."
    )
    excitation: Literal["none", "random"] = Field(
        "none",
        description="none, a deterministic law; random, forces that no column records, "
        "whose strength is to be found.",
    )
    accept: list[
        Literal[
            "turns",
            "rates",
            "sampling",
            "noise",
            "length",
            "saturation",
            "excitation",
            "constraint",
        ]
    ] = Field(
        [],
        description="Checks to skip, where you know better: turns, rates, sampling, "
        "noise, length, saturation, excitation, constraint.",
    )
    library: RecordedLibrary = Field(
        default_factory=RecordedLibrary,
        description="Candidates; the recommended ones for the kinds of coordinates if "
        "absent.",
    )
    estimators: Estimators = Field(description="Recipes by name.")
    prediction: Prediction = Field(
        default_factory=Prediction,
        alias="validate",
        description="Prediction of trajectories that were held out.",
    )
    published: Published | None = absent("What others found of the same machine.")


def read_recordings(
    config: Mapping, folders: Mapping[str, Path], made: Path | None = None
) -> dict[str, dict]:
    """Every recording of a configuration by name, completed and checked.

    `folders` are those of their YAML files, the one where Python runs if not named;
    `made` as for :func:`recording_from_config`.

    ConfigError with the problems of all recordings.
    """
    recordings, errors = {}, []
    for name, written in config["recordings"].items():
        try:
            check_label("recording", name)
            folder = folders.get(name, Path.cwd())
            recording = recording_from_config(name, written, folder, made)
            _refuse_braces(name, recording["import"]["files"])
            recordings[name] = {
                **recording,
                "key": f"{FOLDER}/{name}",
                "seed": config["seed"],
            }
        except ConfigError as error:
            errors.append(error)
    if errors:
        raise ConfigErrors(errors)
    return recordings


def _refuse_braces(name: str, files: Sequence[str]) -> None:
    """Snakemake takes what stands in braces for a wildcard."""
    problems = [
        f"import.files: {path} has a brace in its path, which Snakemake takes for a "
        "wildcard; rename it"
        for path in files
        if set(path) & set("{}")
    ]
    if problems:
        raise ConfigError(f"recording {name}", problems)


def recording_from_config(
    name: str,
    written: Mapping,
    folder: Path,
    made: Path | None = None,
    frames: Sequence = (),
) -> dict:
    """Complete description of the recording `name`, from what is `written` in a YAML.

    Paths are relative to the `folder` of the YAML. Tables in the folder `made`, which
    the workflow writes, need not be there yet; `frames`, each a
    :class:`pandas.DataFrame`, take the place of files. ConfigError with all problems.
    """
    from leastaction.core.expressions import check_name
    from leastaction.core.recipe import with_recommended_methods
    from leastaction.core.system import declared_names
    from leastaction.recordings.columns import clock_scale, columns_of
    from leastaction.recordings.recorded_library import recorded_library

    where = f"recording {name}"
    written = _long_form(written)
    kind = kind_of(written)
    if kind:
        written = {**written, "kind": kind.name}
    if isinstance(written, Mapping) and "import" in written:
        written = {"estimators": {"recommended": {}}} | dict(written)
        written = with_recommended_methods(kind.prepared(written) if kind else written)
    example = complete(written, Recording, where)
    problems: list[str] = _misplaced(example, kind)
    files = list(frames) or _files(example["import"], folder, made, problems)
    example["import"]["files"] = files
    recipe = Recipe(**example["estimators"]["recommended"])
    problems += recipe.misfits()
    channels = None
    try:
        for section in ("coordinates", "states"):
            for coordinate in example["import"][section]:
                check_name(coordinate)
        declared_names(tuple(example["import"]["coordinates"]))
        clock_scale(example["import"]["time"])
        if kind or example["import"]["coordinates"]:
            channels = columns_of(example["import"], kind)
    except ValueError as error:
        problems.append(str(error))
    of_particle = {n: v for n, v in example["import"].items() if n in KNOWN_OF_PARTICLE}
    if of_particle:
        problems += _particle_problems(of_particle, example["excitation"])
    if example["import"]["sensors"] and example["excitation"] != "random" and not kind:
        problems.append(
            "import.sensors: excitation is none; sensors that measure something else "
            "than coordinates are read with `excitation: random`"
        )
    clock = example["import"]["time"]
    if ("rate" in clock) == ("column" in clock):
        problems.append(
            "import.time: give either the column of the time, `time: t`, or the rate "
            "of the samples, `time: {rate: 100}` (Hz)"
        )
    if channels and not problems:
        if kind:
            units = {k: {n: c.unit for n, c in v.items()} for k, v in channels.items()}
            problems += kind.completed(example, units)
        else:
            example["library"], refused = recorded_library(example, channels)
            problems += refused
        problems += _missing_columns(example["import"], channels)
    if problems:
        raise ConfigError(where, problems)
    return example


def _particle_problems(stated: Mapping, excitation: str) -> list[str]:
    """What is wrong with what is known of a trapped particle."""
    from leastaction.recordings.thermal_calibration import known_of_particle

    if excitation != "random":
        first = next(iter(stated))
        return [f"import.{first}: it is read with `excitation: random` alone"]
    try:
        known_of_particle(stated)
    except ValueError as error:
        return [f"import: {error}"]
    return []


def kind_of(written) -> "Kind | None":
    """Kind of table that a recording names; None of a motion.

    ValueError if there is no such kind.
    """
    name = written.get("kind", MOTION) if isinstance(written, Mapping) else MOTION
    if isinstance(name, str) and name == MOTION:
        return None
    from leastaction.core.own_data import kinds

    if not isinstance(name, str) or name not in kinds():
        raise ConfigError("kind", [unknown("kind", name, [MOTION, *kinds()])])
    part = written.get("import")
    return kinds()[kinds()[name].of_import(part if isinstance(part, Mapping) else {})]


def _misplaced(example: Mapping, kind: "Kind | None") -> list[str]:
    """Sections of `import` that a kind does not read, or lacks."""
    part = example["import"]
    reads = kind.sections if kind else {**dict.fromkeys(CHANNELS, False), **OF_MOTION}
    keys = kind.keys if kind else ()
    name = example["kind"]
    problems = [
        f"import.{section}: a recording of kind {name} has none; leave it out"
        for section in (*CHANNELS, *OF_KINDS, *OF_MOTION)
        if part.get(section) and section not in (*reads, *keys)
    ]
    for section in (section for section, needed in reads.items() if needed):
        if not part[section] and part["sensors"] and not kind:
            problems.append(
                "import.sensors: expected the coordinates that they measure, such as "
                "`coordinates: {x1: m}` and a sensor named x1ddot, or x1ddot + ground; "
                "modes without coordinates are found by `leastaction modes`"
            )
        elif not part[section]:
            typed = f", such as {kind.example if kind else '--coordinate theta:deg'}"
            problems.append(
                f"import.{section}: expected one or more of a recording of kind "
                f"{name}{typed}"
            )
    if kind and example["excitation"] != "none":
        problems.append("excitation: only a recording of kind motion has one")
    return problems


def column_and_unit(text: str) -> dict[str, str]:
    """`deg`, or `angle [deg]` of a column that has another name."""
    named = re.fullmatch(r"\s*(.+?)\s*\[(.+)\]\s*", text)
    return {"column": named[1], "unit": named[2]} if named else {"unit": text}


def _long_form(written: Mapping) -> Mapping:
    """`files: a.csv`, `time: t`, `theta: deg` and `theta: angle [deg]` written out."""
    if not isinstance(written, Mapping) or not isinstance(
        written.get("import"), Mapping
    ):
        return written
    part = dict(written["import"])
    if isinstance(part.get("files"), str):
        part["files"] = [part["files"]]
    if isinstance(part.get("time"), str):
        part["time"] = {"column": part["time"]}
    for section in (*CHANNELS, *OF_KINDS, "sensors"):
        if isinstance(part.get(section), Mapping):
            part[section] = {
                key: column_and_unit(entry) if isinstance(entry, str) else entry
                for key, entry in part[section].items()
            }
    if isinstance(part.get("trajectory"), int | float):
        part["trajectory"] = str(part["trajectory"])
    return {**written, "import": part}


def _files(settings: Mapping, folder: Path, made, problems: list) -> list[str]:
    paths = []
    for text in settings["files"]:
        path = _path(text, folder)
        names = [path.name]
        if "*" in path.name:
            names = sorted(glob.glob(path.name, root_dir=path.parent))
        if not names:
            problems.append(f"import.files: nothing matches {path}")
        paths += [os.path.normpath(path.with_name(name)) for name in names]
    for path in paths:
        if not os.path.exists(path) and not _is_made(path, made):
            problems.append(
                f"import.files: there is no file {path}; paths are relative to the "
                f"YAML file, which is in {folder}"
            )
    return paths


def _path(text: str, folder: Path) -> Path:
    return Path(folder, os.path.expanduser(os.path.expandvars(text)))


def are_there(written: Mapping, folder: Path) -> bool:
    """Whether the files that a recording names are on this computer."""
    files = _long_form(written)["import"]["files"]
    return all(os.path.exists(_path(text, folder)) for text in files)


def _is_made(path: str, made: Path | None) -> bool:
    return made is not None and Path(os.path.realpath(path)).is_relative_to(
        os.path.realpath(made)
    )


def _missing_columns(settings: Mapping, channels: Mapping) -> list[str]:
    from leastaction.recordings.columns import as_measured, is_pattern, uses_of
    from leastaction.recordings.tables import open_table

    groups = as_measured(channels).values()
    columns = [c for g in groups for c in g.values() if not is_pattern(c.name)]
    problems = []
    for source in settings["files"]:
        if isinstance(source, str) and not os.path.exists(source):
            continue
        try:
            open_table(source, settings).check_columns(uses_of(columns, settings))
        except RecordingError as error:
            problems.append(str(error))
    return problems


def import_settings(example: Mapping, estimator: str | None = None) -> dict:
    """Files, columns, what is held out, and what the user knows better."""
    return {
        "kind": example["kind"],
        "import": example["import"],
        "held_out": example["validate"]["held_out"],
        "excitation": example["excitation"],
        "accept": example["accept"],
    }


def predict_settings(example: Mapping, estimator: str) -> dict:
    """How held-out trajectories are predicted; of kinds, with the recipe."""
    settings = {"kind": example["kind"], "validate": example["validate"]}
    if example["kind"] == MOTION:
        return settings
    recipe = example["estimators"][estimator]
    return settings | {"recipe": recipe, "library": example["library"]}


def modules_of_import(example: Mapping, estimator: str | None) -> list[str]:
    """Modules that read a table."""
    return ["leastaction.recordings.import_recording", *own_modules(example)]


def modules_of_prediction(example: Mapping, estimator: str) -> list[str]:
    """Modules that predict what was held out; of kinds, with those of the recipe."""
    if example["kind"] == MOTION:
        return rollout("measurements")().modules()
    stages = ("differentiate", "assemble")
    methods = [m for s in stages for m in jobs.MODULES[s](example, estimator)]
    return ["leastaction.recordings.import_samples", *own_modules(example), *methods]


def own_modules(example: Mapping) -> list[str]:
    """Module of the family that takes a recording; none of a motion."""
    kind = kind_of(example)
    return [] if kind is None else [type(kind).__module__]


# As those of `jobs`, for the stages that differ.
SETTINGS: Mapping[str, Callable] = {
    **jobs.SETTINGS,
    "import": import_settings,
    "predict": predict_settings,
}
MODULES: Mapping[str, Callable] = {
    **jobs.MODULES,
    "import": modules_of_import,
    "predict": modules_of_prediction,
}
