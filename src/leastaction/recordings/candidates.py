"""What the candidates of a recording are: their forces, prices, signs and motions."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.library import Library
from leastaction.trajectories.library_equations import library_equations
from leastaction.trajectories.variational_equations import (
    WIDTH,
    VariationalEquations,
    variational_equations,
)

# Coulomb friction turns around within this fraction of the rms velocity; of a driven
# motion within a smaller one, since its short windows see every reversal.
SLIDING_WIDTH_OF_RMS, SLIDING_WIDTH_OF_DRIVEN = 0.01, 0.005
# Prices, in terms, of one that imitates a simpler one, and of one that imitates many.
PRICE_OF_IMITATOR, PRICE_OF_COMPLEX_TERM = 1.25, 2.0
# Part of a force, squared, that is not one of simpler terms.
LEAST_DISTINCT_FORCE = 1e-11
log = logging.getLogger(__name__)


def distinct_forces(
    terms: Library, columns: np.ndarray, equations: xr.Dataset
) -> np.ndarray:
    """Candidates without those whose force no sample tells from that of simpler ones.

    A joint that never turns back has a Coulomb friction that is a constant, as is the
    force of a potential linear in its angle. Of a free motion such combinations of
    forces would be null vectors without any inertia; among those of a driven one the
    search decides. Terms with accelerations are not touched: theirs is the relation
    that is looked for.
    """
    massive = library_equations(terms).has_mass[columns]
    gram = equations["gram"].values[0][np.ix_(columns, columns)]
    length = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    gram = gram / np.outer(length, length)
    order = np.argsort(prices(terms, columns), kind="stable")
    retained: list[int] = []
    for k in order:
        if massive[k]:
            continue
        matrix = gram[np.ix_(retained, retained)] + 1e-14 * np.eye(len(retained))
        left = 1.0 - gram[k, retained] @ np.linalg.solve(matrix, gram[retained, k])
        if left > LEAST_DISTINCT_FORCE:
            retained.append(k)
            continue
        log.warning(
            "in these data the force of %s is one of simpler terms; it is left out",
            equations["column"].values[columns[k]],
        )
    return columns[np.sort([*np.flatnonzero(massive), *retained])]


def sliding_equations(
    terms: Library, columns: np.ndarray, equations: xr.Dataset, driven: bool
) -> tuple[VariationalEquations, float]:
    """Compiled motions in which Coulomb friction |v| is √(v² + w²) − w."""
    rms = np.sqrt((equations["qdot"].values[0] ** 2).mean())
    share = SLIDING_WIDTH_OF_DRIVEN if driven else SLIDING_WIDTH_OF_RMS
    width = one_two_five(share * float(rms))
    of_l = columns[columns < len(terms.terms)]
    of_d = columns[columns >= len(terms.terms)] - len(terms.terms)
    equations = variational_equations(
        [terms.terms[i] for i in of_l],
        terms.coordinates,
        [smooth_friction(terms.dissipation[i], WIDTH) for i in of_d],
    )
    return replace(equations, width=width), width


def smooth_friction(term: sp.Expr, width: float | sp.Symbol) -> sp.Expr:
    """|v|, also in an exponential, as √(v² + w²); other terms as they are."""
    if not isinstance(term, sp.Abs) and not term.has(sp.exp):
        return term
    return term.replace(sp.Abs, lambda v: sp.sqrt(v**2 + sp.sympify(width) ** 2))


def one_two_five(value: float) -> float:
    """Largest of 1, 2, 5 times a power of ten that is not above `value`."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(m for m in (1, 2, 5) if m * power <= value * (1 + 1e-12)) * power)


def feeding_losses(terms: Library, columns: np.ndarray) -> np.ndarray:
    """Losses that are even in the velocities: with a negative coefficient they gain."""
    count = len(terms.terms)
    even = [is_even(term, terms.coordinates) for term in terms.dissipation]
    return np.array([k >= count and even[k - count] for k in columns])


def is_even(loss: sp.Expr, coordinates: Sequence[str]) -> bool:
    """Whether a loss is the same in both directions of the motion."""
    flipped = {v: -v for v in symbols(velocity_names(coordinates))}
    return bool(loss.xreplace(flipped) == loss)


def prices(terms: Library, columns: np.ndarray) -> np.ndarray:
    """What a term costs, in terms: 1, but more for those that imitate others.

    An inertia or a loss that changes with the position costs 2, and so does a loss that
    is neither Coulomb nor viscous friction. A power of an angle, or its double, costs
    1.25 times as much: beside cos θ, sin θ (a mounting angle) is preferred to θ⁴.
    """
    q = set(symbols(terms.coordinates))
    velocities = set(symbols(velocity_names(terms.coordinates)))
    price = np.ones(len(columns))
    every = [*terms.terms, *terms.dissipation]
    for i, k in enumerate(columns):
        term = every[k]
        waves = {x for f in term.atoms(sp.sin, sp.cos) for x in f.free_symbols}
        mixed = term.free_symbols & q and term.free_symbols & velocities
        if mixed or (k >= len(terms.terms) and not _is_simple_loss(term)):
            price[i] *= PRICE_OF_COMPLEX_TERM
        if (
            waves
            and any(f.args[0].is_Mul for f in term.atoms(sp.sin, sp.cos))
            or not waves
            and term.free_symbols & _angles(terms)
        ):
            price[i] *= PRICE_OF_IMITATOR
    return price


def _is_simple_loss(term: sp.Expr) -> bool:
    """Whether a loss is Coulomb or viscous friction, the latter by direction or not."""
    degree = sum(
        (
            exponent
            for base, exponent in term.as_powers_dict().items()
            if base.atoms(sp.Symbol)
        ),
        sp.Integer(0),
    )
    return bool(degree <= 2 and not term.has(sp.exp))


def _angles(terms: Library) -> set:
    """Coordinates that stand in a sine or cosine of some candidate."""
    return {
        x
        for term in terms.terms
        for f in term.atoms(sp.sin, sp.cos)
        for x in f.free_symbols
    }


def oscillators(terms: Library, columns: np.ndarray) -> list[int]:
    """Places of q̇² and of the simplest potential of every coordinate: x², or cos θ."""
    q = symbols(terms.coordinates)
    simplest = {v**2 for v in symbols(velocity_names(terms.coordinates))}
    simplest |= {sp.cos(x) if x in _angles(terms) else x**2 for x in q}
    of_l = enumerate(columns[columns < len(terms.terms)])
    return [i for i, k in of_l if terms.terms[k] in simplest]


def touched(terms: Library, columns: np.ndarray) -> np.ndarray:
    """Coordinates that each candidate holds, as bits."""
    names = terms.coordinates, velocity_names(terms.coordinates)
    bit = {x: 1 << a for each in names for a, x in enumerate(symbols(each))}
    every = [*terms.terms, *terms.dissipation]
    held = [{bit[x] for x in every[k].free_symbols} for k in columns]
    return np.array([sum(bits) for bits in held], dtype=np.int64)
