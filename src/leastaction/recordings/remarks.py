"""What to believe of a law, and what it says of inputs and sensors."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp
import xarray as xr
from scipy.stats import norm

from leastaction.core.estimate import NORMAL_QUANTILE, SURE_SCORE
from leastaction.core.estimate import interval_factor as student
from leastaction.core.euler_lagrange import symbols, velocity_names
from leastaction.core.expressions import parse
from leastaction.core.library import damped_coordinates
from leastaction.core.model import rounded
from leastaction.core.own_data import HALF_OF_SQUARE
from leastaction.ensembles.innovations_estimate import LEAST_P_VALUE
from leastaction.ensembles.modes import STRUCTURAL
from leastaction.ensembles.sensor_records import stated, stated_lags
from leastaction.figures.readable import listed, percent_text
from leastaction.likelihood.horizons import LARGEST_MISFIT
from leastaction.recordings.candidates import is_even
from leastaction.recordings.checks import LEAST_PERIODS
from leastaction.recordings.inputs import (
    FORMS,
    GAIN,
    LAG,
    OFFSET,
    TIME_CONSTANT,
    UNKNOWN,
    stated_of_inputs,
)
from leastaction.recordings.measured_rollout import LARGEST_TRUSTED_ERROR
from leastaction.recordings.refusals import rows_of

# Relative difference of a coefficient with and without process noise.
LARGEST_DISAGREEMENT = 0.1
# Sine over cosine of one angle, up to which they are the offset of an encoder.
TANGENT_OF_OFFSET = 0.1
# States at which the power of all losses is looked at.
STATES_OF_POWER = 1000
# What is found of inputs, and its name with the unit.
FOUND_OF_INPUTS = {
    LAG: "the lag (s)",
    TIME_CONSTANT: "the time constant (s)",
    GAIN: "the gain (SI units)",
}
# Size of the motion of a law over that recorded, and its inverse, beyond which it is
# none.
LARGEST_RATIO = 10.0
# P-value of an absent candidate, below which it is undecided.
LEAST_P_OF_ABSENT_TERM = 0.02
# Score of a memory, in standard errors, below which a force is no white noise; its
# square is the likelihood ratio above which it has a colour.
LEAST_MEMORY_SCORE = float(norm.ppf(LEAST_P_VALUE))
# Part of the kurtosis of a force beyond which a few events make it.
LARGEST_PART_OF_FEW = 0.5
# Excess kurtosis beyond which innovations of a nonlinear law are not Gaussian.
LARGEST_KURTOSIS = 0.5
# The same of sensors: that of Laplace's distribution, of whose information about a mean
# least squares have half. Arms of which 8 % of the samples held their value have 24,
# a stage with an encoder, whose joint sticks, 2.
KURTOSIS_OF_HALF_INFORMATION = 3.0
# Steps, in standard errors, from the second order filter to the first one, beyond which
# the third may matter.
LARGEST_ORDER_DISAGREEMENT = 5.0
# Reservations about the law of a randomly excited motion, by their reason.
DOUBTS = rows_of("""
astray: under its own random force the law moves {simulated_size:.2g} times as far as
    what was recorded
lost: not identifiable: these relative changes, made together, do not change the data:
    {identifiability}
confounded: dampers or forces that the data do not distinguish: {confounded}
not settled: the likelihood did not settle at its maximum: a step would move the law by
    {remaining:.2g} standard errors
missing: a term is missing: {best_absent_term} has a score of {best_absent_score:.0f},
    and chance gives {term_penalty:.0f}; add candidates
undecided: undecided: {undecided_term} may be missing (p = {undecided_p_value:.1g}), but
    its score is below the threshold of {term_penalty:.0f}; record longer
rival: another law fits nearly as well: {alternatives}. A longer record, or larger
    motion, may decide between them
memory: the random force has a memory (score {colour_ratio:.0f}) that the law lacks;
    leave `colour: white` out, or widen the `band`
folded: the spectrum of the force rises with the frequency (z = {memory_score:.1f}):
    samples are folded from beyond half the sampling rate, fewer than two in a period,
    or a sensor measures another quantity than stated
