"""What data say of the coefficients of ẋ = W g(x) + B u and y = Y g(x).

First a weak form, then prediction errors; both give the same object, a quadratic
approximation of χ² in the coefficients q = (W, B, Y):

.. math::  χ^2(q) \\approx χ^2_0 + | A q - t |^2 .

Weak form: with test functions ψ on windows, −∫ψ̇ x dt = W ∫ψ g dt + B ∫ψ u dt, by
generalised least squares, since the errors of x are white (Messenger and Bortz 2021).
There g is taken at smoothed states, and their errors bias W. Prediction errors: motions
or windows of them with a free initial state are integrated with their sensitivities;
Gauss–Newton steps (Bock 1983) take that bias away and, on whole motions, end in the
maximum likelihood.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import xarray as xr

from leastaction.core import library
from leastaction.core.contracts import time_step
from leastaction.core.expressions import to_text
from leastaction.ports.contracts import CONTRACTS
from leastaction.ports.dae import runge_kutta_step
from leastaction.ports.port_structure import Candidates

# Below this share of the rms errors of the integration exceed the noise.
NOISE_FLOOR = 1e-5
# Test function (1 − s²)^ORDER, and samples from one window to the next.
ORDER, SHIFT = 6, 6
# Directions of q whose information is below this share are not seen by the data.
LEAST_INFORMATION = 1e-12


@dataclass(frozen=True, eq=False)
class Records:
    """Motions of one replicate; no columns of y if outputs are not used."""

    step: float  # s
    x: np.ndarray  # states (trajectory, time, state), and so u and y
    u: np.ndarray
    y: np.ndarray
    smooth: np.ndarray  # smoothed states
    x_std: np.ndarray  # noise of every state and output
    y_std: np.ndarray

    @classmethod
    def of(cls, observations: xr.Dataset, derivatives: xr.Dataset, outputs: bool):
        """Records of one replicate and case, and `derivatives` with their noise."""
        channels = (observations[name].values[0] for name in ("x", "u", "y"))
        noise = (derivatives[name].values[0] for name in ("x_smooth", "x_std", "y_std"))
        records = cls(time_step(observations), *channels, *noise)
        if outputs:
            return records
        return replace(records, y=records.y[..., :0], y_std=records.y_std[:0])

    @property
    def points(self) -> np.ndarray:
        """Smoothed states of all motions, shape (point, state)."""
        return self.smooth.reshape(-1, self.smooth.shape[2])

    @cached_property
    def half_steps(self) -> np.ndarray:
        """Inputs at every half step, by a spline of degree five."""
        from scipy.interpolate import make_interp_spline  # slow to import

        steps = np.arange(self.u.shape[1])
        half = np.arange(2 * steps.size - 1) / 2
        return make_interp_spline(steps, self.u, k=5, axis=1)(half)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """χ² near the data's best coefficients: |A q − t|² over `inflation`."""

    matrix: np.ndarray  # A, of full row rank
    target: np.ndarray  # t
    chi_square: float  # at q from which it was formed, less what q can take away
    dof: int  # its degrees of freedom
    count: int  # numbers that were measured

    @classmethod
    def of(cls, information, score, q, chi_square, count, used) -> "Quadratic":
        """Of the information matrix and the score at coefficients `q`."""
        sizes = np.sqrt(np.diag(information))
        sizes[sizes == 0] = 1.0
        values, vectors = np.linalg.eigh(information / np.outer(sizes, sizes))
        usable = values > LEAST_INFORMATION * values[-1]
        root = np.sqrt(values[usable])
        matrix = (vectors[:, usable] * root).T * sizes
        gain = (vectors[:, usable] / root).T @ (score / sizes)
        left = max(chi_square - gain @ gain, 0.0)
        dof = count - used - int(usable.sum())
        return cls(matrix, matrix @ q + gain, left, dof, count)

    @property
    def inflation(self) -> float:
        """χ² of the free coefficients over its degrees of freedom, at least one."""
        return max(1.0, self.chi_square / self.dof)

    @property
    def best(self) -> np.ndarray:
        """Free coefficients; of least norm, in their units, where not seen by data."""
        sizes = np.linalg.norm(self.matrix, axis=0)
        sizes[sizes == 0] = 1.0
        result = np.linalg.lstsq(self.matrix / sizes, self.target, rcond=None)[0]
        return result / sizes

    def evened(self) -> "Quadratic":
        """The same best coefficients, all directions seen equally well."""
        sizes = np.linalg.norm(self.matrix, axis=0)
        sizes[sizes == 0] = 1.0
        left, _, right = np.linalg.svd(self.matrix / sizes, full_matrices=False)
        matrix = left @ right * sizes
        return replace(self, matrix=matrix, target=matrix @ self.best)


