"""Exact simulation of a linear field in its modes.

Each mode p̈ = −ω² p + s Ẇ has a Gaussian transition over a step of any length,

.. math::

    E = \\begin{pmatrix} \\cos\\omega h & \\sin(\\omega h)/\\omega \\\\
        -\\omega\\sin\\omega h & \\cos\\omega h \\end{pmatrix},

    q_{pp} = \\frac{1}{\\omega^2}
        \\Big(\\frac h2 - \\frac{\\sin 2\\omega h}{4\\omega}\\Big), \\quad
    q_{pv} = \\frac{\\sin^2\\omega h}{2\\omega^2}, \\quad
    q_{vv} = \\frac h2 + \\frac{\\sin 2\\omega h}{4\\omega}

with covariance s² q (Kloeden and Platen 1992, section 4.8, linear equations). There is
no error in time, however large ω h.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from leastaction.fields.field_ensemble import field_ensemble
from leastaction.fields.field_system import FieldSystem
from leastaction.fields.mode_recursion import check as check
from leastaction.fields.mode_recursion import modal_paths

SERIES_BELOW = 1e-2


def simulate(system: FieldSystem, settings: Mapping, **key):
    """One replicate; see :func:`leastaction.fields.field_ensemble.field_ensemble`."""
    return field_ensemble(
        partial(modal_paths, transition, noise), system, settings, **key
    )


def transition(omega: np.ndarray, time_step: float) -> np.ndarray:
    """Matrix E of each mode, shape (2, 2, mode)."""
    angle = omega * time_step
    sine = np.sin(angle)
    over = time_step * np.sinc(angle / np.pi)
    return np.array([[np.cos(angle), over], [-omega * sine, np.cos(angle)]])


def covariance(omega: np.ndarray, time_step: float) -> np.ndarray:
    """Covariance q of one step of each mode for s = 1, shape (2, 2, mode).

    Its closed form cancels for small ω h; there its series is used.
    """
    h, angle = time_step, np.asarray(omega, dtype=float) * time_step
    small = angle < SERIES_BELOW
    large = np.where(small, 1.0, angle)
    closed = (1 - np.sinc(2 * large / np.pi)) / (2 * large**2)
    series = 1 / 3 - angle**2 / 15 + 2 * angle**4 / 315
    q_pp = h**3 * np.where(small, series, closed)
    q_pv = h**2 * np.sinc(angle / np.pi) ** 2 / 2
    q_vv = h * (1 + np.sinc(2 * angle / np.pi)) / 2
    return np.array([[q_pp, q_pv], [q_pv, q_vv]])


def noise(omega: np.ndarray, time_step: float) -> np.ndarray:
    """Lower triangular root of :func:`covariance`, shape (2, 2, mode)."""
    (q_pp, q_pv), (_, q_vv) = covariance(omega, time_step)
    root = np.zeros((2, 2, q_pp.size))
    root[0, 0] = np.sqrt(q_pp)
    root[1, 0] = q_pv / root[0, 0]
    root[1, 1] = np.sqrt(np.clip(q_vv - root[1, 0] ** 2, 0.0, None))
    return root
