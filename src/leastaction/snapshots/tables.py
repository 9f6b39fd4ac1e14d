"""Tables of Ober-Blöbaum and Offen: misalignments, and modified Lagrangians.

`identification` has every ν of their section 3.1, beside what the paper or its notebook
prints. `modified_lagrangians` are examples 4.1 and 4.2 as formulas: they are made from
the quadrature rule (:mod:`backward_error`), and the printed ones, read as expressions,
are subtracted from them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd
import sympy as sp

from leastaction.core.expressions import symbol
from leastaction.report import readable
from leastaction.report.panel import Panel
from leastaction.report.readable import number_text
from leastaction.report.tables import Table
from leastaction.snapshots.backward_error import general_coefficient
from leastaction.snapshots.discrete_lagrangian import RULES
from leastaction.snapshots.examples import GENERAL, printed_formulas
from leastaction.snapshots.shadow_panel import Learned, learned

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

    Parameters
    ----------
    panels
        With models and rollouts; printed values are those of ``publish.rows`` that name
        an estimator.

    Returns
    -------
    Table
        A row per estimator of every system, and one for its true Lagrangian where it
        is integrated as well; printed values stand in columns of their own.
    """
    found = [learned(panel) for panel in panels]
    orders = sorted({k for each in found for one in each.values() for k in one.orders})
    rows = []
    for panel, each in zip(panels, found, strict=True):
        rows += [
            _identified(panel, one, orders) for one in each.values() if one.has_energy
        ]
        rows += _integrated(panel, each.values(), orders)
    columns = ["system", "estimator", "functions"]
    for name in ("rank", "residual squared", *map(_nu, orders)):
        columns += [name, f"{name}, printed"]
    frame = pd.DataFrame(rows, columns=[*columns, "scale"]).fillna("")
    empty = [name for name in frame if not frame[name].astype(bool).any()]
    frame = frame.drop(columns=empty)
    return Table(frame, IDENTIFICATION_NOTE)


def _nu(order: int) -> str:
    return f"nu of H^[[{order}]]"


def _identified(panel: Panel, one: Learned, orders: Sequence[int]) -> dict:
    row = {
        "system": panel.title,
        "estimator": one.estimator,
        "functions": str(one.model.sizes["function"]),
        "rank": _diagnostic(one, "rank"),
        "rank, printed": _printed(panel, one.estimator, model="rank"),
        "residual squared": _diagnostic(one, "residual_square"),
        "residual squared, printed": _printed(
            panel, one.estimator, model="residual_square"
        ),
        "scale": _median(one.rollout["scale"].sel(order=one.main).values),
    }
    for order in one.orders:
        row[_nu(order)] = _median(one.rollout["misalignment"].sel(order=order).values)
    for order in orders:
        row[f"{_nu(order)}, printed"] = _printed(
            panel, one.estimator, rollout="misalignment", order=order
        )
    return row


def _integrated(panel: Panel, found, orders: Sequence[int]) -> list[dict]:
    """Row of the true Lagrangian, if the rollouts have integrated it."""
    for one in found:
        if "misalignment_integrated" in one.rollout:
            values = one.first["misalignment_integrated"]
            return [
                {"system": panel.title, "estimator": TRUE}
                | {
                    # Of order 0 it is round-off.
                    _nu(k): _median(values.sel(order=k).values) if k else "0"
                    for k in one.orders
                    if k in orders
                }
            ]
    return []


def _diagnostic(one: Learned, name: str) -> str:
    return _median(one.model[name].values) if name in one.model else ""


def _printed(panel: Panel, estimator: str, **ours) -> str:
    """Printed number of `ours`, with the digits of the notebook if it has more."""
    for entry in panel.printed:
        wanted = {**ours, "estimator": estimator}
        if {k: v for k, v in entry["ours"].items() if k != "factor"} != wanted:
            continue
        more = entry.get("corrected", entry["printed"])
        text = number_text(entry["printed"])
        return text if more == entry["printed"] else f"{text} ({number_text(more)})"
    return ""


def _median(values) -> str:
    return number_text(float(np.median(values)), DIGITS)


