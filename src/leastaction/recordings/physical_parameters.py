r"""Mass, stiffness, damping, natural frequency: the law about its equilibrium.

About an equilibrium q₀ that is stable the law is

.. math::  M \ddot q + C \dot q + F_c \, \mathrm{sign}\, \dot q + K (q - q_0) = Q

with M = ∂²L/∂q̇², K = −∂²L/∂q², C = ∂²D/∂q̇² at (q₀, 0), and F_c the coefficient of
|q̇| in D. Errors follow by the delta method from those of the coefficients, correlated
as points around the law are.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.expressions import parse, symbol
from leastaction.core.model import IdentifiedModel
from leastaction.core.system import System
from leastaction.ensembles.modes import UNDAMPED, Linear

# What engineers write for units that are shorter in base units.
USUAL = {"kg/s": "N·s/m"}
# Steps to the equilibrium, and the last of them over the first size of the motion.
MOST_STEPS, SETTLED = 50, 1e-9
# Part of a standard error over which a quantity is differentiated.
DIFFERENCE = 1e-2
# Coupling, over the geometric mean of both, that counts as none.
UNCOUPLED = 1e-9


@dataclass(frozen=True)
class Quantity:
    """A number about the equilibrium."""

    name: str
    value: float
    unit: str


def physical_parameters(
    law: IdentifiedModel,
    observations: xr.Dataset,
    unit_of: Callable[[str, str], str],
) -> list[tuple]:
    """Rows (quantity, value, standard error, unit) of a law without random force.

    Without a recorded input, which gives the scale, stiffness, damping and dry friction
    are those over the inertia. Empty without a stable equilibrium near the mean.
    """
    equilibrium = _Equilibrium(law, observations, unit_of)
    quantities = equilibrium.quantities(equilibrium.coefficients)
    if not quantities:
        return []
    values = np.array([one.value for one in quantities])
    errors = equilibrium.standard_errors(len(values))
    return [
        (one.name, one.value, float(error), one.unit)
        for one, error in zip(quantities, errors, strict=True)
    ]


@dataclass(frozen=True)
class _Shown:
    """Units of the user of a force and a position; SI, without names, if empty."""

    force: float = 1.0  # SI value of the unit
    force_unit: str = ""
    position: float = 1.0
    position_unit: str = ""

    @classmethod
    def of(cls, observations: xr.Dataset, i: int) -> "_Shown":
        """Those of a length with an input; an angle has its stiffness per radian."""
        if "input_shown_unit" not in observations.coords:
            return cls()
        units = observations.isel(dof=i)
        pairs = [
            (
                float(units[f"{kind}_shown_factor"]),
                str(units[f"{kind}_shown_unit"].item()),
            )
            for kind in ("input", "coordinate")
        ]
        is_length = str(units["coordinate_unit"].item()) == "m"
        return cls(*pairs[0], *pairs[1]) if is_length and pairs[0][1] else cls()

    @property
    def spring(self) -> float:
        """SI value of the unit of a stiffness, and over a second of a damping."""
        return self.force / self.position

    @property
    def stiffness(self) -> str:
        """Unit of a stiffness."""
        return self.force_unit and f"{self.force_unit}/{self.position_unit}"

    @property
    def damping(self) -> str:
        """Unit of a viscous damping."""
        return self.force_unit and f"{self.force_unit}·s/{self.position_unit}"


class _Equilibrium:
    """M, C, K and dry friction of a law as functions of its coefficients."""

    def __init__(self, law: IdentifiedModel, observations: xr.Dataset, unit_of):
        system, data = law.system, law.dataset
        self.system, self.unit_of = system, unit_of
        self.has_scale = bool(law.inputs)
        self.names = list(system.parameters)
        self.coefficients = system.parameter_values
        self.dry = _dry_friction(system)
        self.spread = _spread(data, self.names)
        units = map(str, observations["coordinate_unit"].values)
        self.turns = [unit == "rad" for unit in units]
        self.shown = [_Shown.of(observations, i) for i in range(len(self.turns))]
        self.mean = np.median(observations["q"].values[0], axis=0)
        self.size = np.ptp(observations["q"].values[0], axis=0).max()
        rest = dict.fromkeys(system.qdot, 0)
        potential = -system.lagrangian.subs(rest)
        losses = sp.Add.make_args(sp.expand(system.dissipation))
        smooth = sp.Add(*(loss for loss in losses if not loss.has(sp.Abs)))
        parts = [
            [sp.diff(potential, x) for x in system.q],
            sp.hessian(potential, system.q),
            system.mass_matrix.subs(rest),
            sp.hessian(smooth, system.qdot).subs(rest),
        ]
        arguments = [*system.q, *map(symbol, self.names)]
        self.evaluate = sp.lambdify(arguments, parts, "numpy")

    def linear(self, coefficients: np.ndarray) -> Linear | None:
        """Law about the stable equilibrium that Newton's method finds; else None."""
        q, dof = self.mean.copy(), self.system.dof
        for _ in range(MOST_STEPS):
            slope, stiffness, mass, damping = (
                np.asarray(part, dtype=float)
                for part in self.evaluate(*q, *coefficients)
            )
            stiffness = stiffness.reshape(dof, dof)
            if not np.isfinite(stiffness).all():
                return None
            step = np.linalg.lstsq(stiffness, slope, rcond=None)[0]
            q = q - step
            if np.abs(step).max() < SETTLED * self.size:
                break
        else:
            return None
        far = np.abs(q - self.mean).max() > self.size
        if far or np.linalg.eigvalsh(stiffness).min() <= 0:
            return None
        shape = (dof, dof)
        return Linear(mass.reshape(shape), damping.reshape(shape), stiffness, q)

    def quantities(self, coefficients: np.ndarray) -> list[Quantity]:
        """All that the linear law is called by, in a fixed order; empty without one."""
        linear = self.linear(coefficients)
        if linear is None:
            return []
        found = []
        for i, name in enumerate(self.system.coordinates):
            found += self._of_coordinate(linear, i, name, coefficients)
        return found + self._of_modes(linear)

    def _of_coordinate(self, linear, i: int, name: str, values) -> list[Quantity]:
        """Inertia, stiffness and damping of a coordinate coupled to no other."""
        of = f" of {name}" if self.system.dof > 1 else ""
        inertia = linear.inertia[i, i]
        if not _is_alone(linear.inertia, i):
            return []
        scale, over = (1.0, "") if self.has_scale else (inertia, " over inertia")
        base = self.unit_of("L", f"{name}dot**2")
        found = []
        if self.has_scale:
            kind = "moment of inertia" if self.turns[i] else "mass"
            found.append(Quantity(f"{kind}{of}", inertia, base))
        shown = self.shown[i] if self.has_scale else _Shown()
        for text, matrix, kind, term, unit in (
            ("stiffness", linear.stiffness, "L", f"{name}**2", shown.stiffness),
            ("viscous damping", linear.damping, "D", f"{name}dot**2", shown.damping),
        ):
            if matrix[i, i] and _is_alone(matrix, i):
                value = matrix[i, i] / scale
                in_si = self.unit_of(kind, term)
                unit = unit or USUAL.get(in_si, in_si)
                found.append(Quantity(f"{text}{of}{over}", value / shown.spring, unit))
        if name in self.dry:
            force = values[self.dry[name]] / scale / shown.force
            unit = shown.force_unit or self.unit_of("D", f"abs({name}dot)")
            found.append(Quantity(f"dry friction{of}{over}", force, unit))
        return found

    def _of_modes(self, linear: Linear) -> list[Quantity]:
        """Natural frequencies, and damping ratios where anything is damped."""
        frequencies, ratios, _ = linear.modes()
        found = []
        for k, (frequency, ratio) in enumerate(
            zip(frequencies, ratios, strict=True), 1
        ):
            of = f" of mode {k}" if len(frequencies) > 1 else ""
            found.append(Quantity(f"natural frequency{of}", frequency, "Hz"))
            if abs(ratio) > UNDAMPED:
                found.append(Quantity(f"damping ratio{of}", 100 * ratio, "%"))
        return found

    def standard_errors(self, count: int) -> np.ndarray:
        """Of all quantities, by the delta method; NaN where a step loses one."""
        std, correlation = self.spread
        slopes = np.zeros((len(std), count))
        for k in np.flatnonzero(std):
            ends = []
            for sign in (1, -1):
                moved = self.coefficients.copy()
                moved[k] += sign * DIFFERENCE * std[k]
                ends.append([one.value for one in self.quantities(moved)])
            if {len(end) for end in ends} != {count}:
                return np.full(count, np.nan)
            slopes[k] = np.subtract(*ends) / (2 * DIFFERENCE * std[k])
        covariance = correlation * np.outer(std, std)
        variance = np.einsum("ki,kl,li->i", slopes, covariance, slopes)
        return np.sqrt(np.maximum(variance, 0.0))


