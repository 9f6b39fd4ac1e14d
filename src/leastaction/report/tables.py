"""The tables that the publish stage can make, by name.

Tables 1–3 of Tripura et al. stand here, printed and corrected, beside what we identify.
Each of them is long: per system one row as printed, one of the truth derived from the
system, and one per estimator: medians over the replicates with the most frequent terms
± the median standard error of one replicate. Errors are medians over all replicates.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from leastaction.core.library import Library
from leastaction.densities.stationary_table import stationary_errors
from leastaction.ensembles.sheet import Sheet
from leastaction.ports.effort_table import effort_table
from leastaction.report import readable, scores
from leastaction.report.render import render as render
from leastaction.snapshots.formula_table import modified_lagrangians
from leastaction.snapshots.identification_table import identification
from leastaction.trajectories.noise_table import (
    lagrangian_by_every_noise,
    lagrangian_by_noise,
)

PRINTED, CORRECTED = "printed", "corrected"
COEFFICIENT_ERROR = "coefficient error (%)"
VOLATILITY_ERROR = "volatility error (%)"
PARAMETER_ERROR = "error of Table 2, sigma in the norm (%)"
TERMS = "replicates with these terms"
EXACT = "exact supports"
FINDING = "these terms are"


def _typical(model: xr.Dataset, library: Library) -> tuple[np.ndarray, int]:
    """Replicates with the most frequent support (the first of equals), and all.

    Medians over different supports would be a formula that no replicate has.
    """
    damping = scores.damping_of(model, library, "support")
    support = np.hstack([model["support"].values, damping]).astype(bool)
    kinds, first, inverse, count = np.unique(
        support, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    best = max(range(len(kinds)), key=lambda k: (count[k], -first[k]))
    return inverse.reshape(-1) == best, len(support)


def _rows(panel, key: str, write: Callable) -> list[dict]:
    """Rows of one example, with `write(sheet, found)`.

    `found` is (c, c_std, sigma, sigma_std, d, d_std, laws), or None as printed.
    """
    sheet = Sheet(panel)
    system = panel.config.get("title", panel.example)
    rows = [{"system": system, "source": PRINTED, **write(sheet, None)}]
    if sheet.truth is not None:
        none = np.full(len(sheet.library.terms), np.nan)
        sigma = sheet.truth.volatility
        d = sheet.truth.dissipation
        exact = (sheet.truth.coefficients, none, sigma, np.full(len(sigma), np.nan))
        laws = sheet.laws_true(np.isnan(sigma))
        exact += (d, np.full(len(d), np.nan), laws)
        rows.append({"system": system, "source": CORRECTED, **write(sheet, exact)})
    for estimator in sheet.estimators:
        model = panel.models[estimator]
        chosen, count = _typical(model, sheet.library)
        found = [
            np.median(model[name].values[chosen], axis=0)
            for name in (
                "coefficient_estimate",
                "coefficient_std",
                "volatility_estimate",
                "volatility_std",
            )
        ]
        found += [
            np.median(scores.damping_of(model, sheet.library, kind)[chosen], axis=0)
            for kind in ("coefficient_estimate", "coefficient_std")
        ]
        if not scores.reads_as_constant(model)[chosen].any():
            found[2] = np.full_like(found[2], np.nan)
        these = model.isel(replicate=np.flatnonzero(chosen))
        found.append(sheet.laws_found(these, np.isnan(found[2])))
        rows.append(
            {
                "system": system,
                "source": estimator,
                **write(sheet, found),
                TERMS: f"{int(chosen.sum())} of {count}",
                FINDING: _finding(sheet, these),
                **_errors(sheet, model, key),
            }
        )
    if key == "equation_of_motion":
        rows[0][PARAMETER_ERROR] = sheet.printed_error()
    return rows


def _finding(sheet: Sheet, model: xr.Dataset) -> str:
    """Whether the terms of the first replicate are the true ones, and what is wrong."""
    if sheet.truth is None:
        return ""
    library = sheet.library
    selected = np.append(
        model["support"].values[0], scores.damping_of(model, library, "support")[0]
    ).astype(bool)
    true = np.append(sheet.truth.support, sheet.truth.dissipation != 0)
    terms = [*library.terms, *library.dissipation]

    def listed(chosen) -> str:
        names = [readable.function_text(terms[i], sheet.names) for i in chosen]
        return ", ".join(name or "1" for name in names)

    missing, extra = (np.flatnonzero(x) for x in (true & ~selected, selected & ~true))
    parts = []
    if missing.size:
        parts.append(f"lacks {listed(missing)}")
    if extra.size:
        parts.append(f"adds {listed(extra)}")
    return f"wrong: {'; '.join(parts)}" if parts else "right"


def _errors(sheet: Sheet, model: xr.Dataset, key: str) -> dict:
    """Medians of the relative errors over the replicates, in per cent."""
    if sheet.truth is None:
        return {}
    exact = scores.exact_support(model, sheet.truth)
    result = {EXACT: f"{int(exact.sum())} of {len(exact)}"}
    if sheet.truth.terms:
        error = scores.coefficient_error(model, sheet.truth)
        result[COEFFICIENT_ERROR] = 100 * float(np.median(error))
    if key != "hamiltonian":
        worst = scores.volatility_error(model, sheet.truth).max(axis=1)
        result[VOLATILITY_ERROR] = 100 * float(np.median(worst))
    if key == "equation_of_motion":
        error = scores.parameter_error(model, sheet.truth)
        result[PARAMETER_ERROR] = float(np.median(error))
    return result


def _frame(panels: Sequence, key: str, columns: Sequence[str], write) -> pd.DataFrame:
    rows = [row for panel in panels for row in _rows(panel, key, write)]
    return pd.DataFrame(rows, columns=["system", "source", *columns])


def table_1(panels: Sequence) -> pd.DataFrame:
    """Table 1: Lagrangian density and Wiener potential of each system.

    The Wiener potential σ q is the integral over q of the constant volatility σ; the
    constant is what is identified, and the potential is written for comparison.

    Parameters
    ----------
    panels
        Objects with the attributes `example`, `config`, `models` and `rollouts`.

    Returns
    -------
    DataFrame
        Rows `printed`, `corrected` and one per estimator for each system. Errors are
        medians over the replicates; several degrees of freedom give the largest error
        of their volatilities.
    """
    lagrangian, potential = "Lagrangian density", "Wiener potential (integral of sigma)"

    def write(sheet: Sheet, found) -> dict:
        if found is None:
            return {
                lagrangian: sheet.printed("lagrangian"),
                potential: sheet.printed("wiener_potential"),
            }
        c, c_std, sigma, sigma_std, *_ = found
        constant = not np.isnan(sigma).any()
        return {
            lagrangian: "L = " + sheet.linear(lambda term: term, c, c_std),
            potential: sheet.potential(sigma, sigma_std, constant),
        }

    columns = [
        lagrangian,
        potential,
        TERMS,
        FINDING,
        EXACT,
        COEFFICIENT_ERROR,
        VOLATILITY_ERROR,
    ]
    return _frame(panels, "lagrangian", columns, write)


def table_2(panels: Sequence) -> pd.DataFrame:
    """Table 2: equations of motion with errors of coefficients and volatility apart.

    Paper: its error is 100 ‖θ − θ*‖/‖θ‖ over all parameters, sigma among them, in
    which a stiffness of 1000 hides any error of the volatility. It is the last column.

    Parameters and result as :func:`table_1`.
    """
    motion = "equation of motion"

    def write(sheet: Sheet, found) -> dict:
        if found is None:
            return {motion: sheet.printed("equation_of_motion")}
        return {motion: sheet.motion(*found)}

    errors = [
        TERMS,
        FINDING,
        EXACT,
        COEFFICIENT_ERROR,
        VOLATILITY_ERROR,
        PARAMETER_ERROR,
    ]
    return _frame(panels, "equation_of_motion", [motion, *errors], write)


def table_3(panels: Sequence) -> pd.DataFrame:
    """Table 3: Hamiltonian H = q̇ ∂L/∂q̇ − L in (q, q̇), of the Lagrangian found.

    Parameters and result as :func:`table_1`.
    """
    energy = "Hamiltonian"

    def write(sheet: Sheet, found) -> dict:
        if found is None:
            return {energy: sheet.printed("hamiltonian")}
        return {energy: "H = " + sheet.linear(sheet.hamiltonian, *found[:2])}

    return _frame(
        panels, "hamiltonian", [energy, TERMS, FINDING, EXACT, COEFFICIENT_ERROR], write
    )


TABLES = {
    "lagrangian": table_1,
    "equation_of_motion": table_2,
    "hamiltonian": table_3,
    "lagrangian_by_noise": lagrangian_by_noise,
    "lagrangian_by_every_noise": lagrangian_by_every_noise,
    "identification": identification,
    "modified_lagrangians": modified_lagrangians,
    "stationary_errors": stationary_errors,
    "effort_errors": effort_table,
}
