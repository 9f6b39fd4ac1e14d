"""The configuration: examples, their variants, overrides, and what they refer to.

A YAML file is data. What one example says is completed and checked by
:mod:`leastaction.configuration.checks`.
"""

import copy
import re
from collections.abc import Collection, Iterator, Mapping

import yaml

from leastaction.configuration.validation import ConfigError
from leastaction.core.families import unknown

# Targets and folders of the workflow's own.
RESERVED = {"papers", "beyond", "studies", "figures", "tables", "scorecard"} | {
    "recordings",
    "stand_ins",
    "import",
    "record",
    "predict",
    "write_law",
    "matrix",
    "compare",
    "simulate",
    "differentiate",
    "assemble",
    "identify",
    "validate",
    "plot_example",
    "plot_paper",
    "plot_study",
    "plot_recording",
    "tabulate",
    "score",
    "collect_scores",
    "gather",
}

YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Far above any configuration: aliases can stand for more values than a memory holds.
MOST_VALUES = 20_000
LARGEST_NUMBER = 1e300


def parse_yaml(text: str, where: str):
    """Data in a YAML text: numbers, texts, lists, and 'key: value' with text as keys.

    Raises
    ------
    ConfigError
        If it is not YAML, or has values of other kinds.
    """
    try:
        data = yaml.load(text, Loader=YAML_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(where, [f"it is not YAML: {error}"]) from None
    check_data(data, where)
    return data


def check_data(data, where: str) -> None:
    """Check that data are finite numbers, texts, lists, and texts as keys.

    Raises
    ------
    ConfigError
    """
    waiting = [(data, "")]
    for count, (value, path) in enumerate(waiting):
        problem = _not_plain(value)
        if count > MOST_VALUES:
            problem = f"more than {MOST_VALUES} values; is an alias in itself?"
        if problem:
            raise ConfigError(where, [f"{path or 'top level'}: {problem}"])
        if isinstance(value, (Mapping, list)):
            pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
            waiting += [(v, f"{path}.{k}"[-80:].strip(".")) for k, v in pairs]


def _not_plain(value) -> str | None:
    """What is wrong with a value that no text of JSON could hold, or that is huge."""
    if isinstance(value, Mapping):
        odd = [key for key in value if not isinstance(key, str)]
        return f"the key {odd[0]!r} is no text; write it in quotes" if odd else None
    if isinstance(value, (int, float)) and not abs(value) < LARGEST_NUMBER:
        return f"a number that is not finite, or beyond {LARGEST_NUMBER:g}"
    if isinstance(value, (str, int, float, list, type(None))):
        return None
    return f"{str(value)[:60]!r} is no number, text or list; write a text in quotes"


def merge(base: Mapping, overrides: Mapping) -> dict:
    """`base` with `overrides` merged into it, key by key and level by level."""
    result = copy.deepcopy(dict(base))
    for key, value in overrides.items():
        if isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merge(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def without_nulls(config: Mapping, overrides: Mapping) -> dict:
    """`config` without the keys that `overrides` sets to null."""
    result = {}
    for key, value in config.items():
        if key in overrides and overrides[key] is None:
            continue
        inner = overrides.get(key)
        deeper = isinstance(value, Mapping) and isinstance(inner, Mapping)
        result[key] = without_nulls(value, inner) if deeper else value
    return result


def check_label(kind: str, name: str) -> None:
    """Check the name of a paper, an example or a variant: it names files, targets.

    Raises
    ------
    ConfigError
    """
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", str(name)) or name in RESERVED:
        reason = (
            f"{name!r} cannot name a {kind}: use letters, digits and underscores, a "
            f"letter first, and none of {', '.join(sorted(RESERVED))}"
        )
        raise ConfigError(f"{kind} {name!r}", [reason])


def check_overrides(paper: str, name: str, example: Mapping, written) -> None:
    """Tell a misspelt override from a new example, which needs a system.

    Raises
    ------
    ConfigError
    """
    if isinstance(example, Mapping) and "system" not in example:
        known = [n for p, n in written if p == paper and n != name]
        reason = f"{unknown('example', name, known)}; a new example needs a system"
        if "-" in name:
            reason += "; override a variant under `variants` of its example"
        raise ConfigError(f"example {paper}/{name}", [reason])


def without_examples(config: Mapping, removed: Collection[tuple[str, str]]) -> dict:
    """`config` whose figures, tables and studies do not name the `removed` examples.

    Those that name no other examples are left out, and a paper that is left with none.

    Parameters
    ----------
    config
        Sections `papers`, `studies` and `matrix`.
    removed
        (paper, example) of examples that an override sets to null, variants included.
    """
    config = copy.deepcopy(dict(config))

    def kept(paper: str, names: list[str]) -> list[str]:
        return [n for n in names if (paper, n.partition("-")[0]) not in removed]

    for paper, settings in list(config["papers"].items()):
        shows = any(settings.get(part) for part in ("figures", "tables"))
        for part in ("figures", "tables"):
            for number, entry in list(settings.get(part, {}).items()):
                if "examples" in entry:
                    entry["examples"] = kept(paper, entry["examples"])
                    if not entry["examples"]:
                        del settings[part][number]
        if shows and not any(settings.get(part) for part in ("figures", "tables")):
            del config["papers"][paper]
    for compared in (*config["studies"].values(), config["matrix"]):
        named = {p: kept(p, names) for p, names in compared["examples"].items()}
        compared["examples"] = {paper: names for paper, names in named.items() if names}
    return config


def _comparisons(config: Mapping) -> Iterator[tuple[str, Mapping]]:
    """(where, what) of everything that lists examples by paper."""
    for study, settings in config["studies"].items():
        yield f"studies.{study}", settings
    yield "matrix", config["matrix"]


def check_references(config: Mapping, examples: Collection[tuple[str, str]]) -> None:
    """Check that the examples and papers that `config` names exist, and its own names.

    Raises
    ------
    ConfigError
    """
    problems = [
        f"{where}.examples.{paper}: {unknown('example', name, known)}"
        for where, settings in _comparisons(config)
        for paper, names in settings["examples"].items()
        for known in [[n for p, n in examples if p == paper]]
        for name in names
        if name not in known
    ]
    problems += [
        f"papers.{paper}.{part}.{number}.examples: {unknown('example', name, known)}"
        for paper, settings in config["papers"].items()
        for part in ("figures", "tables")
        for number, entry in settings.get(part, {}).items()
        for known in [[n for p, n in examples if p == paper]]
        for name in entry.get("examples", [])
        if name not in known
    ]
    papers = sorted({paper for paper, _ in examples})
    problems += [
        f"papers: {unknown('paper', paper, papers)}"
        for paper in config["papers"]
        if paper not in papers
    ]
    for kind, names in _names(config):
        for name in names:
            try:
                check_label(kind, name)
            except ConfigError as error:
                problems += error.problems
    if problems:
        raise ConfigError("the configuration", problems)


def _names(config: Mapping) -> Iterator[tuple[str, Collection[str]]]:
    """Names that become names of files, by what they name."""
    yield "study", config["studies"]
    for settings in config["papers"].values():
        yield "figure", settings.get("figures", {})
        yield "table", settings.get("tables", {})


def with_variants(name: str, example: Mapping) -> Iterator[tuple[str, dict]]:
    """The example itself, then each of its variants as ``<name>-<variant>``.

    A variant has none of the paper's printed numbers and formulas, and nothing that it
    overrides with null. If it changes neither the system nor its simulation, it has the
    random numbers of the example, too; see :func:`data_key`.
    """
    if not isinstance(example, Mapping):
        raise ConfigError(f"example {name}", ["it is not a list of 'key: value'"])
    check_label("example", name)
    base = {key: value for key, value in example.items() if key != "variants"}
    yield name, copy.deepcopy(base)
    own = {k: v for k, v in (base.get("publish") or {}).items() if k == "targets"}
    for variant, overrides in (example.get("variants") or {}).items():
        check_label("variant", variant)
        merged = merge({**base, "publish": own}, overrides)
        yield f"{name}-{variant}", without_nulls(merged, overrides)


def data_key(name: str, example: Mapping, base: Mapping) -> str:
    """Name under which random numbers are drawn: an example and its variants share it.

    Parameters
    ----------
    name
        Of the example or variant.
    example
        Completed.
    base
        The example it is a variant of, or itself; completed.
    """
    same = all(example[part] == base[part] for part in ("system", "simulate"))
    return name.partition("-")[0] if same else name
