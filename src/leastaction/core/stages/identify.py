"""Stage `identify`: from equations in coefficients to a model with error bars."""

from importlib import import_module

METHODS = {
    "ito_gmm": "leastaction.densities.ito_gmm",
    "residual_least_squares": "leastaction.densities.residual_least_squares",
    "split_sample_residual": "leastaction.densities.split_sample_residual",
    "acceleration_gradient": "leastaction.trajectories.acceleration_gradient",
    "cross_validated_shooting": "leastaction.recordings.cross_validated_shooting",
    "evidence_maximisation": "leastaction.snapshots.evidence_maximisation",
    "flow_gaussian_process": "leastaction.snapshots.flow_gaussian_process",
    "hamiltonian_gradient": "leastaction.ports.hamiltonian_gradient",
    "independent_processes": "leastaction.ports.independent_processes",
    "multi_task_process": "leastaction.ports.multi_task_process",
    "lagrangian_sindy": "leastaction.trajectories.lagrangian_sindy",
    "minimum_norm": "leastaction.snapshots.minimum_norm",
    "modal_gmm": "leastaction.fields.modal_gmm",
    "moment_gmm": "leastaction.ensembles.moment_gmm",
    "moving_average_gmm": "leastaction.ensembles.moving_average_gmm",
    "nodal_stlsq": "leastaction.fields.nodal_stlsq",
    "null_vector": "leastaction.trajectories.null_vector",
    "proximal_gradient": "leastaction.trajectories.proximal_gradient",
    "shooting": "leastaction.trajectories.shooting",
    "sindy_pi": "leastaction.trajectories.sindy_pi",
    "stlsq": "leastaction.core.stlsq",
    "tanh_network": "leastaction.snapshots.tanh_network",
}
VOLATILITY_METHODS = {
    "mean_square_residual": "leastaction.ensembles.mean_square_residual",
    "modal_long_run_variance": "leastaction.fields.modal_long_run_variance",
    "moving_average_likelihood": "leastaction.ensembles.moving_average_likelihood",
    "nodal_mean_square_residual": "leastaction.fields.nodal_mean_square_residual",
    "squared_increments": "leastaction.ensembles.squared_increments",
}
NEEDS = {
    "ito_gmm": ("weak_fokker_planck", "moment_fokker_planck"),
    "residual_least_squares": "stationary_residual",
    "split_sample_residual": "stationary_residual",
    "acceleration_gradient": "gram",
    "cross_validated_shooting": "weighted_gram",
    "evidence_maximisation": "discrete_euler_lagrange",
    "flow_gaussian_process": "none",
    "hamiltonian_gradient": "effort_targets",
    "independent_processes": "effort_targets",
    "multi_task_process": "effort_targets",
    "lagrangian_sindy": "energy_gram",
    "minimum_norm": ("continuous_euler_lagrange", "discrete_euler_lagrange"),
    "modal_gmm": "modal_moments",
    "moment_gmm": "martingale_moments",
    "moving_average_gmm": ("lagged_moments", "weak_moments"),
    "nodal_stlsq": "nodal_ensemble_mean",
    "null_vector": "gram",
    "proximal_gradient": "gram",
    "shooting": "gram",
    "sindy_pi": "implicit_library",
    "stlsq": "ensemble_mean",
    "tanh_network": "none",
}
VOLATILITY_NEEDS = {
    "mean_square_residual": ("stlsq", "moment_gmm"),
    "modal_long_run_variance": "modal_gmm",
    "moving_average_likelihood": "moving_average_gmm",
    "nodal_mean_square_residual": "nodal_stlsq",
    "squared_increments": "moment_gmm",
}
# Methods of motions that put a recorded input into their equations.
KNOWS_INPUT = ("cross_validated_shooting", "null_vector", "proximal_gradient")
# Those of them that do so if, and only if, they are given no prior term.
INPUT_WITHOUT_PRIOR = ("proximal_gradient",)
# Methods that read every sample from the file of equations.
NEEDS_ALL_SAMPLES = ("acceleration_gradient",)

# Methods that estimate the volatility together with the drift.
WITH_VOLATILITY = ("ito_gmm", "residual_least_squares", "split_sample_residual")

# Methods that return to the samples: they get the observations and the library, too.
READS_OBSERVATIONS = {
    "acceleration_gradient",
    "cross_validated_shooting",
    "evidence_maximisation",
    "flow_gaussian_process",
    "null_vector",
    "shooting",
    "sindy_pi",
    "tanh_network",
}

# Contracts of what a method makes, if it is no model of written terms.
MAKES = {
    "evidence_maximisation": "learned_lagrangian",
    "flow_gaussian_process": "learned_flow",
    "hamiltonian_gradient": "effort_gradient",
    "independent_processes": "effort_process",
    "minimum_norm": "learned_lagrangian",
    "multi_task_process": "effort_process",
    "sindy_pi": "implicit_model",
    "tanh_network": "learned_lagrangian",
}


def identify(observations, equations, settings, library):
    """Apply the methods named in `settings` to one replicate.

    Returns
    -------
    xr.Dataset
        Contract ``model``, or that of `MAKES`.
    """
    from leastaction.core.noise_sweep import over_cases

    return over_cases(
        lambda recorded, assembled: _one_case(recorded, assembled, settings, library),
        observations,
        equations,
    )


def contract(settings):
    """Contract of the result."""
    return MAKES.get(settings["method"], "model")


def _one_case(observations, equations, settings, library):
    from leastaction.core.estimate import model_dataset

    method = import_module(METHODS[settings["method"]])
    more = ()
    if settings["method"] in READS_OBSERVATIONS:
        more = (observations, library)
    found = method.identify(equations, settings, *more)
    if contract(settings) != "model":
        return found
    if settings["method"] in WITH_VOLATILITY:
        found, volatility = found
    else:
        volatility = _volatility(observations, found, settings, library)
    calculus = library.get("calculus", "ito")
    return model_dataset(observations, found, volatility, calculus)


def _volatility(observations, lagrangian, settings, library):
    from leastaction.core.estimate import no_volatility

    recipe = settings.get("volatility")
    if recipe is None:
        return no_volatility(observations.sizes["dof"])
    method = import_module(VOLATILITY_METHODS[recipe["method"]])
    return method.identify(observations, lagrangian, recipe, library)
