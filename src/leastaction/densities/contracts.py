"""Datasets of stationary densities, before and after the model; cells of histograms."""

import numpy as np
import xarray as xr

from leastaction.core.contracts import Contract, variables

HISTOGRAM = variables(
    """
    replicate batch q_bin qdot_bin:
        count [1] samples in the cell
    replicate batch:
        samples [1] samples inside and outside the cells
        duration [s] total time of the batch
    """,
    finite=("count", "samples", "duration"),
)
STATE_MOMENTS = variables(
    """
    replicate batch monomial:
        moment [mixed] mean of a monomial of the state
    monomial state:
        exponent [1] exponent of the monomial
    replicate batch:
        samples [1] samples of the means
        duration [s] total time of the batch
    """,
    finite=("moment", "duration"),
)
DENSITY_TESTS = variables(
    """
    replicate batch q_bin qdot_bin:
        probability [1] probability of the cell, corrected
    order bump q_bin:
        bump_q [1] derivatives of the bump, by order
    order bump qdot_bin:
        bump_qdot [1] derivatives of the bump, by order
    replicate batch:
        duration [s] total time of the batch
    """,
    finite=("probability",),
)
MONOMIAL_TESTS = variables(
    """
    test_function state:
        test_exponent [1] exponent of the test function
    replicate state:
        scale [unit of the state] root mean square
    """,
    finite=("scale",),
)
# What every assembled stationary equation says of its terms.
OF_TERMS = variables(
    """
    term:
        status [1] what algebra says about the term
        equivalent [1] what the candidate equals
        reference_value [mixed] coefficient of a reference term
    dissipation_term:
        dissipation_status [1] what algebra says about the term of D
        dissipation_equivalent [1] what the candidate of D equals
    equation_term:
        kind [1] what the coefficient belongs to
        position [1] position among its candidates
        of_dof [1] degree of freedom of a volatility
        known [mixed] given coefficient
    :
        detailed_balance [1] whether the density is exp(-kappa H)
    replicate dof volatility_term:
        mean_square [mixed] mean of the candidate of S^2
    """,
    may_be_empty=("dissipation_status", "dissipation_equivalent"),
)
STATIONARY_RESIDUAL = variables(
    """
    replicate batch batch_other equation_term equation_term_other:
        gram [mixed] inner product of columns of the residual
    """,
    finite=("gram",),
)

GENERATOR_MOMENTS = variables(
    """
    replicate batch test_function equation_term:
        moment [mixed] mean of the generator of the term
    replicate equation_term test_function test_function_other:
        noise_gram [mixed] covariance of the moments, times T
    test_function:
        test_name [1] test function in words
    replicate:
        duration [s] total time T
    replicate dof:
        velocity_square [(units of qdot)^2] mean square of the velocity
    """,
    finite=("moment", "noise_gram", "velocity_square"),
)

CONTRACTS = {
    "histogram": Contract("simulate with method gill_histogram", HISTOGRAM),
    "state_moments": Contract("simulate with method gill_moments", STATE_MOMENTS),
    "density_tests": Contract(
        "differentiate with method bump_functions", DENSITY_TESTS
    ),
    "monomial_tests": Contract(
        "differentiate with method monomial_functions", MONOMIAL_TESTS
    ),
    "stationary_residual": Contract(
        "assemble with method stationary_residual", STATIONARY_RESIDUAL | OF_TERMS
    ),
    "generator_moments": Contract(
        "assemble with method weak_fokker_planck or moment_fokker_planck",
        GENERATOR_MOMENTS | OF_TERMS,
    ),
}

CELLS = ("q_bin", "qdot_bin")


def coarsened(observations: xr.Dataset, bins: int | None) -> xr.Dataset:
    """Histogram with `bins` cells along each side, each a square of the given ones.

    None leaves the cells as they are; ValueError if `bins` does not divide them.
    """
    cells = observations.sizes["q_bin"]
    if bins is None or bins == cells:
        return observations
    if cells % bins:
        raise ValueError(
            f"bins: {cells} cells along each side cannot be put together to {bins}; "
            "choose a divisor, or simulate another histogram"
        )
    return observations.coarsen(dict.fromkeys(CELLS, cells // bins)).sum()


def shares(observations: xr.Dataset) -> np.ndarray:
    """Share of all samples in every cell, shape (replicate, batch, q_bin, qdot_bin)."""
    axes = "replicate", "batch", *CELLS
    counts, samples = (
        observations.variables[name].transpose(*axes, missing_dims="ignore").values
        for name in ("count", "samples")
    )
    return counts / samples[..., None, None]
