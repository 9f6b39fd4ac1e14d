"""What data say of the coefficients of ẋ = W g(x) + B u and y = Y g(x).

First a weak form, then prediction errors; both give the same object, a quadratic
approximation of χ² in the coefficients q = (W, B, Y):

.. math::  χ^2(q) \\approx χ^2_0 + | A q - t |^2 .

Weak form: with test functions ψ on windows, −∫ψ̇ x dt = W ∫ψ g dt + B ∫ψ u dt, by
generalised least squares, since the errors of x are white (Messenger and Bortz 2021).
There g is taken at smoothed states, and their errors bias W. Prediction errors: windows
with a free initial state are integrated with their sensitivities, and one Gauss–Newton
step (Bock 1983; Le Cam's one-step estimate) takes that bias away.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from leastaction.ports.port_structure import Candidates

# Test function (1 − s²)^ORDER, and samples from one window to the next.
ORDER, SHIFT = 6, 6
# Directions of q whose information is below this share are not seen by the data.
LEAST_INFORMATION = 1e-12


@dataclass(frozen=True, eq=False)
class Records:
    """Motions of one replicate.

    Attributes
    ----------
    step
        Time step, s.
    x, u, y
        States, inputs and outputs (trajectory, time, ...); no columns of y if they are
        not used.
    smooth
        Smoothed states.
    x_std, y_std
        Standard deviations of the noise, by state and by port.
    """

    step: float
    x: np.ndarray
    u: np.ndarray
    y: np.ndarray
    smooth: np.ndarray
    x_std: np.ndarray
    y_std: np.ndarray

    @cached_property
    def half_steps(self) -> np.ndarray:
        """Inputs at every half step, by a spline of degree five."""
        from scipy.interpolate import make_interp_spline  # slow to import

        steps = np.arange(self.u.shape[1])
        half = np.arange(2 * steps.size - 1) / 2
        return make_interp_spline(steps, self.u, k=5, axis=1)(half)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """χ² near the data's best coefficients: |A q − t|² over `inflation`.

    Attributes
    ----------
    matrix, target
        A and t, of full row rank.
    chi_square, dof
        χ² at q from which it was formed, without what q can take away, and its degrees
        of freedom.
    count
        Numbers that were measured.
    """

    matrix: np.ndarray
    target: np.ndarray
    chi_square: float
    dof: int
    count: int

    @classmethod
    def of(cls, information, score, q, chi_square, count, used) -> "Quadratic":
        """Of the information matrix and the score at coefficients `q`."""
        sizes = np.sqrt(np.diag(information))
        sizes[sizes == 0] = 1.0
        values, vectors = np.linalg.eigh(information / np.outer(sizes, sizes))
        kept = values > LEAST_INFORMATION * values[-1]
        root = np.sqrt(values[kept])
        matrix = (vectors[:, kept] * root).T * sizes
        gain = (vectors[:, kept] / root).T @ (score / sizes)
        left = max(chi_square - gain @ gain, 0.0)
        dof = count - used - int(kept.sum())
        return cls(matrix, matrix @ q + gain, left, dof, count)

    @property
    def inflation(self) -> float:
        """χ² of the free coefficients over its degrees of freedom, at least one."""
        return max(1.0, self.chi_square / self.dof)

    @property
    def best(self) -> np.ndarray:
        """Free coefficients, of least norm where the data do not see them."""
        return np.linalg.lstsq(self.matrix, self.target, rcond=None)[0]

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

    found = x.copy()
    for j, sigma in enumerate(std):
        for window in windows:
            if window >= x.shape[1]:
                continue
            kept = 1 - savgol_coeffs(window, 4)[window // 2]
            trial = savgol_filter(x[..., j], window, 4, axis=1)
            size = ((x[..., j] - trial) ** 2).mean()
            allowed = 1 + 2 * np.sqrt(2 / x[..., j].size)
            if size <= sigma**2 * kept * allowed:
                found[..., j] = trial
                break
    return found


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
    g = candidates.values(records.smooth.reshape(-1, n))[0]
    g = g.reshape(trajectories, times, -1)
    whiten = np.linalg.inv(np.linalg.cholesky(rows[1] @ rows[1].T))
    left = whiten @ rows[0] @ np.concatenate([g, records.u], axis=2)
    right = -whiten @ rows[1] @ records.x
    left, right = (part.reshape(-1, part.shape[2]) for part in (left, right))
    functions = g.shape[2]
    size = functions * (n + outputs) + n * ports
    information, score, chi = np.zeros((size, size)), np.zeros(size), 0.0
    places = np.arange(size)
    of_b = places[n * functions : n * functions + n * ports].reshape(n, ports)
    for i, sigma in enumerate(records.x_std):
        mine = np.r_[i * functions : (i + 1) * functions, of_b[i]]
        information[np.ix_(mine, mine)] = left.T @ left / sigma**2
        score[mine] = left.T @ right[:, i] / sigma**2
        chi += (right[:, i] ** 2).sum() / sigma**2
    flat = g.reshape(-1, functions)
    for i, sigma in enumerate(records.y_std):
        mine = n * (functions + ports) + np.arange(i * functions, (i + 1) * functions)
        measured = records.y[..., i].ravel()
        information[np.ix_(mine, mine)] = flat.T @ flat / sigma**2
        score[mine] = flat.T @ measured / sigma**2
        chi += (measured**2).sum() / sigma**2
    count = right.size + records.y.size
    return Quadratic.of(information, score, np.zeros(size), chi, count, 0)


class PredictionErrors:
    """Errors of predictions from free initial states, on windows of some samples.

    Parameters
    ----------
    records
        The motions.
    candidates
        Of H.
    samples
        Steps of a window.
    """

    def __init__(self, records: Records, candidates: Candidates, samples: int):
        self.records, self.candidates, self.samples = records, candidates, samples
        self.functions = candidates.tensor.shape[2]
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

    def _split(self, q: np.ndarray) -> tuple[np.ndarray, ...]:
        n, ports, functions = self.x.shape[2], self.u.shape[2], self.functions
        w, b, y = np.split(q, [n * functions, n * (functions + ports)])
        return w.reshape(n, -1), b.reshape(n, ports), y.reshape(-1, functions)

    def _rates(self, x, s, u, w, b):
        """ẋ and the rate of the sensitivities by start, W and B."""
        n, f, m = x.shape[1], self.functions, u.shape[1]
        g, slopes = self.candidates.values(x)
        rates = (w @ slopes) @ s
        for i in range(n):
            first = n + i * f
            rates[:, i, first : first + f] += g
            first = n + n * f + i * m
            rates[:, i, first : first + m] += u
        return g @ w.T + u @ b.T, rates

    def quadratic(self, q: np.ndarray) -> Quadratic | None:
        """χ² near `q`; None if a motion does not stay finite. Moves the starts."""
        w, b, of_y = self._split(q)
        windows, count, n = self.x.shape
        f, h = self.functions, self.records.step
        sensed = n + w.size + b.size
        x, s = self.start, np.zeros((windows, n, sensed))
        s[:, :, :n] = np.eye(n)
        deviations = np.concatenate([self.records.x_std, self.records.y_std])
        outputs = len(of_y)
        residual = np.empty((windows, count, n + outputs))
        slope = np.zeros((windows, count, n + outputs, sensed + of_y.size))
        with np.errstate(all="ignore"):
            for k in range(count):
                residual[:, k, :n] = self.x[:, k] - x
                slope[:, k, :n, :sensed] = s
                if outputs:
                    g, of_g = self.candidates.values(x)
                    residual[:, k, n:] = self.y[:, k] - g @ of_y.T
                    slope[:, k, n:, :sensed] = (of_y @ of_g) @ s
                    for i in range(outputs):
                        first = sensed + i * f
                        slope[:, k, n + i, first : first + f] = g
                if k == count - 1:
                    break
                u0, u1, u2 = (self.u[:, 2 * k + i] for i in range(3))
                k1, s1 = self._rates(x, s, u0, w, b)
                k2, s2 = self._rates(x + h / 2 * k1, s + h / 2 * s1, u1, w, b)
                k3, s3 = self._rates(x + h / 2 * k2, s + h / 2 * s2, u1, w, b)
                k4, s4 = self._rates(x + h * k3, s + h * s3, u2, w, b)
                x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
                s = s + h / 6 * (s1 + 2 * s2 + 2 * s3 + s4)
        if not (np.isfinite(slope).all() and np.isfinite(residual).all()):
            return None
        residual = (residual / deviations).reshape(windows, -1)
        slope = (slope / deviations[:, None]).reshape(windows, residual.shape[1], -1)
        basis, upper = np.linalg.qr(slope[:, :, :n])
        along = np.einsum("wki,wk->wi", basis, residual)
        self.start = self.start + np.linalg.solve(upper, along[..., None])[..., 0]
        residual = residual - np.einsum("wki,wi->wk", basis, along)
        own = slope[:, :, n:]
        own = own - basis @ (np.swapaxes(basis, 1, 2) @ own)
        flat = own.reshape(-1, own.shape[2])
        return Quadratic.of(
            flat.T @ flat,
            flat.T @ residual.ravel(),
            q,
            float((residual**2).sum()),
            residual.size,
            self.start.size,
        )