def noise_std(values: np.ndarray) -> np.ndarray:
    """Standard deviation of white noise, from sixth differences (traj., time, ...)."""
    differences = np.diff(values, 6, axis=1)
    return np.sqrt((differences**2).mean(axis=(0, 1)) / 924)


def smoothed(x: np.ndarray, std: np.ndarray, windows=(33, 25, 17, 13, 9)) -> np.ndarray:
    """Savitzky–Golay states of degree four: the longest window that fits the noise.

    Its residuals are no more than noise: their mean square is at most
    σ² (1 − h)(1 + 2 √(2/N)), where h is the middle weight of the filter.
    """
    from scipy.signal import savgol_coeffs, savgol_filter  # slow to import

    result = x.copy()
    for j, sigma in enumerate(std):
        for window in windows:
            if window >= x.shape[1]:
                continue
            share = 1 - savgol_coeffs(window, 4)[window // 2]
            trial = savgol_filter(x[..., j], window, 4, axis=1)
            size = ((x[..., j] - trial) ** 2).mean()
            allowed = 1 + 2 * np.sqrt(2 / x[..., j].size)
            if size <= sigma**2 * share * allowed:
                result[..., j] = trial
                break
    return result


def split(q: np.ndarray, states: int, ports: int, functions: int) -> list[np.ndarray]:
    """W (state, function), B (state, port) and Y (output, function) of q."""
    ends = [states * functions, states * (functions + ports)]
    widths = functions, ports, functions
    return [p.reshape(-1, m) for p, m in zip(np.split(q, ends), widths, strict=True)]


def weak_regression(
    records: Records, candidates: Candidates, samples: int
) -> Quadratic:
    """Quadratic of the weak form with windows of `samples`, and of y = Y g."""
    trajectories, times, n = records.x.shape
    ports, outputs = records.u.shape[2], records.y.shape[2]
    s = np.linspace(-1, 1, samples + 1)
    psi = (1 - s**2) ** ORDER * records.step
    slope = -2 * ORDER * s * (1 - s**2) ** (ORDER - 1) * 2 / samples
    starts = np.arange(0, times - samples, SHIFT)
    rows = np.zeros((2, starts.size, times))
    for k, first in enumerate(starts):
        rows[:, k, first : first + samples + 1] = psi, slope
    g = candidates.values(records.points)[0]
    functions = g.shape[1]
    beside = np.concatenate([g.reshape(trajectories, times, -1), records.u], axis=2)
    whiten = np.linalg.inv(np.linalg.cholesky(rows[1] @ rows[1].T))
    left, right = whiten @ rows[0] @ beside, -whiten @ rows[1] @ records.x
    left, right = (part.reshape(-1, part.shape[2]) for part in (left, right))
    size = functions * (n + outputs) + n * ports
    w, b, of_y = split(np.arange(size), n, ports, functions)
    y = records.y.reshape(len(g), outputs)
    equations = [  # coefficients, their regressors, measured, and its noise
        *((np.r_[w[i], b[i]], left, right[:, i], records.x_std[i]) for i in range(n)),
        *((of_y[i], g, y[:, i], records.y_std[i]) for i in range(outputs)),
    ]
    information, score, chi = np.zeros((size, size)), np.zeros(size), 0.0
    for places, columns, measured, sigma in equations:
        information[np.ix_(places, places)] = columns.T @ columns / sigma**2
        score[places] = columns.T @ measured / sigma**2
        chi += (measured**2).sum() / sigma**2
    count = right.size + records.y.size
    return Quadratic.of(information, score, np.zeros(size), chi, count, 0)


def _parts(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """States (window, state), and their sensitivities (window, state, number)."""
    return state[..., 0].copy(), state[..., 1:].copy()


class PredictionErrors:
    """Errors of predictions from free initial states, on windows of `samples` steps."""

    def __init__(self, records: Records, candidates: Candidates, samples: int):
        self.records, self.candidates, self.samples = records, candidates, samples
        first = np.arange(0, records.x.shape[1] - samples, samples + 1)
        inner = first[:, None] + np.arange(samples + 1)
        half = 2 * first[:, None] + np.arange(2 * samples + 1)
        self.x, self.y, guess = (
            a[:, inner].reshape(len(a) * len(first), samples + 1, a.shape[2])
            for a in (records.x, records.y, records.smooth)
        )
        u = records.half_steps[:, half]
        self.u = u.reshape(-1, 2 * samples + 1, u.shape[3])
        self.start = guess[:, 0].copy()

    def _rates(self, state: np.ndarray, u: np.ndarray, w: np.ndarray, b: np.ndarray):
        """Rates of x and, behind it, of its sensitivities by start, W and B."""
        (n, f), m = w.shape, b.shape[1]
        x, s = _parts(state)
        g, slopes = self.candidates.values(x)
        rates = np.empty_like(state)
        rates[..., 0] = g @ w.T + u @ b.T
        rates[..., 1:] = (w @ slopes) @ s
        for i in range(n):
            of_w, of_b = 1 + n + i * f, 1 + n + n * f + i * m
            rates[:, i, of_w : of_w + f] += g
            rates[:, i, of_b : of_b + m] += u
        return rates

    def _predicted(self, w, b, of_y) -> tuple[np.ndarray, np.ndarray]:
        """Measured less predicted, and slopes of the latter by start and q."""
        windows, count, n = self.x.shape
        outputs, f = of_y.shape
        sensed = n + w.size + b.size
        state = np.zeros((windows, n, 1 + sensed))
        state[..., 0], state[:, :, 1 : 1 + n] = self.start, np.eye(n)
        residual = np.concatenate([self.x, self.y], axis=2)
        slope = np.zeros((*residual.shape, sensed + of_y.size))
        for k in range(count):
            x, s = _parts(state)
            residual[:, k, :n] -= x
            slope[:, k, :n, :sensed] = s
            if outputs:
                g, of_g = self.candidates.values(x)
                residual[:, k, n:] -= g @ of_y.T
                slope[:, k, n:, :sensed] = (of_y @ of_g) @ s
                for i in range(outputs):
                    first = sensed + i * f
                    slope[:, k, n + i, first : first + f] = g
            if k < count - 1:
                u = (self.u[:, 2 * k + i] for i in range(3))
                state = runge_kutta_step(
                    lambda one, u: self._rates(one, u, w, b),
                    state,
                    self.records.step,
                    *u,
                )
        return residual, slope

    def quadratic(self, q: np.ndarray) -> Quadratic | None:
        """χ² near `q`; None if a motion does not stay finite. Moves the starts."""
        windows, _, n = self.x.shape
        functions = self.candidates.tensor.shape[2]
        with np.errstate(all="ignore"):
            parts = split(q, n, self.u.shape[2], functions)
            residual, slope = self._predicted(*parts)
        if not (np.isfinite(slope).all() and np.isfinite(residual).all()):
            return None
        deviations = np.concatenate([self.records.x_std, self.records.y_std])
        residual = (residual / deviations).reshape(windows, -1)
        slope = (slope / deviations[:, None]).reshape(windows, residual.shape[1], -1)
        basis, upper = np.linalg.qr(slope[:, :, :n])
        along = np.einsum("wki,wk->wi", basis, residual)
        self.start = self.start + np.linalg.solve(upper, along[..., None])[..., 0]
        residual = residual - np.einsum("wki,wi->wk", basis, along)
        by_q = slope[:, :, n:]
        by_q = by_q - basis @ (np.swapaxes(basis, 1, 2) @ by_q)
        flat = by_q.reshape(-1, by_q.shape[2])
        return Quadratic.of(
            flat.T @ flat,
            flat.T @ residual.ravel(),
            q,
            float((residual**2).sum()),
            residual.size,
            self.start.size,
        )


def smooth(observations: xr.Dataset, settings: Mapping, library: Mapping) -> xr.Dataset:
    """Savitzky–Golay states, and the noise of states and outputs."""
    x, y = (observations[name].values[0] for name in ("x", "y"))
    x_std, y_std = (
        np.maximum(noise_std(a), NOISE_FLOOR * np.sqrt((a**2).mean(axis=(0, 1))))
        for a in (x, y)
    )
    return CONTRACTS["smoothed_states"].dataset(
        {"x_smooth": smoothed(x, x_std), "x_std": x_std, "y_std": y_std},
        {"replicate": observations["replicate"].values},
    )


def weak_form(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    parts: Mapping,
) -> xr.Dataset:
    """Equations of ẋ = W g + B u and y = Y g in weak form."""
    states = [str(name) for name in observations["state"].values]
    terms = library.candidates(settings["hamiltonian"], states)
    candidates = Candidates(tuple(states), terms)
    records = Records.of(observations, derivatives, settings["outputs"])
    result = weak_regression(records, candidates, settings["window"])
    values = {
        "information": result.matrix.T @ result.matrix,
        "score": result.matrix.T @ result.target,
        "chi_square": result.chi_square + result.target @ result.target,
        "count": result.count,
        "outputs": int(settings["outputs"]),
    }
    coords = {
        "replicate": observations["replicate"].values,
        "term": [to_text(term) for term in terms],
        "function": candidates.functions,
    }
    values |= {name: derivatives[name] for name in ("x_smooth", "x_std", "y_std")}
    return CONTRACTS["port_equations"].dataset(values, coords)


def quadratic_of(equations: xr.Dataset) -> Quadratic:
    """χ² of the weak form."""
    names = ("information", "score", "chi_square", "count")
    information, score, chi, count = (equations[name].values[0] for name in names)
    start = np.zeros(len(score))
    return Quadratic.of(information, score, start, float(chi), int(count), 0)
