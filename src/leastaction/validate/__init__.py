"""Stage `validate`: roll out the truth and the model side by side."""

from importlib import import_module

# By the model that was identified, else by what the `simulate` stage makes.
METHODS = {
    "learned_flow": "leastaction.validate.shadow_rollout",
    "learned_lagrangian": "leastaction.validate.shadow_rollout",
    "observations": "leastaction.validate.rollout",
    "field_observations": "leastaction.validate.field_rollout",
    "recordings": "leastaction.validate.motion_rollout",
}
MAKES = {
    "learned_flow": "shadow_rollout",
    "learned_lagrangian": "shadow_rollout",
    "observations": "rollout",
    "field_observations": "field_rollout",
    "recordings": "motion_rollout",
}


def validate(kind, system, model, simulation, settings, library, *, example, seed):
    """Roll out one replicate of a model of that `kind`, a key of `METHODS`.

    See :func:`leastaction.validate.rollout.validate`,
    :func:`leastaction.validate.field_rollout.validate`,
    :func:`leastaction.validate.motion_rollout.validate` and
    :func:`leastaction.validate.shadow_rollout.validate`.
    """
    return import_module(METHODS[kind]).validate(
        system, model, simulation, settings, library, example=example, seed=seed
    )
