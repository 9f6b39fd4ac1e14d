"""The configuration: its sections, examples, their variants, and overrides.

A YAML file is data. What one example says is completed and checked by
:mod:`leastaction_papers.configuration.checks`.
"""

import copy
import fnmatch
import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from leastaction.core import families
from leastaction.core.families import unknown
from leastaction.core.settings import (
    ConfigError,
    ConfigErrors,
    Count,
    Names,
    Number,
    Settings,
    Text,
    absent,
)
from leastaction.core.yaml_files import check_label, read_yaml
from leastaction.recordings.configuration import Workflow
from leastaction_papers.configuration.checks import accepted
from leastaction_papers.configuration.jobs import is_random
from leastaction_papers.configuration.sweep import swept_variants, without_sweeps
from leastaction_papers.scorecard import registered_tables


def _known(kind: str, names: Callable[[], Iterable[str]]):
    """Type of a name that some family has."""

    def check(name: str) -> str:
        if name in names():
            return name
        reason = unknown(kind, name, names())
        raise PydanticCustomError(kind, "{reason}", {"reason": reason})

    return Annotated[Text, AfterValidator(check)]


Figure = _known("figure", families.figures)
Table = _known("table", registered_tables)
Listed = Annotated[Names, Field(min_length=1)]
SOME_EXAMPLES = "Examples in their order; all of the paper if absent."


class PaperFigure(Settings):
    """A figure of a paper."""

    shows: Figure = Field(description="What it shows, a name of a figure.")
    examples: Listed | None = absent(SOME_EXAMPLES)
    claim: Text = Field(
        "", description="What the paper shows with it; stands beside it."
    )


class PaperTable(Settings):
    """A table of a paper."""

    shows: Table = Field(description="What it shows, a name of a table.")
    examples: Listed | None = absent(SOME_EXAMPLES)
    caption: Text = Field("", description="Text above the table.")


class Claim(Settings):
    """A line of the table of a paper on the page of results."""

    claim: Text = Field(description="What the paper claims, in plain words.")
    number: Text = Field(
        description="Its printed number, as the column `number` of the scorecard names "
        "it: `<example>: <item>, <quantity>`."
    )


class Paper(Settings):
    """A paper: its figures and tables by their number."""

    number: Count | None = absent("Its number in the documentation.")
    year: Count | None = absent("Year in which it was published.")
    doi: Text | None = absent(
        "Digital object identifier; left out where none is known."
    )
    title: Text = Field(description="Authors and title.")
    summary: Text = Field(
        "",
        description="What the paper does, in plain words, for the page of papers.",
    )
    holds: Text = Field("", description="What holds of it, in one sentence.")
    claims: list[Claim] = Field(
        [], description="Its main claims, each beside a printed number."
    )
    drawings: dict[str, Text] = Field(
        {},
        description="Figures that are drawings and hold no data, by their number: what "
        "each draws. They are not reproduced.",
    )
    figures: dict[str, PaperFigure] = Field(
        description="Figures by their number in the paper."
    )
    tables: dict[str, PaperTable] = Field(
        description="Tables by their number in the paper."
    )


def _by_number(papers: dict) -> dict:
    """Papers in the order of their numbers, which an override would change."""
    return dict(sorted(papers.items(), key=lambda item: item[1].number or math.inf))


class Study(Settings):
    """One figure of several examples and variants."""

    figure: Figure = Field(description="What it shows, a name of a figure.")
    caption: Text = Field(description="Text below the figure in the report.")
    question: Text = Field(
        "", description="What a paper leaves open and the study asks; stands beside it."
    )
    examples: dict[str, Listed] = Field(
        min_length=1, description="What it compares, by paper."
    )


class Matrix(Settings):
    """The comparison of methods and systems."""

    noise_level: Number = Field(
        0.02, description="Noise at which sweeps over sensor noise are compared."
    )
    examples: dict[str, Listed] = Field({}, description="Its rows, by paper.")


