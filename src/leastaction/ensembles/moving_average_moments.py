"""Moments of noisy measurements, whose residual is a moving average.

*Of (q, q̇).* What :mod:`~leastaction.ensembles.martingale_moments` pairs is noisy on
both sides: the increment k → k+1 contains the sensor noise of samples k and k+1. Three
changes make the moments right again:

* The instruments come from samples at least `lag` before the increment, the memory of
  the sensor noise; a trailing mean over about 2ξ samples keeps the noise in them small,
  with ξ = s_q̇/(σ√dt).
* A nonlinear function of noisy data has the wrong mean. If e is Gaussian with
  covariance diag(s²), the mean of f(x + e) is exp(½ Σ s_j² ∂_j²) f. So Appell's
  operator, the inverse of that heat kernel, gives f̃ = exp(−½ Σ s_j² ∂_j²) f with
  E f̃(x + e) = f(x); on monomials these are Hermite polynomials (Appell 1880; Stefanski
  1989 for errors in variables). It is applied to ∂D/∂q̇ and ∂D/∂q.
* Neighbouring residuals depend on each other. With the products of instruments and of
  increments at lags 0 ... L kept, every residual autocovariance γ_h(c) = cᵀ G_h c, and
  with it the covariance of the moments,

  .. math::  \\operatorname{Cov} \\sum_k Z_k r_k
             = \\sum_h γ_h ⊗ \\sum_k Z_k Z_{k+h}^T ,

  is known for every choice of coefficients c without a second look at the data.

*From displacements alone.* A smooth window is integrated against the Euler–Lagrange
equation, and both derivatives of the inertia fall on the window (weak form: Messenger
and Bortz 2021; Bortz, Messenger and Dukic 2023): no velocity is needed, and sensor
noise is averaged. The instruments are a cubic fit to samples before the window. Forces
of coordinates alone are taken at the raw samples, freed of the bias by Appell's
operator; what depends on velocities, at a cubic fit around nodes of the window.

The test function is f(ξ) = (1 − ξ²)³ with ξ the distance from the middle over the half
width H. Its weights are exact for samples: with φ the piecewise linear function of f,

.. math::  ∫φ\\, \\ddot q\\, dt = \\frac{1}{dt} Σ f_k (q_{k+1} − 2 q_k + q_{k-1}) ,
           \\qquad
           ∫φ\\, F\\, dt ≈ dt Σ f_k \\frac{F_{k+1} + 10 F_k + F_{k-1}}{12} .

The first holds for every path, the second to O(dt⁴) (Numerov). Sampled derivatives of f
do not sum to zero and would let the position itself into the balance of forces. φ has
the norm ∫φ dt = dt √stride: like increments over one step, the integrals of white noise
of intensity σ then have the long-run variance σ² dt. The equation of a true Lagrangian
is unbiased if its momenta are linear in q̇ with constant coefficients. Other kinetic
terms are candidates with the small bias of a fit.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp
import xarray as xr
from scipy import sparse
from scipy.signal import savgol_coeffs

from leastaction.core.compiled import evaluator
from leastaction.core.contracts import check, time_step
from leastaction.core.euler_lagrange import (
    rates_along_motion,
    symbols,
    velocity_names,
)
from leastaction.core.library import Library
from leastaction.ensembles.contracts import CONTRACTS
from leastaction.ensembles.martingale_moments import (
    about_candidates,
    monomial_instruments,
    step_increments,
)

# So that what is made of them fits the processor's cache.
SAMPLES_PER_BATCH = 500
# Exact for polynomials of degree 7; the next term of sin x is s⁸/384.
ORDER_OF_APPELL = 3
SHORTEST_HALF_WIDTH = 4
# Half widths of the windows, in smoothing scales.
HALF_WIDTHS = (1, 2, 4)
DEGREE_OF_FITS = 3
# Half width: a cubic needs five samples to be a fit.
NARROWEST_FIT = 2
NODES_PER_HALF_WIDTH = 8


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Lagged moments of noisy (q, q̇) at one scale, the length of the trailing mean.

    Instruments are those of
    :func:`~leastaction.ensembles.martingale_moments.monomial_instruments`, of the
    smoothed state.
    """
    check(derivatives, "sensor_noise")
    terms = Library.from_config(library, observations["dof"].values)
    instruments = monomial_instruments(terms.coordinates, settings)
    increments = Increments(terms, derivatives)
    evaluate = evaluator(list(instruments), terms.coordinates)
    q, v = observations["q"].values[0], observations["qdot"].values[0]
    dt, steps = time_step(observations), q.shape[1] - 1
    lag = int(derivatives["lag"].values[0])
    mean, block = smoothing_lengths(derivatives, steps)
    p, width = len(instruments), increments.width
    moment, long_run = np.zeros((p, width)), np.zeros((width, width))
    z_gram, x_gram = np.zeros((lag + 1, p, p)), np.zeros((lag + 1, width, width))
    for x, xdot in zip(q, v, strict=True):
        rows = increments(x, xdot, dt)[lag:]
        z = evaluate(*(trailing_mean(s, mean)[: steps - lag] for s in (x, xdot)))
        moment += z.T @ rows
        z_gram += lagged_gram(z, lag)
        x_gram[1:] += lagged_gram(rows, lag, first=1)
        long_run += long_run_gram(rows, block)
    x_gram /= len(q) * (steps - lag)
    long_run /= len(q) * ((steps - lag) // block - 1)
    x_gram[0] = _variance(x_gram, long_run, triangle_products(block, lag))
    scales = [(mean, moment, z_gram, x_gram)]
    return _dataset(scales, increments, observations, derivatives, instruments)


def assemble_weak(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Weak moments of displacements at three half widths of the window.

    They are s, 2s and 4s with s the smoothing scale of the contract ``sensor_noise``.
    q̇ is not looked at. Instruments are those of
    :func:`~leastaction.ensembles.martingale_moments.monomial_instruments`, of the
    fitted state.

    Raises
    ------
    ValueError
        If the paths are too short for two windows.
    """
    check(derivatives, "sensor_noise")
    terms = Library.from_config(library, observations["dof"].values)
    instruments = monomial_instruments(terms.coordinates, settings)
    balance = Balance(terms, derivatives["position_noise"].values[0])
    evaluate = evaluator(list(instruments), terms.coordinates)
    q = observations["q"].values[0]
    p, width = len(instruments), balance.width
    scales = _windows(q.shape[1], derivatives, time_step(observations))
    moment = [np.zeros((p, width)) for _ in scales]
    z_gram = [np.zeros((one.lags + 1, p, p)) for one in scales]
    x_gram = [np.zeros((one.lags + 1, width, width)) for one in scales]
    for path in q:
        force = balance.force_at_samples(path)
        for i, one in enumerate(scales):
            fit = one.position @ path, one.velocity @ path
            rows = balance(path, force, fit, one)
            z = evaluate(*(state[one.before] for state in fit))
            moment[i] += z.T @ rows
            z_gram[i] += lagged_gram(z, one.lags)
            x_gram[i] += lagged_gram(rows, one.lags)
    sums = [
        (one.half_width, m, z, x / (len(q) * len(one.before)))
        for one, m, z, x in zip(scales, moment, z_gram, x_gram, strict=True)
    ]
    return _dataset(sums, balance, observations, derivatives, instruments)


class Columns:
    """Momenta and forces of all candidates, those that are zero by algebra left out.

    Most candidates act on few degrees of freedom. `place` holds the positions of the
    `width` columns among all (dof, term).
    """

    def __init__(self, library: Library):
        self.library = library
        q = symbols(library.coordinates)
        qdot = symbols(velocity_names(library.coordinates))
        momenta = [sp.diff(term, v) for v in qdot for term in library.column_terms]
        forces = [sp.diff(term, x) for x in q for term in library.column_terms]
        pairs = list(zip(momenta, forces, strict=True))
        self.place = np.array([i for i, pair in enumerate(pairs) if any(pair)])
        self.width = len(self.place)
        self.momenta = [momenta[i] for i in self.place]
        self.forces = [forces[i] for i in self.place]


def _dataset(scales, columns: Columns, observations, derivatives, instruments):
    """Contract ``moving_average_moments`` of one replicate.

    Each scale is a window with Σ Z Xᵀ, Σ_k Z_k Z_{k+h}ᵀ and the mean of X_k X_{k+h}ᵀ
    over the columns. Fewer lags than at other scales are filled with zeros.
    """
    terms, place = columns.library, columns.place
    dof, m = len(terms.coordinates), len(terms.columns)
    count, p = len(scales), len(instruments)
    lags = max(len(z) for _, _, z, _ in scales)
    moment = np.zeros((count, p, dof * m))
    z_gram = np.zeros((count, lags, p, p))
    x_gram = np.zeros((count, lags, dof * m, dof * m))
    for i, (_, sums, z, x) in enumerate(scales):
        moment[i][:, place] = sums
        z_gram[i, : len(z)] = z
        x_gram[i, : len(x)][:, place[:, None], place] = x
    moment = np.moveaxis(moment.reshape(count, p, dof, m), 1, 2)
    x_gram = np.moveaxis(x_gram.reshape(count, lags, dof, m, dof, m), -2, -3)
    status, names, candidates = about_candidates(terms)
    q = observations["q"]
    return CONTRACTS["moving_average_moments"].dataset(
        {
            "moment": moment,
            "instrument_gram": z_gram,
            "increment_gram": np.ascontiguousarray(x_gram),
            "realised_covariation": derivatives["realised_covariation"],
            "window": [window for window, *_ in scales],
            "samples": q.sizes["trajectory"] * (q.sizes["time"] - 1),
            "time_step": time_step(observations),
            **status,
        },
        coords={
            "replicate": derivatives["replicate"],
            "dof": list(terms.coordinates),
            "term": names,
            "instrument": [str(z) for z in instruments],
            "candidate": candidates,
        },
        attrs={"lagrangian_candidates": len(terms.terms)},
    )


def lagged_gram(rows: np.ndarray, lags: int, first: int = 0) -> np.ndarray:
    """Σ_k x_k x_{k+h}ᵀ of one path, h = `first` ... `lags`, (lag, column, column)."""
    n, width = rows.shape
    gram = np.empty((lags + 1 - first, width, width))
    for one, h in zip(gram, range(first, lags + 1), strict=True):
        np.matmul(rows[: n - h].T, rows[h:], out=one)
    return gram


def unbiased(
    expression: sp.Expr,
    variance: Mapping[sp.Symbol, sp.Expr],
    order: int = ORDER_OF_APPELL,
) -> sp.Expr:
    """f̃ with E f̃(x + e) = f(x), to the power `order` of the variances of e."""
    total = term = sp.sympify(expression)
    for n in range(1, order + 1):
        if term == 0:
            break
        term = sum(
            (-s2 * sp.diff(term, x, 2) / (2 * n) for x, s2 in variance.items()),
            sp.Integer(0),
        )
        total += term
    return total


def smoothing_lengths(derivatives: xr.Dataset, steps: int) -> tuple[int, int]:
    """Samples of the trailing mean, and of the blocks that tell the long-run variance.

    About 2ξ and 5ξ. Where the first guess of σ is an upper limit only, both are lower
    limits; the smoothing scale bounds the first.
    """
    lag = int(derivatives["lag"].values[0])
    xi = float(np.nanmax(derivatives["noise_ratio"].values[0])) * np.sqrt(lag)
    scale = int(derivatives["smoothing_scale"].values[0])
    mean = int(np.clip(round(2 * xi), 1, max(1, scale)))
    shortest = 4 * max(1, lag)
    block = int(np.clip(np.ceil(5 * xi), shortest, max(shortest, steps // 16)))
    return mean, block


def trailing_mean(path: np.ndarray, length: int) -> np.ndarray:
    """Mean of the last `length` samples, of fewer where the path begins."""
    if length == 1:
        return path
    total = np.cumsum(path, axis=0)
    count = np.minimum(np.arange(1, len(path) + 1), length)
    total[length:] -= total[:-length].copy()
    return total / count[:, None]


def long_run_gram(rows: np.ndarray, block: int) -> np.ndarray:
    """Σ P Pᵀ with P the sums of increments under triangular windows (pre-averaging).

    The windows rise over one block of samples and fall over the next.
    """
    count = len(rows) // block
    pieces = rows[: count * block].reshape(count, block, -1)
    rise = np.arange(1, block + 1) / block
    rising, both = np.moveaxis(np.stack([rise, np.ones(block)]) @ pieces, 1, 0)
    windows = rising[:-1] + (both - rising)[1:]
    return windows.T @ windows


def triangle_products(block: int, lags: int) -> np.ndarray:
    """Σ_j w_j w_{j+h} of the triangular window, h = 0 ... `lags`."""
    rise = np.arange(1, block + 1) / block
    window = np.concatenate([rise, rise[-2::-1]])
    padded = np.concatenate([window, np.zeros(lags)])
    return np.array([window @ padded[h : h + len(window)] for h in range(lags + 1)])


def _variance(x_gram, long_run, products) -> np.ndarray:
    """G_0 such that the long-run variance is that of the triangular windows.

    Windows with Σ w_j w_{j+h} = W_h have the variance γ_0 W_0 + 2 Σ γ_h W_h. The sum
    γ_0 + 2 Σ γ_h of directly measured values would be lost in their errors for ξ ≫ 1.
    """
    both = x_gram[1:] + np.swapaxes(x_gram[1:], 1, 2)
    weighted = np.tensordot(products[1:], both, axes=1)
    return (long_run - weighted) / products[0]


class Increments(Columns):
    """Increments of all candidates over each step, without the bias by sensor noise."""

    def __init__(self, terms: Library, derivatives: xr.Dataset):
        super().__init__(terms)
        self._moving = np.array([bool(momentum) for momentum in self.momenta])
        noise = [f"{name}_variance" for name in terms.variables]
        variance = dict(zip(symbols(terms.variables), symbols(noise), strict=True))
        momenta = [momentum for momentum in self.momenta if momentum]
        rates = rates_along_motion(self.forces, terms.coordinates)
        columns = [unbiased(f, variance) for f in (*momenta, *self.forces)]
        self._evaluate = evaluator([*columns, *rates], terms.coordinates, noise)
        sensors = [f"{channel}_noise" for channel in ("position", "velocity")]
        deviations = [derivatives[name].values[0] for name in sensors]
        self._variance = np.square(np.concatenate(deviations))

    def __call__(self, q: np.ndarray, qdot: np.ndarray, dt: float) -> np.ndarray:
        """Increments of one path, shape (samples − 1, width)."""
        steps, moving = len(q) - 1, int(self._moving.sum())
        rows = np.empty((steps, self.width))
        for start in range(0, steps, SAMPLES_PER_BATCH):
            window = slice(start, min(start + SAMPLES_PER_BATCH, steps) + 1)
            values = self._evaluate(q[window], qdot[window], self._variance)
            momentum = np.zeros((len(values), self.width))
            momentum[:, self._moving] = values[:, :moving]
            force, rate = np.split(values[:, moving:], 2, axis=1)
            rows[start : window.stop - 1] = step_increments(momentum, force, rate, dt)
        return rows


class Balance(Columns):
    """Euler–Lagrange expressions of all candidates, integrated against windows."""

    def __init__(self, terms: Library, position_noise: Sequence[float]):
        super().__init__(terms)
        q, qdot = symbols(terms.coordinates), symbols(terms.velocities)
        momenta, forces = self.momenta, self.forces
        mass = [constant_mass(p, qdot) for p in momenta]
        self._mass = np.array([row or [0.0] * len(q) for row in mass], dtype=float).T
        noise = [f"{name}_variance" for name in terms.coordinates]
        variance = dict(zip(q, symbols(noise), strict=True))
        self._variance = np.square(np.asarray(position_noise, dtype=float))
        moving = [f.has(*qdot) for f in forces]
        self._raw = [i for i, f in enumerate(forces) if f and not moving[i]]
        self._fitted = [i for i, f in enumerate(forces) if f and moving[i]]
        self._curved = [i for i, p in enumerate(momenta) if p and mass[i] is None]
        self._at_samples = evaluator(
            [unbiased(forces[i], variance) for i in self._raw], terms.coordinates, noise
        )
        self._at_fit = evaluator(
            [momenta[i] for i in self._curved] + [forces[i] for i in self._fitted],
            terms.coordinates,
        )

    def force_at_samples(self, q: np.ndarray) -> np.ndarray:
        """Forces that depend on coordinates only, at the samples of one path."""
        return self._at_samples(q, np.zeros_like(q), self._variance)

    def __call__(self, q: np.ndarray, force: np.ndarray, fit, windows: "Windows"):
        """Integrals over the windows of one path, shape (window, width).

        `fit` holds q and q̇ at the nodes, `force` is :meth:`force_at_samples` of `q`.
        """
        rows = (windows.inertia @ q) @ self._mass
        rows[:, self._raw] -= windows.force @ force
        if self._curved or self._fitted:
            values = self._at_fit(*fit)
            split = len(self._curved)
            rows[:, self._curved] += windows.smooth_momentum @ values[:, :split]
            rows[:, self._fitted] -= windows.smooth_force @ values[:, split:]
        return rows


def constant_mass(momentum: sp.Expr, qdot: Sequence[sp.Symbol]) -> list[float] | None:
    """M with p = M q̇ if M is a row of numbers, else None."""
    mass = [sp.diff(momentum, v) for v in qdot]
    rest = momentum - sum(m * v for m, v in zip(mass, qdot, strict=True))
    if all(m.is_number for m in mass) and sp.expand(rest) == 0:
        return [float(m) for m in mass]
    return None


def _windows(samples: int, derivatives, dt: float) -> list["Windows"]:
    """Windows of the half widths s, 2s, 4s that fit into a path at least twice over."""
    lag = int(derivatives["lag"].values[0])
    scale = max(SHORTEST_HALF_WIDTH, int(derivatives["smoothing_scale"].values[0]))
    found = [Windows(factor * scale, samples, lag, dt) for factor in HALF_WIDTHS]
    found = [one for one in found if len(one.before) > 2 * one.lags]
    if not found:
        raise ValueError(
            f"the sensor noise hides the motion over {scale} of {samples} samples; "
            "record longer paths or better sensors"
        )
    return found


class Windows:
    """All windows of about one half width, in samples, on a path.

    Smooth quantities are looked at on `nodes`, eight to a half width, if there are as
    many; `before` is, for each window, the last node whose fit uses earlier samples
    only. Windows `lags` strides apart still share samples, or their noise, which
    forgets itself after `memory` samples. The rest are sparse matrices of weights.
    """

    def __init__(self, half_width: int, samples: int, memory: int, time_step: float):
        self.spacing = max(1, round(half_width / NODES_PER_HALF_WIDTH))
        half = min(NODES_PER_HALF_WIDTH, half_width)
        self.half_width = half * self.spacing
        self.stride = self.spacing * max(1, half // 2)
        self.lags = (2 * self.half_width + memory - 1) // self.stride
        reach = max(NARROWEST_FIT, self.half_width // 2)
        self.nodes = np.arange(reach, samples - reach, self.spacing)
        first = -(-(self.half_width + memory + reach) // self.spacing)
        last = len(self.nodes) - half - 1
        while last > 0 and self.nodes[last] + self.half_width >= samples:
            last -= 1
        middles = np.arange(first, last, self.stride // self.spacing)
        centres = self.nodes[middles]
        ends = centres - self.half_width - memory
        self.before = np.searchsorted(self.nodes, ends - reach, side="right") - 1
        test, dt, count = self._test(self.half_width), time_step, len(self.nodes)
        # Of q and F at the samples, and of F and p at the nodes, in ∫φ q̈ dt, ∫φ F dt
        # and ∫φ ṗ dt; the last by differences of fourth order.
        self.inertia = _rows(np.convolve(test, [1, -2, 1]) / dt, centres, samples)
        self.force = _rows(np.convolve(test, [1, 10, 1]) * dt / 12, centres, samples)
        test = self._test(half)
        self.smooth_force = _rows(test * dt * self.spacing, middles, count)
        difference = np.array([1, -8, 0, 8, -1]) / 12
        self.smooth_momentum = _rows(np.convolve(test, difference), middles, count)
        # Of q in a cubic fit around each node, and its slope (Savitzky and Golay 1964).
        self.position, self.velocity = (
            _rows(
                savgol_coeffs(
                    2 * reach + 1, DEGREE_OF_FITS, order, delta=dt, use="dot"
                ),
                self.nodes,
                samples,
            )
            for order in (0, 1)
        )

    def _test(self, half: int) -> np.ndarray:
        """Test function at so many points to a half width."""
        inner = (1 - (np.arange(1 - half, half) / half) ** 2) ** 3
        spacing = self.half_width // half
        return inner / (inner.sum() * spacing) * np.sqrt(self.stride)


def _rows(weights: np.ndarray, centres: np.ndarray, size: int) -> sparse.csr_array:
    """One row of the same weights around each centre."""
    half = len(weights) // 2
    columns = centres[:, None] + np.arange(-half, half + 1)
    count = len(centres)
    starts = np.arange(count + 1) * len(weights)
    return sparse.csr_array(
        (np.tile(weights, count), columns.ravel(), starts), shape=(count, size)
    )
