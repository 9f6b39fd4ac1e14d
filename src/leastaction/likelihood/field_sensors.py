"""Law of a vibrating line from a few sensors: terms, intervals, what they leave open.

The state space of :mod:`.field_state_space` in the innovations likelihood of shaken
motions. Terms are searched for as theirs are. Their coefficients are then estimated
with half as many modes again: accelerations of a line show modes far beyond those that
stand out of the differences of its samples. The square of that change is part of every
interval, as the error of the modes that are still left out.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import nnls

from leastaction.core.model import LEAST_P_VALUE
from leastaction.ensembles.after_selection import (
    nearest_absent,
    robust_covariance,
    with_selection,
)
from leastaction.ensembles.innovation_tests import tested
from leastaction.ensembles.innovations_estimate import shaken_by
from leastaction.ensembles.innovations_likelihood import (
    SINGULAR,
    Fit,
    Likelihood,
    normalised_inverse,
)
from leastaction.ensembles.output_modes import assurance
from leastaction.ensembles.sensor_records import Record, third_differences
from leastaction.ensembles.state_space import Structure
from leastaction.ensembles.stochastic_subspace import (
    BLOCKS,
    StochasticRealisation,
    main_frequency,
    modes,
)
from leastaction.ensembles.term_search import Search
from leastaction.likelihood.contracts import CONTRACTS
from leastaction.likelihood.field_state_space import (
    SPARE,
    FieldCandidates,
    FieldStateSpace,
    Line,
    Modal,
    QuadraticLibrary,
    channels_at,
    sensor_of,
    with_candidates,
)

# Modes that are sought in the outputs to begin with (2 alone cost one of two beams
# 35 s instead of 3); lags per main period, since many modes of a line are faster (6,
# 12, 24 or 48 alone have led to the same law of a string); rounds that match its modes
# to those of the outputs.
MODES_OF_START, LAGS_PER_PERIOD, ROUNDS = (1, 2, 3, 4), (6, 12, 24, 48), 6
# Modes of the line that are kept, within limits: of the variance of a sensor's noise
# those left out have this part. What is beyond is in the error of the truncation.
PART_OF_NOISE, FEWEST, MOST, MOST_OF_START = 0.1, 6, 24, 10
# Modes of the estimate over those of the search, whose change is the truncation error.
FINER = 1.5
# Damping of a mode, of the main frequency, at least, in a guess of its variance. A
# tenth and ten times it led to the same law of a string (damping .412, .412, .407).
LEAST_RATE = 0.02
NO_LINE = (
    "no line with these ends and candidates has the modes that the sensors show; check "
    "the length, the places and the ends, or record longer"
)
# Attributes of the readings that go along with a model.
ATTRIBUTES = ("domain_length", "domain_ends", "time_step", "units")
# Eigenvalues, over the smallest that is elastic, that are round-off.
ROUNDING = 1e-9
# Starts of each set of candidates that the likelihood compares: 2, 8 and 16 have led to
# the same laws of five strings, 2 and 8 of two beams.
STARTS = 4
# Mean square of the distance from a number at random to the nearest integer: a misfit
# of modes, in their numbers, that says nothing.
AT_RANDOM = 1 / 12


class Readings(NamedTuple):
    """Samples at the sensors of a line, their spacing (s), and what is measured."""

    line: Line
    sensors: list[str]
    records: list[Record]
    dt: float

    @classmethod
    def of(cls, observations: xr.Dataset) -> "Readings":
        """From contract ``field_readings``."""
        about, none = observations.attrs, (np.zeros((1, 1)), np.zeros(1, dtype=bool))
        values = np.ascontiguousarray(observations["reading"].values[0], dtype=float)
        return cls(
            Line.of(about["domain_length"], about["domain_ends"]),
            [str(text) for text in observations["channel"].values],
            [Record(y, *none) for y in values],
            float(about["time_step"]),
        )

    @property
    def places(self) -> list[float]:
        """Where the sensors are, m."""
        return [sensor_of(text)[2] for text in self.sensors]

    @property
    def orders(self) -> np.ndarray:
        """Time derivative that each sensor measures."""
        rates = ["position", "velocity", "acceleration"]
        return np.array([rates.index(sensor_of(text)[1]) for text in self.sensors])


class Candidates(NamedTuple):
    """All candidates, names of their columns, and how many of L were listed.

    `usable` are the columns of a law, `further` those that are tested for.
    """

    fields: FieldCandidates
    names: list[str]
    listed: int
    usable: list[int]
    further: list[int]

    @classmethod
    def of(cls, readings: Readings, library: Mapping) -> "Candidates":
        """Those of a library, and those of L that change along the line."""
        listed = FieldCandidates(
            sensor_of(readings.sensors[0])[0],
            tuple(library["lagrangian"]),
            tuple(library["dissipation"]),
            library["reference"],
        )
        wide = with_candidates(listed, tapered(listed))
        count, more = len(listed.lagrangian), len(wide.lagrangian)
        places = [*range(count), *range(more, more + len(wide.dissipation))]
        names = [f"L: {term}" for term in wide.lagrangian]
        names += [f"D: {term}" for term in wide.dissipation]
        usable = [i for i in places if i != listed.references[0][0]]
        return cls(wide, names, count, usable, [*range(count, more)])

    def search(self, likelihood: Likelihood) -> Search:
        """Search among them under a force of equal strength everywhere.

        Uniform damping stays in the law, as viscous damping of a machine does.
        """
        about = self.usable, self.further, self.names, ("equal",)
        return Search(likelihood, *about, self.fields.dampers)


def identify(
    equations: xr.Dataset, settings: Mapping, observations: xr.Dataset, library: Mapping
) -> xr.Dataset:
    """L and D of a line, its random force and the noise of its sensors.

    Raises ValueError if no motion of these candidates follows the readings.
    """
    readings = Readings.of(observations)
    candidates = Candidates.of(readings, library)
    coarse, first = _searched(readings, candidates, settings["search"])
    likelihood, fit = refined(candidates.fields, readings, coarse.model, first)
    search = candidates.search(likelihood)
    if settings["search"]:
        # Terms that stood in for modes beyond those of the first search leave.
        fit, _ = search.settled(fit)
    if fit.structure != first.structure:
        first = coarse.fit(fit.structure, fit.theta)
    moved = fit.theta - first.theta
    inside = len(search.absent(fit.structure))
    absent = search.absent(fit.structure) + candidates.further
    scores = likelihood.scores(fit, absent, True)
    tests = tested(likelihood.model, fit)
    entry, known, _ = likelihood.entries(fit, absent, True)
    open_error = error_with_all(likelihood, fit, absent[:inside])
    nearly = nearest_absent(likelihood, fit, absent, inside, search.penalty)
    white = tests.whiteness >= LEAST_P_VALUE
    covariance = fit.covariance if white else robust_covariance(likelihood, fit)
    fit = with_selection(fit, covariance + np.outer(moved, moved), nearly)
    best, names = int(np.argmax(scores[:-1] ** 2)) if absent else 0, candidates.names
    numbers = {
        "theta": fit.theta,
        "covariance": fit.covariance,
        "column": np.array(fit.structure.columns),
        "kept": likelihood.model.dof,
        "truncation": np.abs(moved / np.sqrt(np.diag(fit.covariance))).max(),
        "whiteness": tests.whiteness,
        "predicted_share": tests.past,
        "converged": float(fit.converged),
        "penalty": search.penalty,
        "best_score": float((scores[:-1] ** 2).max(initial=0.0)),
        "memory_score": float(scores[-1]),
        "open_error": open_error,
        "absent_estimate": entry[:inside],
        "absent_std": 1 / np.sqrt(np.maximum(known[:inside], np.finfo(float).tiny)),
        **{name: value for name, (value, *_) in shaken_by(tests.impulses).items()},
    }
    words = {
        "sensors": readings.sensors,
        "field": candidates.fields.field,
        "best_absent": names[absent[best]][3:] if absent else "",
        "alternatives": "; ".join(search.rivals),
        "absent": [names[i] for i in absent[:inside]],
        "lagrangian": list(candidates.fields.lagrangian),
        "dissipation": list(candidates.fields.dissipation),
        "reference": candidates.fields.reference,
        "own": candidates.listed,
    }
    return CONTRACTS["sensed_field"].dataset(
        numbers,
        {"replicate": observations["replicate"].values},
        {k: observations.attrs[k] for k in ATTRIBUTES} | words,
    )


def _searched(readings: Readings, candidates: Candidates, search_terms: bool):
    """Likelihood in the modes of the law, and the fit that the search ends with."""
    fields, usable = candidates.fields, candidates.usable
    full = Modal.of(fields, readings.line, readings.places, MOST + SPARE)
    starts = starts_of(full, readings, usable)
    likelihood, first = likeliest(fields, full, readings, starts, usable)
    if not search_terms:
        first = with_all(first, usable)
    for _ in range(ROUNDS):
        fit = candidates.search(likelihood).run([first], "white", search_terms).fit
        law = fit.structure, fit.theta
        coefficients = likelihood.model.parameters(*law).coefficients
        dof = kept_modes(full, readings, coefficients)
        if dof <= likelihood.model.dof:
            break
        # Terms stand in for modes that were left out: again with those.
        begun = likelihood.model.parameters(*first).coefficients
        likelihood = likelihood_of(fields, full, readings, begun, dof)
    else:
        raise ValueError(NO_LINE)
    readings = readings._replace(records=likelihood.model.centred(*law))
    # Functions that are the modes of the law itself converge fastest.
    likelihood = likelihood_of(fields, full, readings, coefficients, dof)
    fit = likelihood.fit(*law)
    if not np.isfinite(fit.value):
        raise ValueError(NO_LINE)
    return likelihood, fit


def tapered(candidates: FieldCandidates) -> list[str]:
    """Candidates of L that change along the line, which are tested for."""
    return [
        f"x*({text})"
        for text, term in zip(
            candidates.lagrangian, candidates.terms("lagrangian"), strict=True
        )
        if not term.has(candidates.jet(1)[0]) and "x" not in map(str, term.free_symbols)
    ]


def likelihood_of(candidates, full: Modal, readings: Readings, coefficients, dof: int):
    """Likelihood in the modes of some coefficients."""
    squares, vectors = full.modes(coefficients)
    library = QuadraticLibrary(candidates, full.reduced(vectors[:, :dof]))
    shapes = library.modal.shapes
    values = np.concatenate([record.y for record in readings.records])
    main = main_frequency(readings.orders, [r.y for r in readings.records], readings.dt)
    moved = np.nanstd(values, axis=0) / main**readings.orders
    largest = np.abs(shapes).max()
    rates = np.sqrt(np.maximum(squares[:dof], main**2))
    q = moved.max() / largest * main / rates
    noise = np.sqrt(third_differences(readings.records))
    return Likelihood(
        FieldStateSpace(
            library,
            channels_at(readings.sensors, shapes),
            [
                Record(r.y, np.zeros((1, dof)), np.zeros(dof, bool))
                for r in readings.records
            ],
            readings.dt,
            np.concatenate([q, rates * q]),
            float(rates.max()),
            noise,
        )
    )


def kept_modes(full: Modal, readings: Readings, coefficients) -> int:
    """How many modes of a line its sensors show above their noise.

    Those that are left out have a part of the variance of each noise.
    """
    shares = seen_of_modes(full, readings, coefficients)[1]
    values = np.concatenate([record.y for record in readings.records])
    noise = third_differences(readings.records) / np.nanvar(values, axis=0)
    left = shares.sum(axis=0) - np.cumsum(shares, axis=0)
    enough = (left < PART_OF_NOISE * noise * shares.sum(axis=0)).all(axis=1)
    return int(np.clip(1 + enough.argmax() if enough.any() else MOST, FEWEST, MOST))


def seen_of_modes(modal: Modal, readings: Readings, coefficients):
    """Squared frequencies, and variances at the sensors, (mode, sensor), for S = 1.

    Accelerations are means over a sample.
    """
    count = len(modal.stiffness)
    main = main_frequency(readings.orders, [r.y for r in readings.records], readings.dt)
    square, vectors = modal.modes(coefficients)
    square = np.maximum(square, (ROUNDING * main) ** 2)
    losses = np.einsum("ar,iab,br->ir", vectors, modal.damping, vectors)
    rate = np.maximum(coefficients[count:] @ losses, LEAST_RATE * main)
    power = np.array(
        [1 / square, np.ones_like(square), square.clip(0, 4 / readings.dt**2)]
    )
    power = (power / (2 * rate))[readings.orders].T
    return square, (modal.shapes @ vectors).T ** 2 * power


def starts_of(full: Modal, readings: Readings, usable) -> list[np.ndarray]:
    """Coefficients whose modes are those of the outputs.

    Each elastic candidate alone begins, with one of its three lowest modes at the main
    frequency; then modes of the line are matched to those of the outputs by their
    shapes at the sensors and their frequencies, and all coefficients follow from ω² and
    2ζω by non-negative least squares, round by round.
    """
    series = [record.y for record in readings.records]
    main = main_frequency(readings.orders, series, readings.dt)
    elastic = [i for i in usable if i < len(full.stiffness)]
    lossy = [i - len(full.stiffness) for i in usable if i >= len(full.stiffness)]
    realisations = []
    for per_period in LAGS_PER_PERIOD:
        stride = max(1, round(2 * np.pi / main / readings.dt / per_period))
        for count in MODES_OF_START:
            realised = StochasticRealisation(series, stride, BLOCKS, 2 * count + 1)
            rates, shapes = realised.rates(2 * count, stride * readings.dt)
            realisations.append(modes(rates, shapes, count))
    subsets = [[i] for i in elastic] + [list(two) for two in combinations(elastic, 2)]
    result = []
    for chosen in subsets:
        starts = []
        for first, mode in product(chosen, range(3)):
            alone = np.zeros(len(full.stiffness))
            alone[first] = np.sign(np.trace(full.stiffness[first]))
            square = full.modes(alone)[0]
            alone[first] *= main**2 / square[square > ROUNDING * square[FEWEST]][mode]
            starts += [
                (_matched(full, readings, alone, chosen, lossy, outputs), outputs)
                for outputs in realisations
                if len(outputs[0]) >= len(chosen)
            ]
        starts.sort(key=lambda start: -_agreement(full, readings, *start))
        result += [coefficients for coefficients, _ in starts[:STARTS]]
    return result


def _matched(
    full: Modal, readings: Readings, first, elastic, lossy, outputs
) -> np.ndarray:
    """Coefficients of some candidates that follow from some modes of the outputs."""
    frequency, ratio, _ = outputs
    c, ones = first, np.ones(len(frequency))
    sign = np.sign([np.trace(full.stiffness[i]) for i in elastic])
    for _ in range(ROUNDS):
        apart, vectors = _apart(full, readings, c, outputs)
        chosen = vectors[:, apart.argmin(axis=1)]
        forms = [
            np.einsum("ak,iab,bk->ki", chosen, matrices, chosen)
            for matrices in (
                full.stiffness[elastic] * sign[:, None, None],
                full.damping,
            )
        ]
        value, _ = nnls(forms[0] / frequency[:, None] ** 2, ones)
        if not value.any():
            break
        c = np.zeros_like(first)
        c[elastic] = sign * value
    d = np.zeros(len(full.damping))
    if lossy:
        rates = 2 * ratio * frequency
        d[lossy], _ = nnls(forms[1][:, lossy] / rates[:, None], ones)
    return np.concatenate([c, d])


def _agreement(full: Modal, readings: Readings, coefficients, outputs) -> float:
    """Modes of the outputs that those of a line agree with, less those left out.

    Sensors that see a mode see those below it, too; of a dense line one is always near.
    """
    apart, _ = _apart(full, readings, coefficients, outputs)
    matched = apart.argmin(axis=1)
    agree = 1 - np.minimum(apart.min(axis=1) / AT_RANDOM, 1.0)
    left_out = matched.max() + 1 - len(np.unique(matched))
    return float(agree.sum() - left_out)


def _apart(full: Modal, readings: Readings, coefficients, outputs):
    """How far modes of the outputs are from those of a line, and the latter.

    Squared distance in numbers of modes, since one of many is always near, and 1 − MAC
    at several sensors, of the shape (mode of the outputs, mode of the line).
    """
    frequency, _, shapes = outputs
    squares, vectors = full.modes(coefficients[: len(full.stiffness)])
    vectors, order = vectors[:, :MOST], readings.orders
    omega = np.sqrt(np.maximum(squares[:MOST], ROUNDING * abs(squares[FEWEST])))
    number = np.arange(len(omega))
    known, sought = np.log(omega), np.log(frequency)
    place = np.interp(sought, known, number)
    place += np.minimum((sought - known[0]) / max(known[1] - known[0], ROUNDING), 0.0)
    apart = (place[:, None] - number) ** 2
    if len(order) > 1:
        real = shapes * (1j * frequency[:, None]) ** -order
        apart = apart + 1 - assurance(real, (full.shapes @ vectors).T)
    return apart, vectors


def likeliest(candidates, full: Modal, readings: Readings, starts, usable):
    """Likelihood in the modes of the likeliest of some starts, and its parameters.

    Each is judged in its own modes: a stiffness that hardly differs between modes has a
    mode near every frequency, but no likelihood. ValueError if none has any.
    """
    best, chosen = -np.inf, None
    tried: set[bytes] = set()
    for coefficients in starts:
        digits = [f"{value:.2g}" for value in coefficients]
        if (text := " ".join(digits)) in tried or not coefficients.any():
            continue
        tried.add(text)
        dof = min(kept_modes(full, readings, coefficients), MOST_OF_START)
        likelihood = likelihood_of(candidates, full, readings, coefficients, dof)
        start = parameters_of(likelihood.model, coefficients, usable, readings)
        value = likelihood.profiled(*start)[1]
        if value > best:
            best, chosen = value, coefficients
    if chosen is None:
        raise ValueError(NO_LINE)
    dof = kept_modes(full, readings, chosen)
    likelihood = likelihood_of(candidates, full, readings, chosen, dof)
    return likelihood, parameters_of(likelihood.model, chosen, usable, readings)


def parameters_of(
    model: FieldStateSpace, start: np.ndarray, usable, readings: Readings
):
    """Structure with the candidates that a start has, and its parameters.

    The force is that whose motion has the variance that the sensors show.
    """
    variances = seen_of_modes(model.library.modal, readings, start)[1].sum(axis=0)
    values = np.concatenate([record.y for record in readings.records])
    strength = np.sqrt(np.mean(np.nanvar(values, axis=0) / variances))
    noise = np.log(np.sqrt(third_differences(readings.records)))
    columns = tuple(i for i in usable if start[i])
    return Structure(columns, "equal"), np.concatenate(
        [start[list(columns)], [strength], noise]
    )


def with_all(start, usable) -> tuple[Structure, np.ndarray]:
    """A start with all usable candidates, those that it lacks zero."""
    structure, theta = start
    count = len(structure.columns)
    value = dict(zip(structure.columns, theta[:count], strict=True))
    first = [value.get(i, 0.0) for i in usable]
    return replace(structure, columns=tuple(usable)), np.append(first, theta[count:])


def error_with_all(likelihood: Likelihood, fit: Fit, absent) -> float:
    """Largest relative standard error of a stiffness of the law if all are free."""
    _, information = likelihood.joint(fit, absent)
    inverse, size = normalised_inverse(information)
    error = np.sqrt(np.maximum(np.diag(inverse), 0.0)) / size
    elastic = [
        i
        for i, column in enumerate(fit.structure.columns)
        if column < len(likelihood.model.library.terms)
    ]
    values, _ = np.linalg.eigh(information / np.outer(size, size))
    if values[0] < SINGULAR:
        return np.inf
    return float(np.max(error[elastic] / np.abs(fit.theta[elastic]), initial=0.0))


def refined(
    candidates, readings: Readings, model: FieldStateSpace, fit: Fit
) -> tuple[Likelihood, Fit]:
    """Likelihood with `FINER` times as many modes, and the same law at its maximum."""
    coefficients = model.parameters(fit.structure, fit.theta).coefficients
    readings = readings._replace(records=model.records)  # without their means
    more = int(np.ceil(FINER * model.dof))
    full = Modal.of(candidates, readings.line, readings.places, more + 2 * SPARE)
    likelihood = likelihood_of(candidates, full, readings, coefficients, more)
    result = likelihood.fit(fit.structure, fit.theta)
    if not np.isfinite(result.value):
        raise ValueError(NO_LINE)
    return likelihood, result
