"""The identified model: read it, print it, derive from it, simulate it."""

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core import model_export
from leastaction.core.expressions import parse, symbol
from leastaction.core.from_config import system_class
from leastaction.core.system import System

# Smallest volatility of a model whose S² is not a square, in units of its rms value.
FLOOR = 1e-3


class IdentifiedModel:
    """One identified Lagrangian with its volatility and error bars.

    ``print(model)`` shows Lagrangian, damping and volatility with standard errors, the
    equations of motion
    and the Hamiltonian; :attr:`system` is the same kind of object as a simulated truth.
    """

    def __init__(self, dataset: xr.Dataset):
        single = "replicate" not in dataset.dims
        self.dataset = dataset if single else dataset.isel(replicate=0)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the generalised coordinates, or of the field."""
        kind = system_class(self.dataset.attrs)
        if kind is not System:
            return kind.coordinates_of(self.dataset)
        return tuple(str(name) for name in self.dataset["dof"].values)

    @property
    def support(self) -> list[str]:
        """Selected terms, the reference term among them."""
        chosen = self.dataset["support"].values.astype(bool)
        return [str(t) for t in self.dataset["term"].values[chosen]]

    def coefficient(self, term: str) -> float:
        """Estimate of one coefficient (zero if the term was not selected)."""
        return float(self.dataset["coefficient_estimate"].sel(term=term))

    def standard_error(self, term: str) -> float:
        """Standard error of one coefficient; NaN if the method gives none."""
        return float(self.dataset["coefficient_std"].sel(term=term))

    @property
    def system(self):
        """The model as a system like the truth; coefficients are its parameters.

        Models with the same support share their compiled integrator, whatever their
        coefficients.
        """
        kind = system_class(self.dataset.attrs)
        names = kind.names_of(self.coordinates)
        parameters: dict[str, float] = {}
        lagrangian = sp.Integer(0)
        for i, term in enumerate(self.dataset["term"].values):
            if self.dataset["support"].values[i]:
                parameters[f"c_{i}"] = self.coefficient(term)
                lagrangian += symbol(f"c_{i}") * parse(str(term), names)
        if kind is not System:
            return kind.from_estimates(self.dataset, lagrangian, parameters)
        dissipation = sp.Integer(0)
        damping = self.dataset["dissipation_coefficient_estimate"].values
        for j, term in enumerate(self.dataset["dissipation_term"].values):
            if damping[j] != 0:
                parameters[f"d_{j}"] = float(damping[j])
                dissipation += symbol(f"d_{j}") * parse(str(term), names)
        volatility = self._volatility(names, parameters)
        return System(
            coordinates=self.coordinates,
            parameters=parameters,
            lagrangian=lagrangian,
            dissipation=dissipation,
            volatility=volatility,
            calculus=self.dataset.attrs.get("calculus", "ito"),
        )

    def _volatility(self, names, parameters: dict[str, float]) -> sp.Matrix:
        """Symmetric root of the noise covariance, or a diagonal of Σ ρ G or √(Σ β G).

        A sum Σ β G that may be negative is replaced by ½ (Σ β G + √((Σ β G)² + 4 f⁴)),
        its positive part with a smooth floor f² of the squared volatility.
        """
        dof = len(self.coordinates)
        matrix = sp.zeros(dof, dof)
        if self.dataset["volatility_is_constant"].values.all():
            root = _symmetric_root(self.dataset["noise_covariance"].values)
            for a in range(dof):
                for b in range(dof):
                    if root[a, b] != 0:
                        parameters[f"sigma_{a}_{b}"] = float(root[a, b])
                        matrix[a, b] = symbol(f"sigma_{a}_{b}")
            return matrix
        beta = self.dataset["volatility_coefficient_estimate"].values
        root = self.dataset["volatility_root_estimate"].values
        terms = [parse(str(t), names) for t in self.dataset["volatility_term"].values]
        for a in range(dof):
            is_square = np.isfinite(root[a]).all()
            kind, values = ("rho", root[a]) if is_square else ("beta", beta[a])
            total, positive = sp.Integer(0), True
            for i in np.flatnonzero(values):
                name = f"{kind}_{a}_{i}"
                parameters[name] = float(values[i])
                total += symbol(name) * terms[i]
                positive &= bool(values[i] > 0 and terms[i].is_nonnegative)
            if not is_square:
                if not positive:
                    level = float(self.dataset["volatility_estimate"][a])
                    parameters[f"floor_{a}"] = (FLOOR * level) ** 2
                    floor = symbol(f"floor_{a}")
                    total = (total + sp.sqrt(total**2 + 4 * floor**2)) / 2
                total = sp.sqrt(total)
            matrix[a, a] = total
        return matrix

    def latex(self, **labels: str) -> str:
        """L, D and the equations of motion as LaTeX; see `model_export.latex`."""
        return model_export.latex(self.system, labels)

    def to_function(self):
        """Accelerations as a plain function; see `model_export.to_function`."""
        return model_export.to_function(self.system)

    def simulate(self, q, qdot, time, force=None):
        """Motion from a state at given times; see `model_export.simulate`."""
        return model_export.simulate(self.system, q, qdot, time, force)

    @property
    def not_identifiable(self) -> str:
        """What the data do not determine, and why; empty if they determine all."""
        if "identifiability" not in self.dataset:
            return ""
        return str(self.dataset["identifiability"].values)

    def __str__(self) -> str:
        lines = ["Terms of the Lagrangian"]
        for term in self.support:
            error = self.standard_error(term)
            if error > 0:
                shown = f" +- {error:.2g}"
            else:
                shown = " (given)" if error == 0 else ""
            lines.append(f"  {self.coefficient(term):.6g}{shown}  {term}")
        if self.not_identifiable:
            return "\n".join([*lines, f"Not identifiable: {self.not_identifiable}"])
        lines += self._law("Terms of the dissipation", "dissipation_coefficient")
        lines += self._trust()
        alternatives = str(self.dataset["alternatives"].values)
        if alternatives:
            lines.append(f"The data cannot tell these terms from: {alternatives}")
        random = bool(self.dataset["volatility_estimate"].values.any())
        if random:
            lines.append("Volatility")
        for i, name in enumerate(self.coordinates if random else ()):
            value = float(self.dataset["volatility_estimate"][i])
            error = float(self.dataset["volatility_std"][i])
            shown = f" +- {error:.2g}" if error > 0 else ""
            lines.append(f"  {value:.6g}{shown}  {name}")
        if not self.dataset["volatility_is_constant"].values.all():
            lines[-len(self.coordinates) - 1] += ", root mean square"
            for i, name in enumerate(self.coordinates):
                known = np.isfinite(self.dataset["volatility_root_estimate"][i]).all()
                kind, title = (
                    ("volatility_root", "Volatility")
                    if known
                    else ("volatility_coefficient", "Squared volatility")
                )
                lines += self._law(f"{title} of {name}", kind, i)
        system = self.system
        if not system.has_equations:
            lines.append("No equations of motion: a coordinate has no kinetic energy")
            return "\n".join(lines)
        return "\n".join(lines) + "\n" + str(system)

    def _trust(self) -> list[str]:
        """Line of what a fit says of itself; none if its method has no such tests."""
        if "trusted" not in self.dataset:
            return []
        marks = [
            f"{name} {float(self.dataset[name]):.3g}"
            for name in ("jump", "converged", "reached")
            if name in self.dataset
        ]
        trusted = float(self.dataset["trusted"]) > 0
        verdict = "passes" if trusted else "is NOT to be trusted: it fails"
        return [f"The fit {verdict} its own tests ({', '.join(marks)})"]

    def _law(self, title: str, kind: str, *place: int) -> list[str]:
        """Lines of a sum of terms with standard errors; none if it is empty."""
        values = self.dataset[f"{kind}_estimate"].values[place]
        errors = self.dataset[f"{kind}_std"].values[place]
        terms = self.dataset[kind.split("_")[0] + "_term"].values
        chosen = np.flatnonzero(values)
        if not chosen.size:
            return []
        return [title] + [
            f"  {values[i]:.6g}"
            + (f" +- {errors[i]:.2g}" if errors[i] > 0 else "")
            + f"  {terms[i]}"
            for i in chosen
        ]


def _symmetric_root(covariance: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
    return np.where(np.abs(root) > 1e-12 * np.abs(root).max(), root, 0.0)
