"""A law of a recording by one likelihood: process and sensor noise are estimated.

Prediction error method (Ljung 1999) with an augmented Kalman filter; see
``likelihood/README.md``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from leastaction.core.contracts import check
from leastaction.core.estimate import LagrangianEstimate
from leastaction.likelihood.horizons import Horizons, Law, both_horizons, selected
from leastaction.likelihood.iterated_smoother import accurate, with_noise_of_runs
from leastaction.recordings.contracts import training
from leastaction.recordings.first_law import first_law
from leastaction.recordings.friction_width import with_width
from leastaction.recordings.input_dynamics import (
    InputDynamics,
    of_likeliest_form,
    with_input_dynamics,
)
from leastaction.recordings.recorded_problem import Problem, problem_of
from leastaction.recordings.refusals import RecordingError


def identify(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> LagrangianEstimate:
    """Identify L and D of a free or driven motion; nothing is set per system.

    1. Smoothed without a law, and a start from it: filtered forces of a driven motion,
       null vectors of a free one.
    2. Path, coefficients, process noise and sensor noise by the iterated smoother;
       terms by the likelihood of all candidates; again until the terms stay.
    3. The width within which dry friction turns is profiled.
    4. Of these terms the law has those that count over whole runs, without process
       noise (:mod:`leastaction.likelihood.horizons`).
    5. Intervals: information or sandwich, with the nearest absent term, the width, and
       half the difference between the horizons.

    Held-out trajectories are not looked at.
    """
    from leastaction.recordings.recorded_law import estimate

    check(equations, "gram")
    learned = training(observations)
    problem = problem_of(learned, equations, library)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        model = search(problem, equations)
        law = model.horizons.law
        law = replace(law, fit=accurate(law.fit, not law.fit.levels.is_free.any()))
    model = replace(model, horizons=replace(model.horizons, law=law))
    return estimate(model, equations, learned)


@dataclass(frozen=True)
class Identified:
    """A law at both horizons, and the inputs that it was found with."""

    problem: Problem  # with inputs as they act
    horizons: Horizons
    dynamics: InputDynamics  # of the inputs
    of_width: np.ndarray  # deviations by the width of dry friction, (deviation, term)


def search(problem: Problem, equations: xr.Dataset) -> Identified:
    """The law of a recording, with inputs as they act."""
    # A friction that the law lacks looks like a delay, so that both are tried; nothing
    # may follow with a delay that is not there.
    starts = [problem]
    if problem.inputs_to_begin_with is not None:
        starts.append(problem.driven_by(problem.inputs_to_begin_with))
    laws, refused = [], None
    for start in starts:
        try:
            laws.append(_with_inputs(start, equations))
        except RecordingError as error:
            refused = error
    if not laws:
        raise refused
    problem, near, dynamics = min(laws, key=lambda one: one[1].criterion)
    near = replace(near, fit=with_noise_of_runs(near.fit))
    near, of_width = with_width(problem, near)
    support = near.solution.support
    near = selected(problem.candidates, near.fit)
    if near.solution.support != support:
        near, of_width = with_width(problem, near)
    horizons = both_horizons(problem.candidates, near)
    return Identified(problem, horizons, dynamics, of_width)


def _with_inputs(
    problem: Problem, equations: xr.Dataset
) -> tuple[Problem, Law, InputDynamics]:
    """Law of the short horizon from the inputs of a problem on."""
    begun = accurate(first_law(problem, equations))
    problem = replace(problem, motion=begun.motion)
    law = selected(problem.candidates, begun)
    problem, law, dynamics = with_input_dynamics(problem, law)
    formed, other = of_likeliest_form(problem, law)
    if formed is problem:
        return problem, law, dynamics
    return with_input_dynamics(formed, other)
