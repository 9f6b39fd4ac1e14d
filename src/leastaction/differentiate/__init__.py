"""Stage `differentiate`: time derivatives, or what increments say without a model."""

from importlib import import_module

METHODS = {
    "central_difference": "leastaction.differentiate.central_difference",
    "realised_variation": "leastaction.differentiate.realised_variation",
}

# Parts of the section `library` that a method evaluates.
USES_LIBRARY = {
    "central_difference": ("reference", "inertia", "lagrangian"),
    "realised_variation": ("volatility",),
}


def differentiate(observations, settings, library):
    """Apply the method named in `settings` to one replicate of observations."""
    method = import_module(METHODS[settings["method"]])
    return method.differentiate(observations, settings, library)


def contract(settings):
    """Contract that the method's output honours."""
    return import_module(METHODS[settings["method"]]).CONTRACT
