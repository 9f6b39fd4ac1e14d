"""The law of a recording in plain words, with what to believe and what not."""

import json
from collections.abc import Mapping

import numpy as np
import xarray as xr

from leastaction.core.model import IdentifiedModel

CONFIDENCE = 0.95
# Quantile of the normal distribution at this confidence, to three digits.
NORMAL_QUANTILE = 1.96
# Below this p-value of Hansen's test a law does not fit.
LEAST_P_VALUE = 0.01
# A window is long if it has so many main periods, or this share of the longest one.
PERIODS_OF_WINDOW, SHARE_OF_LONGEST = 2.5, 0.8
# A misfit, over that of the sensor, that only a missing term explains.
MISFIT_OF_MISSING_TERM = 2.0
# A coefficient differs between large and small amplitudes if by so many jackknife
# errors of it, and by this share of itself.
JACKKNIFE_ERRORS_OF_DRIFT, LEAST_RELATIVE_DRIFT = 2.0, 2e-3
# Largest rms error of a free run, of half the range, from which one may extrapolate.
LARGEST_TRUSTED_ERROR = 0.05
# Sine over cosine of one angle, up to which they are the offset of an encoder.
TANGENT_OF_OFFSET = 0.1


def law_text(
    title: str, observations: xr.Dataset, model: xr.Dataset, rollout: xr.Dataset
) -> str:
    """Markdown with the law, error bars, equivalents, validation and warnings.

    Parameters
    ----------
    title
        Of the recording.
    observations, model, rollout
        Contracts ``measurements``, ``model``, ``measured_rollout``.
    """
    found = IdentifiedModel(model.isel(replicate=0))
    factor = student(model)
    parts = [
        f"# {title}",
        "## The law",
        *_terms(found, factor),
        "```text",
        str(found.system),
        "```",
        _scale_note(observations, found),
        "## What it predicts",
        *_validation(rollout),
        "## What the data cannot decide",
        *_alternatives(model),
        "## What to know about these data",
        *[
            f"- {text}"
            for text in [
                *json.loads(observations.attrs["warnings"]),
                *cautions(model, rollout),
            ]
        ],
        "- "
        + f"error bars hold for amplitudes {_amplitudes(model)}, over "
        + f"{int(model['blocks'].values[0])} blocks left out in turn",
    ]
    return "\n\n".join(_joined(parts)) + "\n"


def random_law_text(title: str, observations: xr.Dataset, model: xr.Dataset) -> str:
    """Markdown with the law of a motion that random forces drive.

    Parameters
    ----------
    title
        Of the recording.
    observations, model
        Contracts ``observations``, ``model``.
    """
    found = IdentifiedModel(model.isel(replicate=0))
    value = float(model["j_p_value"].values[0])
    fit = "fits" if value > LEAST_P_VALUE else "does NOT fit: a candidate is missing"
    parts = [
        f"# {title}",
        "## The law",
        *_terms(found, NORMAL_QUANTILE),
        "```text",
        str(found),
        "```",
        f"By Hansen's J test the law {fit} (p = {value:.2g}). `Wdot` is white noise of "
        "strength one; coefficients are those of an L whose first inertia is ½.",
        "## What to know about these data",
        *[f"- {text}" for text in json.loads(observations.attrs["warnings"])],
        f"- error bars are those of {observations.sizes['trajectory']} trajectories",
    ]
    return "\n\n".join(_joined(parts)) + "\n"


def student(model: xr.Dataset) -> float:
    """Student's t of a 95 % interval from as many blocks as were left out."""
    from scipy.stats import t

    return float(
        t.ppf((1 + CONFIDENCE) / 2, max(int(model["blocks"].values[0]) - 1, 1))
    )


def _joined(parts: list[str]) -> list[str]:
    """Lines of tables, lists and code stay together."""
    blocks: list[str] = []
    code = False
    for part in parts:
        tight = blocks and (
            code
            or (part[:1] in "|-" and blocks[-1].rpartition("\n")[2][:1] == part[:1])
        )
        if part.startswith("```"):
            tight = code
            code = not code
        if tight:
            blocks[-1] += "\n" + part
        else:
            blocks.append(part)
    return blocks


def _terms(model: IdentifiedModel, factor: float) -> list[str]:
    data = model.dataset
    lines = ["| term | of | coefficient | 95 % interval |", "|---|---|---|---|"]
    for kind, values, errors, names in (
        ("L", "coefficient_estimate", "coefficient_std", "term"),
        (
            "D",
            "dissipation_coefficient_estimate",
            "dissipation_coefficient_std",
            "dissipation_term",
        ),
    ):
        for value, error, name in zip(
            data[values].values, data[errors].values, data[names].values, strict=True
        ):
            if value == 0:
                continue
            if error > 0:
                digits = max(0, 1 - int(np.floor(np.log10(factor * error))))
                shown = f"± {factor * error:.{digits}f}"
                number = f"{value:.{digits}f}"
            else:
                shown, number = "given (it sets the scale)", f"{value:.6g}"
            lines.append(f"| `{name}` | {kind} | {number} | {shown} |")
    return lines


