"""Initial states of a field: expressions of the position and of random draws."""

from collections.abc import Callable, Mapping

import numpy as np
import sympy as sp

from leastaction.core.expressions import symbol
from leastaction.core.initial_state import initial_expressions, random_names
from leastaction.fields.field_system import FieldSystem

# Largest displacement of an end that is fixed, over that of the field (at least 1).
ROUNDOFF_AT_A_FIXED_END = 1e-6
PLACES = ("x", "length")


def field_initial_states(
    settings: Mapping, system: FieldSystem
) -> Callable[[np.random.Generator], np.ndarray]:
    """Sampler of initial states (u, u_t) of a field.

    Parameters
    ----------
    settings
        As in :func:`initial_states`; the expressions may use the position ``x`` and
        the ``length`` of the domain as well.
    system
        Its domain gives the nodes.

    Returns
    -------
    callable
        ``draw(rng)``: one state, shape (2, node).

    Raises
    ------
    ValueError
        If an expression is missing, unknown or not arithmetic; by ``draw``, if a state
        moves an end that is fixed.
    """
    x, length = symbol("x"), symbol("length")
    domain = system.domain
    expressions = [
        system.evaluated(e).subs(length, domain.length)
        for e in initial_expressions(settings, system, PLACES)
    ]
    draw_names = random_names(settings)
    drawn_symbols = [symbol(name) for name in settings.get("random", {})]
    functions = [sp.lambdify([x, *drawn_symbols], e, "numpy") for e in expressions]
    ends = {"left": 0.0, "right": domain.length}
    held = {side: at for side, at in ends.items() if getattr(domain, side) != "free"}
    places = np.append(domain.x, list(held.values()))

    def draw(rng: np.random.Generator) -> np.ndarray:
        drawn = draw_names(rng).values()
        values = [np.broadcast_to(f(places, *drawn), places.size) for f in functions]
        state = np.array(values, dtype=float)
        for name, row in zip(system.names, state, strict=False):
            for side, at_end in zip(held, row[domain.nodes :], strict=True):
                if abs(at_end) > ROUNDOFF_AT_A_FIXED_END * max(1.0, np.abs(row).max()):
                    raise ValueError(
                        f"initial_state: {name} is {at_end:.4g} at the {side} end, "
                        f"which is {getattr(domain, side)}; it must be 0 there"
                    )
        return state[:, : domain.nodes]

    return draw
