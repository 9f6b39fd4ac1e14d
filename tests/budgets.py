"""Budgets of the packages by folder: lines, named numbers, vague names (`make check`).

They stand in pyproject.toml, under [tool.leastaction.budgets]. A budget changes only in
a commit that says in a sentence what was bought with it; it is met by deleting and
merging, never by squeezing lines or moving code to another kind of file. That of vague
names only falls.
"""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Participles and adverbs that say nothing of what a value or a function is.
VAGUE = set(
    [
        "told",
        "found",
        "given",
        "own",
        "kept",
        "said",
        "whole",
        "there",
        "asked",
        "wanted",
        "seen",
        "taken",
        "meant",
        "barred",
        "heard",
    ]
)


def numbers(text: str) -> int:
    """Named numbers of a module: constants, at its top, that hold any."""
    return sum(
        any(
            isinstance(value := getattr(part, "value", None), int | float)
            and not isinstance(value, bool)
            for part in ast.walk(node.value)
        )
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).isupper()
    )


def names(text: str) -> Iterator[str]:
    """Every name that a module binds: values, attributes, arguments, definitions."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def spent() -> dict[str, list[int]]:
    """Lines, named numbers and vague names of every folder of the packages."""
    folders = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        folder = ".".join(path.relative_to(ROOT / "src").parts[:-1][:2])
        text = path.read_text("utf-8")
        used = folders.setdefault(folder, [0, 0, 0])
        used[0] += text.count("\n")
        used[1] += numbers(text)
        used[2] += sum(name.strip("_").lower() in VAGUE for name in names(text))
    return folders


def main() -> int:
    """Print what is spent beside the budgets; 1 if a folder is over its budget."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    budgets = project["tool"]["leastaction"]["budgets"]
    folders, over = spent(), 0
    for folder in sorted({*folders, *budgets}):
        used, allowed = (x.get(folder, [0, 0, 0]) for x in (folders, budgets))
        exceeds = any(u > a for u, a in zip(used, allowed, strict=True))
        mark = " <- over its budget" if exceeds else ""
        print(
            f"{folder:44}{used[0]:6} of {allowed[0]} lines,"
            f" {used[1]:3} of {allowed[1]} numbers,"
            f" {used[2]:3} of {allowed[2]} vague names{mark}"
        )
        over += exceeds
    print(f"{'all':44}{sum(used[0] for used in folders.values()):6} lines")
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
