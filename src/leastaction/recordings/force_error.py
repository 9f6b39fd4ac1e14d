"""Force that a law misses, averaged over short windows, beside the recorded force."""

from dataclasses import replace

import numpy as np

from leastaction.trajectories.multiple_shooting import (
    Positions,
    eliminated,
    enough_steps,
    fit_states,
    normal_equations,
    split,
    start_states,
)

# Change of the input from which the mean recorded force of a window is read.
CHANGE_OF_INPUT = 1e-3


def force_error(
    positions: Positions, c: np.ndarray, constants: np.ndarray, window: float
) -> tuple[np.ndarray, np.ndarray]:
    r"""Constant force that a law misses in every window, and the mean recorded one.

    In every window the state and a constant generalised force δ are fitted, c given:

    .. math::  \frac{d}{dt} \frac{∂L}{∂q̇} - \frac{∂L}{∂q} + \frac{∂D}{∂q̇} = Q(t) + δ

    which is one row of the weak form (inverse dynamics), with the test function that
    noise of positions asks for; nothing is differentiated. The mean of Q in the same
    sense is the change of −δ as Q grows.

    Parameters
    ----------
    positions
        One trajectory of a driven motion.
    c
        Coefficients.
    constants
        Candidates q_a of L, whose coefficients are zero.
    window
        s.

    Returns
    -------
    missing, mean
        Generalised forces, shape (window, dof) each.
    """
    own = 2 * positions.dof
    segments = start_states(positions, split(positions, window), c)
    positions = enough_steps(positions, segments, c)
    segments, _ = fit_states(positions, segments, c)

    def missing(changed: Positions) -> np.ndarray:
        h, g, _, _ = normal_equations(changed, segments, c, constants)
        _, schur, right = eliminated(h, g, own)
        return np.linalg.solve(schur, right[..., None])[..., 0]

    def louder(steps: int) -> np.ndarray:
        return (1 + CHANGE_OF_INPUT) * positions.force(steps)

    found = missing(positions)
    change = missing(replace(positions, force=louder)) - found
    return found, -change / CHANGE_OF_INPUT
