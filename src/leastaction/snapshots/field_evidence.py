"""A discrete Lagrangian density from snapshots of a field, by the density of the data.

Lagrangian Shadow Integration (Ober-Blöbaum and Offen) for fields: the rows
:math:`E_j^n` of :mod:`~leastaction.snapshots.discrete_density` under the condition of a
mean mass, solved as Lagrangians of motions are
(:mod:`~leastaction.snapshots.constrained_rows`). Offen and Ober-Blöbaum (2023, arXiv
2302.08232 and 2308.05082) learn such densities by neural networks.

An error of the snapshots, white with deviation σ, makes rows whose wave θ has the
autocovariance of a moving average,

.. math::

    γ_0 = σ^2 (J_0^2 + 2J_1^2), \\quad γ_1 = 2σ^2 J_0 J_1, \\quad γ_2 = σ^2 J_1^2,

with the symbol J of the density itself, averaged over uniform fields as the snapshots
have them; what the stencil cannot represent adds λσ²/dt⁴ to γ₀. (With a decay g
J₀ is J₀(1 + g)/2, and J₁ of the snapshot before g J₁.) Rows are divided by the root of
this covariance, with the J of the round before (generalised least squares). λ,
stencil, width, degree, length scale and parity
under u → −u are those of the highest probability density *of the snapshots*: the
evidence of the rows over
:math:`|\\partial E/\\partial u|^{-1} = \\prod_θ |J_1|^{-1}` per inner snapshot. Without
that factor a fit gains by J₁ → 0, where only noise is.

The rate γ of a uniform damping maximises the same density. A field is damped if
γ² exceeds its variance (:func:`measured`) by more than log N (Schwarz 1978), N values.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
import xarray as xr
from scipy.linalg import toeplitz

from leastaction.core.contracts import time_step
from leastaction.snapshots.constrained_rows import ConstrainedRows, constrained
from leastaction.snapshots.contracts import CONTRACTS
from leastaction.snapshots.discrete_density import (
    STENCILS,
    DiscreteDensity,
    StencilBasis,
    Waves,
    stabilised,
)
from leastaction.snapshots.discrete_lagrangian import positions_of

# What is chosen from, in the order in which neighbours are tried.
CHOICES = {
    "misfit": (np.inf, 1.0, 0.1, 1e-2, 1e-3),
    "width": (1, 2, 3, 4, 5, 6),
    "degree": (2, 4, 6),
    "length_scale": (2.0, 3.0, 5.0),
    "even": (False, True),
}
FIRST = {"width": 2, "degree": 4, "length_scale": 3.0, "misfit": 0.1, "even": True}
SIZES = ("width", "degree", "length_scale", "even")
# Attributes of the snapshots that go along with a model.
ATTRIBUTES = ("field", "domain_length", "domain_nodes")
# Shares of the snapshots below the uniform fields about which errors are propagated.
QUANTILES = np.linspace(0.05, 0.95, 10)
# Rounds of generalised least squares, of the width of a profile, and of a damping.
ROUNDS = 3
# Remeasured snapshots, and the root of their random numbers: eight know a standard
# error to a quarter, and the same snapshots give the same interval.
REMEASURED, SEED = 8, 0
# Shares of the snapshots below the values u of which V' is measured.
QUANTILES_OF_FORCE = (0.025, 0.2, 0.8, 0.975)
# Snapshots of a motion: every second of them is four, of which the symbol needs three.
LEAST_SNAPSHOTS = 8
# Longest move to the top of a parabola, in its steps.
FARTHEST = 5.0
# Change of a damping, in standard errors, that needs no other choice of the basis.
MOVED = 0.1
# Standard errors by which the mean power of a wave is above that of the noise.
CLEARLY = 5.0
# Amplitude of a wave below which it is round-off, over the largest.
ROUND_OFF = 1e-6
# Variables of the two longest waves that the snapshots hold.
LONGEST = ("longest_wave", "second_wave")
# Rows per function, at least.
ROWS_PER_FUNCTION = 3


def identify(
    equations: xr.Dataset, settings: Mapping, observations: xr.Dataset, library: Mapping
) -> xr.Dataset:
    """Learn the discrete Lagrangian density of a field, for one case.

    Raises a ValueError if it is not on a periodic line, or has too few snapshots.
    """
    u, (dt, dx) = positions_of(observations), grid_of(observations)
    sizes = {k: v for k, v in settings.items() if k != "method" and v is not None}
    mirror = int(observations.attrs.get("mirror", 0))
    sizes |= {"even": True} if mirror < 0 else {}
    snapshots, choice, result = damped(Snapshots(u, dt, dx, mirror=mirror), sizes)
    fit, basis = choice.fit, choice.fit.basis
    # As much room in every case.
    wide = {k: max(*CHOICES[k], getattr(basis, k)) for k in ("width", "degree")}
    wide |= {"even": False, "scales": None}
    room = [replace(basis, stencil=s, **wide) for s in STENCILS]
    functions = max(one.size for one in room)
    coordinates = max(sum(len(b.coordinates) for b in one.blocks) for one in room)
    values = {
        "coefficient": _padded(choice.coefficients, functions, 0.0),
        "coordinate_scale": _padded(basis.scales, coordinates, 1.0),
        "stencil": float(STENCILS.index(basis.stencil)),
        **{k: float(getattr(basis, k)) for k in SIZES},
        **{k: getattr(fit, k) for k in ("misfit", "noise", "log_density")},
        "waves": float(snapshots.shortest_wave(fit.noise)),
        **dict(zip(LONGEST, snapshots.longest_waves(fit.noise), strict=True)),
        "excess": snapshots.waves.excess(DiscreteDensity(basis, fit.coefficients)),
        "distance": choice.distance,
        "decay": snapshots.decay,
        **asdict(result),
    }
    return CONTRACTS["learned_field"].dataset(
        values,
        coords={"replicate": observations["replicate"].values},
        attrs={k: observations.attrs[k] for k in ATTRIBUTES}
        | {"time_step": dt, "stencils": list(STENCILS)},
    )


def damped(
    snapshots: "Snapshots", sizes: Mapping
) -> tuple["Snapshots", "Choice", "Measured"]:
    """The most probable density, and the damping of the field if there is any.

    Without one the density is conservative, and what is measured of γ bounds it.
    """
    choice = snapshots.most_probable(sizes)
    loss = snapshots.loss(choice.fit)
    result = measured(snapshots, choice, loss, np.random.default_rng(SEED))
    if not result.damping**2 > np.log(snapshots.count) * result.damping_std**2:
        return snapshots, choice, result
    for _ in range(ROUNDS):
        snapshots, before = snapshots.with_damping(loss.rate), loss
        choice = snapshots.most_probable(sizes)
        loss = snapshots.loss(choice.fit)
        if abs(loss.rate - before.rate) < MOVED * loss.std:
            break
    result = measured(snapshots, choice, loss, np.random.default_rng(SEED))
    return snapshots, choice, result


def measured(
    snapshots: "Snapshots", choice: "Choice", loss: "Loss", rng: np.random.Generator
) -> "Measured":
    """γ, c² and V'(u) with standard errors, of a density and its snapshots.

    Noise in features biases them: snapshots with as much noise again show by how much,
    and how it scatters (SIMEX, Cook and Stefanski 1994). In squares: the posterior,
    this scatter, the change by a stencil that is a cell narrower, and that by the step
    in time, of second order a third of what twice the step changes (Richardson 1911).
    """
    fit = choice.fit
    places = np.quantile(snapshots.u, QUANTILES_OF_FORCE)
    theta = (
        2 * np.pi / snapshots.u.shape[-1] * np.array(snapshots.longest_waves(fit.noise))
    )
    reach = np.append(places, np.abs(snapshots.u).max())

    def laws(basis: StencilBasis, coefficients: np.ndarray) -> np.ndarray:
        density = DiscreteDensity(basis, coefficients)
        return np.append(density.speed_squared(theta), density.slope(reach)[:-1])

    def numbers(of_snapshots: Snapshots, of: Fit) -> np.ndarray:
        again = of_snapshots._fit(of.basis, of.misfit)
        rate = of_snapshots.near(loss, of)
        return np.append(rate, laws(again.basis, again.coefficients))

    values = np.append(loss.rate, laws(fit.basis, fit.coefficients))
    factor = fit.system.factor(fit.damping)
    draws = rng.standard_normal((REMEASURED, len(factor))) @ factor
    posterior = [laws(fit.basis, fit.coefficients + b) - values[1:] for b in draws]
    square = np.append(loss.std**2, np.square(posterior).mean(axis=0))
    narrow = replace(fit.basis, width=fit.basis.width - 1, scales=None)
    if narrow.width:
        other = snapshots._fit(narrow, fit.misfit)
        square += np.square(numbers(snapshots, other) - values)
    coarse = snapshots.every_second()
    if coarse is not None:
        basis = replace(fit.basis, time_step=coarse.steps["time_step"], scales=None)
        other = coarse._fit(basis, fit.misfit)
        square += np.square((numbers(coarse, other) - values) / 3)
    if fit.noise:
        half = replace(fit, misfit=fit.misfit / 2)  # beside twice the noise
        copies = (snapshots.noisier(fit, rng) for _ in range(REMEASURED))
        noisy = np.array([numbers(one, half) for one in copies])
        values = 2 * values - noisy.mean(axis=0)
        square += noisy.var(axis=0, ddof=1) * (1 + 1 / REMEASURED)
    std = np.sqrt(square)
    return Measured(values[0], std[0], values[1], std[1], places, values[2:], std[2:])


def others(
    observations: xr.Dataset, basis: StencilBasis, misfit: float
) -> Iterator[tuple[float, DiscreteDensity, float]]:
    """Weights, densities that differ by an error of a fit, and their distances.

    The weights are of squares, as in :func:`measured`: of a stencil that is a cell
    narrower, of twice the step in time, and of as much noise again, several times.
    """
    u, steps = positions_of(observations), (time_step(observations), basis.spacing)
    mirror = int(observations.attrs.get("mirror", 0))
    snapshots = Snapshots(u, *steps, basis.decay, mirror)
    fit = snapshots._fit(replace(basis, scales=None), misfit)
    fits = []
    if fit.basis.width > 1:
        narrow = replace(fit.basis, width=fit.basis.width - 1, scales=None)
        fits.append((1.0, snapshots, snapshots._fit(narrow, misfit)))
    coarse = snapshots.every_second()
    if coarse is not None:
        longer = replace(fit.basis, time_step=coarse.steps["time_step"], scales=None)
        fits.append((1 / 9, coarse, coarse._fit(longer, misfit)))
    if fit.noise:
        rng = np.random.default_rng(SEED)
        noisy = [snapshots.noisier(fit, rng) for _ in range(REMEASURED)]
        again = [(one, one._fit(fit.basis, misfit / 2)) for one in noisy]
        fits += [(1 / REMEASURED, *pair) for pair in again]
    for weight, of_snapshots, one in fits:
        factor = one.system.factor(one.damping)
        moved = stabilised(one.basis, one.coefficients, factor, of_snapshots.waves)
        yield weight, DiscreteDensity(one.basis, moved[0]), moved[1]


def grid_of(observations: xr.Dataset) -> tuple[float, float]:
    """Time step, s, and distance of the nodes, m, of snapshots on a periodic line."""
    if observations.attrs.get("domain_left") != "periodic":
        raise ValueError(
            "the snapshots are not those of a field on a periodic line; simulate with "
            "method spectral"
        )
    length = float(observations.attrs["domain_length"])
    return time_step(observations), length / observations.sizes["dof"]


def mirrored(u: np.ndarray, mirror: int) -> np.ndarray:
    """Nodes (..., node) of a line with ends, and its mirror image behind it.

    >>> mirrored(np.array([0.0, 1.0, 2.0, 0.0]), -1)
    array([ 0.,  1.,  2.,  0., -2., -1.])
    """
    closed = np.concatenate([u, mirror * u[..., -2:0:-1]], axis=-1)
    if mirror < 0:
        closed[..., [0, u.shape[-1] - 1]] = 0.0
    return closed


def _padded(values: np.ndarray, size: int, filling: float) -> np.ndarray:
    return np.pad(values, (0, size - len(values)), constant_values=filling)


@dataclass(frozen=True)
class Fit:
    """Posterior of b for one basis and one λ."""

    basis: StencilBasis
    misfit: float  # λ
    system: ConstrainedRows  # decorrelated rows under the condition
    damping: float  # μ
    log_density: float  # of the snapshots

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Posterior mean b."""
        return self.system.coefficients(self.damping)

    @property
    def noise(self) -> float:
        """Standard deviation of the error of a snapshot; 0 if none was seen."""
        error = self.system.row_error(self.damping)
        return error if np.isfinite(self.misfit) else 0.0


