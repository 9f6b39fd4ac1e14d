"""Budgets of the package: lines and named numbers by folder (`make check`).

They stand in pyproject.toml, under [tool.leastaction.budgets]. A budget changes only in
a commit that says in a sentence what was bought with it; it is met by deleting and
merging, never by squeezing lines or moving code to another kind of file.
"""

import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


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


def spent() -> dict[str, list[int]]:
    """Lines, and named numbers, of every folder of the packages."""
    found = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        folder = ".".join(path.relative_to(ROOT / "src").parts[:-1][:2])
        text = path.read_text("utf-8")
        used = found.setdefault(folder, [0, 0])
        used[0] += text.count("\n")
        used[1] += numbers(text)
    return found


def main() -> int:
    """Print what is spent beside the budgets; 1 if a folder is over its budget."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    budgets = project["tool"]["leastaction"]["budgets"]
    found, over = spent(), 0
    for folder in sorted({*found, *budgets}):
        used, allowed = found.get(folder, [0, 0]), budgets.get(folder, [0, 0])
        exceeds = any(u > a for u, a in zip(used, allowed, strict=True))
        mark = " <- over its budget" if exceeds else ""
        print(
            f"{folder:44}{used[0]:6} of {allowed[0]} lines,"
            f" {used[1]:3} of {allowed[1]} numbers{mark}"
        )
        over += exceeds
    print(f"{'all':44}{sum(used[0] for used in found.values()):6} lines")
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
