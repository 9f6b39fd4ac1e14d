"""One example as the tables write it down: formulas of what is printed, true, found."""

from collections.abc import Callable, Mapping

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.euler_lagrange import rayleigh_force, symbols
from leastaction.core.from_config import is_field, system_from_config
from leastaction.ensembles.noise_text import found_volatility, true_volatility
from leastaction.report import readable, scores

FIRST = ("recommended", "published")


class Sheet:
    """One example, ready to be written down."""

    def __init__(self, panel):
        self.panel = panel
        system = panel.config["system"]
        self.truth = scores.truth_of(panel.config)
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