def _scale_note(observations: xr.Dataset, model: IdentifiedModel) -> str:
    if "input" in observations:
        return (
            "The recorded input gives the scale: L is in the unit of the input times "
            "that of its coordinate (J for N and m, or N m and rad). It stands on the "
            "right of the equation of its coordinate."
        )
    return (
        "Without a recorded force a Lagrangian is known up to a factor; it is chosen "
        "so that the largest kinetic term has ½. Ratios of coefficients count."
    )


def _validation(rollout: xr.Dataset) -> list[str]:
    names = [str(n) for n in rollout["dof"].values]
    seen = bool(rollout.attrs["learned_from"])
    lines = [
        f"Free runs from the first {rollout.attrs['start']:.2g} s of "
        + (
            "trajectories that were also learned from:"
            if seen
            else "held-out trajectories:"
        ),
        "| trajectory | coordinate | rms error, of half the range | largest error |",
        "|---|---|---|---|",
    ]
    for k, label in enumerate(rollout["label"].values):
        for a, name in enumerate(names):
            rms = 100 * rollout["rms_error"].values[0, k, a]
            largest = 100 * rollout["maximum_error"].values[0, k, a]
            lines.append(f"| {label} | {name} | {rms:.2f} % | {largest:.2f} % |")
    return lines


def _alternatives(model: xr.Dataset) -> list[str]:
    about = json.loads(str(model["equivalent_models"].values[0]))
    if not about:
        return ["No other law of this size fits as well."]
    lines = [
        "These laws of the same size fit alike; a number of a term that they exchange "
        "means little by itself:",
    ]
    for other in about:
        terms = ", ".join(
            f"`{name}` {value:.4g}" for name, value in other["coefficients"].items()
        )
        lines.append(
            f"- {' + '.join(other['has'])} instead of "
            f"{' + '.join(other['instead_of'])} "
            f"(error {100 * (other['error_ratio'] - 1):+.0f} %): {terms}"
        )
    return lines


def _amplitudes(model: xr.Dataset) -> str:
    ranges: Mapping = {
        str(n): model["amplitude_range"].values[0][a]
        for a, n in enumerate(model["dof"].values)
    }
    return ", ".join(f"{n} {low:.3g} … {high:.3g}" for n, (low, high) in ranges.items())


def cautions(model: xr.Dataset, rollout: xr.Dataset) -> list[str]:
    """One sentence for each thing a reader of the law should know."""
    texts = []
    if not int(model["converged"].values[0]):
        texts.append("the fit did not settle to the last digit; error bars are rough")
    window, period = float(model["window"].values[0]), float(model["period"].values[0])
    longest = float(model["longest_window"].values[0])
    if window < min(PERIODS_OF_WINDOW * period, SHARE_OF_LONGEST * longest):
        texts.append(
            f"windows could not be made longer than {window:.3g} s "
            f"({window / period:.1f} main periods): chaotic motion, a missing term, or "
            "a force that no column records"
        )
    misfit = float(model["misfit"].values[0])
    if misfit > MISFIT_OF_MISSING_TERM:
        texts.append(
            f"the law misses {0.3 * misfit:.2g} % of the amplitude over its windows, "
            "far more than the sensor: a term is missing; look at the residuals"
        )
    positions = model["column_position"].values[0]
    drift, jackknife = model["drift"].values[0], model["jackknife_std"].values[0]
    terms = [
        *map(str, model["term"].values),
        *map(str, model["dissipation_term"].values),
    ]
    values = np.concatenate(
        [
            model["coefficient_estimate"].values[0],
            model["dissipation_coefficient_estimate"].values[0],
        ]
    )
    for k, position in enumerate(positions):
        value = values[position]
        if (
            value
            and drift[k] > JACKKNIFE_ERRORS_OF_DRIFT * jackknife[k] > 0
            and drift[k] > LEAST_RELATIVE_DRIFT * abs(value)
        ):
            texts.append(
                f"the coefficient of {terms[position]} differs by "
                f"{200 * drift[k] / abs(value):.2g} % between large and small "
                "amplitudes: the law has another form there"
            )
    texts += _zero_offset(model, terms, values)
    largest = np.nanmax(rollout["rms_error"].values)
    if largest > LARGEST_TRUSTED_ERROR:
        texts.append(
            f"a free run is off by {100 * largest:.2g} % rms: do not extrapolate"
        )
    return texts


def _zero_offset(model: xr.Dataset, terms, values) -> list[str]:
    """A sine beside a cosine of the same angle is the zero of an encoder."""
    texts = []
    found = dict(zip(terms, values, strict=True))
    for name in map(str, model["dof"].values):
        sine, cosine = found.get(f"sin({name})", 0.0), found.get(f"cos({name})", 0.0)
        if sine and cosine and abs(sine) < TANGENT_OF_OFFSET * abs(cosine):
            texts.append(
                f"the zero of {name} is off by "
                f"{np.degrees(np.arctan(sine / cosine)):.2g} degrees: "
                "sin beside cos is a mounting angle, not physics"
            )
    return texts
