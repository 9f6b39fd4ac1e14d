"""The shell beside the YAML: options as entries of `import`, and back again.

``NAME[:COLUMN]:UNIT[,KEY=VALUE...]`` is a column, with further keys of its entry in a
YAML: ``x:u:V,lag=unknown,gain=unknown``, ``theta:enc:count,per_turn=4096,reverse``.
"""

import re
import shlex
from collections.abc import Mapping, Sequence

from leastaction.core.expressions import names_in
from leastaction.core.families import unknown
from leastaction.recordings.interfaces import KEYS, OPTIONS
from leastaction.recordings.refusals import RecordingError

# Function of a term, and its section of `library`.
FUNCTIONS = {
    "L": "lagrangian",
    "D": "dissipation",
    "S^2": "volatility",
    "H": "hamiltonian",
}


def columns_of_options(
    option: str, texts: Sequence[str], centre: Sequence[str] = ()
) -> dict | None:
    """Entries of `import` of one option, given as often as there are `texts`.

    `centre` are names in expressions that are no columns. None without any text;
    RecordingError if one has no unit, or another key than a YAML.

    >>> columns_of_options("input", ["x:u:V,lag=unknown,gain=2"])
    {'x': {'unit': 'V', 'lag': 'unknown', 'gain': 2.0, 'column': 'u'}}
    """
    entries = {}
    for text in texts:
        name, equals, expression = text.partition("=")
        if equals and ":" not in name:
            expression, _, unit = expression.partition(":")
            constants = [n for n in centre if n in names_in(expression)]
            entries[name] = {"expression": expression, "unknown": constants} | (
                _unit(option, unit) if unit else {}
            )
            continue
        name, _, rest = text.partition(":")
        column, _, unit = rest.rpartition(":")
        if not rest:
            raise RecordingError(
                f"--{option} {text!r} has no unit; write NAME:UNIT, such as theta:deg"
            )
        entries[name] = _unit(option, unit) | ({"column": column} if column else {})
    return entries or None


def library_of_options(
    reference: str | None,
    terms: Sequence[str],
    known: Sequence[str],
    names: Sequence[str],
) -> dict | None:
    """Section `library`; None without any of these options.

    RecordingError if a text names no function; `names` are those of the coordinates.

    >>> library_of_options(None, ["L:-x**2/2", "D:xdot**2"], ["S^2:1=0.5"], ["x"])
    ... # doctest: +NORMALIZE_WHITESPACE
    {'lagrangian': [{'terms': ['-x**2/2']}], 'dissipation': [{'terms': ['xdot**2']}],
     'known': {'volatility': {'x': {'1': 0.5}}}}
    """
    library: dict = {"reference": reference} if reference else {}
    for text in terms:
        section, term = _of_function("term", text, "L:x**2")
        library.setdefault(section, [{"terms": []}])[0]["terms"].append(term)
    for text in known:
        section, entry = _of_function("known", text, "D:xdot**2/2=0.5")
        term, equals, number = entry.rpartition("=")
        try:
            entry = {term: float(number)}
        except ValueError:
            raise RecordingError(f"--known {text!r} has no number behind =") from None
        of = {names[0]: entry} if section == "volatility" else entry
        library.setdefault("known", {}).setdefault(section, {}).update(of)
    return library or None


def _of_function(option: str, text: str, such: str) -> tuple[str, str]:
    """Section of `library`, and what stands behind the function."""
    function, colon, rest = text.partition(":")
    if not colon or function not in FUNCTIONS:
        raise RecordingError(
            f"--{option} {text!r} names no function; write one of "
            f"{', '.join(FUNCTIONS)} before it, such as {such}"
        )
    return FUNCTIONS[function], rest


def places_of_options(texts: Sequence[str]) -> dict[str, list[float]]:
    """Geometry of sensors; RecordingError if a place has no numbers.

    >>> places_of_options(["roof=0,6"])
    {'roof': [0.0, 6.0]}
    """
    places = {}
    for text in texts:
        name, _, numbers = text.partition("=")
        try:
            places[name] = [float(number) for number in numbers.split(",")]
        except ValueError:
            places[name] = []
        if len(places[name]) not in (2, 3):
            raise RecordingError(
                f"--place {text!r} has no place; write NAME=X,Y, such as roof=0,6"
            )
    return places


def shapes_of_options(texts: Sequence[str]) -> list[list[float] | dict] | None:
    """Known shapes by sensor; RecordingError if a text is none.

    >>> shapes_of_options(["0.6,1", "roof=1,mid=-0.5"])
    [[0.6, 1.0], {'roof': 1.0, 'mid': -0.5}]
    """
    shapes: list[list[float] | dict] = []
    for text in texts:
        pairs = [entry.rpartition("=") for entry in text.split(",")]
        try:
            numbers = [float(number) for *_, number in pairs]
        except ValueError:
            raise RecordingError(
                f"--shape {text}: write a number for each sensor, such as 0.6,1 or "
                "roof=1,mid=0.6"
            ) from None
        names = [name for name, *_ in pairs]
        shapes.append(dict(zip(names, numbers, strict=True)) if any(names) else numbers)
    return shapes or None


