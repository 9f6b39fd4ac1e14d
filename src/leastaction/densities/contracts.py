"""Datasets of stationary densities, before and after the model."""

from leastaction.core.contract import Contract

BATCH = ("replicate", "batch")
CELLS = ("q_bin", "qdot_bin")
TERMS = ("equation_term", "equation_term_other")
TESTS = ("test_function", "test_function_other")
DENSITY = ("replicate", "dof", *CELLS)

# What every assembled stationary equation says of its terms.
OF_TERMS = {
    "kind": ("equation_term",),
    "known": ("equation_term",),
    "detailed_balance": (),
    "mean_square": ("replicate", "dof", "volatility_term"),
}

CONTRACTS = {
    "histogram": Contract(
        "simulate with method gill_histogram",
        {"count": (*BATCH, *CELLS), "samples": BATCH, "duration": BATCH},
        finite=("count", "samples", "duration"),
    ),
    "state_moments": Contract(
        "simulate with method gill_moments",
        {
            "moment": (*BATCH, "monomial"),
            "exponent": ("monomial", "state"),
            "samples": BATCH,
            "duration": BATCH,
        },
        finite=("moment", "duration"),
    ),
    "density_stencil": Contract(
        "differentiate with method central_stencil",
        {
            "density": (*BATCH, *CELLS),
            "difference_q": ("q_bin", "q_bin_other"),
            "difference_qdot": ("qdot_bin", "qdot_bin_other"),
        },
        finite=("density",),
    ),
    "density_tests": Contract(
        "differentiate with method bump_functions",
        {
            "probability": (*BATCH, *CELLS),
            "bump_q": ("order", "bump", "q_bin"),
            "bump_qdot": ("order", "bump", "qdot_bin"),
            "duration": BATCH,
        },
        finite=("probability",),
    ),
    "monomial_tests": Contract(
        "differentiate with method monomial_functions",
        {
            "test_exponent": ("test_function", "state"),
            "scale": ("replicate", "state"),
        },
        finite=("scale",),
    ),
    "stationary_residual": Contract(
        "assemble with method stationary_residual",
        {"gram": (*BATCH, "batch_other", *TERMS), **OF_TERMS},
        finite=("gram",),
    ),
    "generator_moments": Contract(
        "assemble with method weak_fokker_planck or moment_fokker_planck",
        {
            "moment": (*BATCH, "test_function", "equation_term"),
            "noise_gram": ("replicate", "equation_term", *TESTS),
            "duration": ("replicate",),
            **OF_TERMS,
        },
        finite=("moment", "noise_gram"),
    ),
    "density_rollout": Contract(
        "validate",
        {
            "density_true": DENSITY,
            "density_estimate": DENSITY,
            "residual_score": ("replicate", "bump_q", "bump_qdot"),
            "std_true": ("replicate", "state"),
            "std_estimate": ("replicate", "state"),
            "total_variation": ("replicate", "dof"),
        },
        finite=("density_true", "std_true"),
    ),
}