ORDERS = (2, 4)
KINDS = {"modified": False, "inverse": True}
ABSENT = "not printed"
FORMULAS_NOTE = (
    "Coefficients of h^2 and h^4 in the modified Lagrangian, of which the numerical "
    "solution is a motion, and in the inverse modified one, whose numerical solution "
    "is a motion of L. In one dimension, with v = dq/dt, L_ij the i-th derivative by q "
    "and j-th by v of L, and w = L_10 - L_11 v. Generated from the rule; what is "
    "printed is compared by symbolic subtraction."
)


def modified_lagrangians(panels: Sequence[Panel]) -> Table:
    """Modified and inverse modified Lagrangians: of a general L, and of each system.

    Parameters
    ----------
    panels
        One per system with one coordinate; the first with ``publish.formulas`` tells
        what is printed.

    Returns
    -------
    Table
        A row per rule, kind and order. For the systems the printed formula is evaluated
        on their Lagrangian.

    Raises
    ------
    ValueError
        If a system has several coordinates.
    """
    printed = next((found for p in panels if (found := printed_formulas(p.config))), {})
    rows = list(_general_rows(printed))
    for panel in panels:
        rows += _system_rows(panel, printed)
    return Table(pd.DataFrame(rows), FORMULAS_NOTE)


def _cases() -> Iterator[tuple[str, str, int]]:
    for rule in RULES:
        for kind in KINDS:
            for order in ORDERS:
                yield rule, kind, order


def _general_rows(printed: Mapping) -> Iterator[dict]:
    short = {symbol("L_10"): symbol("w") + symbol("L_11") * symbol("v")}
    for case in _cases():
        item, expression = printed.get(case, ("", None))
        found = _generated(*case)
        yield {
            "Lagrangian": "any L(q, v)",
            **_described(case),
            "generated": _formula(sp.expand(found.subs(short)), {}),
            "printed": "" if expression is None else _formula(expression, {}),
            "where": item,
            "verdict": _comparison(found, expression),
        }


def _system_rows(panel: Panel, printed: Mapping) -> Iterator[dict]:
    system = panel.truth
    if panel.is_field or system.dof != 1:
        raise ValueError(
            f"example {panel.example!r}: modified Lagrangians are shown of systems "
            "with one coordinate; take it out of the table's examples"
        )
    names = readable.names_on_paper(panel.config["system"])
    given = system.lagrangian, *system.state
    for case in _cases():
        item, expression = printed.get(case, ("", None))
        found = sp.expand(_evaluated(_generated(*case), *given))
        if expression is not None:
            expression = sp.expand(_evaluated(expression, *given))
        yield {
            "Lagrangian": panel.title,
            **_described(case),
            "generated": _formula(found, names),
            "printed": "" if expression is None else _formula(expression, names),
            "where": item,
            "verdict": _comparison(found, expression),
        }


@lru_cache
def _generated(rule: str, kind: str, order: int) -> sp.Expr:
    return general_coefficient(order, rule, KINDS[kind])


def _described(case: tuple[str, str, int]) -> dict:
    rule, kind, order = case
    name = "L_mod" if kind == "modified" else "L_invmod"
    return {"rule": rule, "of": name, "term": f"h^{order}"}


def _evaluated(
    formula: sp.Expr, lagrangian: sp.Expr, q: sp.Symbol, v: sp.Symbol
) -> sp.Expr:
    """Formula in v and L_ij for a given L(q, v) of one coordinate."""
    values = {symbol("v"): v}
    for name in GENERAL[1:]:
        values[symbol(name)] = sp.diff(lagrangian, q, int(name[2]), v, int(name[3]))
    return formula.subs(values, simultaneous=True)


def _comparison(found: sp.Expr, printed: sp.Expr | None) -> str:
    if printed is None:
        return ABSENT
    difference = sp.simplify(found - printed)
    return "equal" if difference == 0 else f"differs by {_formula(difference, {})}"


def _formula(expression: sp.Expr, names: Mapping) -> str:
    return readable.function_text(sp.factor_terms(expression), names) or "1"
