"""Terms of a stationary equation on the cells of a histogram, and their labels."""

import json
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import xarray as xr

from leastaction.core.evaluator import evaluator
from leastaction.densities.fokker_planck import StationaryEquation


@lru_cache(maxsize=16)
def _equation(library: str, coordinates: tuple[str, ...]) -> StationaryEquation:
    return StationaryEquation.from_config(json.loads(library), coordinates)


def equation_of(library: Mapping, observations: xr.Dataset) -> StationaryEquation:
    """The equation of a library; its algebra is done once for all replicates."""
    coordinates = tuple(str(name) for name in observations.variables["dof"].values)
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
    coordinates = tuple(str(name) for name in observations.variables["dof"].values)
    key = (json.dumps(library, sort_keys=True), coordinates)
    q, qdot = (np.ascontiguousarray(x, dtype=float) for x in (q, qdot))
    return _on_cells(key, q.tobytes(), qdot.tobytes())


def equation_dataset(
    equation: StationaryEquation,
    replicate: xr.DataArray,
    mean_square: np.ndarray,
    data: Mapping[str, tuple],
) -> xr.Dataset:
    """One replicate of an assembled equation, with what is known of its terms.

    Parameters
    ----------
    equation
        The terms.
    replicate
        Coordinate of the replicate.
    mean_square
        Mean of every candidate of the squared volatility, shape (1 or dof,
        volatility_term).
    data
        Variables of the equation.
    """
    each = np.broadcast_to(mean_square, (1, equation.dof, len(equation.volatility)))
    about = {"units": "mixed", "long_name": "mean of the candidate of S^2"}
    square = (("replicate", "dof", "volatility_term"), each, about)
    # The words about the terms are the same in every replicate, and slow to put in.
    words, candidates = _words(equation)
    data = {**words, **data, "mean_square": square, "replicate": replicate.variable}
    return xr.Dataset(data, candidates)


@lru_cache(maxsize=16)
def _words(
    equation: StationaryEquation,
) -> tuple[Mapping[str, xr.Variable], xr.Coordinates]:
    """Kind, position and given coefficient of every term; and the candidates."""
    library, terms = equation.library, equation.terms
    of_noise = [t for t in terms if t.kind == "volatility"]
    damping = library.dissipation_freedom
    said = {
        "status": ("term", library.status, "algebra says about the term"),
        "equivalent": ("term", library.freedom.equivalent, "the candidate equals"),
        "dissipation_status": (
            "dissipation_term",
            damping.status,
            "algebra says about the term of D",
        ),
        "dissipation_equivalent": (
            "dissipation_term",
            damping.equivalent,
            "the candidate of D equals",
        ),
        "kind": (
            "equation_term",
            [t.kind for t in terms],
            "the coefficient belongs to",
        ),
    }
    place = [t.position[-1] if t.position else 0 for t in terms]
    dof = [t.position[0] if t.kind == "volatility" else 0 for t in terms]
    numbers = {
        "position": ("equation_term", place, "1", "position among its candidates"),
        "of_dof": ("equation_term", dof, "1", "degree of freedom of a volatility"),
        "known": ("equation_term", equation.known, "mixed", "given coefficient"),
        "reference_value": (
            "term",
            library.given,
            "mixed",
            "coefficient of a reference term",
        ),
        "detailed_balance": (
            (),
            np.int8(equation.detailed_balance),
            "1",
            "whether the density is exp(-kappa H)",
        ),
    }
    data = {
        name: (
            dim,
            np.array(list(values), dtype=object),
            {"units": "1", "long_name": f"what {what}"},
        )
        for name, (dim, values, what) in said.items()
    }
    data |= {
        name: (dims, values, {"units": unit, "long_name": what})
        for name, (dims, values, unit, what) in numbers.items()
    }
    words = xr.Dataset(
        data,
        {
            "equation_term": [t.label for t in terms],
            "dof": list(library.coordinates),
            "term": library.names,
            "dissipation_term": np.array(library.dissipation_names, dtype=object),
            "volatility_term": [t.name for t in of_noise][: len(equation.volatility)],
        },
    )
    return words.drop_vars(words.coords).variables, words.coords
