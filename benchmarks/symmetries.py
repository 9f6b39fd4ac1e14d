"""Symmetries found from noisy snapshots of positions: verdicts on fresh draws.

    python benchmarks/symmetries.py [DRAWS [FIRST_SEED [SYSTEM ...]]]

A line for each draw (seeds from FIRST_SEED on), then a table of counts. A draw is right
if what it finds spans the true affine symmetries, or it denies that there is one; wrong
if it finds another or denies all of a law that has some; in part if it finds some of
them; else undecided. The bound is the largest change of the momentum over its rms in a
period that the data leave to a symmetry that was found.
"""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

import leastaction as la
from leastaction.core.recipe import Recipe

SQUARE = "(xdot**2 + ydot**2)/2"
CENTRAL = f"{SQUARE} - (x**2 + y**2)/2 - (x**2 + y**2)**2/4"
SPACE = "(xdot**2 + ydot**2 + zdot**2)/2"
ROTATION, RING = "x*p_y - y*p_x", "abcde"
CHAIN = " + ".join(f"{a}dot**2/2" for a in RING) + "".join(
    f" - exp({a} - {b})" for a, b in zip(RING, RING[1:] + RING[:1], strict=True)
)
SCREW = "((x**2 - y**2)*cos(2*z) + 2*x*y*sin(2*z))"


@dataclass(frozen=True)
class Case:
    """L, the Noether quantities, and how motions are drawn and measured."""

    law: str
    conserved: tuple[str, ...]
    noise: float
    trajectories: int
    snapshots: int = 9
    time_step: float = 0.2
    centre: tuple[float, ...] = ()
    reach: tuple[float, ...] = (1.0,)


ARC = {
    "trajectories": 100,
    "time_step": 0.06,
    "centre": (1.0, 0.0, 0.0, 1.0),
    "reach": (0.15, 0.15, 0.2, 0.2),
}
LONG = {"noise": 1e-2, "trajectories": 23, "snapshots": 33}
CASES = {
    "isotropic oscillator": Case(CENTRAL, (ROTATION,), **LONG),
    "charged particle": Case(f"{CENTRAL} + (x*ydot - y*xdot)/2", (ROTATION,), **LONG),
    "planar triad": Case(f"{CENTRAL} - (x**3 - 3*x*y**2)/5", (), **LONG),
    "pendulum on a cart": Case(
        "xdot**2 + ydot**2/2 + xdot*ydot*cos(y) + cos(y)",
        ("p_x",),
        **LONG | {"reach": (0.8,)},
    ),
    "Kepler in the plane": Case(
        f"{SQUARE} + 1/sqrt(x**2 + y**2)", (ROTATION,), 1e-4, **ARC
    ),
    "Toda of five": Case(
        CHAIN, (" + ".join(f"p_{a}" for a in RING),), 3e-4, 60, reach=(0.4,)
    ),
    "Yukawa in space": Case(
        f"{SPACE} + exp(-sqrt(x**2 + y**2 + z**2))/sqrt(x**2 + y**2 + z**2)",
        (ROTATION, "x*p_z - z*p_x", "y*p_z - z*p_y"),
        1e-4,
        60,
        centre=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        time_step=0.08,
        reach=(0.2, 0.2, 0.2, 0.3, 0.3, 0.3),
    ),
    "screw": Case(
        f"{SPACE} - (x**2 + y**2)/2 - (x**2 + y**2)**2/8 - 3*{SCREW}/10",
        (f"p_z + {ROTATION}",),
        3e-4,
        40,
    ),
}


def verdict(case: Case, seed: int) -> tuple[str, list]:
    """Right, wrong or undecided, and the symmetries that were judged."""
    system = la.System(case.law)
    names = [*system.coordinates, *(f"{name}dot" for name in system.coordinates)]
    middle, reach = np.zeros(len(names)), np.ones(len(names)) * case.reach
    middle[: len(case.centre)] = case.centre
    box = {
        f"start_{name}": {"uniform": [m - r, m + r]}
        for name, m, r in zip(names, middle.tolist(), reach.tolist(), strict=True)
    }
    data = system.simulate(
        duration=case.time_step * (case.snapshots - 1),
        time_step=case.time_step,
        trajectories=case.trajectories,
        initial_state={name: f"start_{name}" for name in names} | {"random": box},
        noise={"channels": ["q"], "levels": [case.noise]},
        seed=seed,
    )
    base = la.recipes.snapshots.recommended()
    identify = {"method": "noether_symmetries", "impose": False}
    model = Recipe(
        differentiate=base.differentiate, assemble=base.assemble, identify=identify
    ).fit(data)
    judged = [
        (one.verdict, one.noether(system.coordinates), 100 * one.change)
        for one in model.symmetries
    ]
    true = [entries(quantity, system.coordinates) for quantity in case.conserved]
    found = [one.entries for one in model.symmetries if one.verdict == "found"]
    if rank([*true, *found]) > rank(true):
        return "wrong", judged
    if rank(found) == rank(true):
        return "right", judged
    unsure = any(name == "undecided" for name, *_ in judged)
    return "in part" if found else "undecided" if unsure else "wrong", judged


def entries(quantity: str, coordinates: Sequence[str]) -> list[float]:
    """Those of b, then of A row by row, of a Noether quantity p·(b + A q)."""
    by_momentum = [sp.diff(sp.sympify(quantity), f"p_{q}") for q in coordinates]
    offset = [one.subs(dict.fromkeys(coordinates, 0)) for one in by_momentum]
    matrix = [sp.diff(one, q) for one in by_momentum for q in coordinates]
    return [float(number) for number in (*offset, *matrix)]


def rank(generators: Sequence[Sequence[float]]) -> int:
    """How many of them are independent."""
    return int(np.linalg.matrix_rank(generators)) if len(generators) else 0


def main(draws: str = "10", first_seed: str = "700", *names: str) -> None:
    """Print a line for each draw and a table."""
    table = [
        "| system | noise | right | in part | undecided | wrong | bound, % | CPU, s |"
    ]
    table.append("|---|---|---|---|---|---|---|---|")
    for name in names or CASES:
        case, counts, bounds, times = CASES[name], Counter(), [], []
        for seed in range(int(first_seed), int(first_seed) + int(draws)):
            start = time.process_time()
            result, judged = verdict(case, seed)
            times.append(time.process_time() - start)
            counts[result] += 1
            bounds += [change for of, _, change in judged if of == "found"]
            lines = (f"{of}: {what}, {change:.2g} %" for of, what, change in judged)
            print(f"{name}, seed {seed}: {result} ({'; '.join(lines)})", flush=True)
        bound = f"{min(bounds):.2g} … {max(bounds):.2g}" if bounds else "–"
        some = (counts[key] for key in ("right", "in part", "undecided", "wrong"))
        cells = name, f"{case.noise:g}", *some, bound, f"{np.mean(times):.1f}"
        table.append(f"| {' | '.join(map(str, cells))} |")
    print("\n".join(table))


if __name__ == "__main__":
    main(*sys.argv[1:])
