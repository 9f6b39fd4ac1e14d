"""Coordinates made of several columns, and the circles that columns keep to.

A tracker gives the positions x, y of a point that turns about a pivot nobody has
measured. Its angle is ``atan2(x - x0, y0 - y)``; the centre (x0, y0) is that of the
circle from which the distances scatter least,

.. math:: \\min_{x_0, y_0} \\sum_k ρ(r_k - \\bar r), \\quad r_k = \\sqrt{a_k^2 + b_k^2},

where a, b are the arguments of atan2 and ρ forgives single samples that stand out. The
start is the algebraic fit, which is linear (Kåsa 1976, IEEE Trans. Instrum. Meas. 25,
8); the geometric one has much less bias on short arcs (Chernov, Circular and Linear
Regression, 2010, ch. 4 and 7). Errors are those of the jackknife over stretches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import sympy as sp
from scipy.special import stdtrit

from leastaction.core.expressions import symbol
from leastaction.core.model import rounded
from leastaction.recordings.columns import Column, pivots
from leastaction.recordings.refusals import reject
from leastaction.recordings.splitting import Trajectory

# Rows that a circle is fitted to, and stretches that are left out in turn.
MOST_ROWS, STRETCHES = 20_000, 8
# rms deviation from a circle, of its radius, and error of its centre: refused beyond.
LARGEST_DEVIATION, LARGEST_ERROR_OF_CENTRE = 0.05, 0.05
# Two columns stay on a circle if they deviate from it by less than this share of the
# radius, and of the deviation from a line; to a line, by less than this share.
SUSPECTED_DEVIATION, CIRCLE_OVER_LINE, LINE = 0.02, 0.1, 0.01
# Deviations beyond this many median ones weigh less.
LARGEST_USUAL_DEVIATION = 3.0


@dataclass(frozen=True)
class Circle:
    """Constants that make distances alike, in the unit of the columns."""

    values: np.ndarray
    errors: np.ndarray  # standard errors
    radius: np.ndarray  # mean distance of each atan2
    deviation: np.ndarray  # rms, of each distance from its mean


def raw_columns(columns: Sequence[Column]) -> list[Column]:
    """What a table is read for: plain columns, then what expressions are made of."""
    plain = [c for c in columns if c.expression is None]
    sources: dict[str, Column] = {}
    for c in (c for c in columns if c.expression is not None):
        for name in c.sources:  # the first use counts: motions come before inputs
            sources.setdefault(name, Column(name, c.use))
    return [*plain, *sources.values()]


def smooth_sources(columns: Sequence[Column]) -> list[str]:
    """Columns that arguments of atan2 are polynomials of, by name.

    A tracker writes them as lengths, which are smooth where the angle jumps.
    """
    smooth: dict[str, None] = {}
    for c in (c for c in columns if c.expression is not None):
        symbols = list(map(symbol, c.sources))
        for part in (a for angle in pivots(c.expression) for a in angle.args):
            if part.is_polynomial(*symbols):
                smooth |= {str(s): None for s in symbols if s in part.free_symbols}
    return list(smooth)


def derive(trajectories: Sequence[Trajectory], columns: Sequence[Column]) -> list[str]:
    """Replace the values of :func:`raw_columns` by those of `columns`, in their order.

    What was estimated comes back, one sentence each. Samples that do not keep to a
    circle, or to too short a part of one, are refused.
    """
    made = [c for c in columns if c.expression is not None]
    if not made:
        return []
    plain = len(columns) - len(made)
    names = [c.name for c in raw_columns(columns)[plain:]]
    raw = [t.values[:, plain:].T for t in trajectories]
    known: dict[str, float] = {}
    texts = []
    constants = list(dict.fromkeys(name for c in made for name in c.constants))
    if constants:
        circle = _centre(made, constants, names, raw)
        _reject(circle, constants, f"{trajectories[0].file}, {made[0].use}")
        known = dict(zip(constants, circle.values, strict=True))
        texts.append(_sentence(circle, constants))
    for t, rows in zip(trajectories, raw, strict=True):
        inputs = known | dict(zip(names, rows, strict=True))
        before = iter(t.values[:, :plain].T)
        values = [
            next(before) if c.expression is None else c.convert(_evaluated(c, inputs))
            for c in columns
        ]
        t.values = np.stack(values, axis=1)
    return texts


def _evaluated(column: Column, inputs: dict) -> np.ndarray:
    """Values of an expression, columns and constants put in by their names."""
    names = [*column.constants, *column.sources]
    function = sp.lambdify(list(map(symbol, names)), column.expression, "numpy")
    with np.errstate(all="ignore"):
        values = function(*(inputs[name] for name in names))
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        row = {name: float(inputs[name][wrong[0]]) for name in column.sources}
        reject("no value", column.use, name=column.name, row=row, count=len(wrong))
    return values


def _centre(made, constants, names, raw: Sequence[np.ndarray]) -> Circle:
    """Circle of every pivot in expressions that has an unknown constant."""
    unknown = set(map(symbol, constants))
    angles = {a for c in made for a in pivots(c.expression) if a.free_symbols & unknown}
    squares = [
        sp.expand(a**2 + b**2) for a, b in (n.args for n in sorted(angles, key=str))
    ]
    symbols = list(map(symbol, [*constants, *names]))
    distances = sp.lambdify(symbols, squares, "numpy")
    rows = np.concatenate(raw, axis=1)
    rows = rows[:, :: -(-rows.shape[1] // MOST_ROWS)]
    return fit_circle(lambda u, x: np.stack(distances(*u, *x)), rows, len(constants))


def fit_circle(squared: Callable, rows: np.ndarray, count: int) -> Circle:
    """Constants, `count` of them, from which distances scatter least.

    ``squared(constants, rows)`` are squares of distances, shape (distance, row), of
    columns of shape (column, row).
    """
    start = _least(squared, rows, np.ones(count), lambda s: s, "linear")
    deviation = _deviations(squared, rows, start, np.sqrt)
    round_off = np.finfo(float).eps * np.abs(rows).max()
    usual = LARGEST_USUAL_DEVIATION * max(np.median(np.abs(deviation)), round_off)

    def centre(chosen: np.ndarray, begin: np.ndarray) -> np.ndarray:
        return _least(squared, chosen, begin, np.sqrt, "soft_l1", usual)

    values = centre(rows, start)
    stretches = np.array_split(np.arange(rows.shape[1]), STRETCHES)
    left = [centre(np.delete(rows, part, axis=1), values) for part in stretches]
    error = np.sqrt((STRETCHES - 1) * np.var(left, axis=0))
    distance = np.sqrt(squared(values, rows))
    return Circle(values, error, distance.mean(axis=1), distance.std(axis=1))


def _deviations(squared, rows, constants, transform) -> np.ndarray:
    distance = transform(squared(constants, rows))
    return (distance - distance.mean(axis=1, keepdims=True)).ravel()


def _least(squared, rows, start, transform, loss: str, scale: float = 1.0):
    from scipy.optimize import least_squares

    def deviations(constants):
        return _deviations(squared, rows, constants, transform)

    return least_squares(
        deviations, start, x_scale="jac", loss=loss, f_scale=scale, xtol=1e-12
    ).x


def _reject(circle: Circle, constants: Sequence[str], where: str) -> None:
    deviation = float((circle.deviation / circle.radius).max())
    error = float(circle.errors.max() / circle.radius.min())
    for when, share, most in (
        ("no circle", deviation, LARGEST_DEVIATION),
        ("short arc", error, LARGEST_ERROR_OF_CENTRE),
    ):
        if share > most:
            names = ", ".join(constants)
            reject(when, where, names=names, percent=100 * share, most=100 * most)


def _sentence(circle: Circle, constants: Sequence[str]) -> str:
    factor = float(stdtrit(STRETCHES - 1, 0.975))
    parts = []
    for name, value, error in zip(constants, circle.values, circle.errors, strict=True):
        number, width = rounded(value, factor * error)
        parts.append(f"{name} = {number}" + (f" ± {width}" if width else ""))
    share = 100 * (circle.deviation / circle.radius).max()
    radius = " and ".join(f"{r:.5g}" for r in circle.radius)
    return (
        f"{', '.join(parts)}, in the unit of the columns: the centre of the circle of "
        f"radius {radius} that they stay on within {share:.2g} % rms; intervals of the "
        "law hold for this centre"
    )


def constraints(
    q: Sequence[np.ndarray], columns: dict[str, Column], where: str, accepted: bool
) -> list[str]:
    """Pairs of lengths that keep to a line or, if `accepted`, a circle.

    A circle is refused: its force would be missing in the law of two coordinates.
    """
    texts = []
    lengths = [(k, name) for k, (name, c) in enumerate(columns.items()) if not c.angle]
    rows = np.concatenate(q).T
    rows = rows[:, :: -(-rows.shape[1] // MOST_ROWS)]
    for (i, first), (j, second) in combinations(lengths, 2):
        if columns[first].unit == columns[second].unit:
            text, remedy = _curve(rows[[i, j]], first, second)
            if remedy and not accepted:
                reject("constraint", where, curve=text, remedy=remedy)
            texts += [text] if text else []
    return texts


def _curve(pair: np.ndarray, x: str, y: str) -> tuple[str, str]:
    """What two lengths keep to, and the remedy of a circle."""
    across, along = np.sqrt(np.linalg.eigvalsh(np.cov(pair)))
    if across < LINE * along:
        text = (
            f"{x} and {y} stay on a straight line within {100 * across / along:.2g} %: "
            "they may be one degree of freedom; then leave one of them out"
        )
        return text, ""
    circle = fit_circle(
        lambda u, z: ((z - u[:, None]) ** 2).sum(axis=0, keepdims=True), pair, 2
    )
    deviation, radius = float(circle.deviation[0]), float(circle.radius[0])
    if deviation > min(SUSPECTED_DEVIATION * radius, CIRCLE_OVER_LINE * across):
        return "", ""
    text = (
        f"{x} and {y} stay on a circle around ({circle.values[0]:.4g}, "
        f"{circle.values[1]:.4g}) of radius {radius:.4g} within "
        f"{100 * deviation / radius:.2g} %: a constraint, one degree of freedom"
    )
    remedy = (
        "Write `coordinates: {theta: {expression: "
        f'"atan2({x} - x0, y0 - {y})", unknown: [x0, y0]}}}}`, '
        "or `accept: [constraint]`"
    )
    return text, remedy
