"""Implicit candidates along the training trajectories, for SINDy-PI."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.implicit_library import ImplicitLibrary
from leastaction.trajectories.gram import evenly
from leastaction.trajectories.motion import states

CONTRACT = "implicit_regression"
EVERY = 5
# Rows of a block, in numbers of columns.
BLOCK = 16


def held_out(qddot: np.ndarray) -> np.ndarray:
    """Every fifth trajectory in the order of its root mean square acceleration.

    The order of the trajectories in the file has no influence, and slow and fast
    motions are on both sides.

    Parameters
    ----------
    qddot
        Shape (trajectory, time, dof).

    Returns
    -------
    Positions of the trajectories held out, in that order.
    """
    order = np.argsort((qddot**2).mean((1, 2)), kind="stable")
    return order[EVERY // 2 :: EVERY]


def triangular_factor(theta: np.ndarray) -> np.ndarray:
    """R of Θ = Q R, from those of blocks of rows that fit the cache."""
    rows, columns = theta.shape
    size = BLOCK * columns
    whole = rows // size * size
    blocks = np.linalg.qr(theta[:whole].reshape(-1, size, columns), mode="r")
    stacked = np.concatenate([blocks.reshape(-1, columns), theta[whole:]])
    return np.linalg.qr(stacked, mode="r")


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """QR factor of the candidates Θ(q, q̇, q̈), and samples of trajectories held out.

    The triangular factor R holds all that least squares with any left-hand side needs,
    ΘᵀΘ = RᵀR, without the squared condition number of ΘᵀΘ.

    Parameters
    ----------
    observations
        One case, contract ``motion``.
    derivatives
        Contract ``rates``.
    settings
        `samples`: number of samples of the held-out trajectories that are kept.
    library
        The `library` section of the example, with `implicit`.

    Returns
    -------
    xr.Dataset
        Contract ``implicit_regression``.

    Raises
    ------
    ValueError
        If there are too few trajectories to hold some out, or too few samples.
    """
    check(observations, "motion")
    check(derivatives, "rates")
    coordinates = [str(name) for name in observations["dof"].values]
    terms = ImplicitLibrary.from_config(library, coordinates)
    motion = states(observations, derivatives)
    trajectories, _, dof = motion[0].shape
    if trajectories < EVERY:
        raise ValueError(
            f"SINDy-PI holds every {EVERY}th trajectory out to choose its model; "
            f"there are {trajectories}"
        )
    outside = held_out(motion[2])
    training = [
        np.delete(channel, outside, axis=0).reshape(-1, dof) for channel in motion
    ]
    kept = [channel[outside].reshape(-1, dof) for channel in motion]
    chosen = evenly(len(kept[0]), settings["samples"])
    theta = terms.evaluate(*training)
    if len(theta) < len(terms.terms):
        raise ValueError(
            f"SINDy-PI has {len(theta)} samples for {len(terms.terms)} candidates"
        )
    factor = triangular_factor(theta) / np.sqrt(len(theta))
    member = np.zeros((dof, len(terms.terms)), dtype="int8")
    for row, members in zip(member, terms.members, strict=True):
        row[list(members)] = 1
    data = {
        "factor": (
            ("replicate", "implicit_row", "implicit_term"),
            factor[None],
            {"units": "mixed", "long_name": "triangular factor of the candidates"},
        ),
        "member": (
            ("dof", "implicit_term"),
            member,
            {"units": "1", "long_name": "whether the equation has the candidate"},
        ),
    }
    for name, channel in zip(("q", "qdot", "qddot"), kept, strict=True):
        data[f"{name}_held_out"] = (
            ("replicate", "sample", "dof"),
            channel[chosen][None],
            {"units": "mixed", "long_name": f"{name} of trajectories held out"},
        )
    return xr.Dataset(
        data,
        coords={
            "replicate": observations["replicate"],
            "dof": coordinates,
            "implicit_term": terms.names,
        },
    )
