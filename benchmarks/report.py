"""Write `results.md` and `cost.png` from what the benchmarks have left.

    python benchmarks/report.py

Nothing in `results.md` is typed by hand. A benchmark that has not run is named as such.
"""

import ast
import datetime
import json
import os
import platform
import re
import statistics
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from cpu import FOLDER
from matplotlib.ticker import LogLocator
from tabulate import tabulate

HERE = Path(__file__).parent
COMPARISONS = {
    "sde_ensemble": "Ensembles of stochastic paths",
    "sparse_regression": "Sparse regression",
    "sindy_pi": "SINDy-PI",
    "xl_sindy": "Fit of xL-SINDy",
    "port_hamiltonian": "Fit of port-Hamiltonian efforts",
    "trades": "Tools of four trades",
}
PACKAGES = (
    *("numpy", "scipy", "numba", "torch", "torchsde", "jax", "diffrax", "sdeint"),
    *("pysindy", "cvxpy", "scs", "gpytorch", "scikit-learn", "pyOMA-2"),
    *("lumicks.pylake", "sysidentpy", "jax-sysid"),
)
COLUMNS = ("", "CPU s", "wall s", "compiling, CPU s", "ratio of CPU", "")
INTRODUCTION = """\
# Benchmarks beside other packages

Written by `make bench`; not by hand. Every comparison runs in one process, on the same
data, with one thread where a package can be told so and with memory that is kept when
it is freed, as in the jobs of the workflow; all ways of doing it take turns, round by
round. Seconds are medians of the repeats with the least and the largest in brackets,
without a first call where that compiles or fills caches. A ratio is the time of a way
over that of the first line of its table in the same round: median, least and largest.
Above 1 the first line is faster. CPU time counts all threads; wall time depends on what
else the machine did.
"""


def machine() -> str:
    """Processor, versions and date."""
    found = Path("/proc/cpuinfo")
    text = found.read_text() if found.exists() else ""
    model = re.search(r"model name\s*:\s*(.+)", text)
    lines = [f"- processor: {model.group(1) if model else platform.processor()}"]
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} not installed")
    lines.append(f"- Python {platform.python_version()}, {', '.join(versions)}")
    dates = [path.stat().st_mtime for path in FOLDER.glob("*.json")]
    day = datetime.date.fromtimestamp(max(dates)) if dates else "never"
    lines.append(f"- date of the run: {day}")
    load = f"{os.getloadavg()[2]:.1f} on {os.cpu_count()} processors"
    lines.append(f"- load at its end: {load}; beside other work short calls cost more")
    return "\n".join(lines)


def spread(values: list[float]) -> str:
    """Median, and least and largest in brackets."""
    if not values:
        return ""
    middle = f"{statistics.median(values):.3g}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):.3g} – {max(values):.3g})"


def ratios(timing: dict, first: dict) -> list[float]:
    """Ratio of every round that both have."""
    pairs = zip(timing["cpu"], first["cpu"], strict=False)
    return [mine / reference for mine, reference in pairs]


def table(timings: list[dict]) -> str:
    """One line for every way."""
    first, rows = timings[0], []
    for timing in timings:
        if timing["missing"]:
            reason = f"not available: {timing['missing']}"
            rows.append([timing["name"], "", "", "", "", reason])
            continue
        ratio = "1" if timing is first else spread(ratios(timing, first))
        compiling = timing["compilation"]
        note = timing["note"]
        if timing["share"] != 1.0:
            note += f"; {timing['share']:.2g} of the work timed and scaled"
        rows.append(
            [
                timing["name"],
                spread(timing["cpu"]),
                spread(timing["wall"]),
                "" if compiling is None else f"{compiling:.2g}",
                ratio,
                note.strip("; "),
            ]
        )
    return tabulate(rows, COLUMNS, "github", disable_numparse=True)


def verdict(timings: list[dict], required: float | None) -> str:
    """The required ratio, and that of the fastest other package."""
    if required is None:
        return ""
    package = timings[0]["name"].split(",")[0]
    others = {
        timing["name"]: statistics.median(ratios(timing, timings[0]))
        for timing in timings
        if timing["cpu"] and not timing["name"].startswith(package)
    }
    if not others:
        return f"Required: {required} times. No other package was there."
    name = min(others, key=others.get)
    word = "met" if others[name] >= required else "missed"
    text = [
        f"Required: {required} times the fastest.",
        f"Measured: {others[name]:.3g} ({name}); {word}.",
    ]
    agree = {t["name"] for t in timings if t["agrees"]}
    equal = {other: ratio for other, ratio in others.items() if other in agree}
    if equal and name not in equal:
        best = min(equal, key=equal.get)
        also = "met" if equal[best] >= required else "missed"
        text.append(
            f"Of those whose result agrees: {equal[best]:.3g} ({best}); {also}."
        )
    for mine in timings[1:]:
        if mine["name"].startswith(package):
            least = min(
                statistics.median(ratios(timing, mine))
                for timing in timings
                if timing["name"] in others
            )
            text.append(f"Beside {mine['name']}: {least:.3g}.")
    met = [other for other, ratio in others.items() if ratio >= required]
    if met and word == "missed":
        text.append(f"Met against: {'; '.join(met)}.")
    return " ".join(text)


