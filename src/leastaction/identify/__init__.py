"""Stage `identify`: from equations in coefficients to a model with error bars."""

from importlib import import_module

METHODS = {
    "moment_gmm": "leastaction.identify.moment_gmm",
    "stlsq": "leastaction.identify.stlsq",
}
VOLATILITY_METHODS = {
    "mean_square_residual": "leastaction.identify.mean_square_residual",
    "squared_increments": "leastaction.identify.squared_increments",
}
NEEDS = {"moment_gmm": "martingale_moments", "stlsq": "ensemble_mean"}
VOLATILITY_NEEDS = {"squared_increments": "moment_gmm"}


def identify(observations, equations, settings, library):
    """Apply the methods named in `settings` to one replicate.

    Returns
    -------
    xr.Dataset
        Contract ``model``.
    """
    from leastaction.identify.model import model_dataset

    lagrangian = import_module(METHODS[settings["method"]]).identify(
        equations, settings
    )
    recipe = settings["volatility"]
    volatility = import_module(VOLATILITY_METHODS[recipe["method"]]).identify(
        observations, lagrangian, recipe, library
    )
    calculus = library.get("calculus", "ito")
    return model_dataset(observations, lagrangian, volatility, calculus)
