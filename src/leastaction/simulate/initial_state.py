"""Initial states: numbers, or expressions of parameters and random draws."""

from collections.abc import Callable, Mapping

import numpy as np

from leastaction.mechanics.expressions import parse, symbol
from leastaction.mechanics.system import System


def initial_states(
    settings: Mapping, system: System
) -> Callable[[np.random.Generator], np.ndarray]:
    """Sampler of initial states (q, q̇).

    Parameters
    ----------
    settings
        A value for each coordinate and velocity: a number or an expression over the
        parameters and the names under ``random``, each of which is drawn anew for
        every trajectory: ``random: {phase: {uniform: [0, 6.2832]}}`` or
        ``{normal: [mean, std]}``.
    system
        Its `state` gives the order.

    Returns
    -------
    callable
        ``draw(rng)``: one state, shape (state,).

    Raises
    ------
    ValueError
        If a state is missing or unknown, or an expression is not arithmetic.
    """
    expressions = [system.evaluated(e) for e in initial_expressions(settings, system)]
    recipes = [
        (symbol(name), kind, bounds)
        for name, recipe in settings.get("random", {}).items()
        for kind, bounds in recipe.items()
    ]

    def draw(rng: np.random.Generator) -> np.ndarray:
        drawn = {name: getattr(rng, kind)(*bounds) for name, kind, bounds in recipes}
        return np.array([float(e.subs(drawn)) for e in expressions])

    return draw


def initial_expressions(settings: Mapping, system: System) -> list:
    """Expressions of an initial state, in the order of the state, checked."""
    names = [s.name for s in system.state]
    given = [name for name in settings if name != "random"]
    wrong = sorted(set(names) ^ set(given))
    if wrong:
        raise ValueError(
            f"initial_state: expected exactly {names}, got {given}; check {wrong}"
        )
    drawn = settings.get("random", {})
    for name in drawn:
        if name in system.parameters:
            raise ValueError(f"initial_state.random: {name!r} is a parameter already")
    known = [*system.parameters, *drawn]
    return [parse(settings[name], known) for name in names]