class Project(Workflow):
    """config/config.yaml."""

    replicates: Count | None = absent(
        "Independent ensembles per example; overrides simulate.replicates of every "
        "example, as in `snakemake --config replicates=40`."
    )
    chunks: Count = Field(
        1,
        description="Jobs that each stage of an example is split into, by its "
        "replicates; results are the same. One suits a workstation.",
    )
    examples: dict[str, dict[str, dict[str, Any] | None]] = Field(
        {},
        description="Overrides of examples, by paper and example, merged deeply; write "
        "them into a file of your own and pass it with --configfile. An example that "
        "is null is left out.",
    )
    papers: Annotated[dict[str, Paper], AfterValidator(_by_number)] = Field(
        {}, description="Figures and tables of each paper, by their number in it."
    )
    studies: dict[str, Study] = Field(
        {},
        description="Our own studies, each one figure of several examples.",
    )
    matrix: Matrix = Field(
        default_factory=Matrix,
        description="Which examples the matrix of methods and systems compares.",
    )


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
        inner = overrides.get(key, {})
        deeper = isinstance(value, Mapping) and isinstance(inner, Mapping)
        if inner is not None:
            result[key] = without_nulls(value, inner) if deeper else value
    return result


def check_overrides(paper: str, name: str, example: Mapping, written) -> None:
    """ConfigError for an example without a system: a misspelt override."""
    if isinstance(example, Mapping) and "system" not in example:
        known = [n for p, n in written if p == paper and n != name]
        reason = f"{unknown('example', name, known)}; a new example needs a system"
        if "-" in name:
            reason += "; override a variant under `variants` of its example"
        raise ConfigError(f"example {paper}/{name}", [reason])


def _lists(config: Mapping) -> Iterator[tuple[str, str, list[str]]]:
    """(where, paper, names) of everything that lists examples, and may be changed."""
    for paper, settings in config["papers"].items():
        for part in ("figures", "tables"):
            for number, entry in settings.get(part, {}).items():
                where = f"papers.{paper}.{part}.{number}.examples"
                yield where, paper, entry.get("examples", [])
    compared = {f"studies.{name}": study for name, study in config["studies"].items()}
    for where, settings in (compared | {"matrix": config["matrix"]}).items():
        for paper, names in settings["examples"].items():
            yield f"{where}.examples.{paper}", paper, names


def with_all_listed(config: Mapping, examples: Collection[tuple[str, str]]) -> dict:
    """`config` whose lists name examples one by one.

    A pattern, ``cart-noisy_*``, stands for all of a sweep. One that fits none stays,
    and :func:`check_references` names it.
    """
    config = copy.deepcopy(dict(config))
    for _, paper, names in _lists(config):
        of_paper = [name for folder, name in examples if folder == paper]
        names[:] = [
            one
            for name in names
            for one in ("*" in name and fnmatch.filter(of_paper, name)) or [name]
        ]
    return config


def without_examples(
    config: Mapping,
    left: Collection[tuple[str, str]],
    left_out: Collection[tuple[str, str]] = (),
) -> dict:
    """`config` whose figures, tables and studies name no example that it removes.

    Under `examples` it sets these to null; those `left_out`, (paper, name), have no
    data here. What names no other examples is left out, and a paper that has none
    `left`.
    """
    pairs = config["examples"].items()
    removed = {(p, n) for p, names in pairs for n, one in names.items() if one is None}
    config = copy.deepcopy(dict(config))
    for _, paper, names in _lists(config):
        names[:] = [
            n
            for n in names
            if (paper, n.partition("-")[0]) not in removed
            and (paper, n) not in left_out
        ]
    emptied = {paper for paper, _ in removed} - {paper for paper, _ in left}
    for paper, settings in list(config["papers"].items()):
        parts = {part: settings.get(part, {}) for part in ("figures", "tables")}
        shown = {
            part: {k: v for k, v in entries.items() if v.get("examples") != []}
            for part, entries in parts.items()
        }
        settings |= shown
        if paper in emptied or (any(parts.values()) and not any(shown.values())):
            del config["papers"][paper]
    for compared in (*config["studies"].values(), config["matrix"]):
        compared["examples"] = {k: v for k, v in compared["examples"].items() if v}
    studies = config["studies"].items()
    config["studies"] = {name: study for name, study in studies if study["examples"]}
    return config