not white: innovations are not white (p = {whiteness_p_value:.1g}){follows}: a mode, a
    force with a memory, or a tone is missing in the model
drift: innovations have a line at {line_frequency:.4g} Hz (p = {line_p_value:.1g}): the
    zero of a sensor drifts, or a force does; take the drift off
tone: innovations have a line at {line_frequency:.4g} Hz (p = {line_p_value:.1g}): a
    tone acts, or is measured; leave it out by `band`, or record it as an input
few impulses: the random force comes in impulses, about {impulse_rate:.2g} per s (its
    excess kurtosis is {kurtosis:.2g}), the largest at {when} s, which carry most of it:
    such a force may have no finite variance, hence no meaningful level; intervals may
    be too narrow
impulses: the random force comes in impulses, about {impulse_rate:.2g} per s (its excess
    kurtosis is {kurtosis:.2g}), the largest at {when} s; intervals allow for it
not Gaussian: innovations are not Gaussian (excess kurtosis {kurtosis:.2g}): impacts, or
    a strongly nonlinear motion between samples
orders: filters of first and second order disagree by {order_disagreement:.2g} standard
    errors: sample faster, or use better sensors
""")


def force_errors(rollout: xr.Dataset) -> np.ndarray:
    """Share of the recorded force that is missed; NaN of coordinates without one."""
    return rollout.get("force_error", xr.DataArray([np.nan])).values.ravel()


def is_lost(model: xr.Dataset, rollout: xr.Dataset) -> bool:
    """Whether the data have no law of these candidates.

    It is the force that tells, of a coordinate without a recorded one that of the
    process noise: a machine may integrate small forces that nobody knows to large
    errors of its path.
    """
    missed = force_errors(rollout)
    missed = np.where(np.isnan(missed), model["missed_force"].values[0], missed)
    lost = (missed > LARGEST_MISFIT).any()
    return bool(lost or np.isinf(float(model["criterion_value"].values[0])))


def reservations(model: xr.Dataset, rollout: xr.Dataset) -> list[str]:
    """Why a law is not simply found."""
    texts = _missed(model)
    if not int(model["converged"].values[0]):
        texts.append("the fit did not converge fully; intervals are approximate")
    missed = force_errors(rollout)
    if np.isinf(missed).any():
        texts.append("the law diverges in every short window of the held-out data")
    elif (missed > LARGEST_TRUSTED_ERROR).any():
        texts.append(
            f"the law misses {percent_text(np.nanmax(missed))} of the recorded force "
            "over short windows: a term is missing, a force acts that no column "
            "records, or an actuator does not give what is recorded; look at the "
            "residuals"
        )
    kurtosis = float(model.get("kurtosis", np.zeros(1))[0])
    if kurtosis > KURTOSIS_OF_HALF_INFORMATION:
        texts.append(
            f"a few samples are far off what all others expect (excess kurtosis of the "
            f"innovations {kurtosis:.2g}): of a sensor that lost or held its value, or "
            "of blows; weak terms stay undetected beside them. Take them out"
        )
    viscous = _viscous(model)
    terms, values = _coefficients(model)
    errors = student(model) * _coefficients(model, "std")[1]
    texts += [
        f"the interval of {term} includes zero: the data require a term here, perhaps "
        "of another form"
        for term, value, error in zip(terms, values, errors, strict=True)
        if 0 < abs(value) < error and term not in viscous
    ]
    if pushing := [t for t in negative_losses(model) if t.startswith("abs(")]:
        texts.append(
            f"the dry friction {listed(pushing)} is negative, as none is: a constant "
            "force acts, which motion in one direction does not distinguish from it; "
            "record motion in both directions, or the force"
        )
    trusted = rollout["rms_error"].where(~unpredictable(rollout), 0.0)
    largest = float(trusted.max())
    if largest > LARGEST_TRUSTED_ERROR:
        texts.append(
            f"a free run is off by {percent_text(largest)} rms: do not extrapolate"
        )
    return texts


def unpredictable(rollout: xr.Dataset) -> xr.DataArray:
    """Errors of free runs that noise of their start explains, (trajectory, dof).

    It moves the run beyond what is trusted, whatever the law, as where a motion is
    chaotic, and the error is within the 95 % band.
    """
    if "rms_band" not in rollout:  # saved before there was one
        return xr.zeros_like(rollout["rms_error"], dtype=bool)
    inside = rollout["rms_error"] <= rollout["rms_band"]
    return inside & np.isfinite(rollout["prediction_time"])


def predictability(rollout: xr.Dataset) -> str:
    """Until when free runs follow a motion that is unstable; empty if it is not."""
    lost = unpredictable(rollout) & (rollout["rms_error"] > LARGEST_TRUSTED_ERROR)
    if not lost.any():
        return ""
    time = float(rollout["prediction_time"].where(lost).min())
    return (
        f"free runs are predictable for {time:.2g} s, until noise of their start has "
        f"grown to {percent_text(LARGEST_TRUSTED_ERROR)}, as in chaotic motion"
    )


def _missed(model: xr.Dataset) -> list[str]:
    """What force a law misses, and terms that horizons disagree about."""
    texts = []
    missed = float(model["missed_force"].max())
    ratio = float(model["free_run_ratio"].values[0])
    frequency = float(model["missed_tone"].values[0])
    remembers = float(model["memory_ratio"].values[0]) > 1
    is_tone = np.isfinite(frequency)
    matters = missed > _most_certain(model) or remembers or is_tone
    # Of simulated right laws the ratio is 1.000 to 1.001; with delayed feedback of 5 %
    # of the force, which misses .2 to .7 %, 1.8 to 41.
    if matters and ratio > HALF_OF_SQUARE:
        beyond = (
            f", and free runs of the training data err by {ratio:.2g} times the sensor "
            "noise"
        )
        if np.isinf(ratio):
            beyond = (
                ", which free runs of the training data do not test: they diverge, or "
                "have fewer independent errors than the law has coefficients"
            )
        if is_tone:
            beyond += f": a tone of {frequency:.4g} Hz, which no column records"
        texts.append(f"the law misses {percent_text(missed)} of the force{beyond}")
    if remembers:
        texts.append(
            "the missed force depends on earlier states: friction at rest, hysteresis, "
            "a delay, a coordinate or a force that no column records (record it as an "
            "input); intervals include what it may change"
        )
    terms, values = _coefficients(model)
    apart = model["horizon_difference"].values[0]
    viscous = _viscous(model)
    for k, position in enumerate(model["column_position"].values[0]):
        value = abs(values[position])
        if value and terms[position] not in viscous:
            share = 2 * apart[k] / value
            if share > LARGEST_DISAGREEMENT:
                texts.append(
                    f"the coefficient of {terms[position]} differs by "
                    f"{percent_text(share)} between short and long horizons: what the "
                    "law misses has another form than the law"
                )
    return texts


def _viscous(model: xr.Dataset) -> list[str]:
    """Dampers, which stay in a law, so that an interval of one may hold zero."""
    names, rates = _names(model), velocity_names(_names(model))
    texts = [str(term) for term in model["dissipation_term"].values]
    losses = [parse(text, (*names, *rates)) for text in texts]
    state = symbols(names), symbols(rates)
    pairs = zip(texts, losses, strict=True)
    return [f"{text} of D" for text, loss in pairs if damped_coordinates(loss, *state)]


def _most_certain(model: xr.Dataset) -> float:
    """Relative half interval of the most certain coefficient that is not given."""
    values, errors = (_coefficients(model, what)[1] for what in ("estimate", "std"))
    free = (values != 0) & (errors > 0)
    return student(model) * np.min(errors[free] / np.abs(values[free]), initial=np.inf)


def _names(model: xr.Dataset) -> list[str]:
    return [str(name) for name in model["dof"].values]


def remarks(model: xr.Dataset, observations: xr.Dataset) -> list[str]:
    """What else the law says of the data."""
    texts = _inputs(model, stated_of_inputs(observations))
    corrections = json.loads(str(model["corrections"].values[0]))
    if corrections:
        terms = [
            f"{term} {' ± '.join(rounded(value, student(model) * error))}"
            for term, (value, error) in corrections.items()
        ]
        texts.append(
            f"corrections beside the law: {listed(terms)} improve the fit beyond "
            "chance, by less than a fifth of what the law misses; they are not part of "
            "the law. One-step-ahead predictions include them, free runs do not"
        )
    if fed := negative_losses(model):
        texts.append(
            f"the damping {listed(fed)} is negative: it feeds energy into the motion, "
            "which is self-excited, or driven by what no column records"
        )
    return [*texts, *_zero_offset(model)]


def _inputs(model: xr.Dataset, stated: Mapping) -> list[str]:
    """What lies between inputs and forces, where it was requested or is significant."""
    texts: list[str] = []
    lags: dict[tuple[float, float], list[str]] = {}
    for a, name in enumerate(map(str, model["dof"].values)):
        value = {k: float(model[f"input_{k}"][0, a]) for k in FOUND_OF_INPUTS}
        error = {
            k: student(model) * float(model[f"input_{k}_std"][0, a])
            for k in FOUND_OF_INPUTS
        }
        entry = stated.get(name, {})
        if value[LAG] and np.isfinite(error[LAG]):
            lags.setdefault((value[LAG], error[LAG]), []).append(name)
        for key, text in FOUND_OF_INPUTS.items():
            if entry.get(key) != UNKNOWN:
                continue
            if not np.isfinite(error[key]):
                texts.append(f"{text} of the input of {name} could not be found")
            elif key != LAG:
                number, width = rounded(value[key], error[key])
                texts.append(f"{text} of the input of {name} is {number} ± {width}")
        if entry.get(OFFSET) == UNKNOWN:
            texts.append(_offset(model, name, value[GAIN]))
    form = FORMS[int(model["input_degree"][0])]
    if form.remark:
        texts.append(
            f"inputs are taken as {form.name}{form.remark}, which fits better than a "
            "curve through their rows"
        )
    return [lagging(names, *lag) for lag, names in lags.items()] + texts


def lagging(names: Sequence[str], lag: float, width: float) -> str:
    """That inputs of coordinates act `lag` ± `width`, s, after the time of a record.

    Examples
    --------
    >>> lagging(["z"], -1.6e-6, 2e-7).partition(";")[0]
    'the input of z acts 0.00160 ± 0.00020 ms before the time of its record'
    """
    number, width = rounded(1e3 * abs(lag), 1e3 * width)
    who, whose = f"inputs of {listed(names)} act", "their"
    if len(names) == 1:
        who, whose = f"input of {names[0]} acts", "its"
    return (
        f"the {who} {number} ± {width} ms {'after' if lag > 0 else 'before'} the time "
        f"of {whose} record; the law takes this into account: check the clocks of the "
        "channels, or what lies between command and force"
    )


def _offset(model: xr.Dataset, name: str, gain: float) -> str:
    """Offset of the input, by the constant force that `name` in L stands for."""
    place = list(map(str, model["term"].values)).index(name)
    value, std = (
        model[f"coefficient_{kind}"].values[0][place] / gain
        for kind in ("estimate", "std")
    )
    if not value:
        return f"no offset of the input of {name} is seen"
    number, width = rounded(-value, student(model) * std)
    return f"the offset of the input of {name} (SI units) is {number} ± {width}"


def _zero_offset(model: xr.Dataset) -> list[str]:
    """A sine beside a cosine of the same angle is the zero of an encoder."""
    texts = []
    values = dict(zip(*_coefficients(model), strict=True))
    for name in map(str, model["dof"].values):
        sine, cosine = (values.get(f"{f}({name}) of L", 0.0) for f in ("sin", "cos"))
        if sine and cosine and abs(sine) < TANGENT_OF_OFFSET * abs(cosine):
            texts.append(
                f"the zero of {name} is off by "
                f"{np.degrees(np.arctan(sine / cosine)):.2g} degrees: "
                "sin beside cos is a mounting angle, not physics"
            )
    return texts


def negative_losses(model: xr.Dataset) -> list[str]:
    """Losses that are negative beyond their error, if they feed energy in.

    One power of the velocity may be negative beside others: what counts is the power
    q̇·∂D/∂q̇ of all losses at states within the motion, velocities up to 2π q/T.
    """
    coordinates = _names(model)
    names = (*coordinates, *velocity_names(coordinates))
    values = model["dissipation_coefficient_estimate"].values[0]
    errors = np.nan_to_num(model["dissipation_coefficient_std"].values[0])
    losses = [parse(str(term), names) for term in model["dissipation_term"].values]
    negative = [
        term
        for term, value, loss in zip(
            model["dissipation_term"].values,
            values + student(model) * errors,
            losses,
            strict=True,
        )
        if value < 0 and is_even(loss, coordinates)
    ]
    if not negative:
        return []
    largest = model["amplitude_range"].values[0, :, 1]
    rates = largest * 2 * np.pi / float(model["period"].values[0])
    box = np.concatenate([largest, rates])
    draws = np.random.default_rng(0).uniform(-1, 1, (STATES_OF_POWER, len(box)))
    arguments = symbols(names)
    total = sp.Add(*(x * loss for x, loss in zip(values, losses, strict=True)))
    power = sp.Add(*(v * total.diff(v) for v in arguments[len(coordinates) :]))
    fed = sp.lambdify(arguments, power, "numpy")(*(draws * box).T)
    return negative if np.min(fed) < 0 else []


def _coefficients(
    model: xr.Dataset, what: str = "estimate"
) -> tuple[list[str], np.ndarray]:
    """Candidates, ``x**2 of L`` or ``of D``, and their coefficients, or another value.

    A term such as ``xdot**2`` may be one of both.
    """
    names = [f"{term} of L" for term in model["term"].values]
    names += [f"{term} of D" for term in model["dissipation_term"].values]
    kinds = ("coefficient", "dissipation_coefficient")
    values = [model[f"{kind}_{what}"].values[0] for kind in kinds]
    return names, np.concatenate(values)


def is_astray(model: xr.Dataset) -> bool:
    """Whether the motion of a law under its own random force is not that recorded.

    It diverges, or differs by a power of ten; that of right laws, over few relaxation
    times, by a factor of two.
    """
    size = float(model["simulated_size"])
    return not (np.isnan(size) or 1 / LARGEST_RATIO < size < LARGEST_RATIO)


def doubts(model: xr.Dataset) -> list[str]:
    """Reservations about the law of a randomly excited motion."""
    m = {n: v.item() for n, v in model.variables.items() if v.size == 1}
    share = 100 * m["predicted_share"]
    m["follows"] = (
        f"; those before predict {share:.2g} % of their power" if share > 0 else ""
    )
    several = len(np.unique(model["innovation_trajectory"])) > 1
    events = zip(model["impulse_trajectory"].values, model["impulse_time"], strict=True)
    m["when"] = ", ".join(
        f"{time:.4g}" + f" (trajectory {k + 1:.0f})" * several
        for k, time in sorted((k, float(time)) for k, time in events)
    )
    is_missing = m["best_absent_score"] > m["term_penalty"]
    is_coloured = m["colour_ratio"] > LEAST_MEMORY_SCORE**2
    has_line = m["line_p_value"] < LEAST_P_VALUE
    count = np.unique(model["innovation_trajectory"], return_counts=True)[1].max()
    drifts = m["line_frequency"] * count * m["sample_step"] < LEAST_PERIODS
    comes_in_impulses = m["impulse_score"] > SURE_SCORE
    few = m["impulse_part"] > LARGEST_PART_OF_FEW
    tested = np.isfinite(m["impulse_score"])
    holds = {
        "astray": is_astray(model),
        "lost": m["identifiability"],
        "confounded": m["confounded"],
        "not settled": not m["converged"],
        "missing": is_missing,
        "undecided": not is_missing and m["undecided_p_value"] < LEAST_P_OF_ABSENT_TERM,
        "rival": m["alternatives"],
        "memory": is_coloured and not m["correlation_time_estimate"],
        "folded": m["memory_score"] < LEAST_MEMORY_SCORE,
        "not white": m["whiteness_p_value"] < LEAST_P_VALUE,
        "drift": has_line and drifts,
        "tone": has_line and not drifts,
        "few impulses": comes_in_impulses and few,
        "impulses": comes_in_impulses and not few,
        "not Gaussian": not tested and m["kurtosis"] > LARGEST_KURTOSIS,
        "orders": m["order_disagreement"] > LARGEST_ORDER_DISAGREEMENT,
    }
    return [DOUBTS[when].format(**m) for when, doubted in holds.items() if doubted]


def of_inputs(model: xr.Dataset, observations: xr.Dataset) -> list[str]:
    """Requested or significant lags and gains of inputs of a random motion."""
    (gain, of_gain), (lag, of_lag) = (
        (float(model[f"input_{what}_estimate"]), float(model[f"input_{what}_std"]))
        for what in ("gain", "lag")
    )
    names, texts = observations["dof"].values, []
    if lag:
        driven = observations["input"].values.any(axis=(0, 1))
        late = map(str, names[driven & np.isnan(stated_lags(observations))])
        texts.append(lagging(list(late), lag, NORMAL_QUANTILE * of_lag))
    if UNKNOWN in (gains := stated(observations, GAIN)):
        number, width = rounded(gain, NORMAL_QUANTILE * of_gain)
        name = names[gains.index(UNKNOWN)]
        texts.append(
            f"{FOUND_OF_INPUTS[GAIN]} of the input of {name} is {number} ± {width}"
        )
    return texts


def of_modes(
    model: xr.Dataset, sensed: xr.Dataset | None, known: xr.Dataset | None
) -> list[str]:
    """Modes that sensors show, and a law with too few coordinates lacks."""
    if sensed is None or known is None:
        return []
    shown = sensed["frequency"].values[sensed["kind"].values == STRUCTURAL]
    law = known["frequency"].values
    if len(shown) <= len(law):
        return []
    nearest = [int(np.argmin(np.abs(shown - f))) for f in law]
    other = ", ".join(f"{f:.4g}" for f in np.delete(shown, nearest))
    return [
        f"the sensors show {len(shown)} modes, the law has {len(law)}: it lacks those "
        f"at {other} Hz. Add coordinates, or choose a `band`; in a nonlinear motion "
        "they may be overtones"
    ]


def random_force(model: xr.Dataset) -> str:
    """Level of the random force by coordinate, white or with a memory, or its bound."""
    texts, acts = [], False
    for name, value, error, bound in zip(
        model["dof"].values,
        model["volatility_estimate"].values,
        model["volatility_std"].values,
        model["force_bound"].values,
        strict=True,
    ):
        if np.isnan(bound):
            number, width = rounded(float(value), NORMAL_QUANTILE * float(error))
            texts.append(f"{number} ± {width} on {name}")
            acts = True
        else:
            texts.append(f"none above {float(bound):.2g} on {name} (95 %)")
    text, time = f"Random force: {', '.join(texts)}", 0.0
    if acts:
        time = float(model["correlation_time_estimate"])
        text += "; it is white. " if not time else ""
    if time:
        error = NORMAL_QUANTILE * float(model["correlation_time_std"])
        number, width = rounded(time, error)
        text += f"; it has a memory of {number} ± {width} s. "
    return text if acts else text + ". "


def sensor_noise(model: xr.Dataset) -> str:
    """Standard deviation of every channel, with its interval."""
    texts = []
    for name, value, error in zip(
        model["channel"].values,
        model["sensor_noise_estimate"].values,
        model["sensor_noise_std"].values,
        strict=True,
    ):
        number, width = rounded(float(value), NORMAL_QUANTILE * float(error))
        texts.append(
            f"`{name}` {number} ± {width}" if error < value else f"`{name}` none"
        )
    return ", ".join(texts)
