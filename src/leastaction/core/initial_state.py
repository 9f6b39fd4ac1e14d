"""What starts and drives a simulated motion, of parameters and random draws."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import sympy as sp

from leastaction.core.expressions import parsed, symbol
from leastaction.core.simulation import first_index, halton_starts
from leastaction.core.system import System


def initial_states(settings: Mapping, system: System) -> Callable[..., np.ndarray]:
    """Sampler ``draw(rng)`` of initial states (q, q̇), each of shape (state,).

    `settings` have a value for each coordinate and velocity: a number or an expression
    over the parameters and the names under ``random``, each of which is drawn anew for
    every trajectory, ``random: {phase: {uniform: [0, 6.2832]}}`` or ``{normal: [mean,
    std]}``; for ``{halton: [low, high]}`` see :func:`random_names`.

    ValueError if a state is missing or unknown, or an expression is not arithmetic.
    """
    draw_names, state_of = random_names(settings), state_of_names(settings, system)
    return lambda rng: state_of(draw_names(rng))


def ensemble_starts(
    settings: Mapping,
    system: System,
    generators: Callable[[int], np.random.Generator],
    trajectories: int,
) -> np.ndarray:
    """Initial states of an ensemble, shape (trajectory, state).

    `generators` makes the generator of a trajectory, which takes longer than many steps
    of it: none is made more than once, and one only if nothing is random.
    """
    draw = initial_states(settings, system)
    if not settings.get("random"):
        return np.tile(draw(generators(0)), (trajectories, 1))
    return np.array([draw(generators(t)) for t in range(trajectories)])


def state_of_names(settings: Mapping, system: System) -> Callable[[dict], np.ndarray]:
    """State of given values of the names under ``random``, as a function."""
    expressions = [system.evaluated(e) for e in initial_expressions(settings, system)]
    if not any(e.free_symbols for e in expressions):
        always = np.array([float(e) for e in expressions])
        return lambda drawn: always.copy()
    return lambda drawn: np.array([float(e.subs(drawn)) for e in expressions])


def random_names(settings: Mapping) -> Callable[..., dict]:
    """Sampler ``draw(rng, trajectory)`` of the names under ``random``, by symbol.

    The names with ``halton: [low, high]`` share one Halton sequence, the first of them
    in base 2, the next in base 3 and so on; trajectory k has the k-th point from
    :func:`~leastaction.core.simulation.first_index` on, in every replicate. ValueError
    of the sampler if these have no number of a trajectory.
    """
    recipes = settings.get("random", {})
    boxes = {n: recipe["halton"] for n, recipe in recipes.items() if "halton" in recipe}

    def draw(rng: np.random.Generator, trajectory: int | None = None) -> dict:
        points = {}
        if boxes:
            if trajectory is None:
                raise ValueError("a Halton start needs the number of its trajectory")
            low, high = np.transpose(list(boxes.values()))
            index = first_index(len(boxes)) + trajectory
            points = dict(zip(boxes, halton_starts(index, low, high)[0], strict=True))
        return {
            symbol(name): points[name]
            if name in points
            else getattr(rng, kind)(*bounds)
            for name, recipe in recipes.items()
            for kind, bounds in recipe.items()
        }

    return draw


def initial_expressions(
    settings: Mapping, system, places: Sequence[str] = ()
) -> list[sp.Expr]:
    """Expressions of an initial state, in the order of the state, checked.

    They may use the names in `places` beside parameters and random draws. ValueError if
    a state is missing or unknown, or an expression is not arithmetic over these names.
    """
    names = list(system.initial_names)
    entries = [name for name in settings if name != "random"]
    wrong = sorted(set(names) ^ set(entries))
    if wrong:
        raise ValueError(
            f"initial_state: expected exactly {names}, got {entries}; check {wrong}"
        )
    drawn = settings.get("random", {})
    for name in drawn:
        if name in system.parameters:
            raise ValueError(f"initial_state.random: {name!r} is a parameter already")
    known = [*system.parameters, *drawn, *places]
    return [parsed(f"initial_state.{n}", settings[n], known) for n in names]


def input_expressions(
    system: System, inputs: Mapping[str, str], drawn: Sequence[str] = ()
) -> list[sp.Expr]:
    """Generalised force of every coordinate.

    ValueError if an input is not arithmetic over ``time``, parameters and `drawn`
    names, or its coordinate is unknown.
    """
    wrong = sorted(set(inputs) - set(system.coordinates))
    if wrong:
        raise ValueError(
            f"input: {wrong} are not coordinates; these are {list(system.coordinates)}"
        )
    known = ["time", *system.parameters, *drawn]
    return [parsed(f"input.{n}", inputs.get(n, "0"), known) for n in system.coordinates]


def input_force(system: System, inputs: Mapping, drawn: Sequence[str]) -> Callable:
    """Generalised force at given times, shape (time, dof)."""
    names = [symbol("time"), *(symbol(name) for name in drawn)]
    functions = [
        sp.lambdify(names, system.evaluated(e), "numpy")
        for e in input_expressions(system, inputs, drawn)
    ]

    def force(time: np.ndarray, values: tuple) -> np.ndarray:
        columns = [np.broadcast_to(f(time, *values), time.shape) for f in functions]
        return np.stack(columns, axis=-1)

    return force