def _is_alone(matrix: np.ndarray, i: int) -> bool:
    """Whether a coordinate is coupled to no other by a matrix."""
    others = np.delete(np.abs(matrix[i]), i)
    return not others.size or others.max() <= UNCOUPLED * np.abs(matrix).max()


def _dry_friction(system: System) -> dict[str, int]:
    """Place among the parameters of the coefficient of |q̇| in D, by coordinate."""
    names = [*system.parameters]
    found = {}
    for name in system.coordinates:
        speed = parse(f"abs({name}dot)", system.names_of(system.coordinates))
        coefficient = str(sp.expand(system.dissipation).coeff(speed))
        if coefficient in names:
            found[name] = names.index(coefficient)
    return found


def _spread(data: xr.Dataset, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Standard errors of the parameters, and their correlations."""
    kinds = {"c": "", "d": "dissipation_"}
    terms = data.sizes["term"]
    std, rows = np.zeros(len(names)), np.full(len(names), -1)
    fitted = {int(p): k for k, p in enumerate(data["column_position"].values)}
    for k, name in enumerate(names):
        letter, _, place = name.partition("_")
        std[k] = data[f"{kinds[letter]}coefficient_std"].values[int(place)]
        rows[k] = fitted.get(int(place) + (terms if letter == "d" else 0), -1)
    std = np.nan_to_num(std)
    correlation = np.eye(len(names))
    both = np.flatnonzero((rows >= 0) & (std > 0))
    if len(both) > 1:
        left = data["jackknife_coefficient"].values[:, rows[both]]
        known = np.nan_to_num(np.corrcoef(left.T))
        correlation[np.ix_(both, both)] = known
        np.fill_diagonal(correlation, 1.0)
    return std, correlation
