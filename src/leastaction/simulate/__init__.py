"""Stage `simulate`: observations of a known system."""

from importlib import import_module

METHODS = {
    "strong_taylor": "leastaction.simulate.strong_taylor",
    "modal": "leastaction.simulate.modal",
    "leapfrog": "leastaction.simulate.leapfrog",
    "newmark": "leastaction.simulate.newmark",
}
# What each method makes: observations of coordinates, or of a field.
MAKES = {
    "strong_taylor": "observations",
    "modal": "field_observations",
    "leapfrog": "field_observations",
    "newmark": "field_observations",
}


def simulate(system, settings, *, example, seed, replicate, units):
    """Simulate one replicate with the scheme named in `settings`.

    See :func:`leastaction.simulate.ensemble.ensemble` and
    :func:`leastaction.simulate.field_ensemble.field_ensemble`.
    """
    from leastaction.simulate.ensemble import ensemble
    from leastaction.simulate.field_ensemble import field_ensemble

    method = import_module(METHODS[settings["method"]])
    key = {"example": example, "seed": seed, "replicate": replicate, "units": units}
    if MAKES[settings["method"]] == "field_observations":
        return field_ensemble(method.paths, system, settings, **key)
    return ensemble(method.integrator, system, settings, **key)
