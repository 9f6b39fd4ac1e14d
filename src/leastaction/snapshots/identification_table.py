"""How well Lagrangians that are learned from snapshots are identified.

Every ν of section 3.1 of Ober-Blöbaum and Offen, beside what the paper or its notebook
prints.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from leastaction.report.panel import Panel
from leastaction.report.readable import number_text
from leastaction.snapshots.shadow_panel import Learned, learned

DIGITS = 4
TRUE = "true Lagrangian, integrated"
NOTE = (
    "nu: mean sine of the angle between the gradients of H^[[k]] and of the true H "
    "over a box of states, zero if their level sets are the same. Order 0 is the "
    "Hamiltonian of the learned Lagrangian itself, orders 2 and 4 that of the motion "
    "which its variational integrator makes. Of a shadow Lagrangian the latter is the "
    "identified system; of LGP and LGPExact it is order 0. Scale: factor of the true "
    "gradient that is closest. Printed: in brackets with more digits, from the "
    "notebook. Medians over replicates, lowest noise."
)


def identification(panels: Sequence[Panel]) -> pd.DataFrame:
    """Misalignment ν by estimator and order, with rank and residual.

    Parameters
    ----------
    panels
        With models and rollouts; printed values are those of ``publish.rows`` that name
        an estimator.

    Returns
    -------
    DataFrame
        A row per estimator of every system, and one for its true Lagrangian where it
        is integrated as well; printed values stand in columns of their own.
    """
    found = [learned(panel) for panel in panels]
    orders = sorted({k for each in found for one in each.values() for k in one.orders})
    rows = []
    for panel, each in zip(panels, found, strict=True):
        rows += [_row(panel, one, orders) for one in each.values() if one.has_energy]
        rows += _integrated(panel, each.values(), orders)
    columns = ["system", "estimator", "functions"]
    for name in ("rank", "residual squared", *map(_nu, orders)):
        columns += [name, f"{name}, printed"]
    frame = pd.DataFrame(rows, columns=[*columns, "scale"]).fillna("")
    empty = [name for name in frame if not frame[name].astype(bool).any()]
    frame = frame.drop(columns=empty)
    frame.attrs["note"] = NOTE
    return frame


def _nu(order: int) -> str:
    return f"nu of H^[[{order}]]"


def _row(panel: Panel, one: Learned, orders: Sequence[int]) -> dict:
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
        "scale": _text(one.rollout["scale"].sel(order=one.main).values),
    }
    for order in one.orders:
        row[_nu(order)] = _text(one.rollout["misalignment"].sel(order=order).values)
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
                    _nu(k): _text(values.sel(order=k).values) if k else "0"
                    for k in one.orders
                    if k in orders
                }
            ]
    return []


def _diagnostic(one: Learned, name: str) -> str:
    return _text(one.model[name].values) if name in one.model else ""


def _printed(panel: Panel, estimator: str, **ours) -> str:
    """Printed number of `ours`, with the digits of the notebook if it has more."""
    for entry in (panel.config.get("publish") or {}).get("rows") or []:
        wanted = {**ours, "estimator": estimator}
        if {k: v for k, v in entry["ours"].items() if k != "factor"} != wanted:
            continue
        more = entry.get("corrected", entry["printed"])
        text = number_text(entry["printed"])
        return text if more == entry["printed"] else f"{text} ({number_text(more)})"
    return ""


def _text(values) -> str:
    return number_text(float(np.median(values)), DIGITS)
