"""What a fitted law of a recording says against itself."""

import numpy as np
import xarray as xr

# Inflation of a variance, beyond which two terms are hardly told apart.
CERTAIN = 2.0
POOR_FIT = 2.0
ZERO = 0.05


def verdicts(model: xr.Dataset, rollout: xr.Dataset) -> list[str]:
    """One sentence for each thing a reader of the law should know."""
    texts = []
    if not int(model["converged"].values[0]):
        texts.append("the fit did not settle to the last digit; error bars are rough")
    window, period = float(model["window"].values[0]), float(model["period"].values[0])
    longest = float(model["longest_window"].values[0])
    if window < min(2.5 * period, 0.8 * longest):
        texts.append(
            f"windows could not be made longer than {window:.3g} s "
            f"({window / period:.1f} main periods): chaotic motion, a missing term, or "
            "a force that no column records"
        )
    misfit = float(model["misfit"].values[0])
    if misfit > POOR_FIT:
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
            and drift[k] > CERTAIN * jackknife[k] > 0
            and drift[k] > 2e-3 * abs(value)
        ):
            texts.append(
                f"the coefficient of {terms[position]} differs by "
                f"{200 * drift[k] / abs(value):.2g} % between large and small "
                "amplitudes: the law has another form there"
            )
    texts += _zero_offset(model, terms, values)
    largest = np.nanmax(rollout["rms_error"].values)
    if largest > ZERO:
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
        if sine and cosine and abs(sine) < 0.1 * abs(cosine):
            texts.append(
                f"the zero of {name} is off by "
                f"{np.degrees(np.arctan(sine / cosine)):.2g} degrees: "
                "sin beside cos is a mounting angle, not physics"
            )
    return texts
