"""What the site adds to the pages in the repository.

The order of the pages, an index of every public name, a table of the settings of every
method, and formulas as MathML.
"""

import json
import pkgutil
import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from inspect import getdoc, isclass, ismodule
from pathlib import Path
from types import ModuleType

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

import leastaction
from leastaction.core.families import FAMILIES, PACKAGE
from leastaction.core.method import Step, declared
from leastaction.core.settings import Settings
from leastaction.recordings.configuration import Recording
from leastaction_papers import PAPERS

API = Path(__file__).parent / "api"
PACKAGES = ("core", *FAMILIES)
# Folder of each paper; its fields have one of their own.
REPLICAS = [p.partition(".")[2] for p in dict.fromkeys(PAPERS.values())]
STAGES = (
    "simulate",
    "import",
    "differentiate",
    "assemble",
    "volatility",
    "identify",
    "validate",
)
NAVIGATION = {
    "Getting started": [
        "README",
        "docs/installation",
        "docs/which_method",
        "docs/your_own_data",
        "docs/tutorial",
        "docs/driven_machine",
        "docs/shaken_frame",
        "docs/snapshots",
        "docs/other_tables",
        "docs/coming_from_pysindy",
        "docs/coming_from_pyoma",
        "docs/coming_from_pylake",
    ],
    "Method families": [f"src/leastaction/{family}/README" for family in FAMILIES],
    "Papers": [
        f"src/leastaction_papers/{paper.replace('.', '/')}/README" for paper in REPLICAS
    ],
    "Reference": [
        "docs/api/index",
        "docs/api/recording",
        "config/README",
        "docs/conventions",
        "docs/glossary",
    ],
    "Results": [
        "docs/results",
        "docs/beyond",
        "docs/machines",
        "docs/validation",
        "docs/simulated_machines",
        "docs/fields_at_sensors",
        "docs/errata",
        "benchmarks/results",
        "results/README",
    ],
    "The project": [
        "docs/architecture",
        "src/leastaction/core/README",
        "src/leastaction_papers/scorecard/README",
        "src/leastaction/likelihood/README",
        "docs/adding_an_example",
        "docs/adding_a_method",
        "docs/cluster",
        "CONTRIBUTING",
        "CHANGELOG",
    ],
}
BOUNDS = {
    "minimum": "≥",
    "ge": "≥",
    "exclusiveMinimum": ">",
    "gt": ">",
    "maximum": "≤",
    "le": "≤",
}
WORDS = {"string": "text", "boolean": "true or false"}
TITLES = {
    **{f"docs/api/{package}": package for package in PACKAGES},
    **{
        f"docs/api/{name}_methods": "Methods and settings"
        for name in (*FAMILIES, *REPLICAS)
    },
    "README": "Start",
    "docs/your_own_data": "Your own data",
    "docs/other_tables": "Own fields, ports, densities, snapshots",
    "docs/api/index": "API",
    "docs/api/recording": "Keys of a recording",
    "config/README": "Keys of the configuration",
    "benchmarks/results": "Beside other packages",
    "results/README": "Files of results",
    "src/leastaction/core/README": "Core",
    "src/leastaction_papers/scorecard/README": "Scorecard",
    "src/leastaction/likelihood/README": "Likelihood",
    "docs/cluster": "Cluster",
}


