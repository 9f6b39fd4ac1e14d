"""Datasets of what is learned from snapshots."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import xarray as xr

from leastaction.core.contracts import Contract, Variable, time_step, variables

# Units by their mark in the tables below; the others stand for themselves.
UNITS = {"-": "mixed", "q": "see coordinate_unit"}


def mixed_variables(
    table: str, finite: Collection[str] = (), required: Collection[str] = ()
) -> dict[str, Variable]:
    """Variables of a table; all are optional that are not `finite` or `required`."""
    result = variables(table, UNITS, finite=finite)
    needed = {*finite, *required}
    return {name: replace(v, optional=name not in needed) for name, v in result.items()}


# What defines a basis (leastaction.snapshots.bases); each has some of them.
BASIS = mixed_variables(
    """
    replicate:
        degree [-] total degree of the features
        length_scale [-] length scale
    replicate variable state:
        inputs [-] map of (q, qdot)
    replicate state:
        centre [-] centre of the features
    replicate dof dof_other:
        frame [-] axes in which states are turned; zeros where they are not
    replicate dof:
        fixed_point [-] point about which states are turned
    replicate function state:
        centres [-] centres
    """
)

EQUATIONS = mixed_variables(
    """
    replicate equation function:
        theta [-] Euler-Lagrange rows
    replicate constraint function:
        condition [-] normalisation rows
    replicate constraint:
        condition_value [-] values of the normalisation rows
    """,
    finite=("theta", "condition", "condition_value"),
)

LAGRANGIAN = mixed_variables(
    """
    replicate function:
        coefficient [-] coefficient of the learned Lagrangian
    replicate direction function:
        factor [-] factor of the posterior covariance
    replicate:
        rank [1] numerical rank of the rows
        residual_square [-] sum of squares of the residual
        damping [1] Tikhonov parameter over the largest singular value
        log_evidence [1] log evidence
        row_error [-] standard error of an Euler-Lagrange row
        one_step_error [-] held-out error of one step, rms
        mass_error [1] mean discrete mass minus 1
        reversal_log_odds [1] \
log evidence of an L even in qdot (time reversal) minus that without
        mirror_log_odds [1] \
log evidence of an L even in the velocity along the rotation minus that without
    replicate symmetry dof:
        symmetry_offset [-] b of the generator b + A q of an affine symmetry
    replicate symmetry dof dof_other:
        symmetry_matrix [-] A of the generator
    replicate symmetry:
        symmetry_violation [1] violation of the symmetry
        symmetry_bound [1] violation that the data would allow it
        symmetry_decided [1] 1 where the bound is below the resolution
        symmetry_log_odds [1] log evidence with the symmetry minus that without
    """,
    finite=("coefficient",),
)

FIELD = mixed_variables(
    """
    replicate function:
        coefficient [-] coefficient of the discrete Lagrangian density; zeros behind it
    replicate coordinate:
        coordinate_scale [-] root mean square of a coordinate; ones behind the last
    replicate:
        stencil [1] position of the stencil among `stencils`
        width [1] widest difference in space, cells
        degree [1] degree of the features
        length_scale [1] length scale
        even [1] 1 if it is even under u → −u
        misfit [1] variance of what the stencil cannot represent, over that of the noise
        noise [-] standard deviation of the noise found; 0 if none
        waves [1] number of the shortest wave that is above this noise
        longest_wave [1] number of the longest
        second_wave [1] number of the second longest
        log_density [1] log probability density of the snapshots
        excess [1] largest cosine of a wave beyond its bound before it was stabilised
        distance [1] standard deviations to the stable density; infinite if refused
        decay [1] e^(−γ dt) of the model; 1 if it is conservative
        damping [1/s] rate γ of a uniform damping, as the snapshots have it
        damping_std [1/s] standard error of γ
        speed [m^2/s^2] c² of waves about u = 0, corrected for the noise
        speed_std [m^2/s^2] standard error of c²
    replicate place:
        force_place [-] values u at which the force is measured
        force [-] V'(u) over the mass density, corrected for the noise
        force_std [-] standard error of V'(u)
    """,
    finite=("coefficient", "coordinate_scale", "stencil", "width", "degree"),
    required=("length_scale", "waves", "distance"),
)

CONTRACTS = {
    "nothing": Contract("differentiate or assemble with method none", {}),
    "shadow_equations": Contract(
        "assemble with method discrete_euler_lagrange or continuous_euler_lagrange",
        EQUATIONS | BASIS,
    ),
    "learned_lagrangian": Contract(
        "identify with method minimum_norm, evidence_maximisation or "
        "noether_symmetries",
        BASIS | LAGRANGIAN,
        model="leastaction.snapshots.learned_model:LearnedLagrangian.from_dataset",
    ),
    "learned_field": Contract(
        "identify with method discrete_density",
        FIELD,
        model="leastaction.snapshots.field_models:LearnedField.from_dataset",
    ),
}


def nothing(observations: xr.Dataset, *_more) -> xr.Dataset:
    """Contract ``nothing``, for methods that need no derivatives or no equations."""
    return xr.Dataset(coords={"replicate": observations["replicate"].values})


def described(observations: xr.Dataset, rule: str, shadow: int) -> dict:
    """Attributes of what is learned from the observations of one case."""
    return {
        "time_step": time_step(observations),
        "rule": rule,
        "shadow": shadow,
        "dof": [str(name) for name in observations["dof"].values],
    }


def equations_dataset(
    basis, rows: np.ndarray, conditions, observations: xr.Dataset, rule: str, shadow
) -> xr.Dataset:
    """Contract ``shadow_equations``: A b = 0, C b = d and what defines the basis."""
    condition, value = conditions
    values = {"theta": rows.reshape(-1, basis.size), "condition": condition}
    return CONTRACTS["shadow_equations"].dataset(
        values | {"condition_value": value} | basis.to_dataset(),
        coords={"replicate": observations["replicate"].values},
        attrs=described(observations, rule, shadow),
    )


def lagrangian_dataset(
    equations: xr.Dataset,
    coefficients: np.ndarray,
    diagnostics: Mapping[str, float],
    factor: np.ndarray | None = None,
    basis=None,
    symmetries: Mapping[str, np.ndarray] | None = None,
) -> xr.Dataset:
    """Contract ``learned_lagrangian`` of one case, with the basis of its equations.

    `factor` is that of the posterior covariance, shape (direction, function); `basis`
    another one than that of the equations, `symmetries` variables about them.
    """
    values = {name: equations[name] for name in BASIS if name in equations}
    values |= dict(symmetries or {}) | (basis.to_dataset() if basis else {})
    values["coefficient"] = coefficients
    if factor is not None:
        values["factor"] = factor
    return CONTRACTS["learned_lagrangian"].dataset(
        values | {name: float(value) for name, value in diagnostics.items()},
        coords={"replicate": equations["replicate"].values},
        attrs={k: v for k, v in equations.attrs.items() if k != "contract"},
    )
