"""Mutation of the tool: do its tests see that a line has changed?

    python tests/mutants.py 200 --seed 0 [--within recordings likelihood]

Each mutant is one operator, number, comparison or condition of a module, changed in a
copy of the package. A test file is traced once without a change, and again after it has
changed; traces stay in `.pytest_cache/mutants`, with the lines of the package as they
were. A mutant runs against the tests that execute its statement: the examples of its
module's docstrings, then file by file, those that name the most of its module first,
the shortest test of a file first, until one fails, `FILES` files are through, or their
tests take `LONGEST` s. What is executed at import has the tests of what it defines: a
default those of its function, a constant or a field those of the lines that name it,
and of the files that name it, or its class.
Killed is a mutant that fails a test, or takes more processor time than twice that of
the traced tests and `SPARE` s.

Not mutated, as no result depends on it: text (raised, warned, printed, formatted,
`repr`), annotations, what only makes faster or refuses (`SPEED`, and how much is done
at once: `..._PER_BATCH`, `..._PER_PIECE`), figures, reports, bars of progress. All else
counts, whether a test could see it or not.
"""

import argparse
import ast
import difflib
import gc
import multiprocessing
import os
import pickle
import random
import re
import resource
import shutil
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "leastaction"
MODULES = sorted(PACKAGE.rglob("*.py"))
TRACES = ROOT / ".pytest_cache" / "mutants"
# Modules whose result is a picture, page or bar: looked at, and compared by the gate.
NOT_MUTATED = ("figures", "report", "progress.py")
# Tests of other processes, which cannot be traced, and of the papers' numbers.
NOT_TRACED = ("workflow", "slurm", "docs", "faults", "scorecard", "configuration")
# Changed lines of a module that is drawn: its kernels are compiled once for all.
LINES = 10
FILES = 4
# s of the processor: of one test, traced; of the tests of a mutant; beyond them; for
# its kernels.
TRACED, LONGEST, SPARE, COMPILED = 15, 30, 10, 60
EXAMPLES = "tests/test_docstrings.py::test_examples_of_a_module_run"
# Keywords whose value makes faster, copies or refuses, and changes no valid result.
SPEED = {
    "cache",
    "nogil",
    "parallel",
    "maxsize",
    "frozen",
    "slots",
    "kw_only",
    "check_finite",
    "overwrite_a",
    "overwrite_b",
    "optimize",
    "repr",
    "stacklevel",
    "strict",
}
TEXTS = {"warn", "print", "log", "debug", "info", "warning", "error", "note"}
HEAVY = (
    "numpy",
    "scipy.stats",
    "sympy",
    "xarray",
    "pandas",
    "netCDF4",
    "numba",
    "pint",
    "pydantic",
    "hypothesis",
    "matplotlib.pyplot",
    "scipy.signal",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.optimize",
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


@cache
def names_of(module: Path) -> set[str]:
    """What a module defines for others, and its name."""
    names = r"^(?:def|class) ([a-zA-Z]\w+)|^([A-Z]\w+)\b.*="
    matches = re.finditer(names, module.read_text(), re.MULTILINE)
    return {module.stem} | {m[1] or m[2] for m in matches}


@cache
def words_of(path: Path) -> set[str]:
    """Words of a test file, and of the modules beside it from which it imports."""
    text = path.read_text()
    words = set(re.findall(r"\w+", text))
    for name in re.findall(r"^from (\w+) import", text, re.MULTILINE):
        for beside in (path.with_name(f"{name}.py"), ROOT / "tests" / f"{name}.py"):
            if beside.exists():
                words |= set(re.findall(r"\w+", beside.read_text()))
    return words


def files_of(module: Path) -> list[str]:
    """Tests of a module: its examples, the file of its name, those that name it most.

    Those of its folder come first. A name counts the less the more modules define it,
    and a quarter as much if a module that imports this one defines it.
    """
    defined = Counter(n for path in MODULES for n in names_of(path))
    same = ROOT / "tests" / module.relative_to(PACKAGE).parent
    imported = re.compile(rf"import .*\b{module.stem}\b|\.{module.stem} import")
    near = [path for path in MODULES if imported.search(path.read_text())]
    weights = {n: 0.25 / defined[n] for path in near for n in names_of(path)}
    weights |= {n: 1 / defined[n] for n in names_of(module)}

    def rank(path: Path) -> tuple:
        named = sum(weights[n] for n in weights.keys() & words_of(path))
        mirrored = path == same / f"test_{module.stem}.py"
        far = path.parent != same or not named
        return not mirrored, far, -named, path.stat().st_size

    files = [
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.parent.name not in NOT_TRACED
        and (names_of(module) & words_of(path) or path.parent == same)
    ]
    chosen = [str(path.relative_to(ROOT)) for path in sorted(files, key=rank)[:FILES]]
    name = ".".join(module.relative_to(PACKAGE.parent).with_suffix("").parts)
    return [f"{EXAMPLES}[{name}]"] * (">>> " in module.read_text()) + chosen


def without_result(node: ast.AST) -> bool:
    """Nothing below a node changes a result (see the head of this file)."""
    match node:
        case ast.Raise() | ast.JoinedStr():
            return True
        case ast.keyword(arg=name):
            return name in SPEED
        case ast.FunctionDef(name="__repr__"):
            return True
        case ast.Assign(targets=[ast.Name(name)]):
            return name.endswith(("_PER_BATCH", "_PER_PIECE"))
        case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Compare(ast.Name("__name__"))):
            return True
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)):
            return name in TEXTS
    return False


