"""A long path by the Runge–Kutta–Gill scheme, streamed into a histogram of its states.

The density of Yoshida and Yamanaka (2020), eq. (18). Trajectories are dealt out to
independent batches, each with a histogram of its own.
"""

from collections.abc import Mapping

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.compiled import kernel
from leastaction.core.simulation import step_count
from leastaction.core.system import System
from leastaction.densities.contracts import CONTRACTS
from leastaction.densities.runge_kutta_gill import stream

KERNEL = """
@njit(cache=True, nogil=True)
def count(path, low, per_width, counts):
    dof, bins = counts.shape[0], counts.shape[1]
    for n in range(path.shape[0]):
        for a in range(dof):
            i = (path[n, a] - low[a]) * per_width[a]
            j = (path[n, dof + a] - low[dof + a]) * per_width[dof + a]
            if i >= 0.0 and j >= 0.0 and i < bins and j < bins:
                counts[a, int(i), int(j)] += 1
"""

CELLS = ("q_bin", "qdot_bin")


class PlaneHistogram:
    """Counts in `bins` by `bins` cells of each plane (q_a, q̇_a).

    Samples outside the cells are left out of the counts.

    Attributes
    ----------
    counts
        Shape (dof, q_bin, qdot_bin).
    """

    def __init__(self, low, high, bins: int):
        self.low = np.asarray(low, dtype=float)
        self.high = np.asarray(high, dtype=float)
        self._per_width = bins / (self.high - self.low)
        self.counts = np.zeros((self.low.size // 2, bins, bins), dtype=np.int64)
        self._count = kernel(KERNEL, {}).count

    def add(self, path: np.ndarray) -> None:
        """Count samples of shape (steps, state)."""
        self._count(path, self.low, self._per_width, self.counts)

    def centres(self, state: int) -> np.ndarray:
        """Centres of the cells along one coordinate of the state, shape (bin,)."""
        return cell_centres(self.low[state], self.high[state], self.counts.shape[1])


def cell_centres(low: float, high: float, bins: int) -> np.ndarray:
    """Centres of equal cells (Yoshida and Yamanaka 2020, eq. 15)."""
    return low + (np.arange(bins) + 0.5) * (high - low) / bins


def check_domain(settings: Mapping, state: int) -> None:
    """Check `low` and `high` of a histogram of that many dimensions.

    Raises
    ------
    ValueError
    """
    low, high = settings["low"], settings["high"]
    if len(low) != state or len(high) != state:
        raise ValueError(
            f"histogram: low has {len(low)} numbers and high {len(high)}; the state "
            f"(q, qdot) has {state}"
        )
    for i, (a, b) in enumerate(zip(low, high, strict=True)):
        if not a < b:
            raise ValueError(f"histogram: low[{i}] = {a:g} is not below high {b:g}")


def coarsened(observations: xr.Dataset, bins: int | None) -> xr.Dataset:
    """Histogram with `bins` cells along each side, each a square of the given ones.

    Parameters
    ----------
    observations
        Contract ``histogram``.
    bins
        None leaves the cells as they are.

    Raises
    ------
    ValueError
        If `bins` does not divide the number of cells along each side.
    """
    given = observations.sizes["q_bin"]
    if bins is None or bins == given:
        return observations
    if given % bins:
        raise ValueError(
            f"bins: {given} cells along each side cannot be put together to {bins}; "
            "choose a divisor, or simulate another histogram"
        )
    width = given // bins
    summed = observations["count"].coarsen(q_bin=width, qdot_bin=width).sum()
    kept = observations.drop_vars(["count", "q_bin", "qdot_bin"])
    summed.attrs = observations["count"].attrs
    for name in ("q_bin", "qdot_bin"):
        summed[name].attrs = observations[name].attrs
    return kept.assign(count=summed)


def spacing(observations: xr.Dataset) -> tuple[float, float]:
    """Lengths of a cell along q and along q̇."""
    found = [float(np.diff(observations.variables[d].values[:2])[0]) for d in CELLS]
    return found[0], found[1]


def shares(observations: xr.Dataset) -> np.ndarray:
    """Share of all samples in every cell, shape (replicate, batch, q_bin, qdot_bin)."""
    counts = observations.variables["count"].transpose("replicate", "batch", *CELLS)
    return counts.values / observations.variables["samples"].values[..., None, None]


def check(system: System, settings: Mapping) -> None:
    """Check what a histogram needs.

    Raises
    ------
    ValueError
        If the state has more than two dimensions, the domain does not fit it, the
        batches do not divide the trajectories, or a density is to be exact that is not
        Gaussian.
    """
    if system.dof > 1:
        bins = settings["histogram"]["bins"]
        raise ValueError(
            f"method 'gill_histogram' is for one coordinate: with {system.dof} a "
            f"histogram would have {bins}^{2 * system.dof} = "
            f"{float(bins) ** (2 * system.dof):.2g} cells; use 'gill_moments'"
        )
    check_domain(settings["histogram"], 2 * system.dof)
    check_batches(settings)
    if settings.get("exact"):
        linear_law(system)


def check_batches(settings: Mapping) -> None:
    """Check that batches hold equally many trajectories.

    Raises
    ------
    ValueError
    """
    batches, trajectories = settings["batches"], settings["trajectories"]
    if trajectories % batches:
        raise ValueError(
            f"{trajectories} trajectories cannot be dealt out to {batches} batches "
            "equally; make batches a divisor"
        )


def simulate(
    system: System,
    settings: Mapping,
    *,
    example: str,
    seed: int,
    replicate: int,
    units: Mapping[str, str],
) -> xr.Dataset:
    """Simulate one replicate.

    Paper: one path of 10⁷ steps after as many that are discarded; here the samples are
    shared among independent paths, each after a burn-in of many relaxation times.
    """
    check(system, settings)
    grid = settings["histogram"]
    batches = settings["batches"]
    filled = [
        PlaneHistogram(grid["low"], grid["high"], grid["bins"]) for _ in range(batches)
    ]
    if settings.get("exact"):
        one = cell_probabilities(system, grid)
        counts, samples = np.stack([one] * batches)[None], np.ones((1, batches))
    else:
        stream(
            system,
            settings,
            lambda trajectory, path: filled[trajectory % batches].add(path),
            example=example,
            seed=seed,
            replicate=replicate,
        )
        counts = np.stack([h.counts[0] for h in filled])[None]
        steps = step_count(settings["duration"], settings["time_step"])
        samples = np.full((1, batches), steps * settings["trajectories"] // batches)
    return histogram_dataset(
        counts,
        samples,
        settings["time_step"],
        [filled[0].centres(i) for i in (0, 1)],
        system.coordinates,
        units,
        replicate,
    )


def linear_law(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Matrices A and D Dᵀ of a linear law ẋ = A x + D Ẇ of the state x = (q, q̇).

    Raises
    ------
    ValueError
        If the law is not linear, or the noise depends on the state.
    """
    drift = system.evaluated(system.drift)
    matrix = drift.jacobian(list(system.state))
    noise = system.evaluated(system.diffusion)
    rest = sp.expand(drift - matrix * sp.Matrix(system.state))
    if matrix.free_symbols or noise.free_symbols or any(rest):
        raise ValueError(
            "simulate.exact: the density is known of a linear system with additive "
            "noise alone; leave out 'exact'"
        )
    square = np.zeros((2 * system.dof,) * 2)
    square[system.dof :, system.dof :] = np.array(noise * noise.T, dtype=float)
    return np.array(matrix, dtype=float), square


def cell_probabilities(system: System, grid: Mapping) -> np.ndarray:
    """Probability of every cell of a linear oscillator, shape (q_bin, qdot_bin).

    The stationary density is Gaussian; its covariance P solves the Lyapunov equation
    A P + P Aᵀ + D Dᵀ = 0, and q and q̇ are independent.
    """
    from scipy.linalg import solve_continuous_lyapunov
    from scipy.special import ndtr

    matrix, square = linear_law(system)
    std = np.sqrt(np.diag(solve_continuous_lyapunov(matrix, -square)))
    edges = np.linspace(grid["low"], grid["high"], grid["bins"] + 1)
    return np.outer(*np.diff(ndtr(edges / std), axis=0).T)


def histogram_dataset(
    counts, samples, time_step, centres, coordinates, units, replicate=0
) -> xr.Dataset:
    """Counts of shape (replicate, batch, q_bin, qdot_bin) as a ``histogram``."""
    (name,) = coordinates
    about = {"units": units[name], "long_name": "centre of the cell"}
    rate = {"units": f"({units[name]})/s", "long_name": "centre of the cell"}
    return CONTRACTS["histogram"].dataset(
        {
            "count": counts,
            "samples": samples,
            "duration": np.asarray(samples) * time_step,
        },
        coords={
            "replicate": [replicate],
            "q_bin": ("q_bin", centres[0], about),
            "qdot_bin": ("qdot_bin", centres[1], rate),
            "dof": list(coordinates),
            "coordinate_unit": ("dof", [units[name]]),
        },
    )
