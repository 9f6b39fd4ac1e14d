"""Discrete Euler–Lagrange equations of positions (Lagrangian Shadow Integration)."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.contracts import time_step
from leastaction.snapshots.discrete_lagrangian import (
    Basis,
    discrete_euler_lagrange,
    pair_states,
)
from leastaction.snapshots.learned_lagrangian import basis_variables
from leastaction.snapshots.length_scale import VELOCITY_RATIO, most_probable_basis
from leastaction.snapshots.radial_basis import RadialBasis
from leastaction.snapshots.shadow_rows import (
    mass_conditions,
    pairs,
    positions_of,
    published_conditions,
    weight_space,
    whitened,
)

CONTRACT = "shadow_equations"


def assemble(
    observations: xr.Dataset,
    derivatives: xr.Dataset | None,
    settings: Mapping,
    library: Mapping,
) -> xr.Dataset:
    """Rows of the discrete Euler–Lagrange equation for an inverse modified Lagrangian.

    .. math::

        [∇_2 L_d(q_{k-1}, q_k) + ∇_1 L_d(q_k, q_{k+1})]/h = 0, \\qquad
        L = \\sum_i b_i φ_i

    Nothing but positions is used: a Lagrangian that satisfies them, integrated with the
    same rule and step, goes through the snapshots without discretisation error.

    Parameters
    ----------
    observations
        One case, contract ``motion``.
    derivatives, library
        Not used: there are no derivatives and no candidates.
    settings
        `rule`: ``midpoint`` or ``trapezoidal``. `basis`: ``{kind: radial,
        length_scale: ε}`` with centres at all pairs of snapshots (published), or
        ``{kind: taylor, degree, length_scale, cyclic}``, where what is absent or null
        follows from the data. `normalisation`: ``corner`` (published) with `volume` c,
        or ``discrete_mass``. `whiten`: decorrelate the rows of a trajectory.

    Returns
    -------
    xr.Dataset
        Contract ``shadow_equations``.
    """
    positions, h = positions_of(observations), time_step(observations)
    names = [str(name) for name in observations["dof"].values]
    basis = basis_from(settings["basis"], positions, h, settings["rule"], names)
    rows = discrete_euler_lagrange(basis, positions, h, settings["rule"])
    if settings["whiten"]:
        rows = whitened(rows)
    if settings["normalisation"] == "corner":
        conditions = published_conditions(basis, settings["volume"])
    else:
        conditions = mass_conditions(basis, positions, h, settings["rule"])
    return equations_dataset(
        basis,
        rows.reshape(-1, basis.size),
        conditions,
        observations,
        {"time_step": h, "rule": settings["rule"], "shadow": 1},
    )


def basis_from(
    recipe: Mapping, positions: np.ndarray, h: float, rule: str, names: list[str]
) -> Basis:
    """Basis of a recipe for given positions.

    Raises
    ------
    ValueError
        If a cyclic coordinate is not one of the coordinates.
    """
    if recipe["kind"] == "radial":
        centres = pair_states(*pairs(positions), h)
        return RadialBasis(centres, recipe["length_scale"])
    wrong = sorted(set(recipe.get("cyclic", ())) - set(names))
    if wrong:
        raise ValueError(
            f"basis.cyclic: {wrong} are not coordinates; these are {names}"
        )
    cyclic = tuple(names.index(name) for name in recipe.get("cyclic", ()))
    degree, scale = recipe.get("degree"), recipe.get("length_scale")
    if scale is None or degree is None:
        found = most_probable_basis(positions, h, rule, degree, cyclic, scale)
        return found
    return weight_space(positions, h, degree, scale, VELOCITY_RATIO, cyclic)


def equations_dataset(
    basis: Basis,
    rows: np.ndarray,
    conditions: tuple[np.ndarray, np.ndarray],
    observations: xr.Dataset,
    attributes: Mapping,
) -> xr.Dataset:
    """Contract ``shadow_equations``: A b = 0, C b = d and the basis."""
    theta = {"units": "mixed", "long_name": "Euler-Lagrange rows"}
    condition = {"units": "mixed", "long_name": "normalisation rows"}
    value = {"units": "mixed", "long_name": "values of the normalisation rows"}
    return xr.Dataset(
        {
            "theta": (("replicate", "equation", "function"), rows[None], theta),
            "condition": (
                ("replicate", "constraint", "function"),
                conditions[0][None],
                condition,
            ),
            "condition_value": (
                ("replicate", "constraint"),
                conditions[1][None],
                value,
            ),
            **basis_variables(basis),
        },
        coords={"replicate": observations["replicate"].values},
        attrs={**attributes, "dof": [str(name) for name in observations["dof"].values]},
    )
