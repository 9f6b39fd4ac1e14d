"""Tables of Ober-Blöbaum and Offen: misalignments, and modified Lagrangians.

`identification` has every ν of their section 3.1, beside what the paper or its notebook
prints. `modified_lagrangians` are examples 4.1 and 4.2 as formulas: they are made from
the quadrature rule (:mod:`backward_error`), and the printed ones, read as expressions,
are subtracted from them.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np
import pandas as pd
import sympy as sp
import xarray as xr

from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.expressions import symbol
from leastaction.core.system import System
from leastaction.snapshots.backward_error import modified_coefficients
from leastaction.snapshots.discrete_lagrangian import RULES
from leastaction_papers.scorecard import readable
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.scorecard.readable import number_text
from leastaction_papers.scorecard.tables import Table
from leastaction_papers.shadow_integration.examples import GENERAL, printed_formulas
from leastaction_papers.shadow_integration.shadow_panel import Learned, learned

DIGITS = 4
TRUE = "true Lagrangian, integrated"
IDENTIFICATION_NOTE = (
    "nu: mean sine of the angle between the gradients of H^[[k]] and of the true H "
    "over a box of states, zero if their level sets are the same. Order 0 is the "
    "Hamiltonian of the learned Lagrangian itself, orders 2 and 4 that of the motion "
    "which its variational integrator makes. Of a shadow Lagrangian the latter is the "
    "identified system; of LGP and LGPExact it is order 0. Scale: factor of the true "
    "gradient that is closest. Printed: in brackets with more digits, from the "
    "notebook. Medians over replicates, lowest noise."
)


def identification(panels: Sequence[Panel]) -> Table:
    """Misalignment ν by estimator and order, with rank and residual.

    A row per estimator of every system, and one for its true Lagrangian where it is
    integrated as well. Printed values stand in columns of their own.
    """
    models = [learned(panel) for panel in panels]
    orders = sorted({k for each in models for one in each.values() for k in one.orders})
    rows = []
    for panel, each in zip(panels, models, strict=True):
        rows += [
            _identified(panel, one, orders) for one in each.values() if one.has_energy
        ]
        rows += _integrated(panel, each.values())
    columns = ["system", "estimator", "functions"]
    for name in ("rank", "residual squared", *map(_nu, orders)):
        columns += [name, f"{name}, printed"]
    frame = pd.DataFrame(rows, columns=[*columns, "scale"]).fillna("")
    shown = frame.astype(bool).any()
    return Table(frame.loc[:, shown], IDENTIFICATION_NOTE)


def _nu(order: int) -> str:
    return f"nu of H^[[{order}]]"


def _identified(panel: Panel, one: Learned, orders: Sequence[int]) -> dict:
    def printed(**ours) -> str:
        return _printed(panel, {**ours, "estimator": one.estimator})

    row = {
        "system": panel.title,
        "estimator": one.estimator,
        "functions": str(one.model.sizes["function"]),
        "scale": _median(one.rollout["scale"].sel(order=one.main)),
    }
    for column, name in (("rank", "rank"), ("residual squared", "residual_square")):
        row[column] = _median(one.model[name]) if name in one.model else ""
        row[f"{column}, printed"] = printed(model=name)
    for k in orders:
        nus = one.rollout["misalignment"]
        row[_nu(k)] = _median(nus.sel(order=k)) if k in one.orders else ""
        row[f"{_nu(k)}, printed"] = printed(rollout="misalignment", order=k)
    return row


def _integrated(panel: Panel, models: Iterable[Learned]) -> list[dict]:
    """Row of the true Lagrangian, if the rollouts have integrated it."""
    for one in models:
        if "misalignment_integrated" in one.rollout:
            values = one.first["misalignment_integrated"]
            # Of order 0 it is round-off.
            nus = {
                _nu(k): _median(values.sel(order=k)) if k else "0" for k in one.orders
            }
            return [{"system": panel.title, "estimator": TRUE} | nus]
    return []


def _printed(panel: Panel, ours: Mapping) -> str:
    """Printed number of `ours`, with the digits of the notebook if it has more."""
    for entry in panel.printed:
        if {k: v for k, v in entry["ours"].items() if k != "factor"} != ours:
            continue
        more = entry.get("corrected", entry["printed"])
        text = number_text(entry["printed"])
        return text if more == entry["printed"] else f"{text} ({number_text(more)})"
    return ""


def _median(values: xr.DataArray) -> str:
    return number_text(float(np.median(values)), DIGITS)


# Rule, kind and order of every formula.
CASES = tuple(product(RULES, ("modified", "inverse"), (2, 4)))
SHORT = {symbol("L_10"): symbol("w") + symbol("L_11") * symbol("v")}
FORMULAS_NOTE = (
    "Coefficients of h^2 and h^4 in the modified Lagrangian, of which the numerical "
    "solution is a motion, and in the inverse modified one, whose numerical solution "
    "is a motion of L. In one dimension, with v = dq/dt, L_ij the i-th derivative by q "
    "and j-th by v of L, and w = L_10 - L_11 v. Generated from the rule; what is "
    "printed is compared by symbolic subtraction."
)


def modified_lagrangians(panels: Sequence[Panel]) -> Table:
    """Modified and inverse modified Lagrangians: of a general L, and of each system.

    A row per rule, kind and order. The first panel with ``publish.formulas`` has what
    is printed; for the systems that is evaluated on their Lagrangian. Raises a
    ValueError if a system has several coordinates.
    """
    printed = next(filter(None, (printed_formulas(p.config) for p in panels)), {})
    rows = [_row("any L(q, v)", case, printed, {}) for case in CASES]
    for panel in panels:
        if panel.is_field or panel.truth.dof != 1:
            raise ValueError(
                f"example {panel.example!r}: modified Lagrangians are shown of systems "
                "with one coordinate; take it out of the table's examples"
            )
        names = readable.names_on_paper(panel.config["system"])
        arguments = printed, names, panel.truth
        rows += [_row(panel.title, case, *arguments) for case in CASES]
    return Table(pd.DataFrame(rows), FORMULAS_NOTE)


def _row(title: str, case: tuple, printed, names, system: System | None = None) -> dict:
    """Row of a system, or without one of a general L."""
    rule, kind, order = case
    item, expression = printed.get(case, ("", None))
    term = general_coefficient(order, rule, kind == "inverse")
    if system is None:
        shown = sp.expand(term.subs(SHORT))
    else:
        shown = term = _evaluated(term, system)
        expression = None if expression is None else _evaluated(expression, system)
    verdict, text = "not printed", ""
    if expression is not None:
        text, difference = _formula(expression, names), sp.simplify(term - expression)
        verdict = f"differs by {_formula(difference, {})}" if difference else "equal"
    return {
        "Lagrangian": title,
        "rule": rule,
        "of": "L_mod" if kind == "modified" else "L_invmod",
        "term": f"h^{order}",
        "generated": _formula(shown, names),
        "printed": text,
        "where": item,
        "verdict": verdict,
    }


def _evaluated(formula: sp.Expr, system: System) -> sp.Expr:
    """Formula in v and L_ij for the L(q, v) of a system with one coordinate."""
    q, v = system.state
    values = {symbol("v"): v}
    for name in GENERAL[1:]:
        i, j = int(name[2]), int(name[3])
        values[symbol(name)] = sp.diff(system.lagrangian, q, i, v, j)
    return sp.expand(formula.xreplace(values))


def _formula(expression: sp.Expr, names: Mapping) -> str:
    return readable.function_text(sp.factor_terms(expression), names) or "1"


STEP = symbol("h")


def modified_lagrangian(
    lagrangian: sp.Expr,
    coordinates: Sequence[str],
    order: int = 2,
    rule: str = "midpoint",
    step: sp.Expr = STEP,
    inverse: bool = False,
) -> sp.Expr:
    """Modified Lagrangian, of which the numerical solution is a motion (Theorem 4.2).

    In any dimension, with A = L_vv⁻¹ (L_q − L_vq q̇) and s = −1 for the midpoint rule,
    s = 2 for the trapezoidal rule,

        L_mod = L + h²/24 [L_vv(A, A) + s L_qq(q̇, q̇)] + h⁴ c_4 + ...

    For the midpoint rule, with the directional derivative D = q̇·∂_q + A·∂_q̇ that
    leaves its own q̇ and A alone, and the jerk J = dA/dt along motions of L,

        5760 c_4 = 7 D⁴L + 12 D²(L_q)·A + 36 L_qq(A, A) − 16 L_vv(J, J).

    For the trapezoidal rule −15 L_qqqq(q̇, q̇, q̇, q̇) − 60 L_qqqv(q̇, q̇, q̇, A)
    − 30 L_qqvv(q̇, q̇, A, A) − 60 L_qqq(q̇, q̇, A) − 120 L_qqv(q̇, A, A)
    − 60 L_qq(A, A) are added to it. These displays are for the reader; the code makes
    its terms from the rule.

    L is regular and may contain undefined functions of q and q̇. The inverse modified
    Lagrangian, if asked for, gives motions of L when it is integrated (Theorem 4.3).
    Raises a ValueError if the order is not 0, 2 or 4 (of the inverse any even one), the
    rule unknown or L_vv singular.
    """
    algebra, lagrangian = _Expressions(coordinates), sp.sympify(lagrangian)
    result = modified_coefficients(algebra, lagrangian, order, rule, inverse)
    return sum(c * step ** (2 * j) for j, c in enumerate(result))


@lru_cache
def general_coefficient(
    order: int, rule: str = "midpoint", inverse: bool = False
) -> sp.Expr:
    """Coefficient of h^order of a general L(q, q̇) in one dimension.

    A sum of monomials in ``v`` and ``L_ij`` = ∂^(i+j) L/∂qⁱ∂q̇ʲ.
    """
    q, v = symbol("q"), symbol("qdot")
    lagrangian = sp.Function("L")(q, v)
    algebra = _Expressions(["q"])
    coefficients = modified_coefficients(algebra, lagrangian, order, rule, inverse)
    result = sp.expand(coefficients[-1])
    names = {lagrangian: symbol("L_00"), v: symbol("v")}
    for derivative in result.atoms(sp.Derivative):
        by = dict(derivative.variable_count)
        names[derivative] = symbol(f"L_{by.get(q, 0)}{by.get(v, 0)}")
    return result.xreplace(names)


class _Expressions:
    """The algebra of expressions in q and q̇."""

    def __init__(self, coordinates: Sequence[str]):
        self._slots = (symbols(coordinates), symbols(velocity_names(coordinates)))
        self.dof = len(coordinates)

    def velocity(self) -> list[sp.Expr]:
        return list(self._slots[1])

    def partial(self, expression: sp.Expr, slot: int, i: int) -> sp.Expr:
        return sp.diff(expression, self._slots[slot][i])

    def solve(self, matrix, right) -> list[sp.Expr]:
        matrix = sp.Matrix(matrix)
        determinant = sp.simplify(matrix.det())
        if determinant == 0:
            raise ValueError(
                "the Lagrangian is singular: det ∂²L/∂q̇∂q̇ = 0; backward error analysis "
                "needs a kinetic energy in every velocity"
            )
        return list(matrix.adjugate() * sp.Matrix(right) / determinant)

    def shortened(self, elements: list, _function, _k: int) -> list:
        """Expressions have all their derivatives."""
        return elements

    def number(self, fraction: Fraction) -> sp.Rational:
        return sp.Rational(fraction.numerator, fraction.denominator)
