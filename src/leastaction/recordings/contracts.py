"""Recordings of sensors: trajectories of unequal length, one after the other."""

from leastaction.core.contract import Contract

ROWS = ("replicate", "sample", "dof")
GRID = ("replicate", "grid", "dof")
PATHS = ("replicate", "path_sample", "dof")

CONTRACTS = {
    "measurements": Contract(
        "import",
        {
            "q": ROWS,
            "first_sample": ("trajectory",),
            "sample_count": ("trajectory",),
            "start_time": ("trajectory",),
            "held_out": ("trajectory",),
        },
        finite=("q",),
        swept=False,
    ),
    "smoothed_motion": Contract(
        "differentiate with method bandwidth_spline",
        {
            "q": GRID,
            "qdot": GRID,
            "qddot": GRID,
            "row": ("grid",),
            "trajectory_number": ("grid",),
            "inner": ("grid",),
            "noise_std": ("replicate", "dof"),
            "bandwidth": ("replicate", "dof"),
            "frequency": ("replicate", "dof"),
        },
        finite=("q", "qdot", "qddot", "noise_std", "frequency"),
        swept=False,
    ),
    "measured_rollout": Contract(
        "validate",
        {
            "q_measured": PATHS,
            "q_estimate": PATHS,
            "q_band": PATHS,
            "residual": PATHS,
            "path_trajectory": ("path_sample",),
            "rms_error": ("replicate", "trajectory", "dof"),
            "maximum_error": ("replicate", "trajectory", "dof"),
        },
        finite=("q_measured",),
        swept=False,
    ),
}
