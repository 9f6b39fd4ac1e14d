"""Datasets of a line at a few sensors."""

from leastaction.core.contracts import Contract, variables

CONTRACTS = {
    "field_readings": Contract(
        "import of kind field with sensors",
        variables(
            """
            replicate trajectory time channel:
                reading [mixed] what each sensor reads
            """,
        ),
        swept=False,
    ),
    "sensed_field": Contract(
        "identify with method field_likelihood",
        variables(
            """
            replicate parameter:
                theta [mixed] coefficients, strength of the force, log noise
            replicate parameter parameter_other:
                covariance [mixed] covariance of the parameters
            replicate coefficient:
                column [1] place of each coefficient among the candidates of L, then D
            replicate candidate:
                absent_estimate [mixed] what each absent candidate of its own would be
                absent_std [mixed] its standard error
            replicate:
                kept [1] modes of the line in the model
                truncation [1] error of the truncation, in standard errors
                whiteness [1] p-value of Ljung and Box's test of innovations
                predicted_share [1] of the power of innovations, by those before
                converged [1] whether scoring settled
                penalty [1] score that a term needs
                best_score [1] largest score of an absent candidate
                memory_score [1] z of a memory of the white force
                open_error [1] relative error of a stiffness with all candidates free
                impulse_score [1] kurtosis of the force in standard deviations
                impulse_rate [1/s] impulses that have this kurtosis
                impulse_part [1] part of the kurtosis that few events carry
            """,
            finite=("theta",),
            may_be_empty=("absent_estimate", "absent_std"),
        ),
        model="leastaction.likelihood.field_model:SensedField.from_dataset",
    ),
}
