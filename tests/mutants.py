"""Mutation of the tool: do its tests see that a line has changed?

    python tests/mutants.py 200 --seed 0

Each mutant is one operator, number, comparison or condition of a module, changed in a
copy of the package. `FILES` test files, which name the most of what the module defines,
are traced once without a change. A mutant then runs against those of their tests that
execute its line, the shortest first; of a line that none executes, such as a constant
of the module, against those that execute any line of the module. Killed is a mutant
that fails a test, or takes three times the processor time that the tests may need.
"""

import argparse
import ast
import multiprocessing
import os
import pickle
import random
import re
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "leastaction"
# Modules whose result is a picture or a page: looked at, and compared by the gate.
NOT_MUTATED = ("figures", "report")
# Tests of other processes, which cannot be traced.
NOT_TRACED = ("workflow", "slurm", "docs")
FILES = 4
# Changed lines of a module that is drawn: its tests are traced once for all.
LINES = 5
# s of the processor: of the tests of a mutant, and of the tests of a file, traced.
LONGEST = 20
TRACED = 40
HEAVY = (
    "numpy",
    "scipy.stats",
    "sympy",
    "xarray",
    "pandas",
    "netCDF4",
    "numba",
    "pint",
)
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


def places(module: Path) -> dict[int, list[int]]:
    """Numbers of the nodes that can be changed, in the order of a walk, by line."""
    found: dict[int, list[int]] = {}
    for number, node in enumerate(ast.walk(ast.parse(module.read_text()))):
        if mutate(node) and hasattr(node, "lineno"):
            found.setdefault(node.lineno, []).append(number)
    return found


@cache
def names_of(module: Path) -> set[str]:
    """What a module defines for others, and its name."""
    return {module.stem} | set(
        re.findall(r"^(?:def|class) ([a-zA-Z]\w+)", module.read_text(), re.MULTILINE)
    )


@cache
def words_of(path: Path) -> set[str]:
    return set(re.findall(r"\w+", path.read_text()))


def tests_of(module: Path) -> list[Path]:
    """Test files of a module: that of its name, then those that name it most.

    A name counts the less the more modules define it.
    """
    defined = Counter(n for path in PACKAGE.rglob("*.py") for n in names_of(path))
    own = ROOT / "tests" / module.relative_to(PACKAGE).parent / f"test_{module.stem}.py"

    def rank(path: Path) -> tuple:
        common = names_of(module) & words_of(path)
        named = sum(1 / defined[name] for name in common)
        near = 1 if path.parent == own.parent else 2
        return path != own, -named / near, path.stat().st_size

    found = [
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.parent.name not in NOT_TRACED and names_of(module) & words_of(path)
    ]
    return sorted(found, key=rank)[:FILES]


class Tracer:
    """Plugin of pytest: lines of the package that each test executes, and its time.

    Lines of fixtures count for all tests of the file.
    """

    def __init__(self, package: Path):
        self.package = str(package)
        self.lines: dict[str, set] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self.key = ""

    def _call(self, frame, event, argument):
        file = frame.f_code.co_filename
        return self._line if file.startswith(self.package) else None

    def _line(self, frame, event, argument):
        file = frame.f_code.co_filename.removeprefix(self.package)
        self.lines[self.key].add((file, frame.f_lineno))
        return self._line

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        before, self.key = time.process_time(), ""
        sys.settrace(self._call)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            self.seconds[item.nodeid] = time.process_time() - before
            if time.process_time() > TRACED:
                item.session.shouldstop = "it takes long"

    def pytest_runtest_call(self, item):
        self.key = item.nodeid


