"""Mutation of the tool: do its own tests see that a line has changed?

    python tests/mutants.py 200 --seed 0

Each mutant is one operator, number, comparison or condition of a module, changed in a
copy of the package. It runs against the test file of the module's name and those of
its family that import it: at most `FILES`, the narrowest first. Killed is a mutant
whose tests fail, or take `LONGEST` seconds of the processor.
"""

import argparse
import ast
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "leastaction"
# Modules whose result is a picture or a page: looked at, and compared by the gate.
NOT_MUTATED = ("figures", "report")
FILES = 3
LONGEST = 90
SWAPPED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.MatMult: ast.Add,
    ast.Pow: ast.Mult,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def mutate(node: ast.AST) -> bool:
    """Change a node in place; False if nothing about it can be changed."""
    match node:
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign() if type(node.op) in SWAPPED:
            node.op = SWAPPED[type(node.op)]()
        case ast.Compare():
            node.ops[0] = SWAPPED[type(node.ops[0])]()
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant(value=int() | float()):
            node.value = node.value * 2 if abs(node.value) > 1 else node.value + 1
        case ast.UnaryOp(op=ast.USub()):
            node.op = ast.UAdd()
        case ast.If() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case _:
            return False
    return True


def places(tree: ast.AST) -> dict[int, list[int]]:
    """Numbers of the nodes that can be changed, in the order of a walk, by line."""
    found: dict[int, list[int]] = {}
    for number, node in enumerate(ast.walk(ast.parse(ast.unparse(tree)))):
        if mutate(node) and hasattr(node, "lineno"):
            found.setdefault(node.lineno, []).append(number)
    return found


def importers(module: Path, folder: Path) -> list[Path]:
    """Files in a folder that import a module of the package."""
    parts = ["leastaction", *module.relative_to(PACKAGE).with_suffix("").parts]
    parent, name = ".".join(parts[:-1]), parts[-1]
    one = rf"{re.escape(parent)}\.{name}\b|from {re.escape(parent)} import "
    imports = re.compile(rf"{one}(\([^)]*|[^\n]*)\b{name}\b")
    return [p for p in folder.rglob("*.py") if imports.search(p.read_text())]


def tests_of(module: Path) -> list[Path]:
    """Test files of a module, the one of its name first, then the narrowest.

    Of a module that no test imports: those of the modules that import it.
    """
    folder = ROOT / "tests" / module.relative_to(PACKAGE).parts[0]
    own = folder / f"test_{module.stem}.py"
    users = [module]
    for _ in range(3):
        found = {own} if own.exists() else set()
        for user in users:
            found |= set(importers(user, ROOT / "tests"))
        found = {p for p in found if p.name.startswith("test_")}
        if found:
            break
        users = [p for user in users for p in importers(user, PACKAGE)]
    narrow = {p: (p != own, p.parent != folder, p.stat().st_size) for p in found}
    return sorted(found, key=narrow.get)[:FILES]


def outcome(module: Path, source: str, tests: list[Path]) -> str:
    """What the tests say of a package in which a module has this source."""
    if not tests:
        return "no test"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", folder, dirs_exist_ok=True)
        # Kernels are named by their text; answers may be those of a mutant.
        if "LEASTACTION_CACHE" in os.environ:
            answers = shutil.ignore_patterns("result_*")
            shutil.copytree(
                os.environ["LEASTACTION_CACHE"], f"{folder}/c", ignore=answers
            )
        (Path(folder) / module.relative_to(ROOT / "src")).write_text(source)
        limit = partial(resource.setrlimit, resource.RLIMIT_CPU, (LONGEST, LONGEST))
        finished = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-xq",
                "-n0",
                "-pno:cacheprovider",
                *tests,
            ],
            env=os.environ | {"PYTHONPATH": folder, "LEASTACTION_CACHE": f"{folder}/c"},
            cwd=ROOT,
            preexec_fn=limit,
            capture_output=True,
            text=True,
        )
    if finished.returncode < 0:
        return "killed by time"
    return "killed" if finished.returncode else "survived"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("count", type=int, nargs="?", default=200)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    rng, counts = random.Random(given.seed), Counter()
    lines = []
    for module in sorted(PACKAGE.rglob("*.py")):
        if not set(NOT_MUTATED) & set(module.parts):
            tree = ast.parse(module.read_text())
            lines += [(module, nodes) for nodes in places(tree).values()]
    for module, nodes in rng.sample(lines, given.count):
        tree = ast.parse(ast.unparse(ast.parse(module.read_text())))
        node = list(ast.walk(tree))[rng.choice(nodes)]
        before = ast.unparse(tree).splitlines()[node.lineno - 1].strip()
        mutate(node)
        after = ast.unparse(tree)
        said = outcome(module, after, tests_of(module))
        counts[said] += 1
        print(
            f"{said}: {module.relative_to(PACKAGE)}: {before}\n    -> "
            f"{after.splitlines()[node.lineno - 1].strip()}",
            flush=True,
        )
    print(dict(counts))


if __name__ == "__main__":
    main()
