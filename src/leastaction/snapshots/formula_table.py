"""Examples 4.1 and 4.2 of Ober-Blöbaum and Offen: modified Lagrangians as formulas.

The formulas are made from the quadrature rule (:mod:`backward_error`), and the printed
ones, read as expressions, are subtracted from them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import pandas as pd
import sympy as sp

from leastaction.core.expressions import symbol
from leastaction.report import readable
from leastaction.report.panel import Panel
from leastaction.snapshots.backward_error import general_coefficient
from leastaction.snapshots.discrete_lagrangian import RULES
from leastaction.snapshots.printed_formulas import GENERAL, printed_formulas

ORDERS = (2, 4)
KINDS = {"modified": False, "inverse": True}
ABSENT = "not printed"
NOTE = (
    "Coefficients of h^2 and h^4 in the modified Lagrangian, of which the numerical "
    "solution is a motion, and in the inverse modified one, whose numerical solution "
    "is a motion of L. In one dimension, with v = dq/dt, L_ij the i-th derivative by q "
    "and j-th by v of L, and w = L_10 - L_11 v. Generated from the rule; what is "
    "printed is compared by symbolic subtraction."
)


def modified_lagrangians(panels: Sequence[Panel]) -> pd.DataFrame:
    """Modified and inverse modified Lagrangians: of a general L, and of each system.

    Parameters
    ----------
    panels
        One per system with one coordinate; the first with ``publish.formulas`` tells
        what is printed.

    Returns
    -------
    DataFrame
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
    frame = pd.DataFrame(rows)
    frame.attrs["note"] = NOTE
    return frame


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
            "generated": _text(sp.expand(found.subs(short)), {}),
            "printed": "" if expression is None else _text(expression, {}),
            "where": item,
            "verdict": _verdict(found, expression),
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
            "generated": _text(found, names),
            "printed": "" if expression is None else _text(expression, names),
            "where": item,
            "verdict": _verdict(found, expression),
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


def _verdict(found: sp.Expr, printed: sp.Expr | None) -> str:
    if printed is None:
        return ABSENT
    difference = sp.simplify(found - printed)
    return "equal" if difference == 0 else f"differs by {_text(difference, {})}"


def _text(expression: sp.Expr, names: Mapping) -> str:
    return readable.function_text(sp.factor_terms(expression), names) or "1"
