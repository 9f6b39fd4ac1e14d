"""Newmark's method with constant average acceleration (β = ¼, γ = ½).

.. math::

    u_{n+1} = u_n + \\tfrac{dt}{2}(v_n + v_{n+1}), \\qquad
    v_{n+1} = v_n + \\tfrac{dt}{2}(a_n + a_{n+1}) + \\sigma\\,\\Delta W_n .

Unconditionally stable and without numerical damping, but it lengthens periods:
ω_num dt = 2 arctan(ω dt/2) (Newmark 1959; Hughes 1987, section 9.1).
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from leastaction.fields.field_ensemble import field_ensemble
from leastaction.fields.field_system import FieldSystem
from leastaction.fields.mode_recursion import check as check
from leastaction.fields.mode_recursion import modal_paths


def simulate(system: FieldSystem, settings: Mapping, **key):
    """One replicate; see :func:`leastaction.fields.field_ensemble.field_ensemble`."""
    return field_ensemble(
        partial(modal_paths, transition, noise), system, settings, **key
    )


def transition(omega: np.ndarray, time_step: float) -> np.ndarray:
    """Matrix A of each mode, shape (2, 2, mode)."""
    quarter = (omega * time_step / 2) ** 2
    diagonal = (1 - quarter) / (1 + quarter)
    return np.array(
        [
            [diagonal, time_step / (1 + quarter)],
            [-(omega**2) * time_step / (1 + quarter), diagonal],
        ]
    )


def noise(omega: np.ndarray, time_step: float) -> np.ndarray:
    """Matrix B of each mode, shape (2, 2, mode); only ΔW counts, not ΔZ."""
    root = np.sqrt(time_step) / (1 + (omega * time_step / 2) ** 2)
    result = np.zeros((2, 2, root.size))
    result[0, 0], result[1, 0] = time_step / 2 * root, root
    return result
