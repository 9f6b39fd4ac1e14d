"""A stage of one replicate, by the method that its settings name."""

from leastaction.core.method import kind_of_rollout, rollout, step, steps


def simulate(system, settings, **key):
    """Observations."""
    return step("simulate", settings)(system, **key)


def differentiate(observations, settings, library):
    """Derivatives."""
    return step("differentiate", settings)(observations, library)


def assemble(observations, derivatives, settings, library):
    """Equations."""
    return step("assemble", settings)(observations, derivatives, library)


def identify(observations, equations, settings, library):
    """Model."""
    return step("identify", settings)(observations, equations, library)


def validate(system, model, simulation, settings, library, **key):
    """Truth and model side by side."""
    made = steps("simulate")[simulation["method"]].makes
    kind = kind_of_rollout(model.attrs.get("contract"), made)
    function = rollout(kind).function()
    return function(system, model, simulation, settings, library, **key)
