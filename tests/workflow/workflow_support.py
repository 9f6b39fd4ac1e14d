"""Messages of the jobs below an estimator."""

BELOW_PAPER = {
    *(f"Drawing figure_{n} of stochastic_lagrangian" for n in (1, 2, 4)),
    *(f"Tabulating table_{n} of stochastic_lagrangian" for n in (1, 2, 3)),
    "Collecting the scorecard",
}


def below(example: str, estimator: str) -> set[str]:
    """Jobs of one example that use the model of one estimator."""
    return {
        f"Rolling out {example} ({estimator})",
        f"Drawing the figures of {example}",
        f"Scoring {example}",
    }
