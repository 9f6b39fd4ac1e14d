"""Datasets of stationary densities, before and after the model."""

from leastaction.core.contract import Contract, Variable

BATCH = "replicate batch"
CELLS = "q_bin qdot_bin"
DENSITY = f"replicate dof {CELLS}"

# What every assembled stationary equation says of its terms.
OF_TERMS = {
    "status": Variable("term", "1", "what algebra says about the term"),
    "equivalent": Variable("term", "1", "what the candidate equals"),
    "dissipation_status": Variable(
        "dissipation_term",
        "1",
        "what algebra says about the term of D",
        may_be_empty=True,
    ),
    "dissipation_equivalent": Variable(
        "dissipation_term", "1", "what the candidate of D equals", may_be_empty=True
    ),
    "kind": Variable("equation_term", "1", "what the coefficient belongs to"),
    "position": Variable("equation_term", "1", "position among its candidates"),
    "of_dof": Variable("equation_term", "1", "degree of freedom of a volatility"),
    "known": Variable("equation_term", "mixed", "given coefficient"),
    "reference_value": Variable("term", "mixed", "coefficient of a reference term"),
    "detailed_balance": Variable("", "1", "whether the density is exp(-kappa H)"),
    "mean_square": Variable(
        "replicate dof volatility_term", "mixed", "mean of the candidate of S^2"
    ),
}

CONTRACTS = {
    "histogram": Contract(
        "simulate with method gill_histogram",
        {
            "count": Variable(
                f"{BATCH} {CELLS}", "1", "samples in the cell", finite=True
            ),
            "samples": Variable(
                BATCH, "1", "samples inside and outside the cells", finite=True
            ),
            "duration": Variable(BATCH, "s", "total time of the batch", finite=True),
        },
    ),
    "state_moments": Contract(
        "simulate with method gill_moments",
        {
            "moment": Variable(
                f"{BATCH} monomial",
                "mixed",
                "mean of a monomial of the state",
                finite=True,
            ),
            "exponent": Variable("monomial state", "1", "exponent of the monomial"),
            "samples": Variable(BATCH, "1", "samples of the means"),
            "duration": Variable(BATCH, "s", "total time of the batch", finite=True),
        },
    ),
    "density_stencil": Contract(
        "differentiate with method central_stencil",
        {
            "density": Variable(
                f"{BATCH} {CELLS}", "1/(q qdot)", "probability density", finite=True
            ),
            "difference_q": Variable("q_bin q_bin_other", "1/q", "central difference"),
            "difference_qdot": Variable(
                "qdot_bin qdot_bin_other", "1/q", "central difference"
            ),
        },
    ),
    "density_tests": Contract(
        "differentiate with method bump_functions",
        {
            "probability": Variable(
                f"{BATCH} {CELLS}",
                "1",
                "probability of the cell, corrected",
                finite=True,
            ),
            "bump_q": Variable(
                "order bump q_bin", "1", "derivatives of the bump, by order"
            ),
            "bump_qdot": Variable(
                "order bump qdot_bin", "1", "derivatives of the bump, by order"
            ),
            "duration": Variable(BATCH, "s", "total time of the batch"),
        },
    ),
    "monomial_tests": Contract(
        "differentiate with method monomial_functions",
        {
            "test_exponent": Variable(
                "test_function state", "1", "exponent of the test function"
            ),
            "scale": Variable(
                "replicate state", "unit of the state", "root mean square", finite=True
            ),
        },
    ),
    "stationary_residual": Contract(
        "assemble with method stationary_residual",
        {
            "gram": Variable(
                f"{BATCH} batch_other equation_term equation_term_other",
                "mixed",
                "inner product of columns of the residual",
                finite=True,
            ),
            **OF_TERMS,
        },
    ),
    "generator_moments": Contract(
        "assemble with method weak_fokker_planck or moment_fokker_planck",
        {
            "moment": Variable(
                f"{BATCH} test_function equation_term",
                "mixed",
                "mean of the generator of the term",
                finite=True,
            ),
            "noise_gram": Variable(
                "replicate equation_term test_function test_function_other",
                "mixed",
                "covariance of the moments, times T",
                finite=True,
            ),
            "duration": Variable("replicate", "s", "total time T"),
            **OF_TERMS,
        },
    ),
    "density_rollout": Contract(
        "validate",
        {
            "density_true": Variable(
                DENSITY, "1/(q qdot)", "stationary density", finite=True
            ),
            "density_estimate": Variable(DENSITY, "1/(q qdot)", "stationary density"),
            "residual_score": Variable(
                "replicate bump_q bump_qdot",
                "1",
                "residual of the model's equation for the true density, over its "
                "standard error",
            ),
            "std_true": Variable(
                "replicate state",
                "unit of the state",
                "standard deviation",
                finite=True,
            ),
            "std_estimate": Variable(
                "replicate state", "unit of the state", "standard deviation"
            ),
            "total_variation": Variable(
                "replicate dof", "1", "total variation distance of the densities"
            ),
            "cell_centre": Variable(
                "state bin", "unit of the state", "centre of the cell"
            ),
        },
    ),
}
