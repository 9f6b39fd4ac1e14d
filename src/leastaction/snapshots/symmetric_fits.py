"""L learned with symmetries, and its odds against L without.

A symmetric L is a sum of :mod:`~leastaction.snapshots.invariant_features`. Its evidence
and that of L without are of the same linearised equations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from leastaction.core.symmetries import DECISIVE, Symmetry
from leastaction.snapshots.bases import WeightSpace
from leastaction.snapshots.discrete_euler_lagrange import highest
from leastaction.snapshots.errors_in_variables import (
    Fit,
    Linearisation,
    learned,
    relinearised,
)
from leastaction.snapshots.invariant_features import (
    adapted,
    invariant_sums,
    is_far,
    moves_centre,
)

# Invariant sums are few, so that features of a higher degree are affordable.
DEGREES_MORE = 2


@dataclass(frozen=True, eq=False)
class SymmetricFits:
    """L without symmetries (`free`), and those with, learned from the same equations.

    What was learned is kept: a symmetry that the odds have decided for is imposed with
    the same fits.
    """

    free: Fit
    line: Linearisation
    _known: dict = field(default_factory=dict)

    def odds(self, symmetries: Sequence[Symmetry], others: float = 0.0) -> float:
        """Logarithm of the evidence of L with symmetries over that of L without.

        As where they are imposed, features of two degrees more have the symmetries:
        else what decides without noise is which features mend the truncation. NaN where
        two degrees more that mend as much again would mend all that denies the
        symmetries. `others` are the log odds of those symmetries that L without these
        has.
        """
        basis, without = self.free.basis, self.free.log_evidence + others
        wide = replace(basis, degree=basis.degree + DEGREES_MORE)
        richer = evidence(self.most_probable(symmetries, wide, without + DECISIVE))
        if richer > without or np.isneginf(richer):
            return richer - without
        poorer = evidence(self.most_probable(symmetries, basis))
        best = max(richer, poorer)
        return np.nan if richer - poorer > without - best else best - without

    def most_probable(
        self,
        symmetries: Sequence[Symmetry],
        basis: WeightSpace,
        enough: float = np.inf,
    ) -> Fit | None:
        """The most probable L with symmetries; None if no such L has a mass.

        Its features have the symmetries exactly, about a fixed point, or as a Taylor
        series about the centre of the data where no fixed point is near, with a length
        scale of their own. What has `enough` evidence is as good as the best. Else the
        equations are linearised again about this L: a mode that moves freely has many
        Lagrangians, and those of another one weigh its errors wrongly.
        """
        choices = {"exact": adapted(basis, symmetries)}
        if is_far(basis, symmetries):
            choices["series"] = basis
        fits: list[Fit] = []
        for kind, features in choices.items():
            if features is not None and evidence(_best(fits)) < enough:
                key = (kind, basis.degree, *(one.entries for one in symmetries))
                known = self._known.setdefault(key, {})
                self._search(known, symmetries, features, enough)
                fits += known.values()
        best = _best(fits)
        if best is not None and best.log_evidence < enough:
            best, _ = relinearised(self.line, best)
        return best

    def _search(
        self,
        known: dict[float, Fit | None],
        symmetries: Sequence[Symmetry],
        basis: WeightSpace,
        enough: float,
    ) -> None:
        """Add fits by length scale to those `known`, uphill or until one is enough."""
        sums: list[np.ndarray] = []

        def height(scale: float) -> float:
            if scale not in known:
                features = replace(basis, length_scale=scale)
                # Where no symmetry moves the centre the sums hang on no length scale.
                if not sums or moves_centre(basis, symmetries):
                    sums[:] = [invariant_sums(features, symmetries)]
                try:
                    known[scale] = learned(self.line, features, sums[0])
                except np.linalg.LinAlgError:  # conditions that nothing meets
                    known[scale] = None
            return evidence(known[scale])

        first = height(basis.length_scale)
        if first < enough:
            highest(height, basis.length_scale, first)


def _best(fits: Sequence[Fit | None]) -> Fit | None:
    return max(fits, key=evidence, default=None)


def evidence(fit: Fit | None) -> float:
    """Logarithm of the evidence; -inf of no L."""
    return -np.inf if fit is None else fit.log_evidence
