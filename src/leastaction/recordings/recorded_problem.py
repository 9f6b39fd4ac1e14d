"""A recording as a motion with candidates, whose law is sought by its likelihood."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.library import Library, dampers
from leastaction.likelihood.measured_motion import MeasuredMotion
from leastaction.likelihood.term_selection import Candidates, parts
from leastaction.recordings.candidates import (
    distinct_forces,
    feeding_losses,
    prices,
    sliding_equations,
    touched,
)
from leastaction.recordings.contracts import pieces
from leastaction.recordings.inputs import (
    Inputs,
    Unknown,
    changed,
    inputs_of,
    unknowns_of,
)
from leastaction.trajectories.null_vector import free_columns


@dataclass(frozen=True)
class Problem:
    """A recording and what its law may consist of."""

    terms: Library
    columns: np.ndarray  # candidates, among the columns of the library
    names: list[str]
    motion: MeasuredMotion
    candidates: Candidates
    inputs: Inputs | None
    references: Mapping[int, float]  # coefficients that are given, by candidate
    touched: np.ndarray
    width: float  # of dry friction, to begin with
    period: float  # main one, s
    unknowns: Sequence[Unknown]  # lags and time constants of the inputs
    # Inputs with the delays that all candidates together have, if they have any.
    inputs_to_begin_with: Inputs | None

    @property
    def driven(self) -> bool:
        """Whether a recorded input gives the scale."""
        return self.inputs is not None

    def to_reference(self, c: np.ndarray) -> np.ndarray:
        """Factors of coefficients by which every part has the scale that is given.

        A part that a search has torn off another one has the scale of that one.
        """
        factors = np.ones_like(c)
        support = np.flatnonzero(c)
        for part in [] if self.driven else parts(self.touched[support]):
            mine = support[(self.touched[support] & part) > 0]
            for k in [k for k in mine if k in self.references][:1]:
                factors[mine] = self.references[k] / c[k]
        return factors

    def driven_by(self, inputs: Inputs) -> "Problem":
        """The problem with other inputs."""
        force = inputs.nodes(np.arange(len(self.motion.y)), 1)
        motion = replace(self.motion, force=force)
        return replace(self, inputs=inputs, motion=motion)


def problem_of(
    observations: xr.Dataset, equations: xr.Dataset, library: Mapping
) -> Problem:
    """Training data, candidates and their compiled motions."""
    terms = Library.from_config(library, [str(n) for n in equations["dof"].values])
    inputs, unknowns, begun = inputs_of(observations), [], None
    columns = free_columns(equations)
    if inputs is None:
        columns = distinct_forces(terms, columns, equations)
    if inputs is not None:
        unknowns = unknowns_of(observations, inputs)
        start = json.loads(equations.attrs["input_start"])
        begun = changed(inputs, unknowns, start) if any(start) else None
    compiled, width = sliding_equations(terms, columns, equations, inputs is not None)
    q = observations["q"].values[0]
    force = None if inputs is None else inputs.nodes(np.arange(len(q)), 1)
    dt = float(observations.attrs["time_step"])
    count = len(terms.terms)
    sliding = {count + i for i, d in enumerate(terms.dissipation) if d.has(sp.Abs)}
    dry = np.flatnonzero(np.isin(columns, [*sliding]))
    motion = MeasuredMotion(compiled, q, pieces(observations), dt, force=force, dry=dry)
    known = {int(k): float(value) for k, value in terms.references}
    references = {i: known[int(k)] for i, k in enumerate(columns) if int(k) in known}
    held = touched(terms, columns)
    inertia = np.diag(equations["inertia_gram"].values[0])[columns]

    def fixed(support, c) -> list[int]:
        if inputs is not None:
            return []
        force = np.sqrt(np.maximum(inertia, 0.0)) * np.abs(c)
        chosen = []
        for part in parts(held[list(support)]):
            mine = [k for k in support if held[k] & part]
            # One that is zero joins the law, and gives no scale.
            scales = [k for k in references if k in mine and c[k]]
            chosen.append(scales[0] if scales else max(mine, key=lambda k: force[k]))
        return chosen

    stays = [] if inputs is not None else list(references)
    names = [str(name) for name in equations["column"].values[columns]]
    place = {int(k): i for i, k in enumerate(columns)}
    candidates = Candidates(
        names,
        prices(terms, columns),
        stays,
        stays,
        feeding_losses(terms, columns),
        fixed,
        friction(terms, columns),
        dampers=[each.at(place) for each in dampers(terms) if each.column in place],
    )
    about = terms, columns, names, motion, candidates, inputs, references, held
    period = 1 / float(np.exp(np.log(equations["frequency"].values[0]).mean()))
    return Problem(*about, width, period, unknowns, begun)


def friction(terms: Library, columns: np.ndarray) -> list[int]:
    """Places of viscous and dry friction: v² and |v|, also of differences."""
    count = len(terms.terms)
    rates = set(symbols(velocity_names(terms.coordinates)))

    def simple(loss: sp.Expr) -> bool:
        base = loss.args[0] if isinstance(loss, sp.Abs) else loss
        is_loss = isinstance(loss, sp.Abs) or (loss.is_Pow and loss.exp == 2)
        return is_loss and base.free_symbols <= rates and base.is_polynomial(*rates)

    losses = enumerate(columns)
    return [i for i, k in losses if k >= count and simple(terms.dissipation[k - count])]