def places(module: Path) -> dict[int, list[int]]:
    """Numbers of the nodes that can be changed, in the order of a walk, by line."""
    tree = ast.parse(module.read_text())
    without = set()
    for node in ast.walk(tree):
        for part in ("annotation", "returns"):
            without |= {*ast.walk(getattr(node, part, None) or ast.Pass())}
        if without_result(node):
            without |= {*ast.walk(node)}
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "reshape":
            # Any negative number is the length that follows from the others.
            parts = (part for each in node.args for part in ast.walk(each))
            without |= {p.operand for p in parts if isinstance(p, ast.UnaryOp)}
    places: dict[int, list[int]] = {}
    for number, node in enumerate(ast.walk(tree)):
        if node not in without and mutate(node) and hasattr(node, "lineno"):
            places.setdefault(node.lineno, []).append(number)
    return places


@cache
def lines_that_name(name: str) -> set[tuple[str, int]]:
    """Lines of the package with a name."""
    word = re.compile(rf"\b{name}\b")
    return {
        (f"/{path.relative_to(PACKAGE)}", number)
        for path in PACKAGE.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if word.search(line)
    }


def lines_of(module: Path, line: int) -> set[tuple[str, int]]:
    """Lines one of which a test must execute to execute a line, or to use it.

    With no file, a name: one that the file of the test must have.
    """
    file = f"/{module.relative_to(PACKAGE)}"
    tree = ast.parse(module.read_text())
    body, function, name = tree.body, None, ""
    while True:
        at = next(s for s in reversed(body) if first_line(s) <= line)
        blocks = [
            block
            for part in ("body", "orelse", "finalbody", "handlers", "cases")
            if (block := getattr(at, part, None))
            and first_line(block[0]) <= line <= last_line(block[-1])
        ]
        if isinstance(at, ast.FunctionDef) and blocks:
            function = at
        if isinstance(at, ast.ClassDef):
            name = at.name
        if not blocks:
            break
        (body,) = blocks
    compiled = njit_functions(tree)
    if (function or at) in compiled:  # no line of them is traced
        return set().union(*(lines_that_name(each.name) for each in compiled))
    if function is None and not isinstance(at, ast.FunctionDef):
        targets = [*getattr(at, "targets", []), getattr(at, "target", ast.Pass())]
        parts = (n for target in targets for n in ast.walk(target))
        names = {n.id for n in parts if isinstance(n, ast.Name)} | {name} - {""}
        lines = set().union(*map(lines_that_name, names)) - {(file, line)}
        return lines | {("", name or each) for each in names}
    last = at.end_lineno
    inner = getattr(at, "body", None)
    if inner and not isinstance(at, ast.FunctionDef):
        last = max(at.lineno, first_line(inner[0]) - 1)
    begin = first_line(inner[0]) if isinstance(at, ast.FunctionDef) else at.lineno
    return {(file, number) for number in range(begin, last + 1)}


