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
    return import_module(METHODS[settings["method"]]).simulate(
        system,
        settings,
        example=example,
        seed=seed,
        replicate=replicate,
        units=units,
    )
