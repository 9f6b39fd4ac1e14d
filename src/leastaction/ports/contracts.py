"""Datasets of port-Hamiltonian identification."""

from leastaction.core.contract import Contract

MATRICES = {
    "flow_matrix": ("row", "state"),
    "structure_matrix": ("row", "effort"),
    "dissipation_matrix": ("row", "effort"),
    "port_matrix": ("row", "port"),
    "constraint": ("constraint_row",),
}
ORDERED = ("replicate", "fit", "order")
INDEX = {"training_index": ORDERED}

CONTRACTS = {
    "port_recordings": Contract(
        "simulate with method minimal_coordinates",
        {
            "x": ("replicate", "scheme", "time", "state"),
            "u": ("replicate", "time", "port"),
            "flow": ("replicate", "scheme", "time", "row"),
            "test_index": ("replicate", "test"),
            **MATRICES,
            **INDEX,
        },
        finite=("x", "u", "flow"),
        may_be_empty=("constraint",),
    ),
    "flow_data": Contract(
        "differentiate with method exact_flow, finite_difference or gaussian_process",
        {"flow": (*ORDERED, "row"), "scheme": ()},
    ),
    "effort_data": Contract(
        "assemble with method effort_targets",
        {"x": (*ORDERED, "state"), "y": (*ORDERED, "row"), **MATRICES, **INDEX},
        may_be_empty=("constraint",),
    ),
    "effort_process": Contract(
        "identify with method structured_gaussian_process or independent_processes",
        {
            "x": (*ORDERED, "state"),
            "y": (*ORDERED, "row"),
            "length_scale": ("replicate", "fit", "process"),
            "task_vector": ("replicate", "fit", "effort"),
            "task_diagonal": ("replicate", "fit", "effort"),
            "noise_variance": ("replicate", "fit", "row"),
            **MATRICES,
            **INDEX,
        },
        may_be_empty=("constraint",),
        model="ports.model:PortModel",
    ),
    "effort_gradient": Contract(
        "identify with method hamiltonian_gradient",
        {
            "x": (*ORDERED, "state"),
            "y": (*ORDERED, "row"),
            "block": ("state",),
            "multiplier": ("multiplier_row",),
            **MATRICES,
            **INDEX,
        },
        may_be_empty=("constraint", "multiplier"),
        model="ports.model:PortModel",
    ),
    "port_rollout": Contract(
        "validate",
        {
            "transformed_rmse": ("replicate", "fit", "row"),
            "effort_rmse": ("replicate", "fit", "effort"),
            "coverage": ("replicate", "fit", "row"),
            "effort_true": ("replicate", "time", "effort"),
            "effort_estimate": ("replicate", "pool_shown", "time", "effort"),
        },
        finite=("effort_true",),
    ),
}
