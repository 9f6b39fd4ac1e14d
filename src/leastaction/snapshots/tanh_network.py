"""One layer of tanh units for L, trained on discrete Euler–Lagrange rows.

The network variant of the paper (section 2.5.1), without a deep-learning framework: the
Jacobian has a closed form. With u = w·z + c a row of the discrete Euler–Lagrange
equation is a sum of (α·w) tanh'(u) over its states z, with α the weights of ∂L/∂z
there; the discrete mass is a sum of (w·β w) tanh''(u).
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from scipy.optimize import least_squares
from scipy.special import ndtri

from leastaction.core.contracts import time_step
from leastaction.core.simulation import halton
from leastaction.snapshots.bases import TanhLayer, scaled_inputs, tanh_derivatives
from leastaction.snapshots.constrained_rows import constrained
from leastaction.snapshots.contracts import CONTRACTS, described
from leastaction.snapshots.discrete_lagrangian import (
    discrete_euler_lagrange,
    mass_conditions,
    pair_states,
    pairs,
    positions_of,
    quadrature,
)


class NetworkResiduals:
    """Residuals and Jacobian of L = Σ b_k tanh(w_k·z + c_k) on positions."""

    def __init__(self, positions: np.ndarray, time_step: float, rule: str):
        n, h = positions.shape[-1], time_step
        self._size, self._rows, self._masses = 2 * n, [], []
        identity = np.eye(n)
        for part, earlier in ((positions[:, :-1], True), (positions[:, 1:], False)):
            for weight, theta, z in quadrature(*pairs(part), h, rule):
                of_q, of_v = (theta, 1.0 / h) if earlier else (1 - theta, -1.0 / h)
                alpha = np.hstack([of_q * identity, of_v * identity])
                self._rows.append((z, weight * alpha))
        for weight, theta, z in quadrature(*pairs(positions), h, rule):
            beta = np.zeros((2 * n, 2 * n))
            beta[n:, n:] = identity
            beta[:n, :n] = -(h**2) * theta * (1 - theta) * identity
            beta[:n, n:] = beta[n:, :n] = -h * (1 - 2 * theta) / 2 * identity
            self._masses.append((z, weight * beta / n))

    def split(self, parameters: np.ndarray) -> tuple[np.ndarray, ...]:
        """b, c and w of every unit."""
        table = parameters.reshape(-1, self._size + 2)
        return table[:, 0], table[:, 1], table[:, 2:]

    def residuals(self, parameters: np.ndarray) -> np.ndarray:
        """Rows over the root of their number, then the mean discrete mass minus 1."""
        return self._evaluate(parameters, False)

    def jacobian(self, parameters: np.ndarray) -> np.ndarray:
        """Derivatives of the residuals by (b_k, c_k, w_k) of every unit k."""
        return self._evaluate(parameters, True)

    def _evaluate(self, parameters: np.ndarray, derived: bool) -> np.ndarray:
        b, c, w = self.split(parameters)
        samples, n = len(self._rows[0][0]), self._size // 2
        rows = np.zeros((samples, n))
        jacobian = np.zeros((samples, n, len(b), self._size + 2)) if derived else None
        for z, alpha in self._rows:
            _, first, second = tanh_derivatives(z @ w.T + c, 2)
            slope = alpha @ w.T
            rows += np.einsum("sk,ik,k->si", first, slope, b)
            if derived:
                by_argument = second[:, None] * (slope * b)
                jacobian[..., 0] += first[:, None] * slope
                jacobian[..., 1] += by_argument
                jacobian[..., 2:] += by_argument[..., None] * z[:, None, None]
                outer = (first * b)[:, None, :, None]
                jacobian[..., 2:] += outer * alpha[None, :, None]
        mass, gradient = -1.0, np.zeros((len(b), self._size + 2))
        for z, beta in self._masses:
            _, _, second, third = tanh_derivatives(z @ w.T + c, 3)
            image = w @ beta
            square = (image * w).sum(axis=1)
            mean = second.mean(axis=0)
            mass += (b * square * mean).sum()
            gradient[:, 0] += square * mean
            gradient[:, 1] += b * square * third.mean(axis=0)
            along = third.T @ z / len(z)
            gradient[:, 2:] += b[:, None] * (
                2 * image * mean[:, None] + square[:, None] * along
            )
        scale = 1 / np.sqrt(rows.size)
        if not derived:
            return np.append(scale * rows.ravel(), mass)
        return np.vstack([scale * jacobian.reshape(rows.size, -1), gradient.ravel()])


def identify(
    equations: xr.Dataset | None,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> xr.Dataset:
    """Network of one case: least squares in all weights, from random ones.

    The outer weights begin with the most probable ones of the random layer.
    """
    positions, h = positions_of(observations), time_step(observations)
    rule, units = settings["rule"], settings["units"]
    # Normal weights in units of the data, from a Halton sequence.
    inputs, centre = scaled_inputs(pair_states(*pairs(positions), h))
    draws = ndtri(halton(1, 2 * positions.shape[-1] + 1, units))
    weights = draws[:, 1:] @ inputs
    layer = TanhLayer(weights, draws[:, 0] - weights @ centre)
    rows = discrete_euler_lagrange(layer, positions, h, rule, whiten=True)
    conditions = mass_conditions(layer, positions, h, rule)
    system = constrained(rows.reshape(-1, units), *conditions)
    start = system.coefficients(system.most_probable()[0])
    network = NetworkResiduals(positions, h, rule)
    parameters = np.column_stack([start, layer.offsets, layer.weights]).ravel()
    until = {"xtol": 1e-15, "ftol": None, "gtol": None}
    until["max_nfev"] = settings["evaluations"]
    found = least_squares(
        network.residuals, parameters, network.jacobian, x_scale="jac", **until
    )
    b, c, w = network.split(found.x)
    about = {"units": "mixed", "long_name": "rms of the rows"}
    rms = float(np.linalg.norm(found.fun[:-1]))
    values = {
        "coefficient": b,
        "row_error": xr.Variable("replicate", [rms], about),
        "mass_error": found.fun[-1],
        "evaluations": float(found.nfev),
    }
    return CONTRACTS["learned_lagrangian"].dataset(
        TanhLayer(w, c).to_dataset() | values,
        coords={"replicate": observations["replicate"].values},
        attrs=described(observations, rule, shadow=1),
    )
