"""A long path by the Runge–Kutta–Gill scheme, streamed into a histogram of its states.

The density of Yoshida and Yamanaka (2020), eq. (18). Trajectories are dealt out to
independent batches, each with a histogram of its own.
"""

from collections.abc import Mapping

import numpy as np
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
        If the state has more than two dimensions, the domain does not fit it, or the
        batches do not divide the trajectories.
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

    Parameters
    ----------
    system
        The truth; one degree of freedom.
    settings
        The `simulate` section: `time_step`, `duration` of each trajectory and
        `burn_in` (s), `trajectories`, `batches`, `initial_state`, and `histogram` with
        `low` and `high` of (q, q̇) and `bins` along each side.
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
