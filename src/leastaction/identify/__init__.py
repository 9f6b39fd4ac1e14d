"""Stage `identify`: from equations in coefficients to a model with error bars."""

from importlib import import_module

METHODS = {
    "modal_gmm": "leastaction.identify.modal_gmm",
    "moment_gmm": "leastaction.identify.moment_gmm",
    "moving_average_gmm": "leastaction.identify.moving_average_gmm",
    "nodal_stlsq": "leastaction.identify.nodal_stlsq",
    "stlsq": "leastaction.identify.stlsq",
}
VOLATILITY_METHODS = {
    "mean_square_residual": "leastaction.identify.mean_square_residual",
    "modal_long_run_variance": "leastaction.identify.modal_long_run_variance",
    "moving_average_likelihood": "leastaction.identify.moving_average_likelihood",
    "nodal_mean_square_residual": "leastaction.identify.nodal_mean_square_residual",
    "squared_increments": "leastaction.identify.squared_increments",
}
NEEDS = {
    "modal_gmm": "modal_moments",
    "moment_gmm": "martingale_moments",
    "moving_average_gmm": ("lagged_moments", "weak_moments"),
    "nodal_stlsq": "nodal_ensemble_mean",
    "stlsq": "ensemble_mean",
}
VOLATILITY_NEEDS = {
    "mean_square_residual": ("stlsq", "moment_gmm"),
    "modal_long_run_variance": "modal_gmm",
    "moving_average_likelihood": "moving_average_gmm",
    "nodal_mean_square_residual": "nodal_stlsq",
    "squared_increments": "moment_gmm",
}


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
