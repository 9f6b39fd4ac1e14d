"""Methods of users' recordings, and recipes.

They read contract ``measurements``, which the stage `import` makes of a table;
:func:`leastaction.learn` does both.

Examples
--------
>>> import leastaction as la
>>> [step.name() for step in la.recipes.recordings.recommended(trim=3).steps()]
['bandwidth_spline', 'weighted_gram', 'prediction_error']
"""

from collections.abc import Mapping

from pydantic import Field

from leastaction.core.method import Assemble, Differentiate, Identify, Rollout, part
from leastaction.core.settings import Count, Integer, Number, Share


class BandwidthSpline(Differentiate):
    """Quintic spline of recordings whose knots and penalty come from the data alone."""

    run = ".bandwidth_spline:differentiate"
    reads = ("measurements",)
    makes = "smoothed_motion"

    inflation: Number = Field(
        1.2, ge=1, description="Weight of a degree of freedom in the cross-validation."
    )
    points: Integer = Field(
        4, ge=2, description="Points per inverse bandwidth at which it is evaluated."
    )
    trim: Share = Field(2, description="Inverse bandwidths left out at each end.")


class WeightedGram(Assemble):
    """Gram matrices of recordings, in which every trajectory has the same weight."""

    run = ".weighted_gram:assemble"
    reads = ("smoothed_motion",)
    makes = "gram"
    uses = ("reference", "inertia", "lagrangian", "dissipation")

    samples: Count = Field(
        1000, description="Evenly spaced samples that are passed on, for ranking."
    )


class PredictionError(Identify):
    """A law of motion by one likelihood, in which a missed force is process noise."""

    run = ".prediction_error:identify"
    reads = ("gram",)
    after = ("weighted_gram",)
    returns_to_samples = True
    knows_input = True


class RecordedPrediction(Rollout):
    """Trajectories that a law has not seen, predicted from their begin."""

    run = ".measured_rollout:predict"
    reads = ("measurements",)
    makes = "measured_rollout"


RECOMMENDED = {
    "measurements": (BandwidthSpline, WeightedGram, PredictionError),
}


def kind_of_data(example: Mapping) -> str | None:
    """Kind of data of a recording; else None."""
    if "import" not in example:
        return None
    if example.get("kind", "motion") != "motion":
        from leastaction.core.own_data import kinds  # families, with their algebra

        return kinds()[example["kind"]].data(part(example, "import"))
    random = example.get("excitation") == "random"
    return "shaken measurements" if random else "measurements"