def check_references(config: Mapping, examples: Collection[tuple[str, str]]) -> None:
    """ConfigError unless the examples and papers that `config` names exist.

    Names of studies, figures and tables are checked, too: they name files.
    """
    by_paper: dict[str, list[str]] = {}
    for paper, name in examples:
        by_paper.setdefault(paper, []).append(name)
    problems = [
        f"{where}: {unknown('example', name, by_paper.get(paper, []))}"
        for where, paper, names in _lists(config)
        for name in names
        if (paper, name) not in examples
    ]
    problems += [
        f"papers: {unknown('paper', paper, sorted(by_paper))}"
        for paper in config["papers"]
        if paper not in by_paper
    ]
    labels = [("study", name) for name in config["studies"]]
    for settings in config["papers"].values():
        for part in ("figures", "tables"):
            labels += [(part[:-1], name) for name in settings.get(part, {})]
    for kind, name in labels:
        try:
            check_label(kind, name)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError("the configuration", problems)


def with_variants(name: str, example: Mapping) -> Iterator[tuple[str, dict]]:
    """The example itself, then each of its variants as ``<name>-<variant>``.

    A variant has none of the paper's printed numbers, formulas and sweeps, and nothing
    that it overrides with null; its own `sweep` makes one variant of each value.
    """
    if not isinstance(example, Mapping):
        raise ConfigError(f"example {name}", ["it is not a list of 'key: value'"])
    check_label("example", name)
    base = {key: value for key, value in example.items() if key != "variants"}
    yield name, copy.deepcopy(base)
    limits = {k: v for k, v in (base.get("publish") or {}).items() if k == "targets"}
    of_variants = {**without_sweeps(base), "publish": limits}
    for variant_name, content in (example.get("variants") or {}).items():
        for variant, overrides in swept_variants(name, variant_name, content):
            check_label("variant", variant)
            merged = merge(of_variants, overrides)
            yield f"{name}-{variant}", without_nulls(merged, overrides)


def data_key(name: str, example: Mapping, base: Mapping) -> str:
    """Name under which random numbers are drawn: an example and its variants share it.

    `base` is the example that `example` is a variant of, or itself; both completed.
    """
    same = all(example[part] == base[part] for part in ("system", "simulate"))
    return name.partition("-")[0] if same else name


def _resolved(path: str, folder: Path) -> str:
    """Path of a file that an example names, relative to the folder of the project."""
    written = os.path.expanduser(os.path.expandvars(path))
    return os.path.normpath(folder.absolute().parents[1] / written)


def without_data(examples: Mapping[tuple[str, str], Mapping]) -> dict:
    """Why an example is left out, of each whose files are not on this computer."""
    reasons = {}
    for (paper, name), example in examples.items():
        files = example["simulate"].get("motions", {}).values()
        missing = [path for path in files if not os.path.exists(path)]
        if missing:
            reasons[paper, name] = (
                f"example {paper}/{name} is left out: its data, "
                f"{' and '.join(missing)}, are not on this computer"
            )
    return reasons


def read_examples(folder: Path, config: Mapping) -> dict[tuple[str, str], dict]:
    """Every example and variant by (paper, name): completed, checked, overridden.

    `examples` of `config` override those of the files ``<paper>/<example>.yaml`` in the
    `folder`, null removes one; its `replicates` are those of every example with random
    numbers, its `seed` is their root.

    ConfigError lists the problems of all examples.
    """
    written = {
        (path.parent.name, path.stem): read_yaml(path) or {}
        for path in sorted(folder.glob("*/*.yaml"))
    }
    for paper, examples in config["examples"].items():
        for name, overrides in examples.items():
            if overrides is None:
                written.pop((paper, name), None)
                continue
            written[paper, name] = merge(written.get((paper, name), {}), overrides)
    completed, errors = {}, []
    for (paper, name), example in written.items():
        try:
            check_label("paper", paper)
            check_overrides(paper, name, example, written)
            for variant, content in with_variants(name, example):
                content = accepted(content, f"example {paper}/{variant}")
                if is_random(content) and "replicates" in config:
                    content["simulate"]["replicates"] = config["replicates"]
                base = completed.get((paper, name), content)
                content["key"] = f"{paper}/{data_key(variant, content, base)}"
                content["seed"] = config["seed"]
                files = content["simulate"].get("motions", {})
                files.update({k: _resolved(v, folder) for k, v in files.items()})
                completed[paper, variant] = content
        except ConfigError as error:
            errors.append(error)
    if errors:
        raise ConfigErrors(errors)
    return completed
