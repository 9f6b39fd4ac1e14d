"""How often, and how well, a law is recovered at each level of sensor noise.

And which case of a sweep over noise stands for an estimator.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

from leastaction.core.contracts import SWEEP
from leastaction.core.library import Library, compare
from leastaction.core.system import System
from leastaction.figures.panel import MAIN as MAIN
from leastaction_papers.scorecard import scores
from leastaction_papers.scorecard.implicit_library import ImplicitLibrary, true_relation
from leastaction_papers.scorecard.scores import Estimates, Truth

BASELINE = "published"
# Paper: its code adds one random number to all channels of a sample.
PAPER_MODE, HONEST_MODE = "shared", "independent"
CASES = ("replicate", *SWEEP)
# A method manages a level if at least this share of the replicates has the right terms.
MANAGED = 0.5


def is_driven(config: Mapping) -> bool:
    """Whether external forces were measured, so that the scale of L is known."""
    return bool(config.get("simulate", {}).get("input"))


def law_of(model: xr.Dataset, truth: Truth, kind: str = "estimate") -> np.ndarray:
    """Coefficients of L, then of D, or their `std`, (replicate, ..., candidate)."""
    name = f"coefficient_{kind}"
    damping = scores.damping_of(model, truth.library, name)
    return np.concatenate(
        [scores.coefficients_of(model, truth, name), damping], axis=-1
    )


def in_reference_scale(law: np.ndarray, library: Library) -> np.ndarray:
    """Coefficients in the scale of the reference term; NaN where that is missing."""
    reference = law[..., [library.reference]]
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = library.reference_coefficient / reference
    return law * np.where(reference != 0, scale, np.nan)


def true_law(truth: Truth, driven: bool = False) -> np.ndarray:
    """Coefficients of L, then of D; in the scale of the system where it is known."""
    law = np.concatenate([truth.coefficients, truth.dissipation])
    return law / truth.scale if driven else law


def candidate_names(truth: Truth) -> list[str]:
    """Names of the candidates of L, then of D; those of D end in ``[D]``."""
    of_d = [f"{name} [D]" for name in truth.library.dissipation_names]
    return [*truth.library.names, *of_d]


def recovery(model: xr.Dataset, config: Mapping, truth: Truth) -> xr.Dataset:
    """Compare every case of a sweep over noise with the truth.

    Dataset over (replicate, noise_mode, noise_level) of `exact`, whether the terms are
    the true ones modulo scale, gauge and identities; `worst_error`, the largest
    relative error of a true coefficient (1 if the term is missing, infinite for a wrong
    implicit equation).
    """
    if model.attrs.get("contract") == "implicit_model":
        exact, worst = _implicit_recovery(model, config)
    else:
        driven = is_driven(config)
        laws, true = law_of(model, truth), true_law(truth, driven)
        exact, worst = (np.zeros(laws.shape[:-1], kind) for kind in (bool, float))
        for case in np.ndindex(exact.shape):
            one = compare(laws[case], true, truth.library, fit_scale=not driven)
            exact[case], worst[case] = one.exact, one.worst
    coords = {name: model[name].values for name in CASES}
    data = {"exact": (CASES, exact), "worst_error": (CASES, worst)}
    return xr.Dataset(data, coords)


def _implicit_recovery(model: xr.Dataset, config: Mapping) -> tuple[np.ndarray, ...]:
    """Whether each equation has the terms of the only true relation, and its error.

    The largest of the coefficients, after their common factor is fitted; infinite where
    the terms are wrong. Both of shape (replicate, mode, level).
    """
    system = System.from_config(config["system"])
    library = ImplicitLibrary.from_config(config["library"], system.coordinates)
    estimate = model["coefficient_estimate"].sel(implicit_term=library.names)
    estimate = estimate.transpose(*CASES, "dof", "implicit_term").values
    worst = np.zeros(estimate.shape[:3])
    for a, members in enumerate(library.members):
        basis = library.truth(system, a)
        members = list(members)
        left = [members.index(k) for k in library.left_hand_sides(a)]
        relations: dict[tuple[int, ...], np.ndarray | None] = {}
        for case in np.ndindex(worst.shape):
            c = estimate[case][a, members]
            support = tuple(int(k) for k in np.flatnonzero(c))
            if support not in relations:
                relations[support] = true_relation(support, basis, left)
            worst[case] = max(worst[case], _worst_ratio(c, relations[support]))
    return np.isfinite(worst), worst


def _worst_ratio(estimate: np.ndarray, true: np.ndarray | None) -> float:
    """Largest relative error after the factor is fitted; infinite without a truth."""
    if true is None:
        return np.inf
    ratio = estimate[true != 0] / true[true != 0]
    return float(np.abs(ratio * ratio.sum() / (ratio**2).sum() - 1).max())


def coverage(model: xr.Dataset, config: Mapping, truth: Truth) -> xr.DataArray | None:
    """Whether ĉ ± 1.96 SE covers c, for every true coefficient that was estimated.

    Over (replicate, noise_mode, noise_level, candidate). A term that was not selected
    does not cover; NaN where the law has no standard errors at all, for the data do not
    identify its terms. None if no law has any.
    """
    driven = is_driven(config)
    law = true_law(truth, driven)
    true = np.flatnonzero(law)
    if not driven:
        true = true[true != truth.library.reference]
    values = (law_of(model, truth, kind)[..., true] for kind in ("estimate", "std"))
    estimates = Estimates((), *values, law[true])
    if not estimates.has_std:
        return None
    stated = np.isfinite(law_of(model, truth, "std")).any(-1, keepdims=True)
    return _by_candidate(
        model, truth, true, np.where(stated, estimates.covered, np.nan)
    )


def _by_candidate(model: xr.Dataset, truth: Truth, places, values) -> xr.DataArray:
    """Values of every case for the candidates at some places."""
    coords = {name: model[name].values for name in CASES}
    coords["candidate"] = np.array(candidate_names(truth))[places]
    return xr.DataArray(values, coords, dims=(*CASES, "candidate"))


class NoiseLimit(NamedTuple):
    """Where a method stops to find the right structure, as far as a sweep shows.

    `level` is the largest noise up to which every level done is managed, NaN if not
    even the lowest is; `above` the next level, which is not, infinite if the sweep ends
    before; `lowest` the lowest level done: of less noise nothing is known.
    """

    level: float
    above: float
    lowest: float

    @property
    def at_end(self) -> bool:
        """Whether the sweep ends at the limit."""
        return np.isinf(self.above)

    @property
    def between(self) -> tuple[float, float]:
        """Interval in which the limit lies; without noise there is none below."""
        return (0.0 if np.isnan(self.level) else self.level), self.above


def largest_noise(exact: xr.DataArray) -> NoiseLimit:
    """Largest noise up to which at least `MANAGED` of the replicates are right.

    Of `exact` over (replicate, noise_level), one mode.
    """
    share = exact.sortby("noise_level").mean("replicate")
    levels = [float(level) for level in share["noise_level"].values]
    managed = int(np.cumprod(share.values >= MANAGED).sum())
    above = levels[managed] if managed < len(levels) else np.inf
    return NoiseLimit(levels[managed - 1] if managed else np.nan, above, levels[0])


def is_replica(estimator: str) -> bool:
    """Whether an estimator is a paper's own recipe: ``published``, ``published_…``."""
    return estimator == BASELINE or estimator.startswith(f"{BASELINE}_")


def shown_mode(estimator: str, dataset: xr.Dataset) -> str:
    """Mode of the noise: the paper's for its own method, independent for all others.

    If a dataset does not have that mode, the first that it has.
    """
    modes = [str(mode) for mode in dataset["noise_mode"].values]
    shown = PAPER_MODE if estimator == BASELINE else HONEST_MODE
    return shown if shown in modes else modes[0]


def shown_case(estimator: str, dataset: xr.Dataset, level: float) -> xr.Dataset | None:
    """Case that stands for an estimator at a level; None if it was not done."""
    return at_level(dataset, shown_mode(estimator, dataset), level)


def at_level(dataset, mode: str, level: float):
    """One case of a dataset or an array, all replicates; None if it was not done."""
    levels = dataset["noise_level"].values
    near = np.flatnonzero(np.isclose(levels, level, rtol=1e-9, atol=0))
    if mode not in dataset["noise_mode"].values or not near.size:
        return None
    return dataset.sel(noise_mode=mode).isel(noise_level=int(near[0]))


def case_text(level: float, mode: str) -> str:
    """A case in words."""
    return f"sigma = {level:g}, {mode} noise"
