"""Methods by systems: what every estimator reaches on every example, side by side."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO

import numpy as np
import pandas as pd

from leastaction.core.contracts import SWEEP
from leastaction.report.readable import number_text

# Dimensions whose every entry is a fit.
SWEPT = ("replicate", "fit", *SWEEP)

COLUMNS = (
    "system",
    "example",
    "method",
    "estimator",
    "structure",
    "coefficient_error",
    "rollout_error",
    "rollout_error_of",
    "seconds",
)
# Stands in the patterns below for the case of a sweep that is compared.
CASE = "(, sigma = {level}, (?P<mode>independent|shared) noise)?"
STRUCTURE = "(exact supports|right structure)" + CASE
COEFFICIENT = (
    "(relative error of the coefficients, rms|largest relative error of a coefficient"
    "|relative error of the (lagrangian|dissipation|noise strength).*, rms)" + CASE
)
ROLLOUT = (
    "(relative error of the mean path, prediction window"
    "|relative error of the acceleration along the true path"
    "|largest error of a position up to .* starts"
    "|total variation distance of the densities of .*"
    "|error of .* over .*, unseen input, .*)" + CASE
)


@dataclass(frozen=True)
class Entry:
    """One estimator on one example.

    Attributes
    ----------
    paper, example, estimator
        Names.
    system
        Title of the example.
    method
        Name of the `identify` method.
    fits
        Replicates times cases of a sweep.
    seconds
        Of differentiate, assemble and identify, on one core, start-up included.
    """

    paper: str
    example: str
    estimator: str
    system: str
    method: str
    fits: int
    seconds: float


def entries(
    named: Sequence[Mapping],
    sizes: Sequence[Mapping[str, int]],
    benchmarks: Sequence[Sequence[str]],
) -> list[Entry]:
    """Entries from what the workflow knows of them.

    Parameters
    ----------
    named
        `paper`, `example`, `estimator`, `system` and `method` of each.
    sizes
        Dimensions of its models.
    benchmarks
        Texts of the benchmark files of its stages or of their blocks.
    """
    return [
        Entry(
            **entry,
            fits=math.prod(sizes[i].get(name, 1) for name in SWEPT),
            seconds=sum(map(seconds_of, benchmarks[i])),
        )
        for i, entry in enumerate(named)
    ]


def seconds_of(benchmark: str) -> float:
    """Time of a job from the text of its benchmark file, as Snakemake writes it."""
    return float(pd.read_csv(StringIO(benchmark), sep="\t", na_values="-")["s"].sum())


def matrix(
    entries: Sequence[Entry], scores: Mapping[tuple[str, str], pd.DataFrame], level
) -> pd.DataFrame:
    """One row per estimator of an example.

    Parameters
    ----------
    entries
        In the order of the rows.
    scores
        Scores of each example by (paper, example).
    level
        Standard deviation of the noise at which sweeps are compared.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`: `structure` is the share of replicates with exactly the true
        terms, `coefficient_error` the largest median over the coefficients,
        `rollout_error` the median of what `rollout_error_of` says, and `seconds`
        those of one fit. NaN where an estimator has no such number.
    """
    rows = []
    for entry in entries:
        frame = scores[entry.paper, entry.example]
        own = frame[frame["estimator"] == entry.estimator]
        structure = _chosen(own, STRUCTURE, level)
        share = structure["ours_median"] / structure["unit"].map(_of)
        rollout = _chosen(own, ROLLOUT, level)
        rows.append(
            {
                "system": entry.system,
                "example": f"{entry.paper}/{entry.example}",
                "method": entry.method.replace("_", " "),
                "estimator": entry.estimator,
                "structure": _largest(share),
                "coefficient_error": _largest(
                    _chosen(own, COEFFICIENT, level)["ours_median"]
                ),
                "rollout_error": _largest(rollout["ours_median"]),
                "rollout_error_of": _words(rollout),
                "seconds": entry.seconds / entry.fits,
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def shown(frame: pd.DataFrame) -> pd.DataFrame:
    """The matrix to read: percentages, two digits, units in the heads."""
    percent = frame[["structure", "coefficient_error"]] * 100
    return pd.DataFrame(
        {
            "system": frame["system"],
            "method": frame["method"],
            "estimator": frame["estimator"],
            "right structure (%)": percent["structure"].map(_short),
            "coefficient error (%)": percent["coefficient_error"].map(_short),
            "rollout error": frame["rollout_error"].map(_short),
            "of": frame["rollout_error_of"],
            "time of a fit (s)": frame["seconds"].map(_short),
        }
    )


def _chosen(frame: pd.DataFrame, pattern: str, level: float) -> pd.DataFrame:
    """Rows that fit, at the level compared; independent noise if there is any."""
    fitting = re.compile(pattern.format(level=re.escape(f"{level:g}")))
    found = frame["quantity"].map(fitting.fullmatch)
    kept = found.notna()
    modes = found[kept].map(lambda match: match["mode"] or "independent")
    rows = frame[kept & (frame["item"] == "added")]
    modes = modes[rows.index]
    return rows[modes == "independent"] if (modes == "independent").any() else rows


def _of(unit: str) -> float:
    return float(unit.removeprefix("of "))


def _largest(values: pd.Series) -> float:
    return float(values.max()) if len(values) else np.nan


def _words(rows: pd.DataFrame) -> str:
    """What the rollout error is of."""
    if not len(rows):
        return ""
    first = rows.iloc[0]
    name = first["quantity"].partition(", sigma")[0]
    name = name.removeprefix("relative error of the ").removeprefix("largest error of ")
    return name if first["unit"] == "1" else f"{name} ({first['unit']})"


def _short(value: float) -> str:
    return number_text(float(f"{value:.2g}"), 3)
