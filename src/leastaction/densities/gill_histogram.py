"""A long path by the Runge–Kutta–Gill scheme, streamed into a histogram of its states.

The density of Yoshida and Yamanaka (2020), eq. (18). Trajectories are dealt out to
independent batches, each with a histogram of its own.
"""

from collections.abc import Mapping

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.system import System
from leastaction.core.time_grid import step_count
from leastaction.densities.histogram import PlaneHistogram, check_domain
from leastaction.densities.streamed_path import stream


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
    """Check that batches hold equally many trajectories, and that there are two.

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

    With `exact`, every batch has the probabilities of the cells instead of counts: what
    is then wrong with an estimate is its bias without the noise of counting.

    Parameters
    ----------
    system
        The truth; one degree of freedom.
    settings
        The `simulate` section: `time_step`, `duration` of each trajectory and
        `burn_in` (s), `trajectories`, `batches`, `initial_state`, and `histogram` with
        `low` and `high` of (q, q̇) and `bins` along each side; `exact`.
    example, seed, replicate
        Key of the random numbers.
    units
        Unit of each coordinate.

    Returns
    -------
    xr.Dataset
        Contract ``histogram``.
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
    each = ("replicate", "batch")
    time = np.asarray(samples) * time_step
    about = {"units": units[name], "long_name": "centre of the cell"}
    rate = {"units": f"({units[name]})/s", "long_name": "centre of the cell"}
    return xr.Dataset(
        {
            "count": (
                (*each, "q_bin", "qdot_bin"),
                counts,
                {"units": "1", "long_name": "samples in the cell"},
            ),
            "samples": (
                each,
                samples,
                {"units": "1", "long_name": "samples inside and outside the cells"},
            ),
            "duration": (
                each,
                time,
                {"units": "s", "long_name": "total time of the batch"},
            ),
        },
        coords={
            "replicate": [replicate],
            "q_bin": ("q_bin", centres[0], about),
            "qdot_bin": ("qdot_bin", centres[1], rate),
            "dof": list(coordinates),
            "coordinate_unit": ("dof", [units[name]]),
        },
    )
