"""Stage `assemble`: from observations and derivatives to equations in coefficients."""

from importlib import import_module

METHODS = {
    "continuous_euler_lagrange": "leastaction.snapshots.continuous_euler_lagrange",
    "discrete_euler_lagrange": "leastaction.snapshots.discrete_euler_lagrange",
    "moment_fokker_planck": "leastaction.densities.moment_fokker_planck",
    "stationary_residual": "leastaction.densities.stationary_residual",
    "weak_fokker_planck": "leastaction.densities.weak_fokker_planck",
    "effort_targets": "leastaction.ports.effort_targets",
    "energy_gram": "leastaction.trajectories.energy_gram",
    "ensemble_mean": "leastaction.ensembles.ensemble_mean",
    "gram": "leastaction.trajectories.gram",
    "implicit_library": "leastaction.trajectories.implicit_library",
    "lagged_moments": "leastaction.ensembles.lagged_moments",
    "martingale_moments": "leastaction.ensembles.martingale_moments",
    "modal_moments": "leastaction.fields.modal_moments",
    "nodal_ensemble_mean": "leastaction.fields.nodal_ensemble_mean",
    "none": "leastaction.snapshots.no_equations",
    "weak_moments": "leastaction.ensembles.weak_moments",
    "weighted_gram": "leastaction.recordings.weighted_gram",
}

NEEDS = {
    "continuous_euler_lagrange": ("halton_velocity", "repeated_central_difference"),
    "discrete_euler_lagrange": "none",
    "moment_fokker_planck": "monomial_functions",
    "stationary_residual": "central_stencil",
    "weak_fokker_planck": "bump_functions",
    "effort_targets": ("exact_flow", "finite_difference", "gaussian_process"),
    "energy_gram": ("joint_spline", "measured"),
    "ensemble_mean": "central_difference",
    "gram": ("joint_spline", "measured"),
    "implicit_library": ("joint_spline", "measured"),
    "lagged_moments": "sensor_noise",
    "martingale_moments": "realised_variation",
    "modal_moments": "modal_projection",
    "nodal_ensemble_mean": "nodal_central_difference",
    "none": "none",
    "weak_moments": "sensor_noise",
    "weighted_gram": "bandwidth_spline",
}

# Methods that know the structure of the model and estimate all its coefficients.
STATIONARY_PARTS = (
    "reference",
    "inertia",
    "lagrangian",
    "dissipation",
    "volatility",
    "calculus",
    "known",
)
STATIONARY = ("moment_fokker_planck", "stationary_residual", "weak_fokker_planck")

# Methods that need no velocities.
DISPLACEMENTS_ONLY = {"weak_moments"}

# Parts of the section `library` that a method evaluates.
USES_LIBRARY = {
    "continuous_euler_lagrange": (),
    "discrete_euler_lagrange": (),
    "effort_targets": (),
    **dict.fromkeys(STATIONARY, STATIONARY_PARTS),
    "ensemble_mean": ("reference", "inertia", "lagrangian"),
    "energy_gram": ("reference", "inertia", "lagrangian"),
    "gram": ("reference", "inertia", "lagrangian", "dissipation"),
    "weighted_gram": ("reference", "inertia", "lagrangian", "dissipation"),
    "implicit_library": ("implicit",),
    "lagged_moments": ("reference", "inertia", "lagrangian"),
    "weak_moments": ("reference", "inertia", "lagrangian"),
    "martingale_moments": (
        "reference",
        "inertia",
        "lagrangian",
        "dissipation",
        "calculus",
    ),
    "modal_moments": ("reference", "lagrangian"),
    "nodal_ensemble_mean": ("reference", "lagrangian"),
    "none": (),
}


def assemble(observations, derivatives, settings, library):
    """Apply the method named in `settings` to one replicate."""
    method = import_module(METHODS[settings["method"]])
    from leastaction.core.noise_sweep import over_cases

    return over_cases(
        lambda recorded, rates: method.assemble(recorded, rates, settings, library),
        observations,
        derivatives,
    )


def contract(settings):
    """Contract that the method's output honours."""
    return import_module(METHODS[settings["method"]]).CONTRACT
