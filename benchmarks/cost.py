"""Growth of our cost with the size of the problem, and the power law of each.

    python benchmarks/cost.py [curve ...]

CPU seconds of the recommended road from `simulate` to `identify`, after a first call
that compiles, against

- realisations and time steps of the stochastic Duffing oscillator (Tripura et al.);
- candidates of its Lagrangian, polynomials of growing degree;
- degrees of freedom of a chain of oscillators, each with a random force, whose library
  grows in proportion;
- training points of the electrical network (Zaspel and Günther): the fit of the efforts
  alone.

The exponent b of  t = a n^b  is fitted to the medians in logarithms, all sizes alike;
beside it stands the exponent between the two largest, where start-up counts less.
"""

import json
import statistics
import sys

import numpy as np
from cpu import FOLDER, Way, save, side_by_side
from examples import example_of, observations_of

from leastaction.core.method import step
from leastaction.ports.effort_data import training_set, transform_of
from leastaction_papers.configuration.example import completed
from leastaction_papers.port_hamiltonian.multi_task_process import fit

SEED, REPEATS = 1, 3
PAPER, NAME = "stochastic_lagrangian", "duffing"
REALISATIONS = 25, 50, 100, 200, 400
STEPS = 1250, 2500, 5000, 10_000, 20_000
# The truth is of degree four; a library without it takes longer, for another reason.
DEGREES = 4, 5, 6, 8, 10
DEGREES_OF_FREEDOM = 1, 2, 4, 6
TRAINING_POINTS = 16, 32, 64, 128, 256


def road(example: dict):
    """All stages of the recommended estimator."""
    recipe, library = example["estimators"]["recommended"], example["library"]

    def run():
        data = observations_of(example, key="cost", seed=SEED)
        rates = step("differentiate", recipe["differentiate"])(data, library)
        equations = step("assemble", recipe["assemble"])(data, rates, library)
        return step("identify", recipe["identify"])(data, equations, library)

    return run


def duffing(**changes) -> dict:
    """The example with other settings."""
    return example_of(PAPER, NAME, **changes)


def polynomial(degree: int) -> dict:
    """Library of all monomials up to a degree."""
    terms = {"of": ["x", "xdot"], "degree": degree}
    return {"lagrangian": [{"polynomial": terms}]}


def chain(dof: int) -> dict:
    """Equal masses in a row, the first held by a spring; 2000 steps, 50 paths."""
    names = [f"x{i + 1}" for i in range(dof)]
    springs = ["x1", *(f"({b} - {a})" for a, b in zip(names, names[1:], strict=False))]
    kinetic = " + ".join(f"{x}dot**2/2" for x in names)
    potential = " + ".join(f"{s}**2" for s in springs)
    content = {
        "title": f"Chain of {dof}",
        "system": {
            "coordinates": {x: {"unit": "m", "label": x} for x in names},
            "parameters": {
                "k": {"value": 1000.0, "unit": "N/m"},
                "m": {"value": 1.0, "unit": "kg"},
                "sigma": {"value": 1.0, "unit": "N s^0.5"},
            },
            "lagrangian": f"m*({kinetic}) - k*({potential})/2",
            "volatility": {x: "sigma" for x in names},
        },
        "simulate": {
            "method": "strong_taylor",
            "time_step": 1.0e-4,
            "duration": 0.2,
            "trajectories": 50,
            "initial_state": {
                **dict.fromkeys((f"{x}dot" for x in names), 0.0),
                **dict(
                    zip(names, (0.1 * (1 + i % 3) for i in range(dof)), strict=True)
                ),
            },
        },
        "library": {
            "reference": kinetic,
            "inertia": "given",
            "lagrangian": [
                {"terms": [f"{x}dot**2" for x in names]},
                {"terms": [f"{s}**2" for s in springs]},
                {"terms": [f"{x}**{p}" for p in (3, 4) for x in names]},
            ],
            "volatility": [{"terms": ["1"]}],
        },
        "estimators": {"recommended": {}},
        "validate": {"lengths": 2},
        "publish": {},
    }
    return completed(content, f"chain of {dof}")


def network(points: int):
    """Fit of the efforts to a training set of that size."""
    name = "electrical_network"
    settings = example_of("port_hamiltonian", name)["simulate"]
    training = {**settings["training"], "sizes": [points]}
    example = example_of("port_hamiltonian", name, simulate={"training": training})
    recipe = example["estimators"]["published"]
    data = observations_of(example, key=f"port_hamiltonian/{name}", seed=SEED)
    rates = step("differentiate", recipe["differentiate"])(data, {})
    equations = step("assemble", recipe["assemble"])(data, rates, {})
    given = *training_set(equations, 0), transform_of(equations)
    return lambda: fit(*given, random=np.random.default_rng(SEED))


def curves() -> dict[str, dict[int, object]]:
    """By curve and size, what is timed."""
    step = duffing()["simulate"]["time_step"]
    return {
        "realisations": {
            n: road(duffing(simulate={"trajectories": n})) for n in REALISATIONS
        },
        "time steps": {
            n: road(duffing(simulate={"duration": n * step})) for n in STEPS
        },
        "candidates": {
            (d + 1) * (d + 2) // 2: road(duffing(library=polynomial(d)))
            for d in DEGREES
        },
        "degrees of freedom": {n: road(chain(n)) for n in DEGREES_OF_FREEDOM},
        "training points": {n: network(n) for n in TRAINING_POINTS},
    }


def power_law(sizes, seconds) -> dict[str, float]:
    """Factor, exponent and its standard error, and the exponent at the end."""
    x, y = np.log(sizes), np.log(seconds)
    (exponent, start), covariance = np.polyfit(x, y, 1, cov="unscaled")
    rest = y - exponent * x - start
    variance = (rest**2).sum() / max(len(x) - 2, 1)
    return {
        "factor": float(np.exp(start)),
        "exponent": float(exponent),
        "error": float(np.sqrt(variance * covariance[0, 0])),
        "at_the_end": float((y[-1] - y[-2]) / (x[-1] - x[-2])),
    }


def main(names: list[str]) -> None:
    """Time all curves in this process, or only those named."""
    path = FOLDER / "cost.json"
    found = json.loads(path.read_text())["curves"] if names and path.exists() else {}
    for name, actions in curves().items():
        if names and name not in names:
            continue
        ways = {f"{name}, {n}": Way(run, REPEATS) for n, run in actions.items()}
        timings = side_by_side(ways)
        medians = [statistics.median(t.cpu) for t in timings]
        found[name] = {
            "sizes": list(actions),
            "cpu": [t.cpu for t in timings],
            **power_law(list(actions), medians),
        }
        save("cost", curves=found)


if __name__ == "__main__":
    main(sys.argv[1:])
