"""Stage `simulate`: observations of a known system."""

from importlib import import_module

METHODS = {"strong_taylor": "leastaction.simulate.strong_taylor"}


def simulate(system, settings, *, example, seed, replicate, units):
    """Simulate one replicate with the scheme named in `settings`.

    See :func:`leastaction.simulate.ensemble.ensemble`.
    """
    from leastaction.simulate.ensemble import ensemble

    method = import_module(METHODS[settings["method"]])
    return ensemble(
        method.integrator,
        system,
        settings,
        example=example,
        seed=seed,
        replicate=replicate,
        units=units,
    )
