r"""Mass, stiffness, damping, natural frequency: the parameters of a machine.

About an equilibrium q₀ that is stable the law is

.. math::  M \ddot q + C \dot q + F_c \, \mathrm{sign}\, \dot q + K (q - q_0) = Q

with M = ∂²L/∂q̇², K = −∂²L/∂q², C = ∂²D/∂q̇² at (q₀, 0), and F_c the coefficient of
|q̇| in D. Where M couples coordinates, or changes with them, the coefficients of L are
the base parameters: what a motion tells of the inertial ones. A parameter c_k that this
motion does not tell from others is one with these, c_a + β_ak c_k, β = G_aa⁻¹ G_ak of
the information G (Gautier and Khalil, IEEE Trans. Robot. Autom. 6 (1990) 368). Errors
follow by the delta method from those of the coefficients, correlated as points around
the law are.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.expressions import symbol
from leastaction.core.model import IdentifiedModel
from leastaction.core.own_data import ROUND_OFF
from leastaction.ensembles.modes import UNDAMPED, Linear

# What engineers write for units that are shorter in base units.
USUAL = {"kg/s": "N·s/m"}
# Steps to the equilibrium.
MOST_STEPS = 50
# Part of a standard error over which a quantity is differentiated.
DIFFERENCE = 1e-2


@dataclass(frozen=True)
class Quantity:
    """A number about the equilibrium."""

    name: str
    value: float
    unit: str
    of_modes: bool = False


def physical_parameters(
    law: IdentifiedModel,
    observations: xr.Dataset,
    unit_of: Callable[[str, str], str],
) -> list[tuple]:
    """Rows (quantity, value, standard error, unit, grouped) of a law.

    Without a recorded input, which gives the scale, stiffness, damping and dry friction
    are those over the inertia. Without a stable equilibrium near the mean, inertia and
    damping are those at the mean, and there are no stiffness and no modes. Base
    parameters are the coefficients of what couples driven coordinates, or changes with
    their positions. `grouped` names the terms that the motion cannot tell from those of
    a quantity, and by how much a coefficient of one of one would change it.

    Examples
    --------
    A law with one term of each kind, without a table of units:

    >>> import numpy as np, leastaction as la
    >>> time = np.arange(0, 30, 0.02)
    >>> x = [[0.1], [0.2], [0.3], [0.4]] * np.exp(-0.05 * time) * np.cos(3 * time)
    >>> x += 1e-4 * np.random.default_rng(1).standard_normal(x.shape)
    >>> la.learn({"x": x}, time=time, progress=False).physical.quantity.tolist()[:3]
    ['stiffness over inertia', 'viscous damping over inertia', 'natural frequency']
    """
    about = _Equilibrium(law, observations, unit_of)
    quantities = {one.name: one for one in about.quantities(about.coefficients)}
    slopes = about.slopes(list(quantities))
    covariance = about.covariance
    variance = np.einsum("ki,kl,li->i", slopes, covariance, slopes)
    errors = np.sqrt(np.maximum(variance, 0.0))
    return [
        (
            one.name,
            one.value,
            float(error),
            one.unit,
            "" if one.of_modes else about.grouped(slope, error),
        )
        for one, error, slope in zip(quantities.values(), errors, slopes.T, strict=True)
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
    """Quantities of a law as functions of its coefficients."""

    def __init__(self, law: IdentifiedModel, observations: xr.Dataset, unit_of):
        system, data = law.system, law.dataset
        self.system, self.unit_of = system, unit_of
        self.alternatives = law.alternatives
        self.has_scale = bool(law.inputs)
        self.names = list(system.parameters)
        self.coefficients = system.parameter_values
        self.columns = _columns(self.names, data.sizes["term"])
        self.covariance = covariance_of(law)
        units = map(str, observations["coordinate_unit"].values)
        self.turns = [unit == "rad" for unit in units]
        self.shown = [_Shown.of(observations, i) for i in range(len(self.turns))]
        self.mean = np.median(observations["q"].values[0], axis=0)
        self.size = np.ptp(observations["q"].values[0], axis=0).max()
        rest = dict.fromkeys(system.qdot, 0)
        potential = -system.lagrangian.subs(rest)
        losses = sp.Add.make_args(sp.expand(system.dissipation))
        smooth = sp.Add(*(loss for loss in losses if not loss.has(sp.Abs)))
        inertia = system.mass_matrix.subs(rest)
        parts = [
            [sp.diff(potential, x) for x in system.q],
            sp.hessian(potential, system.q),
            inertia,
            sp.hessian(smooth, system.qdot).subs(rest),
        ]
        arguments = [*system.q, *map(symbol, self.names)]
        self.evaluate = sp.lambdify(arguments, parts, "numpy")
        # Coordinates whose inertia is a number of its own.
        self.alone = [
            not any(inertia[i, j] for j in range(system.dof) if j != i)
            and not inertia[i, i].free_symbols & {*system.q}
            for i in range(system.dof)
        ]

    def linear(self, coefficients: np.ndarray) -> tuple[Linear, bool]:
        """Law about the equilibrium that Newton's method reaches, and if it is stable.

        About the mean where there is no stable one.
        """
        q, settled = self.mean.copy(), False
        about_mean = self._about(q, coefficients)[1]
        for _ in range(MOST_STEPS):
            slope, here = self._about(q, coefficients)
            if not np.isfinite(here.stiffness).all():
                return about_mean, False
            step = np.linalg.lstsq(here.stiffness, slope, rcond=None)[0]
            q = q - step
            settled = np.abs(step).max() < ROUND_OFF * self.size
            if settled:
                break
        near = np.abs(q - self.mean).max() <= self.size
        is_stable = settled and near and np.linalg.eigvalsh(here.stiffness).min() > 0
        return (here, True) if is_stable else (about_mean, False)

    def _about(self, q, coefficients) -> tuple[np.ndarray, Linear]:
        """Slope of the potential at q, and the law about it."""
        parts = self.evaluate(*q, *coefficients)
        slope, *rest = (np.asarray(part, dtype=float) for part in parts)
        stiffness, mass, damping = (x.reshape(len(q), -1) for x in rest)
        return slope, Linear(mass, damping, stiffness, q)

    def quantities(self, coefficients: np.ndarray) -> list[Quantity]:
        """All that the law is called by, in a fixed order."""
        linear, is_stable = self.linear(coefficients)
        rows = [] if all(self.alone) else self._base_parameters(coefficients)
        for i, name in enumerate(self.system.coordinates):
            rows += self._of_coordinate(linear, is_stable, i, name, coefficients)
        return rows + self._of_modes(linear) if is_stable else rows

    def _base_parameters(self, coefficients: np.ndarray) -> list[Quantity]:
        """Coefficients of the terms of L, if they have a scale."""
        values = dict(zip(self.names, coefficients, strict=True))
        terms = sp.Add.make_args(sp.expand(self.system.lagrangian))
        rows = []
        for name in [n for n in self.names if n.startswith("c_") and self.has_scale]:
            (term,) = (x / symbol(name) for x in terms if x.has(symbol(name)))
            unit = self.unit_of("L", str(term))
            rows.append(Quantity(f"base parameter of `{term}`", values[name], unit))
        return rows

    def _of_coordinate(self, linear, is_stable, i: int, name: str, values) -> list:
        """Inertia and stiffness if no other shares them; friction."""
        of = f" of {name}" if self.system.dof > 1 else ""
        inertia = linear.inertia[i, i]
        is_own = _is_alone(linear.inertia, i)
        if not is_own and not self.has_scale:
            return []
        scale, over = (1.0, "") if self.has_scale else (inertia, " over inertia")
        rows = []
        if self.has_scale and is_own and (self.alone[i] or is_stable):
            kind = "moment of inertia" if self.turns[i] else "mass"
            unit = self.unit_of("L", f"{name}dot**2")
            rows.append(Quantity(f"{kind}{of}", inertia, unit))
        shown = self.shown[i] if self.has_scale else _Shown()
        quantities = []
        K, C, names = linear.stiffness, linear.damping, self.system.coordinates
        if is_own and is_stable and _is_alone(K, i):
            unit = shown.stiffness or self.unit_of("L", f"{name}**2")
            quantities.append((f"stiffness{of}{over}", K[i, i], unit))
        # A damper between two coordinates of a kind takes part in the rates of both.
        of_kind = [j for j in range(len(C)) if self.turns[j] == self.turns[i]]
        unit = self.unit_of("D", f"{name}dot**2")
        unit = shown.damping or USUAL.get(unit, unit)
        parts = C[i, of_kind]
        # Without a damper to the ground the sum is round-off.
        if abs(parts.sum()) > ROUND_OFF * np.abs(parts).sum():
            quantities.append((f"viscous damping{of}{over}", parts.sum(), unit))
        quantities += [
            (f"viscous damping between {name} and {names[j]}{over}", -C[i, j], unit)
            for j in of_kind
            if j > i
        ]
        for text, value, unit in quantities:
            if value:
                value /= scale * shown.spring
                rows.append(Quantity(text, value, USUAL.get(unit, unit)))
        q, v = self.system.q[i], self.system.qdot[i]
        for text, kind, term, function, sought in (
            (
                "dry friction",
                "D",
                f"abs({name}dot)",
                self.system.dissipation,
                sp.Abs(v),
            ),
            ("constant force", "L", name, self.system.lagrangian, q),
        ):
            place = str(sp.expand(function).coeff(sought))
            if place in self.names and not (kind == "L" and is_stable):
                force = values[self.names.index(place)] / scale / shown.force
                unit = shown.force_unit or self.unit_of(kind, term)
                rows.append(Quantity(f"{text}{of}{over}", force, unit))
        return rows

    def _of_modes(self, linear: Linear) -> list[Quantity]:
        """Natural frequencies, and damping ratios where anything is damped."""
        frequencies, ratios, _ = linear.modes()
        rows = []
        for k, (frequency, ratio) in enumerate(
            zip(frequencies, ratios, strict=True), 1
        ):
            of = f" of mode {k}" if len(frequencies) > 1 else ""
            rows.append(Quantity(f"natural frequency{of}", frequency, "Hz", True))
            if abs(ratio) > UNDAMPED:
                rows.append(Quantity(f"damping ratio{of}", 100 * ratio, "%", True))
        return rows

    def slopes(self, names: list[str]) -> np.ndarray:
        """Of named quantities by coefficients, (coefficient, quantity).

        NaN where a step loses one.
        """
        std = np.sqrt(np.diag(self.covariance))
        slopes = np.zeros((len(std), len(names)))
        for k in np.flatnonzero(std):
            step = np.zeros(len(std))
            step[k] = DIFFERENCE * std[k]
            up, down = (
                {one.name: one.value for one in self.quantities(moved)}
                for moved in (self.coefficients + step, self.coefficients - step)
            )
            ends = [[end.get(name, np.nan) for name in names] for end in (up, down)]
            slopes[k] = np.subtract(*ends) / (2 * step[k])
        return slopes

    def grouped(self, slope: np.ndarray, error: float) -> str:
        """Terms that the motion cannot tell from those of a quantity, with weights.

        Those that would move it by more than its standard error.
        """
        rows = []
        for other in self.alternatives:
            weights = {
                term: sum(
                    slope[k] * each.get(str(column), 0.0)
                    for k, column in enumerate(self.columns)
                )
                for term, each in other.get("weights", {}).items()
            }
            moved = sum(w * other["coefficients"][k] for k, w in weights.items())
            if abs(moved) > error:
                parts = (f"{w:.3g} of `{term}`" for term, w in weights.items())
                rows.append(" and ".join(parts))
        return ", ".join(rows)


def _is_alone(matrix: np.ndarray, i: int) -> bool:
    """Whether a coordinate is coupled to no other by a matrix."""
    others = np.delete(np.abs(matrix[i]), i)
    return not others.size or others.max() <= ROUND_OFF * np.abs(matrix).max()


def _columns(names: list[str], terms: int) -> np.ndarray:
    """Place of each parameter among all candidates, those of L first."""
    letters = (name.partition("_") for name in names)
    return np.array([int(k) + terms * (letter == "d") for letter, _, k in letters])


def covariance_of(law: IdentifiedModel) -> np.ndarray:
    """Covariance of ``law.system.parameters``; zero of those that are given.

    That of standard errors, correlated as points around the law are.
    """
    data = law.dataset
    columns = _columns(list(law.system.parameters), data.sizes["term"])
    kinds = ("coefficient_std", "dissipation_coefficient_std")
    every = np.concatenate([data[kind].values for kind in kinds])
    std = np.nan_to_num(every[columns])
    fitted = {int(p): k for k, p in enumerate(data["column_position"].values)}
    rows = np.array([fitted.get(int(column), -1) for column in columns], dtype=int)
    correlation = np.eye(len(columns))
    both = np.flatnonzero((rows >= 0) & (std > 0))
    if len(both) > 1:
        left = data["jackknife_coefficient"].values[:, rows[both]]
        with np.errstate(all="ignore"):  # errors below the rounding of a coefficient
            known = np.nan_to_num(np.corrcoef(left.T))
        correlation[np.ix_(both, both)] = known
        np.fill_diagonal(correlation, 1.0)
    return correlation * np.outer(std, std)