def section(name: str, title: str) -> str:
    """One comparison: what was done, tables, verdicts."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        return f"## {title}\n\nNot run.\n"
    content = json.loads(path.read_text())
    tables = content.get("tables") or [content["timings"]]
    required = content.get("required")
    wanted = required if isinstance(required, list) else [required] * len(tables)
    parts = [f"## {title}", described(name)]
    for timings, ratio in zip(tables, wanted, strict=True):
        parts += [table(timings), verdict(timings, ratio)]
    parts.append(content.get("remark", ""))
    return "\n\n".join(part for part in parts if part) + "\n"


def described(name: str) -> str:
    """Docstring of a benchmark as Markdown: the command as code, the rest as it is."""
    source = (HERE / f"{name}.py").read_text()
    head, *rest = ast.get_docstring(ast.parse(source)).split("\n\n")
    lines = [head]
    for part in rest:
        command = part.startswith("    ")
        lines.append(f"`{part.strip()}`" if command else part)
    return "\n\n".join(lines)


def workflow() -> str:
    """CPU of the workflow beside that of one process, as `make costs` has left it."""
    path = FOLDER / "workflow.json"
    if not path.exists():
        return "## Cost of the workflow\n\nNot run.\n"
    seconds = json.loads(path.read_text())["seconds"]
    rows = [[name, f"{value:.4g}"] for name, value in seconds.items()]
    shown = tabulate(rows, ("", "CPU s"), "github", disable_numparse=True)
    return f"## Cost of the workflow\n\n{described('workflow')}\n\n{shown}\n"


def growth(curves: dict) -> str:
    """Sizes, seconds and exponents of all curves."""
    rows = [
        [
            name,
            ", ".join(map(str, curve["sizes"])),
            ", ".join(f"{statistics.median(c):.3g}" for c in curve["cpu"]),
            f"n^{curve['exponent']:.2f} ± {curve['error']:.2f}",
            f"{curve['at_the_end']:.2f}",
        ]
        for name, curve in curves.items()
    ]
    heads = ("n", "sizes", "median CPU s", "power law", "exponent at the end")
    return tabulate(rows, heads, "github", disable_numparse=True)


def draw(curves: dict, path: Path) -> None:
    """Cost curves with their power laws, a panel each."""
    figure, axes = plt.subplots(2, 3, figsize=(8.4, 4.8), layout="constrained")
    for axis, (name, curve) in zip(axes.flat, curves.items(), strict=False):
        sizes = np.array(curve["sizes"], dtype=float)
        middle = [statistics.median(each) for each in curve["cpu"]]
        ends = [
            [m - min(c), max(c) - m] for m, c in zip(middle, curve["cpu"], strict=True)
        ]
        law = curve["factor"] * sizes ** curve["exponent"]
        label = f"$\\propto n^{{{curve['exponent']:.2f}}}$"
        axis.loglog(sizes, law, color="0.6", label=label)
        axis.errorbar(sizes, middle, np.transpose(ends), fmt="o", ms=4, capsize=2)
        thousands = max(sizes) >= 10_000
        shown = [f"{n / 1000:g}k" if thousands else f"{n:g}" for n in sizes]
        axis.set_xticks(sizes, shown)
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.minorticks_off()
        low, high = min(*law, *middle), max(*law, *middle)
        axis.set_ylim(low / 2, high * 2)
        axis.set(xlabel=name, ylabel="CPU time / s")
        axis.legend(frameon=False, loc="upper left")
    for axis in axes.flat[len(curves) :]:
        axis.remove()
    figure.savefig(path, dpi=80)


def main() -> None:
    """Write both files."""
    matplotlib.use("Agg")
    parts = [INTRODUCTION, machine() + "\n"]
    parts += [section(name, title) for name, title in COMPARISONS.items()]
    parts.append(workflow())
    path = FOLDER / "cost.json"
    if path.exists():
        content = json.loads(path.read_text())
        draw(content["curves"], HERE / "cost.png")
        about = described("cost")
        parts.append(
            f"## Growth of the cost\n\n{about}\n\n{growth(content['curves'])}\n\n"
            "![Cost curves](cost.png)\n"
        )
    else:
        parts.append("## Growth of the cost\n\nNot run.\n")
    (HERE / "results.md").write_text("\n".join(parts))
    print(f"wrote {(HERE / 'results.md').relative_to(HERE.parent)}")


if __name__ == "__main__":
    main()