def run(source: str, tests: list[str], seconds: int, traced: str | None) -> None:
    """In a process of its own: run tests against the package in a folder."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    os.chdir(ROOT)
    os.environ |= {"PYTHONPATH": source, "LEASTACTION_CACHE": f"{source}/../cache"}
    sys.path.insert(0, source)
    options = ["-q", "-n0", "-pno:cacheprovider", *([] if traced else ["-x"])]
    tracer = Tracer(Path(source) / "leastaction")
    code = pytest.main([*options, *tests], [tracer] if traced else [])
    if traced:
        with open(traced, "wb") as file:
            pickle.dump((dict(tracer.lines), tracer.seconds), file)
    os._exit(code)


class Mutants:
    """A copy of the package in a folder, and what is known of the tests."""

    def __init__(self, folder: Path):
        self.folder, self.source = folder, folder / "src"
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload([*HEAVY, "pytest"])
        shutil.copytree(ROOT / "src", self.source)
        if "LEASTACTION_CACHE" in os.environ:
            shutil.copytree(os.environ["LEASTACTION_CACHE"], folder / "cache")
        self.traces: dict[Path, tuple] = {}

    def _run(self, tests, seconds, traced=None) -> int:
        """Exit code of the tests; answers that others have left are not used."""
        for answer in (self.folder / "cache").glob("result_*"):
            answer.unlink()
        arguments = (str(self.source), tests, seconds, traced)
        process = self.context.Process(target=run, args=arguments)
        process.start()
        process.join()
        return process.exitcode

    def trace(self, path: Path) -> tuple[dict, dict]:
        """(lines by test, seconds by test) of a test file."""
        if path not in self.traces:
            result = self.folder / "trace"
            result.unlink(missing_ok=True)
            self._run([str(path)], 4 * TRACED, str(result))
            known = result.exists()
            self.traces[path] = pickle.loads(result.read_bytes()) if known else ({}, {})
        return self.traces[path]

    def tests(self, module: Path, line: int) -> list[str]:
        """Tests that execute a line, or else the module, shortest first."""
        name = f"/{module.relative_to(PACKAGE)}"
        traces = [self.trace(path) for path in tests_of(module)]
        for wanted in (line, None):
            found = {}
            for lines, seconds in traces:
                for key, of in lines.items():
                    if any(f == name and wanted in (n, None) for f, n in of):
                        keys = [key] if key else seconds
                        found |= {k: seconds[k] for k in keys}
            if found:
                break
        total, chosen = 0.0, []
        for test in sorted(found, key=found.get):
            total += found[test]
            if chosen and total > LONGEST:
                break
            chosen.append(test)
        return chosen

    def outcome(self, module: Path, line: int, text: str) -> str:
        """What the tests say of a package in which a module has this text."""
        tests = self.tests(module, line)
        if not tests:
            return "no test"
        path = self.source / module.relative_to(ROOT / "src")
        before, state = path.read_text(), path.stat()
        if "njit" in before:  # Numba does not see that a function it calls has changed
            for compiled in self.source.rglob("*.nb?"):
                compiled.unlink()
        path.write_text(text)
        code = self._run(tests, 3 * LONGEST)
        path.write_text(before)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        if code < 0:
            return "killed by time"
        return "killed" if code else "survived"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("count", type=int, nargs="?", default=200)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    rng, counts = random.Random(given.seed), Counter()
    modules = {
        module: list(places(module).values())
        for module in sorted(PACKAGE.rglob("*.py"))
        if not set(NOT_MUTATED) & set(module.parts)
    }
    # Any line of the package is as likely as any other.
    sizes = [len(lines) for lines in modules.values()]
    drawn = rng.choices(list(modules), sizes, k=-(-given.count // LINES))
    lines = [
        (module, nodes)
        for module in drawn
        for nodes in rng.sample(modules[module], min(LINES, len(modules[module])))
    ]
    with tempfile.TemporaryDirectory() as folder:
        mutants = Mutants(Path(folder))
        for module, nodes in lines[: given.count]:
            tree = ast.parse(module.read_text())
            node = list(ast.walk(tree))[rng.choice(nodes)]
            before = ast.unparse(node).partition("\n")[0]
            mutate(node)
            after = ast.unparse(node).partition("\n")[0]
            said = mutants.outcome(module, node.lineno, ast.unparse(tree))
            counts[said] += 1
            place = f"{module.relative_to(PACKAGE)}:{node.lineno}"
            print(f"{said}: {place}: {before} -> {after}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