def njit_functions(tree: ast.Module) -> set[ast.FunctionDef]:
    """Functions of a module that Numba compiles."""
    return {
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any("njit" in ast.unparse(each) for each in node.decorator_list)
    }


def in_function(module: Path, line: int) -> bool:
    """Whether a line is in the body of a function."""
    return any(
        first_line(node.body[0]) <= line <= node.end_lineno
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef)
    )


def first_line(node: ast.AST) -> int:
    """First line of a statement, its decorators included."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])


def last_line(node: ast.AST) -> int:
    """Last line of a statement or a case, which has no lines of its own."""
    return (
        last_line(node.body[-1])
        if isinstance(node, ast.match_case)
        else node.end_lineno
    )


class Tracer:
    """Plugin of pytest: lines of the package that each passed test executes, its time.

    Lines of fixtures count for all tests of the file. A function is traced until twenty
    calls of it, by one test, have executed no further line. A test is ended after
    `TRACED` s, or a tenth of it where the file has taken twice as much.
    """

    def __init__(self, package: Path):
        self.package = str(package)
        self.lines: dict[str, set] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self.key = ""
        signal.signal(signal.SIGPROF, self._end)

    def _end(self, number, frame):
        pytest.fail("it takes too long for a test of a mutant")

    def _call(self, frame, event, argument):
        file = frame.f_code.co_filename
        if not file.startswith(self.package):
            return None
        function = file, frame.f_code.co_firstlineno
        if self.idle[function] > 20:
            return None
        self.idle[function] += 1
        return self._line

    def _line(self, frame, event, argument):
        file = frame.f_code.co_filename
        place = file.removeprefix(self.package), frame.f_lineno
        if place not in self.lines[self.key]:
            self.lines[self.key].add(place)
            self.idle[file, frame.f_code.co_firstlineno] = 0
        return self._line

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        before, self.key, self.idle = time.process_time(), "", Counter()
        late = before > 2 * TRACED
        signal.setitimer(signal.ITIMER_PROF, TRACED / 10 if late else TRACED)
        sys.settrace(self._call)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
            if item.nodeid in self.seconds:
                self.seconds[item.nodeid] = time.process_time() - before
            if time.process_time() > 4 * TRACED:
                item.session.shouldstop = "it takes long"

    def write(self, path: str) -> None:
        lines = {k: v for k, v in self.lines.items() if not k or k in self.seconds}
        Path(path).write_bytes(pickle.dumps((lines, self.seconds)))

    def pytest_runtest_call(self, item):
        self.key, self.idle = item.nodeid, Counter()

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = 0


def replace(file: str, tree: ast.Module) -> None:
    """Give functions of a module that is imported their code in another tree of it.

    It has the lines of the module, but for what has been changed within a function.
    """
    codes, at = {}, [compile(tree, file, "exec", dont_inherit=True)]
    while at:
        code = at.pop()
        codes[code.co_qualname, code.co_firstlineno] = code
        at += [c for c in code.co_consts if isinstance(c, CodeType)]
    gc.unfreeze()  # what is frozen is not among the objects
    for function in gc.get_objects():
        if isinstance(function, FunctionType):
            code = function.__code__
            if code.co_filename == file:
                key = code.co_qualname, code.co_firstlineno
                function.__code__ = codes.get(key, code)


def run(
    source: str,
    tests: list[str],
    seconds: int,
    traced: str | None,
    replaced: tuple[str, ast.Module] | None,
    anew: bool,
) -> None:
    """In a process of its own: run tests against the package in a folder.

    It is imported already, but for a function that is `replaced`; or imported `anew`.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 20))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    os.chdir(ROOT)
    os.environ |= {"PYTHONPATH": source, "LEASTACTION_CACHE": f"{source}/../cache"}
    sys.path.insert(0, source)
    for name in [n for n in sys.modules if anew and n.startswith(PACKAGE.name)]:
        del sys.modules[name]
    if replaced:
        replace(*replaced)
    options = ["-q", "-n0", "-pno:cacheprovider", *([] if traced else ["-x"])]
    tracer = Tracer(Path(source) / "leastaction")
    if traced:
        signal.signal(signal.SIGXCPU, lambda *_: (tracer.write(traced), os._exit(1)))
    code = pytest.main([*options, *tests], [tracer] if traced else [])
    if traced:
        tracer.write(traced)
    os._exit(code)


