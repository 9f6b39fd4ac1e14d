"""Stage `validate`: roll out the truth and the model side by side."""

from importlib import import_module

from leastaction.core.stages import simulate

# By the model that was identified, else by what the `simulate` stage makes.
METHODS = {
    "effort_gradient": "leastaction.ports.effort_rollout",
    "effort_process": "leastaction.ports.effort_rollout",
    "learned_flow": "leastaction.snapshots.rollout",
    "learned_lagrangian": "leastaction.snapshots.rollout",
    "observations": "leastaction.ensembles.rollout",
    "field_observations": "leastaction.fields.field_rollout",
    "recordings": "leastaction.trajectories.motion_rollout",
    "measurements": "leastaction.recordings.measured_rollout",
    "histogram": "leastaction.densities.density_rollout",
    "state_moments": "leastaction.densities.density_rollout",
}
MAKES = {
    "effort_gradient": "port_rollout",
    "effort_process": "port_rollout",
    "learned_flow": "shadow_rollout",
    "learned_lagrangian": "shadow_rollout",
    "observations": "rollout",
    "field_observations": "field_rollout",
    "recordings": "motion_rollout",
    "measurements": "measured_rollout",
    "histogram": "density_rollout",
    "state_moments": "density_rollout",
}


def validate(system, model, simulation, settings, library, *, example, seed):
    """Roll out one replicate.

    See :func:`leastaction.ensembles.rollout.validate`,
    :func:`leastaction.fields.field_rollout.validate`,
    :func:`leastaction.trajectories.motion_rollout.validate`,
    :func:`leastaction.snapshots.rollout.validate`,
    :func:`leastaction.ports.effort_rollout.validate`, and
    :func:`leastaction.densities.density_rollout.validate` of stationary densities.
    """
    kind = model.attrs.get("contract")
    if kind not in METHODS:
        kind = simulate.MAKES[simulation["method"]]
    return import_module(METHODS[kind]).validate(
        system, model, simulation, settings, library, example=example, seed=seed
    )


def predict(observations, model, settings):
    """Roll out one model from the begin of recorded trajectories.

    See :func:`leastaction.recordings.measured_rollout.predict`.
    """
    return import_module(METHODS["measurements"]).predict(observations, model, settings)
