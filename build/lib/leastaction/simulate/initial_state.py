"""Initial states: numbers, or expressions of parameters and random draws."""

from collections.abc import Mapping

import numpy as np

from leastaction.mechanics.expressions import parse, symbol
from leastaction.mechanics.system import System


def initial_state(
    settings: Mapping, system: System, rng: np.random.Generator
) -> np.ndarray:
    """Draw one initial state (q, q̇).

    Parameters
    ----------
    settings
        A value for each coordinate and velocity: a number or an expression over the
        parameters and the names under ``random``, each of which is drawn anew for
        every trajectory: ``random: {phase: {uniform: [0, 6.2832]}}`` or
        ``{normal: [mean, std]}``.
    system
        Its `state` gives the order.
    rng
        Source of the draws.

    Raises
    ------
    ValueError
        If a state is missing or unknown, or an expression is not arithmetic.
    """
    drawn = {
        name: getattr(rng, kind)(*bounds)
        for name, recipe in settings.get("random", {}).items()
        for kind, bounds in recipe.items()
    }
    values = {
        symbol(name): value for name, value in {**system.parameters, **drawn}.items()
    }
    expressions = initial_expressions(settings, system)
    return np.array([float(e.subs(values)) for e in expressions])


def initial_expressions(settings: Mapping, system: System) -> list:
    """Expressions of an initial state, in the order of the state, checked."""
    names = [s.name for s in system.state]
    given = [name for name in settings if name != "random"]
    wrong = sorted(set(names) ^ set(given))
    if wrong:
        raise ValueError(
            f"initial_state: expected exactly {names}, got {given}; check {wrong}"
        )
    known = [*system.parameters, *settings.get("random", {})]
    return [parse(settings[name], known) for name in names]