def setup(app):
    """Connect everything to Sphinx."""
    app.connect("builder-inited", write_api)
    app.connect("source-read", add_navigation)
    app.connect("autodoc-process-signature", show_signature)
    app.connect("autodoc-process-docstring", amend)
    app.connect("build-finished", copy_start)
    app.add_html_math_renderer("mathml", (inline_formula, None), (formula, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def toctree(names: list[str], caption: str = "", hidden: bool = True) -> str:
    """Directive that puts pages into the navigation."""
    options = f":caption: {caption}\n" * bool(caption) + ":hidden:\n" * hidden
    paths = [f"/{name}" if name != "README" else "self" for name in names]
    titles = [
        f"{TITLES[name]} <{path}>" if name in TITLES else path
        for name, path in zip(names, paths, strict=True)
    ]
    return "\n".join(["\n\n```{toctree}", options, *titles, "```\n"])


def add_navigation(app, name: str, source: list[str]) -> None:
    """Append the navigation to the start page, and to a family its methods."""
    if name == app.config.root_doc:
        for caption, names in NAVIGATION.items():
            found = [one for one in names if one in app.env.found_docs]
            source[0] += toctree(found, caption)
    folder = ".".join(Path(name).parts[2:-1])
    if name.startswith("src/leastaction/") and folder in FAMILIES:
        source[0] += f"\n\n## More\n\n{{doc}}`Functions </docs/api/{folder}>`\n"
    if folder in (*FAMILIES, *REPLICAS):
        source[0] += toctree([f"docs/api/{folder}_methods"], hidden=False)


def copy_start(app, exception) -> None:
    """The start page is `index.html`, too."""
    if exception is None and app.builder.name == "html":
        shutil.copy(Path(app.outdir, "README.html"), Path(app.outdir, "index.html"))


# ---------------------------------------------------------------------------- API


def write_api(app) -> None:
    """Write the pages of the public names, of every package, of a family's methods."""
    pages = {"index": _public_names()}
    pages |= {package: _functions(package) for package in PACKAGES}
    pages |= {f"{name}_methods": _methods(f"leastaction.{name}") for name in FAMILIES}
    pages |= {
        f"{name}_methods": _methods(f"leastaction_papers.{name}") for name in REPLICAS
    }
    pages["recording"] = _keys_of_a_recording()
    shutil.rmtree(API, ignore_errors=True)
    API.mkdir()
    for name, text in pages.items():
        Path(API, f"{name}.md").write_text(text, "utf-8")


def _rst(*lines: str) -> str:
    return "\n".join(["\n```{eval-rst}", *lines, "```\n"])


def _public_names() -> str:
    """Page of what `leastaction` itself offers, as it is imported."""
    text = "# API\n" + _rst(".. automodule:: leastaction")
    for name in leastaction.__all__:
        value, members = getattr(leastaction, name), "   :members:"
        if ismodule(value):
            lines = [f".. automodule:: {value.__name__}", members]
        elif isclass(value):
            lines = [f".. autoclass:: leastaction.{name}", members]
        elif callable(value):
            lines = [f".. autofunction:: leastaction.{name}"]
        else:
            continue
        text += f"\n## {name}\n" + _rst(*lines)
    return text + toctree([f"docs/api/{package}" for package in PACKAGES])


def _functions(package: str) -> str:
    """Page of the modules of a package; its recipes have a page of their own."""
    text = f"# leastaction.{package}\n"
    for found in pkgutil.iter_modules([str(PACKAGE / package)]):
        if found.ispkg or found.name.startswith("_") or found.name == "recipes":
            continue
        value = import_module(f"leastaction.{package}.{found.name}")
        text += f"\n## {found.name}\n" + _rst(
            f".. automodule:: {value.__name__}",
            f"   :members: {', '.join(_own(value))}",
        )
    return text


def _own(value: ModuleType) -> list[str]:
    """Public names of a module, but for those that `leastaction` itself offers."""
    return [
        name
        for name, one in vars(value).items()
        if getattr(one, "__module__", None) == value.__name__
        and not name.startswith("_")
        and name not in leastaction.__all__
        and getdoc(one)
    ]


def _methods(package: str) -> str:
    """Page of the methods of a family, or of a paper, stage by stage."""
    steps = [
        step
        for step in declared(Step)
        if step.__module__ == f"{package}.recipes" and hasattr(step, "run")
    ]
    name = package.partition(".")[2].replace("_", " ")
    text = f"# {name.capitalize()}: methods and settings\n"
    for stage in STAGES:
        here = [one for one in steps if one.stage == stage]
        text += f"\n## {stage}\n" * bool(here)
        for step in here:
            named = "method" in step.model_fields
            title = step.name() if named else step.module().rpartition(".")[2]
            text += f"\n### {title}\n" + _rst(
                f".. autoclass:: {step.__module__}.{step.__qualname__}"
            )
    return text


def _keys_of_a_recording() -> str:
    """Page of the keys of a recording, but for those of its methods."""
    schema = Recording.model_json_schema(by_alias=True)
    methods = Recording.model_fields["estimators"].description
    schema["properties"].pop("estimators")
    return (
        "# Keys of a recording\n\nWhat may stand under `recordings: <name>:` of a YAML "
        "file. In Python the same keys are arguments of `leastaction.learn`, but for "
        "those of `import`, which are arguments themselves.\n"
        f"\n`estimators`: {methods} See {{doc}}`/docs/api/recordings_methods`.\n"
    ) + _rst(*_table_of(schema))


def show_signature(app, what, name, value, options, signature, returns):
    """A signature that can be parsed; none of a section, whose table says more."""
    if isclass(value) and issubclass(value, Settings):
        return "", None
    return (signature.replace("<factory>", "..."), returns) if signature else None


def amend(app, what, name, value, options, lines: list[str]) -> None:
    """Bars of a docstring are absolute values; a section has a table of settings."""
    lines[:] = _with_bars(lines)
    if not isclass(value) or not issubclass(value, Settings):
        return
    if issubclass(value, Step) and hasattr(value, "run"):
        function = value.run.replace(":", ".")
        lines += ["", f"Function: :func:`~{function}`."]
    schema = value.model_json_schema()
    for key, field in value.model_fields.items():
        if isinstance(field.default_factory, type) and issubclass(
            field.default_factory, Step
        ):
            schema["properties"][key]["default"] = field.default_factory.name()
    lines += ["", *_table_of(schema)]


def _table_of(schema: dict) -> list[str]:
    """Table of the settings of a schema; empty if it has none."""
    rows = list(settings(schema))
    if not rows:
        return []
    lines = [".. list-table::", "   :header-rows: 1", "   :class: settings", ""]
    for row in [("key", "values", "default", "meaning"), *rows]:
        for column, cell in enumerate(row):
            lines.append(f"   {' ' if column else '*'} - {cell}")
    return [*lines, ""]


def _with_bars(lines: list[str]) -> Iterator[str]:
    """Lines whose bars are no substitutions; formulas, code and tables stay."""
    literal = None
    for line in lines:
        margin = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and margin <= literal:
            literal = None
        if literal is None and not line.lstrip().startswith(">>>"):
            if line.rstrip().endswith("::") or line.lstrip().startswith(".. "):
                literal = margin
            else:
                line = re.sub(r"(`[^`]*`)|\|", lambda m: m[1] or r"\|", line)
        yield line


def settings(
    schema: dict, definitions=None, prefix="", above=()
) -> Iterator[tuple[str, ...]]:
    """Key, values, default, meaning of each setting; then the keys of a section.

    A section that stands in itself, as one of those `above`, is not told again.
    """
    definitions = definitions or schema.get("$defs", {})
    if "$ref" in schema:
        ((schema, _),) = _sections(schema, definitions, prefix)
    above = (*above, schema)
    for key, part in schema.get("properties", {}).items():
        if "const" in part:
            continue
        sections = list(_sections(part, definitions, prefix + key))
        about = [part, *(section for section, _ in sections)]
        meaning = next(filter(None, (one.get("description") for one in about)), "")
        shown = _code(part["default"]) if "default" in part else ""
        if key in schema.get("required", ()):
            shown = "**required**"
        meaning = re.sub(r"[\\*|]", r"\\\g<0>", meaning)
        yield _literal(prefix + key), _values(part), shown, meaning
        for section, path in sections:
            if section not in above:
                yield from settings(section, definitions, f"{path}.", above)


def _sections(part: dict, definitions: dict, path: str) -> Iterator[tuple[dict, str]]:
    """Sections that a setting is, or has many of, and the way to each."""
    if "$ref" in part:
        yield definitions[part["$ref"].rpartition("/")[2]], path
    for kind, reference in part.get("discriminator", {}).get("mapping", {}).items():
        if part["discriminator"]["propertyName"] != "method":
            yield from _sections({"$ref": reference}, definitions, f"{path}({kind})")
    for one in part.get("anyOf", ()):
        yield from _sections(one, definitions, path)
    if isinstance(part.get("additionalProperties"), dict):
        yield from _sections(part["additionalProperties"], definitions, f"{path}.*")
    if "items" in part:
        yield from _sections(part["items"], definitions, f"{path}[]")


def _values(part: dict) -> str:
    """What a setting may be, in words."""
    if "discriminator" in part:
        names = part["discriminator"]["mapping"]
        return f"{part['discriminator']['propertyName']}: " + " or ".join(
            map(_code, names)
        )
    for key in ("anyOf", "oneOf"):
        if key in part:
            given = [one for one in part[key] if one.get("type") != "null"]
            return " or ".join(dict.fromkeys(map(_values, given)))
    if "$ref" in part:
        return "section"
    if "const" in part:
        return _code(part["const"])
    if "enum" in part:
        return " or ".join(_code(value) for value in part["enum"])
    kind = part.get("type", "any")
    if kind == "array":
        fewest, most = part.get("minItems"), part.get("maxItems")
        count = f"{most} " if most and fewest == most else ""
        return f"list of {count}{_several(part.get('items', {}))}"
    if kind == "object":
        more = part.get("additionalProperties")
        return f"{_several(more)} by name" if isinstance(more, dict) else "section"
    bounds = [f"{sign} {part[key]}" for key, sign in BOUNDS.items() if key in part]
    return " ".join([WORDS.get(kind, kind), ", ".join(bounds)]).strip()


def _several(part: dict) -> str:
    """The same in the plural."""
    return re.sub(r"\b(text|number|integer|section|list)\b", r"\1s", _values(part))


def _code(value) -> str:
    """A value as in YAML, set as code."""
    return _literal(json.dumps(value, ensure_ascii=False))


def _literal(text: str) -> str:
    return f":literal:`{text}`"


# ------------------------------------------------------------------------- formulas


def inline_formula(visitor, node) -> None:
    """A formula within a line, as MathML."""
    visitor.body.append(mathml(node.astext(), "inline"))
    raise SkipNode


def formula(visitor, node) -> None:
    """A formula on lines of its own, as MathML."""
    visitor.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>')
    raise SkipNode


def mathml(text: str, display: str) -> str:
    """MathML of a formula; what stands above a letter is an accent."""
    made = convert(text.replace("{aligned}", "{split}"), display=display)
    return made.replace("<mover>", '<mover accent="true">')
