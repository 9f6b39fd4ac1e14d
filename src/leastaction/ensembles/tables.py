"""Tables 1–3 of Tripura et al., printed and corrected, beside what we identify.

Each of them is long: per system one row as printed, one of the truth derived from the
system, and one per estimator: medians over the replicates with the most frequent terms
± the median standard error of one replicate. Errors are medians over all replicates.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import sympy as sp
import xarray as xr

from leastaction.core.euler_lagrange import rayleigh_force, symbols
from leastaction.core.expressions import parse
from leastaction.core.families import is_field, system_from_config
from leastaction.core.library import Library
from leastaction.report import readable, scores
from leastaction.report.scores import truth_of, volatility_law
from leastaction.report.tables import Table

FIRST = ("recommended", "published")
PRINTED, CORRECTED = "printed", "corrected"
COEFFICIENT_ERROR = "coefficient error (%)"
VOLATILITY_ERROR = "volatility error (%)"
PARAMETER_ERROR = "error of Table 2, sigma in the norm (%)"
TERMS = "replicates with these terms"
EXACT = "exact supports"
FINDING = "these terms are"


class Sheet:
    """One example, ready to be written down."""

    def __init__(self, panel):
        self.panel = panel
        system = panel.config["system"]
        self.truth = truth_of(panel.config)
        self.system = system_from_config(system)
        self.coordinates = self.system.coordinates
        self.library = self.system.library(panel.config["library"])
        self.names = readable.names_on_paper(system)
        # Kinetic energy first, as in every textbook.
        given = self.library.given != 0
        self.order = [*np.flatnonzero(given), *np.flatnonzero(~given)]

    @property
    def publish(self) -> Mapping:
        """Section `publish`; an example may have none."""
        return self.panel.config.get("publish") or {}

    @property
    def estimators(self) -> list[str]:
        """Names of the estimators, the usual ones first."""
        given = self.panel.models
        first = [name for name in FIRST if name in given]
        return [*first, *sorted(set(given) - set(first))]

    def printed(self, key: str) -> str:
        """Text that the paper prints."""
        return (self.publish.get("texts") or {}).get(key, "")

    def printed_error(self) -> float:
        """Error that the paper prints in Table 2."""
        rows = self.publish.get("rows") or []
        found = [r["printed"] for r in rows if r["ours"].get("parameter_error") is True]
        return float(found[0]) if found else np.nan

    def linear(self, operator: Callable, coefficients, errors) -> str:
        """Text of Σ c_i operator(D_i), kinetic energy first."""
        return readable.linear_text(
            operator,
            [self.library.terms[i] for i in self.order],
            [coefficients[i] for i in self.order],
            [errors[i] for i in self.order],
            self.names,
            whole=True,
        )

    def potential(self, volatility, errors, constant: bool) -> str:
        """Wiener potential σ q."""
        if not constant:
            return "none: sigma depends on the state"
        shown = [self.names[q] for q in symbols(self.coordinates)]
        return readable.sum_text(zip(volatility, errors, shown, strict=True))

    def motion(self, c, c_std, sigma, sigma_std, d, d_std, laws) -> str:
        """Equations of motion, separated by semicolons; of a field solved for u_tt."""
        forces = [self.library.equations_of(self.library.terms[i]) for i in self.order]
        forces += [
            rayleigh_force(r, self.coordinates) for r in self.library.dissipation
        ]
        values = [np.append(x[self.order], y) for x, y in ((c, d), (c_std, d_std))]
        kept = np.append(self.library.given[self.order] != 0, np.zeros(len(d), bool))
        of_field = is_field(self.panel.config["system"])
        lines = []
        for a in range(len(self.coordinates)):
            number = "" if len(self.coordinates) == 1 else str(a + 1)
            noise = self.noise(sigma, sigma_std, a, number, laws)
            of_a = [force[a] for force in forces]
            if of_field:
                moved = [np.where(kept, 0.0, -x) for x in values]
                right = self.collected(of_a, moved[0], np.abs(moved[1]))
                noise = noise if right == "0" else f"{right} + {noise}"
                values = [np.where(kept, x, 0.0) for x in values]
            lines.append(f"{self.collected(of_a, *values)} = {noise}")
        return "; ".join(lines)

    def collected(self, functions, values, errors) -> str:
        """Sum of functions, equal ones together."""
        return readable.linear_text(
            sp.sympify, list(functions), values, errors, self.names
        )

    def noise(self, volatility, errors, a: int, number: str, laws) -> str:
        """Random force of one equation of motion."""
        if np.isnan(volatility[a]):
            return f"{laws[a]} W{number}'"
        return readable.sum_text([(volatility[a], errors[a], f"W{number}'")])

    def laws_true(self, varying) -> list[str]:
        """Volatility of each equation that is not constant."""
        scale = self.truth.scale
        return [
            true_volatility(self.panel.config, a, scale, self.state) if vary else ""
            for a, vary in enumerate(varying)
        ]

    def laws_found(self, model: xr.Dataset, varying) -> list[str]:
        """As :meth:`laws_true`, of what was identified."""
        return [
            found_volatility(model, a, self.state) if vary else ""
            for a, vary in enumerate(varying)
        ]

    @property
    def state(self) -> dict[sp.Symbol, str]:
        """How coordinates and velocities are written."""
        return {s: self.names.get(s, s.name) for s in self.system.state}

    def hamiltonian(self, term: sp.Expr) -> sp.Expr:
        """Legendre transform q̇ ∂D/∂q̇ − D, linear in D."""
        return self.library.legendre(term)


def true_volatility(config: Mapping, dof: int, scale: float, names: Mapping) -> str:
    """Text of the true S of one degree of freedom, or of √S² if only that is known.

    Parameters
    ----------
    config
        An example with the sections `system` and `library`.
    dof, scale
        As for :func:`~leastaction.report.scores.volatility_law`.
    names
        How the state is written.
    """
    law = volatility_law(config, dof, scale)
    if law is None:
        return "sigma(q, q')"
    terms, none = law.terms, np.full(len(law.terms), np.nan)
    if law.root is not None:
        return f"({_sum(terms, law.root, none, names)})"
    return f"sqrt({_sum(terms, law.square, none, names)})"


def found_volatility(model: xr.Dataset, dof: int, names: Mapping) -> str:
    """Text of the identified S, medians over the replicates of `model`."""
    state = [symbol.name for symbol in names]
    terms = [parse(str(term), state) for term in model["volatility_term"].values]

    def median(name: str) -> np.ndarray:
        return np.median(model[name].isel(dof=dof).values, axis=0)

    root = median("volatility_root_estimate")
    if np.isfinite(root).all():
        return f"({_sum(terms, root, median('volatility_root_std'), names)})"
    square = median("volatility_coefficient_estimate")
    return f"sqrt({_sum(terms, square, median('volatility_coefficient_std'), names)})"


def _sum(terms: list[sp.Expr], values, errors, names: Mapping) -> str:
    return readable.linear_text(
        lambda term: term, terms, values, errors, names, whole=True
    )


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
        error = scores.coefficients(model, sheet.truth).error
        result[COEFFICIENT_ERROR] = 100 * float(np.median(error))
    if key != "hamiltonian":
        worst = scores.volatilities(model, sheet.truth).errors.max(axis=1)
        result[VOLATILITY_ERROR] = 100 * float(np.median(worst))
    if key == "equation_of_motion":
        error = scores.parameter_error(model, sheet.truth)
        result[PARAMETER_ERROR] = float(np.median(error))
    return result


def _table(panels: Sequence, key: str, columns: Sequence[str], write) -> Table:
    rows = [row for panel in panels for row in _rows(panel, key, write)]
    return Table(pd.DataFrame(rows, columns=["system", "source", *columns]))


def lagrangian(panels: Sequence) -> Table:
    """Table 1: Lagrangian density and Wiener potential of each system.

    The Wiener potential σ q is the integral over q of the constant volatility σ; the
    constant is what is identified, and the potential is written for comparison.

    Parameters
    ----------
    panels
        Objects with the attributes `example`, `config`, `models` and `rollouts`.

    Returns
    -------
    Table
        Rows `printed`, `corrected` and one per estimator for each system. Errors are
        medians over the replicates; several degrees of freedom give the largest error
        of their volatilities.
    """
    of_l, potential = "Lagrangian density", "Wiener potential (integral of sigma)"

    def write(sheet: Sheet, found) -> dict:
        if found is None:
            return {
                of_l: sheet.printed("lagrangian"),
                potential: sheet.printed("wiener_potential"),
            }
        c, c_std, sigma, sigma_std, *_ = found
        constant = not np.isnan(sigma).any()
        return {
            of_l: "L = " + sheet.linear(lambda term: term, c, c_std),
            potential: sheet.potential(sigma, sigma_std, constant),
        }

    columns = [
        of_l,
        potential,
        TERMS,
        FINDING,
        EXACT,
        COEFFICIENT_ERROR,
        VOLATILITY_ERROR,
    ]
    return _table(panels, "lagrangian", columns, write)


def equation_of_motion(panels: Sequence) -> Table:
    """Table 2: equations of motion with errors of coefficients and volatility apart.

    Paper: its error is 100 ‖θ − θ*‖/‖θ‖ over all parameters, sigma among them, in
    which a stiffness of 1000 hides any error of the volatility. It is the last column.

    Parameters and result as :func:`lagrangian`.
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
    return _table(panels, "equation_of_motion", [motion, *errors], write)


def hamiltonian(panels: Sequence) -> Table:
    """Table 3: Hamiltonian H = q̇ ∂L/∂q̇ − L in (q, q̇), of the Lagrangian found.

    Parameters and result as :func:`lagrangian`.
    """
    energy = "Hamiltonian"

    def write(sheet: Sheet, found) -> dict:
        if found is None:
            return {energy: sheet.printed("hamiltonian")}
        return {energy: "H = " + sheet.linear(sheet.hamiltonian, *found[:2])}

    return _table(
        panels, "hamiltonian", [energy, TERMS, FINDING, EXACT, COEFFICIENT_ERROR], write
    )
