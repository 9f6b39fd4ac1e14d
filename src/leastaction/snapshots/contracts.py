"""Datasets of what is learned from snapshots."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import xarray as xr

from leastaction.core.contract import Contract, Variable

UNIT = "see coordinate_unit"
optional = partial(Variable, optional=True)
_finite = partial(Variable, finite=True)
_basis = partial(Variable, units="mixed", optional=True)

# What defines a basis (leastaction.snapshots.basis); each has some of them.
BASIS = {
    "degree": _basis("replicate", long_name="total degree of the features"),
    "length_scale": _basis("replicate", long_name="length scale"),
    "inputs": _basis("replicate variable state", long_name="map of (q, qdot)"),
    "centre": _basis("replicate state", long_name="centre of the features"),
    "centres": _basis("replicate function state", long_name="centres"),
    "weights": _basis("replicate function state", long_name="weights of units"),
    "offsets": _basis("replicate function", long_name="offsets of units"),
}

_SAMPLES = "replicate sample dof"
_ORDER = "replicate order"
_STATES = "replicate sample state"

CONTRACTS = {
    "nothing": Contract("differentiate or assemble with method none", {}),
    "sampled_motion": Contract(
        "differentiate with method repeated_central_difference or halton_velocity",
        {
            "q": _finite(_SAMPLES, UNIT, "generalised coordinate"),
            "qdot": _finite(_SAMPLES, UNIT, "generalised velocity"),
            "qddot": _finite(_SAMPLES, UNIT, "acceleration"),
        },
    ),
    "shadow_equations": Contract(
        "assemble with method discrete_euler_lagrange or continuous_euler_lagrange",
        {
            "theta": _finite(
                "replicate equation function", "mixed", "Euler-Lagrange rows"
            ),
            "condition": _finite(
                "replicate constraint function", "mixed", "normalisation rows"
            ),
            "condition_value": _finite(
                "replicate constraint", "mixed", "values of the normalisation rows"
            ),
            **BASIS,
        },
    ),
    "learned_lagrangian": Contract(
        "identify with method minimum_norm, evidence_maximisation or tanh_network",
        {
            **BASIS,
            "coefficient": _finite(
                "replicate function", "mixed", "coefficient of the learned Lagrangian"
            ),
            "factor": optional(
                "replicate direction function",
                "mixed",
                "factor of the posterior covariance",
            ),
            "rank": optional("replicate", "1", "numerical rank of the rows"),
            "residual_square": optional(
                "replicate", "mixed", "sum of squares of the residual"
            ),
            "damping": optional(
                "replicate", "1", "damping over the largest singular value"
            ),
            "log_evidence": optional("replicate", "1", "log evidence"),
            "row_error": optional("replicate", "mixed", "error of a row"),
            "one_step_error": optional(
                "replicate", "mixed", "held-out error of one step, rms"
            ),
            "mass_error": optional("replicate", "1", "mean discrete mass minus 1"),
            "evaluations": optional("replicate", "1", "evaluations of the network"),
        },
        model="snapshots.learned_model:LearnedLagrangian.from_dataset",
    ),
    "learned_flow": Contract(
        "identify with method flow_gaussian_process",
        {
            "state_sample": _finite(_STATES, "mixed", "states of the kernel"),
            "weight": _finite(_STATES, "mixed", "weights of the kernel"),
        },
        model="snapshots.learned_model:LearnedFlow.from_dataset",
    ),
    "shadow_rollout": Contract(
        "validate",
        {
            # Gradients of H^[k] beside those of H, in a box of states
            "misalignment": Variable(
                _ORDER, "1", "mean sine of the angle between gradients of H^[k] and H"
            ),
            "scale": Variable(
                _ORDER,
                "1",
                "factor of the gradient of H that is closest to that of H^[k]",
            ),
            "hamiltonian_point": optional(
                "replicate order point", "mixed", "H^[k] in the box"
            ),
            "misalignment_integrated": optional(
                _ORDER,
                "1",
                "the same of the true Lagrangian, integrated by the same rule",
            ),
            "hamiltonian_point_integrated": optional(
                "replicate order point", "J", "H^[k] of the true Lagrangian in the box"
            ),
            "mass": optional(
                "replicate order dof dof_other",
                "mixed",
                "mass matrix of L^[k] in the middle of the box, scaled",
            ),
            "mass_true": optional(
                "replicate dof dof_other", "mixed", "mass matrix of L there"
            ),
            "state_point": optional("point state", UNIT, "states (q, qdot) of the box"),
            "hamiltonian_point_true": optional("point", "J", "H in the box"),
            # The long rollout
            "momentum_estimate": optional(
                "replicate order time_energy dof",
                "mixed",
                "discrete momentum along the path",
            ),
            "momentum_physical": optional(
                "replicate order time_energy dof",
                "mixed",
                "momentum of the true L along the path of the model",
            ),
            "momentum_range": optional(
                "replicate order dof", "mixed", "range of a momentum along the path"
            ),
            "momentum_start": optional(
                "replicate order dof", "mixed", "momentum of the start"
            ),
            "q_true": _finite("replicate time dof", UNIT, "path of the truth"),
            "q_estimate": Variable(
                "replicate order time dof",
                UNIT,
                "path of the model, its first momentum from L^[k]",
            ),
            "position_error": Variable(_ORDER, UNIT, "largest error of a position"),
            "position_error_short": Variable(
                _ORDER, UNIT, "largest error of a position in the first steps"
            ),
            "steps_done": _finite(_ORDER, "1", "steps done"),
            "failure": optional(
                _ORDER, "1", "why a rollout ended before its last step"
            ),
            "hamiltonian_estimate": optional(
                "replicate order time_energy",
                "J",
                "true energy along the path of the model",
            ),
            "hamiltonian_modified": optional(
                "replicate order time_energy",
                "J",
                "H^[k] along the path of the main order, scaled",
            ),
            "energy_deviation": Variable(
                _ORDER,
                "J",
                "largest deviation of the true energy from that of the start",
            ),
            "energy_band": optional(_ORDER, "J", "width of the band of H^[k], scaled"),
            "energy_drift": Variable(
                _ORDER, "W", "slope of the true energy along the path of the model"
            ),
            # Its first snapshots
            "state_snapshot": Variable(
                "replicate snapshot state",
                UNIT,
                "first states (q, qdot) of the model, from the start of the long "
                "rollout",
            ),
            "state_snapshot_true": Variable(
                "snapshot state", UNIT, "first states (q, qdot) of the truth"
            ),
            "state_line_true": optional(
                "line state", UNIT, "states of the truth between its first snapshots"
            ),
            "hamiltonian_start_true": Variable(
                "", "J", "H of the start of the long rollout"
            ),
            # H^[k] at rest, on a grid, at saddles and near them
            "potential_estimate": optional(
                "replicate order rest", "J", "H^[k] at rest, scaled and shifted"
            ),
            "potential_error": optional(
                _ORDER, "J", "its largest error in the region below the level"
            ),
            "saddle_margin": optional(
                "replicate order saddle",
                "J",
                "H^[k] of a saddle minus that of the start, scaled",
            ),
            "saddle_margin_true": optional(
                "replicate saddle", "J", "H of a saddle minus that of the start"
            ),
            "near_offset": optional("replicate near dof", UNIT, "from a saddle"),
            "near_estimate": optional(
                "replicate order saddle near",
                "J",
                "H^[k] at rest near a saddle minus that of the start, scaled",
            ),
            "near_true": optional(
                "replicate saddle near",
                "J",
                "H at rest near a saddle minus that of the start",
            ),
            "q_rest": optional("rest dof", UNIT, "positions of the potential"),
            "potential_true": optional("rest", "J", "H at rest"),
            "inside": optional("rest", "1", "1 in the region below the level"),
            # Many rollouts up to a fixed time
            "horizon_error": optional(
                "replicate horizon_start",
                UNIT,
                "largest error of a position; NaN if the motion failed",
            ),
            "horizon_steps": optional(
                "replicate horizon_start", "1", "steps before it failed"
            ),
            # Very long rollouts from starts that differ by round-off
            "survival_steps": optional(
                "replicate survival_start", "1", "steps before escape"
            ),
            "survival_time": optional(
                "replicate survival_start",
                "s",
                "time before escape, or when the motion was stopped",
            ),
            "survival_censored": optional(
                "replicate survival_start",
                "1",
                "1 where the motion had not escaped when it was stopped",
            ),
            "passage_time": optional(
                "replicate passage", "s", "time of the coarse samples"
            ),
            "passage_q": optional(
                "replicate passage dof", UNIT, "positions from the unperturbed start"
            ),
            "passage_energy": optional(
                "replicate passage",
                "J",
                "true energy along it minus that of the start",
            ),
            "passage_drift": optional(
                "replicate", "W", "slope of the true energy along it"
            ),
            "passage_end": optional(
                "replicate end dof",
                UNIT,
                "its last positions before it escaped or was stopped, every step",
            ),
            # Draws from the posterior
            "hamiltonian_error": optional(
                "replicate point", "J", "error of H, matched to the truth"
            ),
            "hamiltonian_std": optional(
                "replicate point", "J", "standard deviation of the posterior"
            ),
            "hamiltonian_coverage": optional(
                "replicate",
                "1",
                "share of points with an error of at most two standard deviations",
            ),
        },
    ),
}


def lagrangian_dataset(
    equations: xr.Dataset,
    coefficients: np.ndarray,
    diagnostics: Mapping[str, float],
    factor: np.ndarray | None = None,
) -> xr.Dataset:
    """Contract ``learned_lagrangian`` of one case.

    Parameters
    ----------
    equations
        Contract ``shadow_equations``; its basis and attributes are kept.
    coefficients
        Shape (function,).
    diagnostics
        Values by name.
    factor
        Factor of the posterior covariance, shape (direction, function).
    """
    values = {name: equations[name] for name in BASIS if name in equations}
    values["coefficient"] = coefficients
    if factor is not None:
        values["factor"] = factor
    return CONTRACTS["learned_lagrangian"].dataset(
        values | {name: float(value) for name, value in diagnostics.items()},
        coords={"replicate": equations["replicate"].values},
        attrs={k: v for k, v in equations.attrs.items() if k != "contract"},
    )
