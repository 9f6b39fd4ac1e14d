"""Terms of a stationary equation on the cells of a histogram, and their labels."""

import json
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import xarray as xr

from leastaction.mechanics.evaluator import evaluator
from leastaction.mechanics.fokker_planck import StationaryEquation


@lru_cache(maxsize=16)
def _equation(library: str, coordinates: tuple[str, ...]) -> StationaryEquation:
    return StationaryEquation.from_config(json.loads(library), coordinates)


def equation_of(library: Mapping, observations: xr.Dataset) -> StationaryEquation:
    """The equation of a library; its algebra is done once for all replicates."""
    coordinates = tuple(str(name) for name in observations["dof"].values)
    return _equation(json.dumps(library, sort_keys=True), coordinates)


@lru_cache(maxsize=16)
def _on_cells(equation_key: tuple, q: bytes, qdot: bytes):
    equation = _equation(*equation_key)
    grid = np.meshgrid(np.frombuffer(q), np.frombuffer(qdot), indexing="ij")
    states = [g.reshape(-1, 1) for g in grid]
    expressions = [
        e for t in equation.terms for e in (t.acceleration[0], t.diffusion[0])
    ]
    values = evaluator(expressions, equation.library.coordinates)(*states)
    values = values.reshape(*grid[0].shape, len(equation.terms), 2)
    acceleration, diffusion = np.ascontiguousarray(np.moveaxis(values, (3, 2), (0, 1)))
    return grid[1], acceleration, diffusion


def terms_on_cells(
    library: Mapping, observations: xr.Dataset, q: np.ndarray, qdot: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocity, accelerations and diffusions of all terms at the centres of cells.

    Parameters
    ----------
    library
        See :meth:`StationaryEquation.from_config`.
    observations
        Its `dof` names the one coordinate.
    q, qdot
        Centres of the cells.

    Returns
    -------
    velocity
        Shape (q_bin, qdot_bin).
    acceleration, diffusion
        Shape (term, q_bin, qdot_bin).
    """
    coordinates = tuple(str(name) for name in observations["dof"].values)
    key = (json.dumps(library, sort_keys=True), coordinates)
    q, qdot = (np.ascontiguousarray(x, dtype=float) for x in (q, qdot))
    return _on_cells(key, q.tobytes(), qdot.tobytes())


def term_variables(equation: StationaryEquation, mean_square: np.ndarray) -> dict:
    """Kind, position and given coefficient of every term, for a dataset.

    Parameters
    ----------
    equation
        The terms.
    mean_square
        Mean of every candidate of the squared volatility, shape (1 or dof,
        volatility_term).
    """
    library = equation.library
    term = ("equation_term",)
    place = [t.position[-1] if t.position else 0 for t in equation.terms]
    dof = [t.position[0] if t.kind == "volatility" else 0 for t in equation.terms]
    each = np.broadcast_to(mean_square, (1, equation.dof, len(equation.volatility)))
    words = {
        "status": ("term", library.status),
        "equivalent": ("term", library.freedom.equivalent),
        "dissipation_status": ("dissipation_term", library.dissipation_freedom.status),
        "dissipation_equivalent": (
            "dissipation_term",
            library.dissipation_freedom.equivalent,
        ),
    }
    about = {"units": "1", "long_name": "what algebra says about the candidate"}
    said = {
        name: (dim, np.array(list(values), dtype=object), about)
        for name, (dim, values) in words.items()
    }
    return {
        **said,
        "kind": (
            term,
            np.array([t.kind for t in equation.terms], dtype=object),
            {"units": "1", "long_name": "what the coefficient belongs to"},
        ),
        "position": (
            term,
            place,
            {"units": "1", "long_name": "position among the candidates of its kind"},
        ),
        "of_dof": (
            term,
            dof,
            {"units": "1", "long_name": "degree of freedom of a volatility"},
        ),
        "known": (
            term,
            equation.known,
            {"units": "mixed", "long_name": "given coefficient"},
        ),
        "reference_value": (
            ("term",),
            library.given,
            {"units": "mixed", "long_name": "coefficient of a reference term"},
        ),
        "detailed_balance": (
            ("replicate",),
            np.array([equation.detailed_balance], dtype="int8"),
            {"units": "1", "long_name": "whether the density is exp(-kappa H)"},
        ),
        "mean_square": (
            ("replicate", "dof", "volatility_term"),
            each,
            {"units": "mixed", "long_name": "mean of the candidate of S^2"},
        ),
    }


def term_coordinates(equation: StationaryEquation, observations: xr.Dataset) -> dict:
    """Coordinates of an assembled dataset."""
    return {
        "replicate": observations["replicate"],
        "equation_term": [t.label for t in equation.terms],
        "dof": list(equation.library.coordinates),
        "term": equation.library.names,
        "dissipation_term": np.array(equation.library.dissipation_names, dtype=object),
        "volatility_term": [t.name for t in equation.terms if t.kind == "volatility"][
            : len(equation.volatility)
        ],
    }
