"""Sparse regression of u_tt on snapshots of a field: what LSI for fields is held to.

Terms of a partial differential equation u_tt = Σ c_i f_i(u, u_t, u_x, u_xx) are
selected by sequential thresholded least squares (Rudy, Brunton, Proctor and Kutz 2017).
Derivatives are finite differences of order 2, or spectral in space and differences of
order 4 in time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.expressions import parse, symbol
from leastaction.core.periodic_line import spectral_derivatives
from leastaction.core.sparse_regression import stlsq
from leastaction.snapshots.contracts import CONTRACTS
from leastaction.snapshots.discrete_lagrangian import positions_of
from leastaction.snapshots.field_evidence import grid_of
from leastaction.snapshots.learned_field import ESCAPED

# Steps of the classical Runge–Kutta method between two snapshots.
SUBSTEPS = 8


def jet_names(field: str) -> list[str]:
    """Names that a term may use."""
    return [field, *(f"{field}_{mark}" for mark in ("t", "x", "xx"))]


def identify(
    equations: xr.Dataset, settings: Mapping, observations: xr.Dataset, library: Mapping
) -> xr.Dataset:
    """Select terms of u_tt, for one case.

    Settings: `terms`, `derivatives`, ``finite_differences`` or ``spectral``, and the
    `threshold` λ.

    Raises
    ------
    ValueError
        If the field is not on a periodic line, or a term is not arithmetic in u, u_t,
        u_x, u_xx.
    """
    u, (dt, dx) = positions_of(observations), grid_of(observations)
    names = jet_names(str(observations.attrs["field"]))
    terms = [parse(text, names) for text in settings["terms"]]
    of = {"finite_differences": _finite_differences, "spectral": _spectral}
    acceleration, jet = of[settings["derivatives"]](u, dt, dx)
    functions = sp.lambdify([symbol(name) for name in names], terms, "numpy")
    columns = [
        np.broadcast_to(c, u_t.shape) for u_t in jet[1:2] for c in functions(*jet)
    ]
    theta = np.stack([c.ravel() for c in columns], axis=1)
    found = stlsq(theta, acceleration.ravel(), settings["threshold"])
    kept = ("field", "domain_length", "domain_nodes")
    return CONTRACTS["field_law"].dataset(
        {"coefficient": found},
        coords={
            "replicate": observations["replicate"].values,
            "term": [str(term) for term in settings["terms"]],
        },
        attrs={k: observations.attrs[k] for k in kept} | {"time_step": dt},
    )


def _finite_differences(u: np.ndarray, dt: float, dx: float) -> tuple:
    """u_tt and (u, u_t, u_x, u_xx) at inner snapshots, of order 2."""
    now, after, before = u[:, 1:-1], u[:, 2:], u[:, :-2]
    right, left = np.roll(now, -1, axis=-1), np.roll(now, 1, axis=-1)
    jet = now, (after - before) / (2 * dt), (right - left) / (2 * dx)
    return (after - 2 * now + before) / dt**2, (
        *jet,
        (right - 2 * now + left) / dx**2,
    )


def _spectral(u: np.ndarray, dt: float, dx: float) -> tuple:
    """The same, spectral in space and of order 4 in time."""
    count = u.shape[1] - 4
    if count < 1:
        raise ValueError(
            f"differences of order 4 need five snapshots of a motion, got {u.shape[1]}"
        )
    near = [u[:, k : k + count] for k in range(5)]
    rate = (near[0] - 8 * near[1] + 8 * near[3] - near[4]) / (12 * dt)
    weights = (-1, 16, -30, 16, -1)
    acceleration = sum(w * n for w, n in zip(weights, near, strict=True)) / (12 * dt**2)
    slopes = spectral_derivatives(near[2], dx * u.shape[-1], 2)
    return acceleration, (near[2], rate, *slopes)


@dataclass(frozen=True, eq=False, repr=False)
class FieldLaw:
    """u_tt = Σ c_i f_i(u, u_t, u_x, u_xx) on a periodic line.

    Attributes
    ----------
    terms, coefficients
        f, in text, and c.
    field, length, nodes
        Name of u, and its line.
    time_step
        Of the snapshots, s.
    """

    terms: tuple[str, ...]
    coefficients: np.ndarray
    field: str
    length: float
    nodes: int
    time_step: float

    # What is known of its stability before a rollout: nothing.
    stable = True

    @classmethod
    def from_dataset(cls, dataset: xr.Dataset) -> "FieldLaw":
        """Law of one replicate and case, contract ``field_law``."""
        about = dataset.attrs
        return cls(
            tuple(map(str, dataset["term"].values)),
            dataset["coefficient"].values[0],
            str(about["field"]),
            float(about["domain_length"]),
            int(about["domain_nodes"]),
            float(about["time_step"]),
        )

    @cached_property
    def law(self) -> sp.Expr:
        """Right-hand side."""
        names = jet_names(self.field)
        terms = [parse(text, names) for text in self.terms]
        return sum(
            (c * term for c, term in zip(self.coefficients, terms, strict=True) if c),
            sp.Integer(0),
        )

    def _evaluate(self, expression: sp.Expr, *jet) -> np.ndarray:
        symbols = [symbol(name) for name in jet_names(self.field)]
        return sp.lambdify(symbols, expression, "numpy")(*jet)

    def rollout(self, first, second, steps: int, velocity=None) -> np.ndarray:
        """Motions from snapshots and velocities (motion, node).

        Classical Runge–Kutta method, spectral in space; (motion, steps + 1, node), NaN
        where a motion has failed. `second` is not needed.
        """
        symbols = [symbol(name) for name in jet_names(self.field)]
        law = sp.lambdify(symbols, self.law, "numpy")

        def rate(state):
            slopes = spectral_derivatives(state[0], self.length, 2)
            return np.stack(
                [state[1], np.broadcast_to(law(*state, *slopes), first.shape)]
            )

        state, h = np.stack([first, velocity]), self.time_step / SUBSTEPS
        path = np.full((len(first), steps + 1, self.nodes), np.nan)
        path[:, 0], largest = first, ESCAPED * np.abs(first).max()
        with np.errstate(all="ignore"):
            for n in range(1, steps + 1):
                for _ in range(SUBSTEPS):
                    k1 = rate(state)
                    k2 = rate(state + h / 2 * k1)
                    k3 = rate(state + h / 2 * k2)
                    k4 = rate(state + h * k3)
                    state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
                good = np.abs(state[0]).max(axis=1) < largest
                state[:, ~good] = np.nan
                path[:, n] = state[0]
        return path

    def squared_frequency(self, theta, base: float = 0.0) -> np.ndarray:
        """ω² of waves θ = k dx about a uniform field."""
        u, _, _, u_xx = (symbol(name) for name in jet_names(self.field))
        jet = base, 0.0, 0.0, 0.0
        numbers = np.asarray(theta) * self.nodes / self.length
        stiffness = float(self._evaluate(sp.diff(self.law, u), *jet))
        return self.speed_squared(base) * numbers**2 - stiffness

    def speed_squared(self, base: float = 0.0) -> float:
        """c², the coefficient of u_xx about a uniform field, m²/s²."""
        u_xx = symbol(jet_names(self.field)[-1])
        return float(self._evaluate(sp.diff(self.law, u_xx), base, 0.0, 0.0, 0.0))

    def slope(self, u: np.ndarray) -> np.ndarray:
        """V'(u) over the mass density, −u_tt of a uniform field at rest."""
        u = np.asarray(u, dtype=float)
        return -np.broadcast_to(self._evaluate(self.law, u, 0.0, 0.0, 0.0), u.shape)

    def __str__(self) -> str:
        parts = [
            f"{c:+.5g}*{term}"
            for c, term in zip(self.coefficients, self.terms, strict=True)
            if c
        ]
        return f"{self.field}_tt = {' '.join(parts) or '0'}"

    __repr__ = __str__
