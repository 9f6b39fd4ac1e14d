"""Terms of a partial differential equation of a field: the baseline of learned fields.

u_tt = Σ c_i f_i(u, u_t, u_x, u_xx), terms selected by sequential thresholded least
squares (Rudy, Brunton, Proctor and Kutz 2017). Derivatives are central differences of
order 2, or spectral in space and central differences of order 4 in time.
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
from leastaction.snapshots.discrete_lagrangian import positions_of
from leastaction.snapshots.field_evidence import ATTRIBUTES, grid_of
from leastaction.snapshots.field_models import ESCAPED
from leastaction_papers.shadow_integration.contracts import CONTRACTS

# Steps of the classical Runge–Kutta method between two snapshots.
SUBSTEPS = 4
# Weights of the first and the second derivative, by order.
CENTRAL = {
    2: ((-0.5, 0, 0.5), (1, -2, 1)),
    4: (
        (1 / 12, -2 / 3, 0, 2 / 3, -1 / 12),
        (-1 / 12, 4 / 3, -5 / 2, 4 / 3, -1 / 12),
    ),
}


def central(u: np.ndarray, step: float, order: int) -> np.ndarray:
    """Derivatives by time of snapshots (..., time, node): values, first, second.

    Of all snapshots but `order`/2 at each end; a ValueError if there are not as many.
    """
    count = u.shape[-2] - order
    if count < 1:
        raise ValueError(
            f"differences of order {order} need {order + 1} snapshots of a motion, got "
            f"{u.shape[-2]}; record more"
        )
    near = [u[..., k : k + count, :] for k in range(order + 1)]
    first, second = (
        sum(w * one for w, one in zip(weights, near, strict=True))
        for weights in CENTRAL[order]
    )
    return np.stack([near[order // 2], first / step, second / step**2])


def jet_symbols(field: str) -> list[sp.Symbol]:
    """Symbols of u, u_t, u_x, u_xx."""
    return [symbol(field), *(symbol(f"{field}_{mark}") for mark in ("t", "x", "xx"))]


def field_regression(
    equations: xr.Dataset, settings: Mapping, observations: xr.Dataset, library: Mapping
) -> xr.Dataset:
    """Select terms of u_tt, for one case.

    Raises a ValueError if the field is not on a periodic line, its snapshots are too
    few, or a term is not arithmetic in u, u_t, u_x, u_xx.
    """
    u, (dt, dx) = positions_of(observations), grid_of(observations)
    if settings["derivatives"] == "spectral":
        now, rate, acceleration = central(u, dt, 4)
        slopes = spectral_derivatives(now, dx * u.shape[-1], 2)
    else:
        now, rate, acceleration = central(u, dt, 2)
        around = np.swapaxes(
            np.concatenate([now[..., -1:], now, now[..., :1]], -1), 1, 2
        )
        slopes = [np.swapaxes(one, 1, 2) for one in central(around, dx, 2)[1:]]
    jet = jet_symbols(str(observations.attrs["field"]))
    terms = [parse(text, [s.name for s in jet]) for text in settings["terms"]]
    columns = sp.lambdify(jet, terms, "numpy")(now, rate, *slopes)
    theta = [np.broadcast_to(column, now.shape).ravel() for column in columns]
    result = stlsq(np.stack(theta, 1), acceleration.ravel(), settings["threshold"])
    return CONTRACTS["field_law"].dataset(
        {"coefficient": result},
        coords={
            "replicate": observations["replicate"].values,
            "term": [str(term) for term in settings["terms"]],
        },
        attrs={k: observations.attrs[k] for k in ATTRIBUTES} | {"time_step": dt},
    )


@dataclass(frozen=True, eq=False, repr=False)
class FieldLaw:
    """u_tt = Σ c_i f_i(u, u_t, u_x, u_xx) on a periodic line."""

    coefficients: Mapping[str, float]  # c by f, in text
    field: str  # name of u
    length: float  # of the line, m
    nodes: int
    time_step: float  # of the snapshots, s

    # Nothing is known of its stability before a rollout.
    stable = True

    @classmethod
    def from_dataset(cls, dataset: xr.Dataset) -> "FieldLaw":
        """Law of one replicate and case, contract ``field_law``."""
        terms, values = dataset["term"].values, dataset["coefficient"].values[0]
        about = dataset.attrs
        return cls(
            dict(zip(terms.tolist(), values.tolist(), strict=True)),
            str(about["field"]),
            float(about["domain_length"]),
            int(about["domain_nodes"]),
            float(about["time_step"]),
        )

    @cached_property
    def law(self) -> sp.Expr:
        """Right-hand side."""
        names = [s.name for s in jet_symbols(self.field)]
        terms = [c * parse(text, names) for text, c in self.coefficients.items() if c]
        return sum(terms, sp.Integer(0))

    def rollout(self, first, second, steps: int, velocity) -> np.ndarray:
        """Motions from snapshots and velocities (motion, node).

        Classical Runge–Kutta method, spectral in space; (motion, steps + 1, node), NaN
        where a motion has failed. `second` is not needed.
        """
        law = sp.lambdify(jet_symbols(self.field), self.law, "numpy")

        def rate(state):
            slopes = spectral_derivatives(state[0], self.length, 2)
            force = np.broadcast_to(law(*state, *slopes), first.shape)
            return np.stack([state[1], force])

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
                state[:, ~(np.abs(state[0]).max(axis=1) < largest)] = np.nan
                path[:, n] = state[0]
        return path

    def squared_frequency(self, theta, base: float = 0.0) -> np.ndarray:
        """ω² of waves θ = k dx about a uniform field."""
        numbers = np.asarray(theta) * self.nodes / self.length
        return self.speed_squared(base) * numbers**2 - self._at_rest(0, base)

    def speed_squared(self, base: float = 0.0) -> float:
        """c², the coefficient of u_xx about a uniform field, m²/s²."""
        return self._at_rest(3, base)

    def _at_rest(self, by: int, base: float) -> float:
        """Derivative of u_tt by an entry of the jet, about a uniform field."""
        jet = jet_symbols(self.field)
        place = dict(zip(jet, (base, 0, 0, 0), strict=True))
        return float(sp.diff(self.law, jet[by]).subs(place))

    def slope(self, u: np.ndarray) -> np.ndarray:
        """V'(u) over the mass density, −u_tt of a uniform field at rest."""
        law = sp.lambdify(jet_symbols(self.field), -self.law, "numpy")
        return np.broadcast_to(law(np.asarray(u, dtype=float), 0, 0, 0), np.shape(u))

    def __str__(self) -> str:
        parts = [f"{c:+.5g}*{term}" for term, c in self.coefficients.items() if c]
        return f"{self.field}_tt = {' '.join(parts) or '0'}"

    __repr__ = __str__