@dataclass(frozen=True)
class Choice:
    """A fit, and what :func:`stabilised` made of it."""

    fit: Fit
    coefficients: np.ndarray
    distance: float

    @property
    def log_density(self) -> float:
        """That of the stable coefficients."""
        return self.fit.log_density - self.distance**2 / 2


@dataclass(frozen=True)
class Loss:
    """Rate γ of a uniform damping of u_tt, 1/s."""

    rate: float
    std: float


@dataclass(frozen=True)
class Measured:
    """Numbers of a field with standard errors."""

    damping: float  # γ, 1/s
    damping_std: float
    speed: float  # c² of waves about u = 0, m²/s²
    speed_std: float
    force_place: np.ndarray  # u
    force: np.ndarray  # V'(u) over the mass density
    force_std: np.ndarray


def _rows(unit: StencilBasis, u: np.ndarray) -> tuple:
    """Basis, waves of the sides of its rows, and the condition of its mass."""
    sides = np.fft.rfft(unit.sides(u), axis=3, norm="ortho")
    return unit, sides, *unit.mass_condition(u)


class Snapshots:
    """Snapshots u (trajectory, time, node) on a periodic line, and fits of them.

    `decay` is e^(−γ dt) of a uniform damping γ. A line with ends is half of a periodic
    one, `mirror` −1 with the negative of its mirror image behind it (u is zero at the
    ends), 1 with the mirror image itself (its slope is).
    """

    def __init__(
        self,
        u: np.ndarray,
        time_step: float,
        spacing: float,
        decay: float = 1.0,
        mirror: int = 0,
    ):
        self.u, self.decay, self.mirror = u, decay, mirror
        self.steps = {"time_step": time_step, "spacing": spacing}
        self.waves = Waves.of(u)
        # A mirror image has waves that are imaginary or real, and no rows of its own.
        self.count = u[:, 2:].size // (2 if mirror else 1)
        # Real and imaginary part of a wave, but of the longest and the shortest.
        ends = 2 * np.arange(self.waves.theta.size) % u.shape[-1] == 0
        self._parts = np.where(ends | bool(mirror), 1, 2)
        self._fits: dict[tuple, Fit | None] = {}
        self._rows: dict[tuple, tuple] = {}

    def with_damping(self, rate: float) -> "Snapshots":
        """The same snapshots, of a field with this γ, 1/s."""
        decay = float(np.exp(-rate * self.steps["time_step"]))
        result = Snapshots(self.u, **self.steps, decay=decay, mirror=self.mirror)
        result._rows = self._rows
        return result

    def loss(self, fit: Fit) -> Loss:
        """γ of the highest density with the basis and the λ of a fit."""
        steps = self.u[:, 2:, 0].size
        span = self.steps["time_step"] * (self.u.shape[1] - 1)

        def density(rate: float) -> float:
            return self.with_damping(rate)._fit(fit.basis, fit.misfit).log_density

        from scipy.optimize import minimize_scalar  # slow to import

        result = minimize_scalar(lambda rate: -density(rate), (0.0, 1 / span))
        rate, top = float(result.x), -float(result.fun)
        width = 1 / (span * np.sqrt(steps))
        for _ in range(ROUNDS):
            sides = density(rate - width) + density(rate + width)
            curvature = (2 * top - sides) / width**2
            if not curvature > 0:
                return Loss(rate, np.inf)
            width = curvature**-0.5
        return Loss(rate, width)

    def noisier(self, fit: Fit, rng: np.random.Generator) -> "Snapshots":
        """These with the noise of a fit once more; bases keep their scales."""
        noise = fit.noise * rng.standard_normal(self.u.shape)
        if self.mirror:
            noise = mirrored(noise[..., : self.u.shape[-1] // 2 + 1], self.mirror)
        u = self.u + noise
        result = Snapshots(u, **self.steps, decay=self.decay, mirror=self.mirror)
        unit = replace(fit.basis, length_scale=1.0)
        result._rows[unit.family] = _rows(unit, u)
        return result

    def near(self, loss: Loss, fit: Fit) -> float:
        """γ of the highest density with the basis of a fit: top of a parabola."""
        step = 2 * loss.std
        places = loss.rate + step * np.array([-1.0, 0.0, 1.0])
        fits = (self.with_damping(one)._fit(fit.basis, fit.misfit) for one in places)
        low, middle, high = (one.log_density for one in fits)
        curvature = low - 2 * middle + high
        move = (low - high) / (2 * curvature) if curvature < 0 else 0.0
        return loss.rate + step * float(np.clip(move, -FARTHEST, FARTHEST))

    def every_second(self) -> "Snapshots | None":
        """These at twice the time step, as twice the motions; None of too few."""
        count = self.u.shape[1] // 2
        if self.u.shape[1] < LEAST_SNAPSHOTS:
            return None
        u = np.concatenate([self.u[:, k : 2 * count : 2] for k in (0, 1)])
        steps = self.steps | {"time_step": 2 * self.steps["time_step"]}
        return Snapshots(u, **steps, decay=self.decay**2, mirror=self.mirror)

    @cached_property
    def five_point(self) -> np.ndarray:
        """Symbol J of the smallest stencil: where the rounds begin."""
        basis = StencilBasis("edges", 1, 2, 3.0, **self.steps, decay=self.decay)
        basis = basis.scaled_by(self.u)
        rows = basis.rows(self.u).reshape(-1, basis.size)
        system = constrained(rows, *basis.mass_condition(self.u))
        coefficients = system.coefficients(system.most_probable()[0])
        return self._symbol(basis) @ coefficients

    @cached_property
    def _visited(self) -> np.ndarray:
        return np.quantile(self.u, QUANTILES)

    def _symbol(self, basis: StencilBasis) -> np.ndarray:
        """Symbol about uniform fields of the snapshots, (2, base, angle, function)."""
        return basis.symbol(self._visited, self.waves.theta)

    def shortest_wave(self, noise: float) -> int:
        """Number of the shortest wave whose mean power is clearly above the noise."""
        return int(self._held(noise).max(initial=0))

    def longest_waves(self, noise: float) -> tuple[float, float]:
        """Numbers of the two longest such waves; 0 and 1 if there are not two."""
        first = self._held(max(noise, ROUND_OFF * np.sqrt(self._power.max())))[:2]
        return tuple(first.astype(float)) if len(first) == 2 else (0.0, 1.0)

    @cached_property
    def _power(self) -> np.ndarray:
        """Mean power of each wave."""
        return (np.abs(np.fft.rfft(self.u, norm="ortho")) ** 2).mean(axis=(0, 1))

    def _held(self, noise: float) -> np.ndarray:
        """Numbers of the waves above the noise."""
        clear = 1 + CLEARLY / np.sqrt(self.u[..., 0].size)
        return np.flatnonzero(self._power > clear * noise**2)

    def fit(self, misfit: float, stencil: str, *sizes) -> Fit | None:
        """Posterior of one choice, with `SIZES` of the :class:`StencilBasis`.

        None if the rows are too few for it.
        """
        key = misfit, stencil, *sizes
        if key not in self._fits:
            sizes_by_name = dict(zip(SIZES, sizes, strict=False))
            basis = StencilBasis(stencil, **sizes_by_name, **self.steps)
            enough = ROWS_PER_FUNCTION * basis.size <= self.count
            fits = 2 * basis.width < self.u.shape[-1]
            self._fits[key] = self._fit(basis, misfit) if enough and fits else None
        return self._fits[key]

    def _fit(self, basis: StencilBasis, misfit: float) -> Fit:
        of = basis.family
        if of not in self._rows:
            unit = replace(basis, length_scale=1.0).scaled_by(self.u)
            self._rows[of] = _rows(unit, self.u)
        unit, (now, before), condition, value = self._rows[of]
        waves = now + self.decay * before
        basis = replace(unit, length_scale=basis.length_scale, decay=self.decay)
        weights = basis.length_scale ** -basis.orders.astype(float)
        waves, condition = weights * waves, (weights * condition, value)
        symbol, symbol_of = self.five_point, self._symbol(basis)
        for _ in range(ROUNDS if np.isfinite(misfit) else 1):
            white, volume = self._decorrelated(waves, symbol, misfit)
            system = constrained(white, *condition)
            damping, evidence = system.most_probable()
            symbol = symbol_of @ system.coefficients(damping)
        inner = waves.shape[0] * waves.shape[1]
        per_layer = self._parts @ np.log(np.abs(symbol[1])).mean(axis=0)
        density = evidence + volume + inner * per_layer
        return Fit(basis, misfit, system, damping, density)

    def _decorrelated(
        self, waves: np.ndarray, symbol: np.ndarray, misfit: float
    ) -> tuple[np.ndarray, float]:
        """Real rows over the root of their covariance, and the log determinant."""
        trajectories, times, angles, functions = waves.shape
        turned = -1j * waves if self.mirror < 0 else waves
        by_wave = np.ascontiguousarray(turned.transpose(2, 1, 0, 3))
        white, volume = by_wave.reshape(angles, times, -1), 0.0
        if np.isfinite(misfit):
            (j0, j1), g = symbol, self.decay
            j0 = (1 + g) / 2 * j0
            sizes = j0**2 + (1 + g**2) * j1**2, (1 + g) * j0 * j1, g * j1**2
            gamma = np.zeros((angles, times))
            gamma[:, : len(sizes)] = np.mean(sizes, axis=1).T[:, :times]
            gamma[:, 0] += misfit / self.steps["time_step"] ** 4
            root = np.linalg.cholesky(gamma[:, toeplitz(np.arange(times))])
            white = (np.linalg.inv(root) @ white.view(float)).view(complex)
            logarithms = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
            volume = -trajectories * self._parts @ logarithms
        white = white.reshape(angles, -1, functions)
        imaginary = np.sqrt(2) * white.imag[self._parts == 2]
        real = np.sqrt(self._parts)[:, None, None] * white.real
        rows = (part.reshape(-1, functions) for part in (real, imaginary))
        return np.concatenate([*rows]), volume

    def most_probable(self, sizes: Mapping) -> "Choice":
        """Fit of the highest density among those that have a stable Lagrangian.

        Uphill from the middle for every stencil, then downhill through what was tried:
        a fit that is moved by y to be stable loses |y|²/2. `sizes` are choices that are
        made already. ValueError if the snapshots are too few for the smallest stencil.
        """
        steps = {k: (sizes[k],) if k in sizes else v for k, v in CHOICES.items()}
        stencils = (sizes["stencil"],) if "stencil" in sizes else STENCILS
        for stencil in stencils:
            self._uphill(stencil, steps)
        tried = [fit for fit in self._fits.values() if fit and self._determines(fit)]
        tried.sort(key=lambda fit: -fit.log_density)
        if not tried:
            raise ValueError(
                f"{self.count} rows of the discrete Euler-Lagrange equation, from "
                f"{self.u.shape[1]} snapshots of {len(self.u)} motions, are fewer than "
                f"{ROWS_PER_FUNCTION} per function without the waves below the noise; "
                "record more snapshots, or lower width or degree"
            )
        best = Choice(tried[0], tried[0].coefficients, np.inf)
        for fit in tried:
            if fit.log_density <= best.log_density:
                break
            factor = fit.system.factor(fit.damping)
            moved = stabilised(fit.basis, fit.coefficients, factor, self.waves)
            best = max(best, Choice(fit, *moved), key=lambda one: one.log_density)
        return best

    def _determines(self, fit: Fit) -> bool:
        """Whether waves above the noise give enough rows for the functions of a fit."""
        rows = self.u[:, 2:, 0].size * self._parts[self._held(fit.noise)].sum()
        return bool(rows >= ROWS_PER_FUNCTION * fit.basis.size)

    def _uphill(self, stencil: str, steps: Mapping[str, tuple]) -> None:
        """Fit from the middle to neighbours of higher density until there is none."""
        at = {k: v.index(FIRST[k]) if FIRST[k] in v else 0 for k, v in steps.items()}

        def fit(place: Mapping[str, int]) -> Fit | None:
            misfit, *sizes = (steps[k][i] for k, i in place.items())
            return self.fit(misfit, stencil, *sizes)

        best = fit(at)
        while best is None and at["degree"]:
            at["degree"] -= 1
            best = fit(at)
        while best is not None:
            near = [
                {**at, k: at[k] + move}
                for k, move in product(steps, (1, -1))
                if 0 <= at[k] + move < len(steps[k])
            ]
            higher = [(f, p) for p in near if (f := fit(p)) is not None]
            top = max(higher, key=lambda one: one[0].log_density, default=None)
            if top is None or top[0].log_density <= best.log_density:
                return
            best, at = top
