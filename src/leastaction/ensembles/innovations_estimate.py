"""A law by the innovations likelihood, with what its innovations say of it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from scipy.linalg import qr
from scipy.stats import chi2

from leastaction.core.contracts import check
from leastaction.core.estimate import (
    NORMAL_QUANTILE,
    LagrangianEstimate,
    VolatilityEstimate,
)
from leastaction.core.library import Library, dampers
from leastaction.core.model import LEAST_P_VALUE
from leastaction.ensembles.after_selection import (
    Nearest,
    force_bounds,
    nearest_absent,
    robust_covariance,
    with_selection,
)
from leastaction.ensembles.innovation_tests import (
    LARGEST,
    Impulses,
    Innovations,
    order_disagreement,
    simulated_size,
    tested,
)
from leastaction.ensembles.innovations_likelihood import Fit, Likelihood
from leastaction.ensembles.sensor_records import records_of, stated, thinned
from leastaction.ensembles.state_space import FORCES, StateSpace, Structure
from leastaction.ensembles.term_search import Search, SearchResult, independent, widened
from leastaction.ensembles.whittle import BandedStateSpace

# Innovations that a model keeps, for figures.
MOST_KEPT = 100_000
# Share of eigenvectors below which a parameter does not belong to a combination.
PART_OF_COMBINATION = 0.1
# Name of the parameter that recorded forces are multiplied with.
GAIN = "gain of recorded forces"
# Name of that of the time, s, from their record to them.
LAG = "lag of recorded forces"
# Stands for one over an infinite variance.
NOT_RESOLVED = 1e-12
# Relative variance of a combination of parameters that data do not determine.
NOT_DETERMINED = 0.25
# The same of one that is named beside it.
POORLY_DETERMINED = 0.1


def identify(
    equations: xr.Dataset,
    settings: Mapping,
    observations: xr.Dataset,
    library: Mapping,
) -> tuple[LagrangianEstimate, VolatilityEstimate]:
    """L, D, the random force and the sensor noise, all with standard errors.

    Candidates that the library lacks are tested, too, and never part of the law.
    """
    check(equations, "state_space")
    terms = Library.from_config(library, observations["dof"].values)
    wide, places = widened(terms)
    bands = settings.get("band")
    likelihood = Likelihood(state_space(wide, equations, observations, bands))
    status = [*terms.status, *terms.dissipation_freedom.status]
    usable = [places[i] for i, known in enumerate(status) if known == "independent"]
    names = [f"L: {t}" for t in wide.names]
    names += [f"D: {t}" for t in wide.dissipation_names]
    further = independent(wide, places)
    if bands:
        linear = likelihood.model.linear
        usable, further = ([i for i in some if linear[i]] for some in (usable, further))
    forces = forces_of(likelihood.model, settings["force"])
    stays = [damper.at(dict(enumerate(places))) for damper in dampers(terms)]
    search = Search(likelihood, usable, further, names, forces, stays)
    first = np.zeros((equations.sizes["start"], len(names)))
    first[:, places] = equations["start_coefficient"].values[0]
    starts = starts_of(likelihood.model, first, equations, usable, forces)
    # A band is too narrow to tell the colour of a force.
    colour = "white" if bands else settings["colour"]
    result = search.run(starts, colour, settings["search"])
    scaled = likelihood.model.driven and "unknown" not in stated(observations, "gain")
    tests = tests_of(likelihood, result)
    law = lagrangian(terms, places, likelihood, tests, names, scaled)
    return law, volatility(likelihood, tests, scaled)


@dataclass(frozen=True)
class Tested:
    """What was `found`, with the errors that count, and what its innovations say.

    The absent candidate that most `nearly` belongs; what innovations say, and the rms
    of a simulated motion over that of the record; bounds of entries of S.
    """

    search: SearchResult
    nearly: Nearest | None
    innovations: Innovations
    size: float
    bounds: np.ndarray


def tests_of(likelihood: Likelihood, search: SearchResult) -> Tested:
    """Tests of the innovations, and errors after selection."""
    fit, tests = search.fit, tested(likelihood.model, search.fit)
    bounds = force_bounds(likelihood, fit)
    jumps = tests.impulses is not None and tests.impulses.significant
    exact = tests.whiteness >= LEAST_P_VALUE and not jumps
    covariance = fit.covariance if exact else robust_covariance(likelihood, fit)
    covariance = covariance + search.of_width
    nearly = nearest_absent(
        likelihood, fit, search.absent, search.inside, search.penalty
    )
    search = replace(search, fit=with_selection(fit, covariance, nearly))
    return Tested(search, nearly, tests, simulated_size(likelihood.model, fit), bounds)


def state_space(terms: Library, equations, observations, bands) -> StateSpace:
    """Model of the records, or of `bands` of their spectra, in the scales of motion."""
    channels, records, dt = records_of(observations)
    main = float(equations["main_frequency"].values[0])
    std = equations["output_std"].values[0]
    order = channels.velocity.any(axis=1) + 2 * channels.acceleration.any(axis=1)
    weights = channels.position, channels.velocity, channels.acceleration
    moved = sum(map(np.abs, weights))
    size = moved * (std / main**order)[:, None]
    q = size.max(axis=0)
    q = np.where(q > 0, q, q.max())
    scale = np.concatenate([q, main * q])
    highest = max(main, float(equations["highest_frequency"].values[0]))
    noise = equations["sensor_noise"].values[0]
    about = scale, highest, noise
    if bands:
        return BandedStateSpace(terms, channels, records, dt, *about, bands=bands)
    records, every, averaged = thinned(channels, records, highest * dt)
    about = *about, averaged, averaged * dt
    return StateSpace(terms, channels, records, every * dt, *about)


def forces_of(model: StateSpace, force: str) -> tuple[str, ...]:
    """Forms of the force that may be: absolute sensors stand on shaking ground."""
    if model.channels.absolute.any():
        return ("ground",)
    if model.dof == 1:
        return ("diagonal",)
    return FORCES[1:] if force == "auto" else (force,)


def starts_of(
    model: StateSpace, coefficients, equations, usable, forces
) -> list[tuple[Structure, np.ndarray]]:
    """Structures and parameters to begin with: those of modes, forces of two forms.

    The force is that which keeps the velocity up against the damping, σ² = 2 d v².
    """
    noise = np.log(equations["sensor_noise"].values[0])
    main = float(equations["main_frequency"].values[0])
    n, result = model.dof, []
    chain = [1.0] * model.driven + [0.0] * model.late
    for c in coefficients:
        columns = tuple(i for i in usable if c[i] != 0)
        if not columns:
            continue
        inverse, _, slopes = model.at(c)
        rate = np.maximum(-np.diag(slopes[:, n:]), main * 1e-2)
        level = np.sqrt(2 * rate) * model.scale[n:]
        variances = level / np.diag(inverse)
        roots = {
            "diagonal": variances,
            "ground": [np.sqrt(np.mean(level**2))],
            "free": np.diag(variances)[np.tril_indices(n)],
        }
        result += [
            (
                Structure(columns, force, driven=model.driven, late=model.late),
                np.concatenate([c[list(columns)], root, noise, chain]),
            )
            for force, root in roots.items()
            if force in forces and (force != "free" or len(forces) == 1)
        ]
    return result


def lagrangian(
    terms: Library,
    places,
    likelihood: Likelihood,
    tests: Tested,
    names: list[str],
    scaled: bool,
) -> LagrangianEstimate:
    """Coefficients of L and D with what tells how far to trust them.

    They are `scaled` to the unit of a recorded force unless its gain is unknown.
    """
    search, shocks = tests.search, tests.innovations.impulses
    fit, model = search.fit, likelihood.model
    labels, estimate, covariance = with_nearest(model, tests, names)
    if scaled:
        every = labels, estimate, covariance
        labels, estimate, covariance = in_units_of_input(model, *every, names)
    coefficients, std = np.zeros(len(names)), np.zeros(len(names))
    coefficients[: len(model.library.terms)] = model.library.fixed
    for i, label in enumerate(labels):
        if label in names and estimate[i]:
            place = names.index(label)
            coefficients[place], std[place] = estimate[i], np.sqrt(covariance[i, i])
    labels, estimate, covariance = among_all(model, names, labels, estimate, covariance)
    losses = terms.dissipation_freedom
    dims, about = ("parameter", "parameter_other"), "covariance of the estimates"
    columns = {
        "terms": [*terms.names, *terms.dissipation_names],
        "coefficients": coefficients[places],
        "std": std[places],
        "status": [*terms.status, *losses.status],
        "equivalent": [*terms.freedom.equivalent, *losses.equivalent],
    }
    return LagrangianEstimate.of_columns(
        len(terms.terms),
        columns,
        diagnostics=diagnostics(likelihood, tests),
        alternatives="; ".join(search.rivals),
        by_node={
            **sensors(model, fit, scaled),
            "impulse_time": (
                ("event",),
                np.full(LARGEST, np.nan) if shocks is None else shocks.times,
                "s",
                "times of the largest impulses",
            ),
            "impulse_trajectory": (
                ("event",),
                np.full(LARGEST, np.nan) if shocks is None else 1.0 * shocks.records,
                "1",
                "trajectories of the largest impulses",
            ),
            "force_bound": (
                ("dof",),
                force_bound(model, tests, scaled),
                "mixed",
                "bound (95 %) of a random force that may be none",
            ),
            **words(search, parameter_names(model, fit.structure, names), names),
            "parameter": (dims[:1], np.array(labels, dtype=object), "1", "name"),
            "parameter_estimate": (dims[:1], estimate, "mixed", "estimate"),
            "parameter_covariance": (dims, covariance, "mixed", about),
            **innovations(model, fit, shocks),
        },
    )


def with_nearest(model: StateSpace, tests: Tested, names: list[str]):
    """Names, estimates, covariance of the parameters, then of the nearest absent one.

    What is absent is zero, and what selection leaves of it is its deviation.
    """
    fit, nearly = tests.search.fit, tests.nearly
    labels = parameter_names(model, fit.structure, names)
    if nearly is None:
        return labels, fit.theta, fit.covariance
    cross = nearly.entry * nearly.theta[:, None]
    covariance = np.block([[fit.covariance, cross], [cross.T, nearly.entry**2]])
    return [*labels, names[nearly.column]], np.append(fit.theta, 0.0), covariance


def in_units_of_input(model: StateSpace, labels, theta, covariance, names: list[str]):
    """Names, estimates and covariance of the parameters, in the unit of a known force.

    The scale of a law follows from a recorded force: with its gain g beside a given
    inertia, all coefficients are divided by g, and the inertia has an error, too.
    """
    place = labels.index(GAIN)
    g, references = theta[place], model.library.references
    scaled = [x.startswith(("L: ", "D: ", "S: ")) and x != "S: ground" for x in labels]
    divided = np.where(scaled, 1 / g, 1.0)
    result, slopes = theta * divided, np.diag(divided)
    slopes[:, place] = np.where(scaled, -result / g, 0.0)
    fixed = np.array([value for _, value in references])
    rows = np.zeros((len(fixed), len(theta)))
    rows[:, place] = -fixed / g**2
    labels = [*labels, *(names[i] for i, _ in references)]
    slopes = np.delete(np.vstack([slopes, rows]), place, axis=0)
    result = np.delete(np.concatenate([result, fixed / g]), place)
    del labels[place]
    known = np.isfinite(covariance)
    covariance = slopes @ np.where(known, covariance, 0.0) @ slopes.T
    unknown = (slopes != 0) @ ~known.diagonal()
    covariance[unknown, unknown] = np.inf
    return labels, result, covariance


def among_all(model: StateSpace, names, labels, estimate, covariance):
    """The same among all parameters there may be, so that replicates have one shape."""
    forces, chain = ("free", "ground"), {"driven": True, "late": True}
    shapes = [Structure((), force, coloured=True, **chain) for force in forces]
    more = (name for shape in shapes for name in parameter_names(model, shape, names))
    every = list(dict.fromkeys([*names, *more]))
    place = [every.index(label) for label in labels]
    values, spread = np.zeros(len(every)), np.zeros((len(every), len(every)))
    values[place] = estimate
    spread[np.ix_(place, place)] = covariance
    return every, values, spread


def parameter_names(model: StateSpace, structure: Structure, names) -> list[str]:
    """Names of the entries of θ."""
    q = model.library.coordinates
    result = [names[i] for i in structure.columns]
    if structure.force == "ground":
        result.append("S: ground")
    else:
        result += [f"S: {q[a]} {q[b]}" for a, b in structure.entries(model.dof)]
    result += [f"log noise: {name}" for name in model.channels.names]
    result += [GAIN] * structure.driven + [LAG] * structure.late
    return [*result, *(["log correlation time"] if structure.coloured else [])]


def diagnostics(likelihood: Likelihood, tests: Tested) -> dict[str, tuple]:
    """Numbers that say whether the law fits."""
    search = tests.search
    fit = search.fit
    kurtosis, white, line, frequency, past, shocks = tests.innovations
    apart = order_disagreement(likelihood, fit)
    best = float(search.scores.max(initial=0.0))
    chance, _ = undecided(search)
    rate = 1 / np.exp(fit.theta[-1]) if fit.structure.coloured else np.inf
    error = np.sqrt(fit.covariance[-1, -1]) / rate if fit.structure.coloured else 0.0
    ratio, of_forces = search.colour_ratio, "a coloured and a white force"
    late, gained = "time after its record that", "gain that"
    (gain, gain_error), (lag, lag_error) = chain_of(likelihood.model, fit)
    return {
        "log_likelihood": (fit.value, "1", "logarithm of the likelihood"),
        "samples": (likelihood.samples, "1", "sampling times"),
        "samples_averaged": (likelihood.model.averaged, "1", "samples in each of them"),
        "whiteness_p_value": (white, "1", "p-value of Ljung and Box's test"),
        "line_p_value": (line, "1", "p-value of the largest line of a periodogram"),
        "line_frequency": (frequency, "Hz", "its frequency"),
        "predicted_share": (past, "1", "of the power of innovations, by those before"),
        "simulated_size": (tests.size, "1", "rms of a simulated motion over that seen"),
        "kurtosis": (kurtosis, "1", "excess kurtosis of the force, or an innovation"),
        **shaken_by(shocks),
        "condition": (fit.condition, "1", "condition of the information"),
        "best_absent_score": (best, "1", "largest score of an absent candidate"),
        "undecided_p_value": (chance, "1", "p-value of the least certain absence"),
        "term_penalty": (search.penalty, "1", "score that a term needs"),
        "order_disagreement": (
            apart,
            "1",
            "first and second order filter apart, in standard errors",
        ),
        "converged": (int(fit.converged), "1", "whether scoring settled"),
        "remaining": (fit.remaining, "1", "standard errors that a step would move by"),
        "correlation_time_estimate": (1 / rate, "s", "correlation time of the force"),
        "correlation_time_std": (error, "s", "its standard error"),
        "colour_ratio": (ratio, "1", f"likelihood ratio of {of_forces}"),
        "memory_score": (search.memory, "1", "z of a memory of a white force"),
        "input_gain_estimate": (gain, "mixed", f"{gained} a recorded force acts with"),
        "input_gain_std": (gain_error, "mixed", "its standard error"),
        "input_lag_estimate": (lag, "s", f"{late} a recorded force acts"),
        "input_lag_std": (lag_error, "s", "its standard error"),
    }


def shaken_by(shocks: Impulses | None) -> dict[str, tuple]:
    """Numbers of a matched filter for impulses; NaN where a law has none."""
    numbers = (np.nan,) * 4 if shocks is None else shocks[:4]
    _, score, rate, part = numbers
    return {
        "impulse_score": (score, "1", "kurtosis of the force in standard deviations"),
        "impulse_rate": (rate, "1/s", "impulses that have this kurtosis"),
        "impulse_part": (part, "1", "part of the kurtosis that few events carry"),
    }


def undecided(search: SearchResult) -> tuple[float, int]:
    """P-value and place of the absent candidate whose absence is the least certain.

    That with the largest score of the library's own ones, or of all, each by the number
    of its kind (Bonferroni): few may be left of a library, and many are tested beside.
    """
    p = [
        (min(1.0, count * float(chi2.sf(score, 1))), place)
        for count in (search.inside, len(search.scores))
        for place, score in enumerate(search.scores[:count])
    ]
    return min(p, default=(1.0, 0))


def chain_of(model: StateSpace, fit: Fit) -> tuple[tuple[float, float], ...]:
    """Gain and lag (s) of recorded forces with standard errors; zero without any.

    A lag that is not seen, or less than half a sample, is how a force is held between
    its samples.
    """
    place = model.places(fit.structure)[2].stop
    error = np.sqrt(np.diag(fit.covariance))
    nothing = 0.0, 0.0
    estimates = [(float(x), float(s)) for x, s in zip(fit.theta, error, strict=True)]
    gain = estimates[place] if fit.structure.driven else nothing
    lag = estimates[place + 1] if fit.structure.late else nothing
    is_certain = abs(lag[0]) - NORMAL_QUANTILE * lag[1] > model.dt / 2
    return gain, lag if is_certain else nothing


def words(
    search: SearchResult, labels: list[str], names: list[str]
) -> dict[str, tuple]:
    """Results of the search that are words."""
    best = names[search.absent[int(np.argmax(search.scores))]] if search.absent else ""
    of_law, of_losses = undetermined(replace(search.fit, total=None), labels)
    texts = {
        "search_stop": (search.stop, "why the search ended"),
        "undecided_term": (
            names[search.absent[undecided(search)[1]]] if search.absent else "",
            "absent candidate whose absence is the least certain",
        ),
        "best_absent_term": (best, "absent candidate with the largest score"),
        "force_structure": (search.fit.structure.force, "form of the random force"),
        "identifiability": (of_law, "changes of L that the data do not determine"),
        "confounded": (of_losses, "changes of D and S that they do not determine"),
    }
    return {k: ((), np.array(t, dtype=object), "1", m) for k, (t, m) in texts.items()}


def undetermined(fit: Fit, labels: list[str]) -> tuple[str, str]:
    """Relative changes that the data do not determine: of the law, and of losses alone.

    Null vectors of the information of relative changes, reduced to echelon form, so
    that each names as few parameters as there can be; a text is empty if there is none.
    The uncertainty of dampers and forces has two parts. What they inherit from L leaves
    no law if it is large. What they have if L is known is in their own intervals; where
    several are resolved one by one, but not together, they are confounded.
    """
    free = [i for i, name in enumerate(labels) if not name.startswith(("log", LAG))]
    names = np.array(labels, dtype=object)[free]
    size = np.where(fit.theta[free] != 0, fit.theta[free], 1.0)
    relative = fit.covariance[np.ix_(free, free)] / np.outer(size, size)
    relative = np.nan_to_num(relative, posinf=1 / NOT_RESOLVED, neginf=0.0)
    loss = np.array([name.startswith(("D: ", "S: ")) for name in names], dtype=bool)
    losses = np.ix_(loss, loss)
    to_law = relative[np.ix_(loss, ~loss)]
    of_law = np.linalg.pinv(relative[np.ix_(~loss, ~loss)], hermitian=True)
    inherited = to_law @ of_law @ to_law.T
    alone = relative[losses] - inherited
    relative[losses] = inherited
    resolved = np.diag(alone) < NOT_DETERMINED
    alone = alone[np.ix_(resolved, resolved)]
    return null_vectors(relative, names), null_vectors(alone, names[loss][resolved])


def null_vectors(relative: np.ndarray, names: np.ndarray) -> str:
    """Directions of a covariance of relative changes that are not determined."""
    values, vectors = np.linalg.eigh(relative)
    if values.max(initial=0.0) < NOT_DETERMINED:
        return ""
    null = vectors[:, values > POORLY_DETERMINED]
    pivots = np.sort(qr(null.T, mode="r", pivoting=True)[1][: null.shape[1]])
    texts = []
    for change in np.linalg.solve(null[pivots].T, null.T):
        change = 100 * change / np.abs(change).max()
        chosen = np.flatnonzero(np.abs(change) > 100 * PART_OF_COMBINATION)
        chosen = chosen[np.argsort(-np.abs(change[chosen]), kind="stable")]
        texts.append(", ".join(f"{names[i]} {change[i]:+.0f} %" for i in chosen))
    return "; ".join(texts)


def force_bound(model: StateSpace, tests: Tested, scaled: bool) -> np.ndarray:
    """Bound of the random force of each coordinate that may have none; else NaN."""
    fit, bounds = tests.search.fit, tests.bounds
    if fit.structure.force == "ground":
        is_certain = np.isnan(bounds).repeat(model.dof)
    else:
        rows = np.array([a for a, _ in fit.structure.entries(model.dof)])
        is_certain = np.array(
            [np.isnan(bounds[rows == a]).any() for a in range(model.dof)]
        )
    theta, entries = fit.theta.copy(), model.places(fit.structure)[1]
    theta[entries] = np.where(np.isnan(bounds), theta[entries], bounds)
    square = np.diag(force_covariance(model, replace(fit, theta=theta), scaled)[0])
    return np.where(is_certain, np.nan, np.sqrt(square))


def sensors(model: StateSpace, fit: Fit, scaled: bool) -> dict[str, tuple]:
    """Sensors, their noise, and the covariance of the force with its errors."""
    one, dims = model.channels, ("channel",)
    noise = model.places(fit.structure)[2]
    std = np.exp(fit.theta[noise])
    error = std * np.sqrt(np.diag(fit.covariance)[noise])
    names = np.array(one.names, dtype=object)
    entries = {
        "channel": (dims, names, "what it measures"),
        "sensor_noise_estimate": (dims, std, "noise of a sensor"),
        "sensor_noise_std": (dims, error, "its standard error"),
    }
    for kind in ("position", "velocity", "acceleration"):
        values = getattr(one, kind)
        entries[f"sensor_{kind}"] = (("channel", "dof"), values, f"weight of {kind}s")
    text = "standard error of the covariance of the force"
    force_std = force_covariance(model, fit, scaled)[1]
    entries["force_covariance_std"] = (("dof", "dof_other"), force_std, text)
    return {k: (dims, x, "mixed", meaning) for k, (dims, x, meaning) in entries.items()}


def force_covariance(
    model: StateSpace, fit: Fit, scaled: bool
) -> tuple[np.ndarray, np.ndarray]:
    """S Sᵀ of generalised forces and its standard errors, by the delta method."""

    def of(theta):
        parameters = model.parameters(fit.structure, theta)
        root = parameters.root
        if fit.structure.force == "ground":
            root = np.linalg.solve(model.at(parameters.coefficients)[0], root)
        return root @ root.T / (parameters.gain**2 if scaled else 1.0)

    known = np.isfinite(np.diag(fit.covariance)) & (np.diag(fit.covariance) > 0)
    step = np.where(known, np.sqrt(np.diag(fit.covariance)), 1.0) * 1e-3
    slopes = np.array(
        [
            (of(fit.theta + d) - of(fit.theta - d)) / (2 * d[i])
            for i, d in enumerate(np.diag(step))
        ]
    )
    covariance = np.where(np.outer(known, known), fit.covariance, 0.0)
    variance = np.einsum("iab,ij,jab->ab", slopes, covariance, slopes)
    return of(fit.theta), np.sqrt(np.maximum(variance, 0.0))


def volatility(
    likelihood: Likelihood, tests: Tested, scaled: bool
) -> VolatilityEstimate:
    """Constant volatility by coordinate; the interval of none ends at its bound."""
    covariance, error = force_covariance(likelihood.model, tests.search.fit, scaled)
    square = np.diag(covariance)
    level = np.sqrt(square)
    std = np.diag(error) / (2 * np.where(level > 0, level, np.inf))
    bound = force_bound(likelihood.model, tests, scaled)
    std = np.where(np.isnan(bound), std, (bound - level) / NORMAL_QUANTILE)
    return VolatilityEstimate(
        level,
        std,
        ["1"],
        square[:, None],
        np.diag(error)[:, None],
        np.ones(len(level), dtype=bool),
        covariance,
    )


def innovations(
    model: StateSpace, fit: Fit, shocks: Impulses | None
) -> dict[str, tuple]:
    """Innovations of the first samples, for figures; on bands, of frequencies."""
    of_record = model.innovations(fit.structure, fit.theta, fit.order)
    parts, left = [], MOST_KEPT
    for number in range(len(model.records)):
        times, y = model.read(number)
        sizes = np.full(len(y), np.nan) if shocks is None else shocks.sizes[number]
        result = *of_record(number), y, sizes, times, np.full(len(y), number)
        parts.append([x[:left] for x in result])
        left -= len(y)
        if left <= 0:
            break
    along, of_channels = ("innovation_sample",), ("innovation_sample", "channel")
    about = {
        "innovation": (of_channels, "mixed"),
        "innovation_variance": (of_channels, "mixed"),
        "measured": (of_channels, "mixed"),
        "impulse_size": (along, "mixed"),
        "innovation_time": (along, model.read_over),
        "innovation_trajectory": (along, "1"),
    }
    joined = map(np.concatenate, zip(*parts, strict=True))
    stored = {
        name: (dims, values, unit, name.replace("_", " "))
        for (name, (dims, unit)), values in zip(about.items(), joined, strict=True)
    }
    return stored | {"sample_step": ((), model.dt, "s", "time step of the samples")}