def bands_of_options(texts: Sequence[str] | None) -> list[list[float]] | None:
    """Pairs of frequencies, Hz; RecordingError if a text is none.

    >>> bands_of_options(["36e3:45e3", "46e3:54e3"])
    [[36000.0, 45000.0], [46000.0, 54000.0]]
    """
    try:
        pairs = [[float(x) for x in text.split(":")] for text in texts or ()]
    except ValueError:
        pairs = [[]]
    if any(len(pair) != 2 for pair in pairs):
        raise RecordingError(
            f"--band {' '.join(texts)!r} is no band; write LOW:HIGH in Hz"
        )
    return pairs or None


def _unit(option: str, text: str) -> dict:
    """Unit, and what stands behind it."""
    unit, *more = text.split(",")
    entry: dict = {"unit": unit}
    for one in more:
        key, equals, value = one.partition("=")
        key = key.strip().replace("-", "_")
        if key not in KEYS:
            raise RecordingError(f"--{option} {text}: {unknown('key', key, KEYS)}")
        entry[key] = _value(value.strip()) if equals else True
    return entry


def _value(text: str) -> float | bool | str:
    words = {"true": True, "false": False}
    if text in words:
        return words[text]
    try:
        return float(text)
    except ValueError:
        return text


def learn_command(recording: Mapping) -> str:
    """Line of the shell that learns what a recording of a YAML describes.

    >>> part = {"files": "a.csv", "time": {"rate": 50}, "coordinates": {"x": "mm"}}
    >>> learn_command({"import": part})
    'leastaction learn a.csv --rate 50 --coordinate x:mm'
    """
    part = recording["import"]
    words = _clock_words("learn", part)
    for key in ("kind", "excitation"):
        words += [f"--{key}", recording[key]] if key in recording else []
    words += ["--length", "METRES"] if "length" in part else []
    for option, section in OPTIONS.items():
        for name, entry in part.get(section, {}).items():
            words += [f"--{option}", _text(name, entry)]
    return shlex.join(words)


def learn_call(recording: Mapping) -> str:
    """The same of a table in memory, in Python.

    >>> part = {"files": "the table", "time": {"rate": None}, "coordinates": {"x": "m"}}
    >>> print(learn_call({"import": part}))
    la.learn(
        table,
        time={'rate': HZ},
        coordinates={'x': 'm'},
    )
    """
    entries = {k: v for k, v in recording.items() if k != "import"}
    entries |= {k: v for k, v in recording["import"].items() if k != "files"}
    texts = {key: repr(value) for key, value in entries.items()}
    if entries["time"] == {"rate": None}:
        texts["time"] = "{'rate': HZ}"
    if "length" in entries:
        texts["length"] = "METRES"
    lines = [f"    {key}={text}," for key, text in texts.items()]
    return "\n".join(["la.learn(", "    table,", *lines, ")"])


def modes_command(part: Mapping) -> str:
    """Line of the shell that finds the modes of the sensors of a section `import`.

    >>> entry = {"column": "roof [g]", "unit": "g"}
    >>> part = {"files": "a.csv", "time": {"rate": None}, "sensors": {"x1ddot": entry}}
    >>> modes_command(part)
    "leastaction modes a.csv --rate HZ --sensor 'roof:roof [g]:g'"
    """
    words = _clock_words("modes", part)
    for entry in part["sensors"].values():
        name = re.sub(r"\W+", "_", re.sub(r"[\[(].*", "", entry["column"]).strip())
        words += ["--sensor", _text(name, entry)]
    return shlex.join(words)


def calibrate_text(part: Mapping, is_file: bool) -> str:
    """What calibrates the one coordinate of a section `import`, in a shell or Python.

    >>> part = {"files": "a.csv", "time": "t", "coordinates": {"z": "um"}}
    >>> calibrate_text(part, True)
    'leastaction calibrate a.csv --time t --sensor z:um'
    """
    ((name, entry),) = part["coordinates"].items()
    if not is_file:
        sensor = {name: entry}
        return f"la.calibrate(table, time={part['time']!r}, {sensor=})"
    return shlex.join(
        [*_clock_words("calibrate", part), "--sensor", _text(name, entry)]
    )


def _clock_words(command: str, part: Mapping) -> list[str]:
    """The command, its table, and when samples were taken; HZ of an unknown rate."""
    words = ["leastaction", command, str(part["files"])]
    time = part["time"]
    if isinstance(time, str):
        words += ["--time", time]
    elif "rate" in time:
        rate = time["rate"]
        words += ["--rate", "HZ" if rate is None else f"{rate:g}"]
    else:
        words += ["--time", f"{time['column']}:{time['unit']}"]
    if "trajectory" in part:
        words += ["--trajectory", str(part["trajectory"])]
    return words


def _text(name: str, entry) -> str:
    if isinstance(entry, str):
        return f"{name}:{entry}"
    more = {k: x for k, x in entry.items() if k not in ("column", "unit")}
    keys = "".join(f",{key}={value}" for key, value in more.items())
    return (
        ":".join([name, *[entry[k] for k in ("column", "unit") if k in entry]]) + keys
    )
