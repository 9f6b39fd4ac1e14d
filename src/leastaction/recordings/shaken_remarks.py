"""What to believe of the law of a random motion, and what it says of its sensors."""

import numpy as np
import xarray as xr

from leastaction.core.estimate import NORMAL_QUANTILE
from leastaction.core.model import rounded
from leastaction.ensembles.innovation_tests import SURE_SCORE
from leastaction.ensembles.innovations_estimate import LEAST_P_VALUE
from leastaction.ensembles.output_modes import STRUCTURAL
from leastaction.ensembles.sensor_records import stated, stated_lags
from leastaction.recordings.inputs import GAIN, UNKNOWN
from leastaction.recordings.remarks import FOUND_OF_INPUTS, lagging

# Size of the motion of a law over that recorded, and its inverse, beyond which it is
# none.
LARGEST_RATIO = 10.0
# P-value of an absent candidate, below which it is undecided.
LEAST_P_OF_ABSENT_TERM = 0.02
# Likelihood ratio, or score, above which a force is no white noise.
RATIO_OF_COLOUR = 10.0
# Score of a memory, in standard errors, below which a force is no white noise either.
LEAST_MEMORY_SCORE = -3.1
# Periods in a record from which on a line is that of a tone; fewer are a drift.
PERIODS_OF_TONE = 3.0
# Part of the kurtosis of a force beyond which a few events make it.
LARGEST_PART_OF_FEW = 0.5
# Excess kurtosis beyond which innovations of a nonlinear law are not Gaussian.
LARGEST_KURTOSIS = 0.5
# Steps, in standard errors, from the second order filter to the first one, beyond which
# the third may matter.
LARGEST_DISAGREEMENT = 5.0


def is_astray(model: xr.Dataset) -> bool:
    """Whether the motion of a law under its own random force is not that recorded.

    It diverges, or differs by a power of ten; that of right laws, over few relaxation
    times, by a factor of two.
    """
    size = float(model["simulated_size"])
    return not (np.isnan(size) or 1 / LARGEST_RATIO < size < LARGEST_RATIO)


def doubts(model: xr.Dataset) -> list[str]:
    """Reservations about the law of a randomly excited motion."""
    texts = []
    if is_astray(model):
        texts.append(
            "under its own random force the law moves "
            f"{float(model['simulated_size']):.2g} times as far as what was recorded"
        )
    lost = str(model["identifiability"].item())
    if lost:
        texts.append(
            "not identifiable: relative changes that the data do not tell from none "
            f"are {lost}"
        )
    if not int(model["converged"]):
        texts.append(
            "the likelihood did not settle at its maximum: a step would move the "
            f"law by {float(model['remaining']):.2g} standard errors"
        )
    score, penalty = float(model["best_absent_score"]), float(model["term_penalty"])
    if score > penalty:
        texts.append(
            f"a term is missing: {model['best_absent_term'].item()} has a score of "
            f"{score:.0f}, and chance gives {penalty:.0f}; add candidates"
        )
    elif float(model["undecided_p_value"]) < LEAST_P_OF_ABSENT_TERM:
        texts.append(
            f"undecided: {model['undecided_term'].item()} may be missing (p = "
            f"{float(model['undecided_p_value']):.1g}), but its score is not the "
            f"{penalty:.0f} that are asked for; record longer"
        )
    rivals = str(model["alternatives"].item())
    if rivals:
        texts.append(
            f"another law fits nearly as well: {rivals}. A longer record, or larger "
            "motion, may tell them apart"
        )
    ratio = float(model["colour_ratio"])
    if ratio > RATIO_OF_COLOUR and not float(model["correlation_time_estimate"]):
        texts.append(
            f"the random force has a memory (score {ratio:.0f}) that the law lacks; "
            "leave `colour: white` out, or widen the `band`"
        )
    memory = float(model["memory_score"])
    if memory < LEAST_MEMORY_SCORE:
        texts.append(
            "the spectrum of the force rises with the frequency (z = "
            f"{memory:.1f}): samples are folded from beyond half the sampling rate, "
            "fewer than two in a period, or a sensor measures another thing than is "
            "said"
        )
    if float(model["whiteness_p_value"]) < LEAST_P_VALUE:
        share = 100 * float(model["predicted_share"])
        follows = f"; those before predict {share:.2g} % of their power" * (share > 0)
        texts.append(
            f"innovations are not white (p = {float(model['whiteness_p_value']):.1g})"
            f"{follows}: a mode, a force with a memory, or a tone is missing in the "
            "model"
        )
    if float(model["line_p_value"]) < LEAST_P_VALUE:
        frequency = float(model["line_frequency"])
        count = np.unique(model["innovation_trajectory"], return_counts=True)[1].max()
        drifts = frequency * count * float(model["sample_step"]) < PERIODS_OF_TONE
        texts.append(
            f"innovations have a line at {frequency:.4g} Hz (p = "
            f"{float(model['line_p_value']):.1g}): "
            + (
                "the zero of a sensor drifts, or a force does; take the drift off"
                if drifts
                else "a tone acts, or is measured; leave it out by `band`, or record "
                "it as an input"
            )
        )
    texts += of_jumps(model)
    if float(model["order_disagreement"]) > LARGEST_DISAGREEMENT:
        texts.append(
            "filters of first and second order disagree by "
            f"{float(model['order_disagreement']):.2g} standard errors: sample faster, "
            "or use better sensors"
        )
    return texts


def of_jumps(model: xr.Dataset) -> list[str]:
    """That the random force comes in impulses, or innovations are not Gaussian."""
    kurtosis, score = float(model["kurtosis"]), float(model["impulse_score"])
    if score > SURE_SCORE:
        when = ", ".join(f"{time:.4g}" for time in np.sort(model["impulse_time"]))
        rate = float(model["impulse_rate"])
        text = (
            f"the random force comes in impulses, about {rate:.2g} per s (its excess "
            f"kurtosis is {kurtosis:.2g}), the largest at {when} s; "
        )
        if float(model["impulse_part"]) > LARGEST_PART_OF_FEW:
            return [
                text + "these carry most of it: a force like this may have no finite "
                "variance, and its level no meaning; intervals may be too narrow"
            ]
        return [text + "intervals allow for it"]
    if np.isnan(score) and kurtosis > LARGEST_KURTOSIS:
        return [
            f"innovations are not Gaussian (excess kurtosis {kurtosis:.2g}): impacts, "
            "or a strongly nonlinear motion between samples"
        ]
    return []


def of_inputs(model: xr.Dataset, observations: xr.Dataset) -> list[str]:
    """Lag and gain of the inputs of a randomly excited motion, seen or asked for."""
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
    model: xr.Dataset, seen: xr.Dataset | None, known: xr.Dataset | None
) -> list[str]:
    """Modes that sensors show, and a law with too few coordinates lacks."""
    if seen is None or known is None:
        return []
    found = seen["frequency"].values[seen["kind"].values == STRUCTURAL]
    own = known["frequency"].values
    if len(found) <= len(own):
        return []
    nearest = [int(np.argmin(np.abs(found - f))) for f in own]
    other = ", ".join(f"{f:.4g}" for f in np.delete(found, nearest))
    return [
        f"the sensors show {len(found)} modes, the law has {len(own)}: it lacks those "
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
