"""Stage `simulate`: observations of a known system."""

from importlib import import_module

METHODS = {
    "strong_taylor": "leastaction.ensembles.strong_taylor",
    "modal": "leastaction.fields.modal",
    "leapfrog": "leastaction.fields.leapfrog",
    "newmark": "leastaction.fields.newmark",
    "runge_kutta": "leastaction.core.runge_kutta",
    "gill_histogram": "leastaction.densities.gill_histogram",
    "gill_moments": "leastaction.densities.gill_moments",
    "minimal_coordinates": "leastaction.ports.minimal_coordinates",
}
# What each method makes: observations of coordinates, of a field, recordings of motions
# without random forces, paths of a port-Hamiltonian system, or what is left of a long
# stationary path.
MAKES = {
    "strong_taylor": "observations",
    "modal": "field_observations",
    "leapfrog": "field_observations",
    "newmark": "field_observations",
    "runge_kutta": "recordings",
    "gill_histogram": "histogram",
    "gill_moments": "state_moments",
    "minimal_coordinates": "port_recordings",
}

# What is kept of a stationary path, by what the method makes.
DENSITIES = ("histogram", "state_moments")

SENSOR = "leastaction.ensembles.sensor"


def simulate(system, settings, *, example, seed, replicate, units):
    """Simulate one replicate with the scheme and the sensors named in `settings`.

    See :func:`leastaction.ensembles.ensemble.ensemble`,
    :func:`leastaction.fields.field_ensemble.field_ensemble` and
    :func:`leastaction.ensembles.sensor.measure`.
    """
    observations = import_module(METHODS[settings["method"]]).simulate(
        system,
        settings,
        example=example,
        seed=seed,
        replicate=replicate,
        units=units,
    )
    if not settings.get("sensor"):
        return observations
    sensor = import_module(SENSOR)
    return sensor.measure(observations, settings["sensor"], example=example, seed=seed)


def contract(settings):
    """Contract of the observations, by the method and by what the sensors record."""
    if not settings.get("sensor"):
        return MAKES[settings["method"]]
    return import_module(SENSOR).contract(settings["sensor"])