def moved(old: str, new: str) -> dict[int, int]:
    """Number of each line that a text still has, in another one."""
    same = difflib.SequenceMatcher(None, old.split("\n"), new.split("\n"), False)
    return {
        a + i + 1: b + i + 1 for a, b, n in same.get_matching_blocks() for i in range(n)
    }


class Mutants:
    """A copy of the package in a folder, and what is known of the tests."""

    def __init__(self, folder: Path):
        self.folder, self.source = folder, folder / "src"
        self.context = multiprocessing.get_context("forkserver")
        names = [p.relative_to(PACKAGE.parent).with_suffix("").parts for p in MODULES]
        ours = [".".join(n) for n in names if n[-1] not in ("__main__", "__init__")]
        self.context.set_forkserver_preload([*HEAVY, "pytest", *ours])
        os.environ["PYTHONPATH"] = f"{self.source}:{self.source}/leastaction_papers"
        # The copy stays, with the kernels that were compiled of what has not changed.
        if (folder / "unchanged").exists():  # a run was ended amid a mutant
            shutil.rmtree(folder)
        (folder / "cache").mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in self.source.rglob("*.py"):
            new = ROOT / "src" / old.relative_to(self.source)
            if not new.exists() or new.read_bytes() != old.read_bytes():
                old.unlink()
        for new in (ROOT / "src").rglob("*"):
            old = self.source / new.relative_to(ROOT / "src")
            if new.is_file() and new.suffix != ".pyc" and not old.exists():
                old.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(new, old)
        # All processes come from one that has imported the package without a change.
        first = self.context.Process(target=int)
        first.start()
        first.join()
        # By test file: tests that execute each line, and the seconds of each test.
        self.traces: dict[str, tuple[dict, dict]] = {}

    def _run(self, tests, seconds, traced=None, replaced=None, anew=False) -> int:
        """Exit code of the tests; answers that others have left are not used."""
        for answer in (self.folder / "cache").glob("result_*"):
            answer.unlink()
        arguments = (str(self.source), tests, seconds, traced, replaced, anew)
        process = self.context.Process(target=run, args=arguments)
        process.start()
        process.join()
        return process.exitcode

    def trace(self, chosen: str) -> tuple[dict, dict]:
        """(tests by line, seconds by test) of a file, from its trace if that is new."""
        if chosen in self.traces:
            return self.traces[chosen]
        at = TRACES / f"{chosen.replace('::', '/')}.pickle"
        at.parent.mkdir(parents=True, exist_ok=True)
        texts = {f"/{p.relative_to(PACKAGE)}": p.read_text() for p in MODULES}
        path, _, example = chosen.partition("[leastaction.")
        text = (ROOT / path.partition("::")[0]).read_text()
        text += texts[f"/{example[:-1].replace('.', '/')}.py"] if example else ""
        if not at.exists() or pickle.loads(at.read_bytes())[0] != text:
            print(f"traced: {chosen}", flush=True)
            result = self.folder / "trace"
            result.unlink(missing_ok=True)
            self._run([chosen], 5 * TRACED, str(result))
            known = result.exists()
            lines, seconds = pickle.loads(result.read_bytes()) if known else ({}, {})
            modules = {file for places in lines.values() for file, _ in places}
            then = {file: texts[file] for file in modules if file in texts}
            at.write_bytes(pickle.dumps((text, then, lines, seconds)))
        else:
            _, then, lines, seconds = pickle.loads(at.read_bytes())
        now = {
            file: moved(text, texts.get(file, ""))
            for file, text in then.items()
            if text != texts.get(file)
        }
        tests = defaultdict(set)
        for key, places in lines.items():
            for file, line in places:
                number = now[file].get(line) if file in now else line
                tests[file, number] |= {key} if key else {*seconds}
        for word in () if example else words_of(ROOT / path):
            tests["", word] = {*seconds}
        self.traces[chosen] = tests, seconds
        return self.traces[chosen]

    def tests(self, module: Path, line: int) -> Iterator[tuple[list[str], float]]:
        """Tests of each file that execute or use a line, and their seconds."""
        wanted, total = lines_of(module, line), 0.0
        for path in files_of(module):
            tests, seconds = self.trace(path)
            able = set().union(*(tests.get(at, ()) for at in wanted))
            chosen = []
            for test in sorted(able, key=seconds.get):
                if total and total + seconds[test] > LONGEST:
                    break
                total += seconds[test]
                chosen.append(test)
            if chosen:
                yield chosen, sum(map(seconds.get, chosen))

    @contextmanager
    def changed(self, module: Path, text: str) -> Iterator[None]:
        """The package with another text of a module, and with no kernel of before.

        Numba does not see that a function which a kernel calls has changed.
        """
        path = self.source / module.relative_to(ROOT / "src")
        before, state = path.read_text(), path.stat()
        compiled, cache = "njit" in before, self.folder / "cache"
        kernels = [*self.source.rglob("*.nb?")] if compiled else []
        contents = [kernel.read_bytes() for kernel in kernels]
        for kernel in kernels:
            kernel.unlink()
        if compiled:
            cache.rename(self.folder / "unchanged")
            cache.mkdir(mode=0o700)
        path.write_text(text)
        yield
        path.write_text(before)
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        if compiled:
            for kernel in self.source.rglob("*.nb?"):
                kernel.unlink()
            for kernel, content in zip(kernels, contents, strict=True):
                kernel.write_bytes(content)
            shutil.rmtree(cache)
            (self.folder / "unchanged").rename(cache)

    def outcome(self, module: Path, line: int, tree: ast.Module) -> str:
        """What the tests say of a package in which a module has this tree."""
        outcome, text = "no test", ast.unparse(tree)
        compiled = "njit" in text
        inside = in_function(module, line) and module.stem != "__main__"
        file = str(self.source / module.relative_to(ROOT / "src"))
        for tests, seconds in self.tests(module, line):
            limit = round(2 * seconds) + (COMPILED if compiled else SPARE)
            if inside and not compiled:
                code = self._run(tests, limit, replaced=(file, tree))
            else:
                with self.changed(module, text):
                    code = self._run(tests, limit, anew=True)
            outcome = "killed" if code > 0 else "killed by time" if code else "survived"
            if code:
                break
        return outcome


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("count", type=int, nargs="?", default=200)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--within", nargs="*", help="folders of the package")
    given = arguments.parse_args()
    rng, counts = random.Random(given.seed), Counter()
    modules = {
        module: list(places(module).values())
        for module in MODULES
        if not set(NOT_MUTATED) & set(module.parts)
        and (not given.within or module.parts[len(PACKAGE.parts)] in given.within)
    }
    # Any line of the package is as likely as any other.
    sizes = [len(lines) for lines in modules.values()]
    drawn = rng.choices(list(modules), sizes, k=-(-given.count // LINES))
    lines = [
        (module, nodes)
        for module in drawn
        for nodes in rng.sample(modules[module], min(LINES, len(modules[module])))
    ]
    mutants = Mutants(TRACES / "package")
    for module, nodes in lines[: given.count]:
        tree = ast.parse(module.read_text())
        node = list(ast.walk(tree))[rng.choice(nodes)]
        before = ast.unparse(node).partition("\n")[0]
        mutate(node)
        compile(ast.fix_missing_locations(tree), str(module), "exec")
        after = ast.unparse(node).partition("\n")[0]
        said = mutants.outcome(module, node.lineno, tree)
        counts[said] += 1
        place = f"{module.relative_to(PACKAGE)}:{node.lineno}"
        print(f"{said}: {place}: {before} -> {after}", flush=True)
    killed = counts["killed"] + counts["killed by time"]
    print(f"{killed} of {counts.total()} killed: {dict(counts)}")


if __name__ == "__main__":
    main()
