"""Tables 1–3 of Tripura et al., printed and corrected, beside what we identify.

Each of them is long: per system one row as printed, one of the truth derived from the
system, and one per estimator: medians over the replicates with the most frequent terms
± the median standard error of one replicate. Errors are medians over all replicates;
several degrees of freedom give the largest error of their volatilities.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import sympy as sp
import xarray as xr

from leastaction.core.euler_lagrange import rayleigh_force, symbols
from leastaction.core.expressions import parse
from leastaction.core.families import is_field, system_from_config
from leastaction.core.library import Library
from leastaction_papers.scorecard import readable, scores
from leastaction_papers.scorecard.scores import truth_of, volatility_law
from leastaction_papers.scorecard.tables import Table

FIRST = ("recommended", "published")
COEFFICIENT_ERROR = "coefficient error (%)"
VOLATILITY_ERROR = "volatility error (%)"
PARAMETER_ERROR = "error of Table 2, sigma in the norm (%)"
TERMS = "replicates with these terms"
EXACT = "exact supports"
FINDING = "these terms are"


class Law(NamedTuple):
    """Coefficients of L, σ and coefficients of D, each with its standard error.

    σ is NaN where it depends on the state; `laws` then holds its text, by equation.
    """

    c: np.ndarray
    c_std: np.ndarray
    sigma: np.ndarray
    sigma_std: np.ndarray
    d: np.ndarray
    d_std: np.ndarray
    laws: Sequence[str]


class Sheet:
    """One example, ready to be written down."""

    def __init__(self, panel):
        self.panel = panel
        system = panel.config["system"]
        self.title = panel.config.get("title", panel.example)
        # An example may have no section `publish`.
        self.publish = panel.config.get("publish") or {}
        self.truth = truth_of(panel.config)
        self.system = system_from_config(system)
        self.coordinates = self.system.coordinates
        self.library = self.system.library(panel.config["library"])
        self.names = readable.names_on_paper(system)
        # How coordinates and velocities are written.
        self.state = {s: self.names.get(s, s.name) for s in self.system.state}
        # Kinetic energy first, as in every textbook.
        fixed = self.library.fixed != 0
        self.order = [*np.flatnonzero(fixed), *np.flatnonzero(~fixed)]

    def printed(self, texts: Mapping[str, str]) -> dict:
        """Row of what the paper prints; `texts` are keys of its texts, by column."""
        values = self.publish.get("texts") or {}
        rows = self.publish.get("rows") or []
        error = [r["printed"] for r in rows if r["ours"].get("parameter_error") is True]
        return {
            **{column: values.get(key, "") for column, key in texts.items()},
            PARAMETER_ERROR: float(error[0]) if error else np.nan,
        }

    def exact(self) -> Law:
        """The truth, without errors."""
        truth = self.truth
        c, sigma, d = truth.coefficients, truth.volatility, truth.dissipation
        laws = [self.true_law(a) if np.isnan(s) else "" for a, s in enumerate(sigma)]
        none = [np.full(len(x), np.nan) for x in (c, sigma, d)]
        return Law(c, none[0], sigma, none[1], d, none[2], laws)

    def medians(self, model: xr.Dataset) -> Law:
        """Medians over the replicates of `model`."""
        c, c_std, sigma, sigma_std = (
            np.median(model[f"{name}_{kind}"].values, axis=0)
            for name in ("coefficient", "volatility")
            for kind in ("estimate", "std")
        )
        d, d_std = (
            np.median(scores.damping_of(model, self.library, kind), axis=0)
            for kind in ("coefficient_estimate", "coefficient_std")
        )
        if not scores.reads_as_constant(model).any():
            sigma = np.full_like(sigma, np.nan)
        laws = [
            self.noise_law(model, a) if np.isnan(s) else "" for a, s in enumerate(sigma)
        ]
        return Law(c, c_std, sigma, sigma_std, d, d_std, laws)

    def true_law(self, dof: int) -> str:
        """True S of one equation, √S² if only that is known."""
        law = volatility_law(self.panel.config, dof, self.truth.scale)
        if law is None:
            return "sigma(q, q')"
        none = np.full(len(law.terms), np.nan)
        if law.root is not None:
            return f"({self.sum(law.terms, law.root, none)})"
        return f"sqrt({self.sum(law.terms, law.square, none)})"

    def noise_law(self, model: xr.Dataset, dof: int) -> str:
        """As :meth:`true_law`, of what was identified: medians over the replicates."""
        state = [symbol.name for symbol in self.state]
        terms = [parse(str(term), state) for term in model["volatility_term"].values]

        def written(name: str) -> str:
            values, errors = (
                np.median(model[f"volatility_{name}_{kind}"][:, dof].values, axis=0)
                for kind in ("estimate", "std")
            )
            return self.sum(terms, values, errors) if np.isfinite(values).all() else ""

        root = written("root")
        return f"({root})" if root else f"sqrt({written('coefficient')})"

    def sum(self, terms, values, errors, operator: Callable = sp.sympify) -> str:
        """Text of Σ c_i operator(D_i), multiples of a term written like that term."""
        return readable.linear_text(
            operator, terms, values, errors, self.state | self.names, factored=True
        )

    def linear(self, operator: Callable, law: Law) -> str:
        """Text of Σ c_i operator(D_i) of the Lagrangian, kinetic energy first."""
        terms = [self.library.terms[i] for i in self.order]
        return self.sum(terms, law.c[self.order], law.c_std[self.order], operator)

    def symbolic(self) -> str:
        """L and Wiener potential with parameters by name, over the mass."""
        system = self.system
        mass = system.lagrangian.diff(system.state[len(self.coordinates)], 2)
        noise = system.noise_matrix * sp.ones(system.noise_matrix.cols, 1) / mass
        potential = noise.dot(sp.Matrix(symbols(self.coordinates)))
        return f"L = {self.by_name(system.lagrangian / mass)}; potential " + (
            self.by_name(potential) or "0"
        )

    def by_name(self, expression: sp.Expr) -> str:
        """Text of a sum, the parameters in front and terms of the rates first."""
        rates = self.system.state[len(self.coordinates) :]
        names = self.state | self.names
        summands = sp.Add.make_args(
            sp.expand(expression, multinomial=False, power_base=False)
        )
        parts = [term.as_independent(*self.state, as_Add=False) for term in summands]
        parts.sort(key=lambda part: (not part[1].has(*rates), str(part[1])))
        text = ""
        for factor, function in parts:
            minus = factor.could_extract_minus_sign()
            sign = (" - " if minus else " + ") if text else ("-" if minus else "")
            factor = -factor if minus else factor
            shown = "" if factor == 1 else readable.function_text(factor, names)
            text += f"{sign}{shown} {readable.function_text(function, names)}".rstrip()
        return text.replace("  ", " ").strip()

    def potential(self, law: Law) -> str:
        """Wiener potential σ q."""
        if np.isnan(law.sigma).any():
            return "none: sigma depends on the state"
        shown = [self.names[q] for q in symbols(self.coordinates)]
        return readable.sum_text(zip(law.sigma, law.sigma_std, shown, strict=True))

    def motion(self, law: Law) -> str:
        """Equations of motion, separated by semicolons; of a field solved for u_tt."""
        terms = [self.library.terms[i] for i in self.order]
        forces = [self.library.equations_of(term) for term in terms]
        terms += self.library.dissipation
        forces += [
            rayleigh_force(r, self.coordinates) for r in self.library.dissipation
        ]
        values = np.append(law.c[self.order], law.d)
        errors = np.append(law.c_std[self.order], law.d_std)
        fixed = np.append(
            self.library.fixed[self.order] != 0, np.zeros(len(law.d), bool)
        )
        of_field = is_field(self.panel.config["system"])

        def total(functions, values, errors) -> str:
            return readable.linear_text(
                sp.sympify, functions, values, errors, self.names
            )

        lines = []
        for a in range(len(self.coordinates)):
            process = "W'" if len(self.coordinates) == 1 else f"W{a + 1}'"
            noise = readable.sum_text([(law.sigma[a], law.sigma_std[a], process)])
            if np.isnan(law.sigma[a]):
                noise = f"{law.laws[a]} {process}"
            of_a = [
                self.in_differences(force[a], term)
                for force, term in zip(forces, terms, strict=True)
            ]
            left = values, errors
            if of_field:
                moved = np.where(fixed, 0.0, -values), np.where(fixed, 0.0, errors)
                right = total(of_a, *moved)
                noise = noise if right == "0" else f"{right} + {noise}"
                left = np.where(fixed, values, 0.0), np.where(fixed, errors, 0.0)
            lines.append(f"{total(of_a, *left)} = {noise}")
        return "; ".join(lines)

    def in_differences(self, force: sp.Expr, term: sp.Expr) -> sp.Expr:
        """The force of a spring between two masses in terms of its extension.

        As the paper writes it; any other force as it is.
        """
        if not (term.is_Pow and term.base.is_Add):
            return force
        power = term.exp - 1
        factor = sp.cancel(force / term.base**power)
        if not factor.is_number:
            return force
        text = readable.function_text(term.base, self.state | self.names)
        return factor * sp.Symbol(f"({text})") ** power

    def finding(self, model: xr.Dataset) -> str:
        """Whether the terms of the first replicate are the true ones, what is wrong."""
        if self.truth is None:
            return ""
        damping = scores.damping_of(model, self.library, "support")
        selected = np.append(model["support"].values[0], damping[0]).astype(bool)
        true = np.append(self.truth.support, self.truth.dissipation != 0)
        terms = [*self.library.terms, *self.library.dissipation]
        parts = []
        for verb, wrong in (("lacks", true & ~selected), ("adds", selected & ~true)):
            chosen = [terms[i] for i in np.flatnonzero(wrong)]
            names = [readable.function_text(t, self.names) or "1" for t in chosen]
            if names:
                parts.append(f"{verb} {', '.join(names)}")
        return f"wrong: {'; '.join(parts)}" if parts else "right"

    def errors(self, model: xr.Dataset) -> dict:
        """Medians of the relative errors over the replicates, in per cent."""
        if self.truth is None:
            return {}
        exact = scores.exact_support(model, self.truth)
        worst = scores.volatilities(model, self.truth).errors.max(axis=1)
        result = {
            EXACT: f"{int(exact.sum())} of {len(exact)}",
            VOLATILITY_ERROR: 100 * float(np.median(worst)),
            PARAMETER_ERROR: float(
                np.median(scores.parameter_error(model, self.truth))
            ),
        }
        if self.truth.terms:
            error = scores.coefficients(model, self.truth).error
            result[COEFFICIENT_ERROR] = 100 * float(np.median(error))
        return result


def _typical(model: xr.Dataset, library: Library) -> np.ndarray:
    """Whether a replicate has the most frequent support, the first of equals.

    Medians over different supports would be a formula that no replicate has.
    """
    damping = scores.damping_of(model, library, "support")
    support = np.hstack([model["support"].values, damping]).astype(bool)
    kinds, first, inverse, count = np.unique(
        support, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    best = max(range(len(kinds)), key=lambda k: (count[k], -first[k]))
    return inverse.reshape(-1) == best


def _table(
    panels: Sequence,
    texts: Mapping[str, str],
    write: Callable[[Sheet, Law], Sequence[str]],
    *more: str,
) -> Table:
    """Table of the columns `texts`, which `write` fills, and `more` of the errors."""
    rows = []
    for panel in panels:
        sheet = Sheet(panel)
        rows.append({"source": "printed", **sheet.printed(texts)})
        if sheet.truth is not None:
            written = dict(zip(texts, write(sheet, sheet.exact()), strict=True))
            rows.append({"source": "corrected", **written})
        others = sorted(set(panel.models) - set(FIRST))
        for estimator in [*(n for n in FIRST if n in panel.models), *others]:
            model = panel.models[estimator]
            chosen = _typical(model, sheet.library)
            these = model.isel(replicate=np.flatnonzero(chosen))
            law = sheet.medians(these)
            rows.append(
                {
                    "source": estimator,
                    **dict(zip(texts, write(sheet, law), strict=True)),
                    TERMS: f"{int(chosen.sum())} of {len(chosen)}",
                    FINDING: sheet.finding(these),
                    **sheet.errors(model),
                }
            )
        for row in rows:
            row.setdefault("system", sheet.title)
    columns = ["system", "source", *texts, TERMS, FINDING, EXACT, COEFFICIENT_ERROR]
    return Table(pd.DataFrame(rows, columns=[*columns, *more]))


def lagrangian(panels: Sequence) -> Table:
    """Table 1: Lagrangian density and Wiener potential of each system.

    The Wiener potential σ q is the integral over q of the constant volatility σ; the
    constant is what is identified, and the potential is written for comparison.

    The column in symbols has what the paper prints, and L of the system over its mass.

    """
    texts = {
        "Lagrangian density": "lagrangian",
        "Wiener potential (integral of sigma)": "wiener_potential",
    }

    def write(sheet: Sheet, law: Law) -> tuple[str, str]:
        return "L = " + sheet.linear(sp.sympify, law), sheet.potential(law)

    table = _table(panels, texts, write, VOLATILITY_ERROR)
    symbolic = {}
    for sheet in map(Sheet, panels):
        printed = sheet.publish.get("texts") or {}
        symbolic[sheet.title, "printed"] = printed.get("symbolic", "")
        symbolic[sheet.title, "corrected"] = sheet.symbolic()
    keys = zip(table.rows["system"], table.rows["source"], strict=True)
    table.rows.insert(2, "in symbols", [symbolic.get(key, "") for key in keys])
    return table


def equation_of_motion(panels: Sequence) -> Table:
    """Table 2: equations of motion with errors of coefficients and volatility apart.

    Paper: its error is 100 ‖θ − θ*‖/‖θ‖ over all parameters, sigma among them, in
    which a stiffness of 1000 hides any error of the volatility. It is the last column.
    """

    def write(sheet: Sheet, law: Law) -> list[str]:
        return [sheet.motion(law)]

    texts = {"equation of motion": "equation_of_motion"}
    return _table(panels, texts, write, VOLATILITY_ERROR, PARAMETER_ERROR)


def hamiltonian(panels: Sequence) -> Table:
    """Table 3: Hamiltonian H = q̇ ∂L/∂q̇ − L in (q, q̇), of the Lagrangian found."""

    def write(sheet: Sheet, law: Law) -> list[str]:
        return ["H = " + sheet.linear(sheet.library.legendre, law)]

    return _table(panels, {"Hamiltonian": "hamiltonian"}, write)
