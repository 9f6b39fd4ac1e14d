"""Stage `differentiate`: time derivatives, or what increments say without a model."""

from importlib import import_module

METHODS = {
    "bandwidth_spline": "leastaction.recordings.bandwidth_spline",
    "bump_functions": "leastaction.densities.bump_functions",
    "central_difference": "leastaction.ensembles.central_difference",
    "central_stencil": "leastaction.densities.central_stencil",
    "monomial_functions": "leastaction.densities.monomial_functions",
    "realised_variation": "leastaction.ensembles.realised_variation",
    "exact_flow": "leastaction.ports.exact_flow",
    "finite_difference": "leastaction.ports.finite_difference",
    "gaussian_process": "leastaction.ports.gaussian_process",
    "halton_velocity": "leastaction.snapshots.halton_velocity",
    "joint_spline": "leastaction.trajectories.joint_spline",
    "measured": "leastaction.trajectories.measured",
    "modal_projection": "leastaction.fields.modal_projection",
    "nodal_central_difference": "leastaction.fields.nodal_central_difference",
    "none": "leastaction.snapshots.no_derivatives",
    "repeated_central_difference": (
        "leastaction.snapshots.repeated_central_difference"
    ),
    "sensor_noise": "leastaction.ensembles.sensor_noise",
}

READS = {
    "bandwidth_spline": "measurements",
    "bump_functions": "histogram",
    "central_stencil": "histogram",
    "monomial_functions": "state_moments",
    "central_difference": "observations",
    "realised_variation": "observations",
    "exact_flow": "port_recordings",
    "finite_difference": "port_recordings",
    "gaussian_process": "port_recordings",
    "halton_velocity": "recordings",
    "joint_spline": "recordings",
    "measured": "recordings",
    "modal_projection": "field_observations",
    "nodal_central_difference": "field_observations",
    "none": "recordings",
    "repeated_central_difference": "recordings",
    "sensor_noise": "observations",
}

# Methods that need q, q̇ and q̈ recorded.
NEEDS_ALL_CHANNELS = ("measured",)
# Methods that need q and q̈ recorded.
NEEDS_ACCELERATIONS = ("halton_velocity",)

# Parts of the section `library` that a method evaluates.
USES_LIBRARY = {
    "bandwidth_spline": (),
    "bump_functions": (),
    "central_stencil": (),
    "monomial_functions": (),
    "central_difference": ("reference", "inertia", "lagrangian"),
    "exact_flow": (),
    "finite_difference": (),
    "gaussian_process": (),
    "halton_velocity": (),
    "joint_spline": (),
    "measured": (),
    "modal_projection": ("reference", "lagrangian"),
    "nodal_central_difference": ("reference", "lagrangian"),
    "none": (),
    "realised_variation": ("volatility",),
    "repeated_central_difference": (),
    "sensor_noise": (),
}


def differentiate(observations, settings, library):
    """Apply the method named in `settings` to one replicate of observations.

    Of a sweep over noise, `settings` may select cases: ``cases: {modes, levels}``.
    """
    method = import_module(METHODS[settings["method"]])
    from leastaction.core.noise_sweep import over_cases

    return over_cases(
        lambda recorded: method.differentiate(recorded, settings, library),
        observations,
        selection=settings.get("cases"),
    )


def contract(settings):
    """Contract that the method's output honours."""
    return import_module(METHODS[settings["method"]]).CONTRACT
