"""L learned with symmetries, and its odds against L without.

A symmetric L is a sum of :mod:`~leastaction.snapshots.invariant_features`, or one of
:mod:`~leastaction.snapshots.turned_features`. Its evidence and that of L without are of
the same linearised equations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from leastaction.core.symmetries import DECISIVE, Symmetry
from leastaction.snapshots.bases import WeightSpace
from leastaction.snapshots.discrete_euler_lagrange import highest
from leastaction.snapshots.discrete_lagrangian import pair_states, pairs
from leastaction.snapshots.errors_in_variables import (
    Fit,
    Linearisation,
    learned,
    relinearised,
)
from leastaction.snapshots.invariant_features import (
    adapted,
    even,
    invariant_sums,
    is_far,
)
from leastaction.snapshots.turned_features import TurnedFeatures, turned_features

# Invariant sums are few, so that features of a higher degree are affordable.
DEGREES_MORE = 2
# The time of a fit goes with their third power: .6 s with 1001 of Toda's chain of five,
# 7 s with 3003; its translation is found in 10 s of CPU, and was not in 80 s.
MOST_FEATURES = 1001
# What is imposed beside symmetries where odds decide for it, see :func:`parities`.
PARITIES = ("reversal", "mirror")


@dataclass(frozen=True, eq=False)
class SymmetricFits:
    """L without symmetries (`free`), and those with, learned from the same equations.

    What was learned is kept: a symmetry that the odds have decided for is imposed with
    the same fits.
    """

    free: Fit
    line: Linearisation
    _known: dict = field(default_factory=dict)

    @property
    def wide(self) -> WeightSpace:
        """Features of symmetric fits, up to two degrees more than the free one has.

        No more of them than `MOST_FEATURES` though.
        """
        basis = self.free.basis
        degrees = (basis.degree + more for more in range(DEGREES_MORE, 0, -1))
        richer = (replace(basis, degree=degree) for degree in degrees)
        return next((one for one in richer if one.size <= MOST_FEATURES), basis)

    def odds(self, symmetries: Sequence[Symmetry], others: float = 0.0) -> float:
        """Logarithm of the evidence of L with symmetries over that of L without.

        As where they are imposed, features of two degrees more have the symmetries:
        else what decides without noise is which features mend the truncation. NaN where
        two degrees more that mend as much again would mend all that denies the
        symmetries; where L without, of two degrees more, is better than these would
        make L with them, or better at all if rows are fewer than its features; and
        where polynomials about a far point are all that has them.
        -inf where no L with the symmetries could be learned. `others` are the log odds
        of those symmetries that L without these has.
        """
        basis, without = self.free.basis, self.free.log_evidence + others
        enough = without + DECISIVE
        richer = evidence(self.most_probable(symmetries, self.wide, enough))
        if np.isneginf(richer) or without < richer <= enough:
            return richer - without
        denied = richer <= without
        if denied and is_far(basis, symmetries) and not self._are_turned(symmetries):
            return np.nan
        rival = without if denied else self._enriched.log_evidence
        if not denied and rival >= richer:
            enough = rival + DECISIVE
            richer = evidence(self.most_probable(symmetries, self.wide, enough))
        if rival < richer:
            return richer - without
        if not denied and self.free.system.rows < self.wide.size:
            return np.nan
        poorer = evidence(self.most_probable(symmetries, basis))
        best = max(richer, poorer)
        mended = richer - poorer > rival - best
        return best - without if mended != denied else np.nan

    @cached_property
    def _enriched(self) -> Fit:
        """L without symmetries, with as high degrees as those with them have."""
        return learned(self.line, self.wide)

    def most_probable(
        self,
        symmetries: Sequence[Symmetry],
        basis: WeightSpace,
        enough: float = np.inf,
    ) -> Fit | None:
        """The most probable L with symmetries; None if no such L has a mass.

        Its features have a length scale of their own. What has `enough` evidence is as
        good as the best. Else the equations are linearised again about this L: a mode
        that moves freely has many Lagrangians, and those of another one weigh its
        errors wrongly.
        """
        best = self._likeliest(symmetries, self._features(symmetries, basis), enough)
        if best is not None and best.log_evidence < enough:
            best, _ = relinearised(self.line, best)
        return best

    def about(
        self, symmetries: Sequence[Symmetry], basis: WeightSpace
    ) -> tuple[Fit, Linearisation]:
        """The most probable L with symmetries, and the equations about its motion.

        What is learned beside this L belongs to these: about a poor L without
        symmetries they mix errors of its motion with a violation.
        """
        best = self._likeliest(symmetries, self._features(symmetries, basis))
        return relinearised(self.line, best)

    def imposed(
        self, symmetries: Sequence[Symmetry], basis: WeightSpace
    ) -> tuple[Fit, dict[str, float]]:
        """The most probable L with symmetries, and log odds of :func:`parities`.

        L has those that the odds decide for.
        """
        features = self._features(symmetries, basis)
        best, imposed_names = self._likeliest(symmetries, features), ()
        odds = dict.fromkeys(PARITIES, np.nan)
        for name in parities(features):
            other = self._likeliest(symmetries, features, parity=(*imposed_names, name))
            odds[name] = evidence(other) - evidence(best)
            if odds[name] > DECISIVE:
                best, imposed_names = other, (*imposed_names, name)
        return relinearised(self.line, best)[0], odds

    def _features(
        self, symmetries: Sequence[Symmetry], basis: WeightSpace
    ) -> WeightSpace | None:
        """Features in terms of which symmetries are exact: turned about a far point."""
        if is_far(basis, symmetries):
            states = pair_states(*pairs(self.line.measured), self.line.step_and_rule[0])
            turned = turned_features(basis, symmetries, states)
            if turned is not None:
                return turned
        return adapted(basis, symmetries)

    def _are_turned(self, symmetries: Sequence[Symmetry]) -> bool:
        """Whether features of turned states have the symmetries."""
        return isinstance(self._features(symmetries, self.free.basis), TurnedFeatures)

    def _likeliest(
        self,
        symmetries: Sequence[Symmetry],
        features: WeightSpace | None,
        enough: float = np.inf,
        parity: Sequence[str] = (),
    ) -> Fit | None:
        """Fits of several length scales, uphill in evidence until one has `enough`."""
        if features is None:
            return None
        key = (tuple(parity), features.degree, *(one.entries for one in symmetries))
        known = self._known.setdefault(key, {})
        turned = isinstance(features, TurnedFeatures)
        sums = np.eye(features.size) if turned else invariant_sums(features, symmetries)
        for name in parity:
            features, sums = even(features, sums, parities(features)[name])

        def height(scale: float) -> float:
            if scale not in known:
                scaled = replace(features, length_scale=scale)
                try:
                    known[scale] = learned(self.line, scaled, sums)
                except np.linalg.LinAlgError:  # conditions that nothing meets
                    known[scale] = None
            return evidence(known[scale])

        start = features.length_scale
        if height(start) < enough:
            highest(height, start, height(start))
        return max(known.values(), key=evidence)


def evidence(fit: Fit | None) -> float:
    """Logarithm of the evidence; -inf of no L."""
    return -np.inf if fit is None else fit.log_evidence


def parities(features: WeightSpace) -> dict[str, slice]:
    """Components of states that change sign under time reversal, and in a mirror.

    A mirror through the fixed point of a rotation changes the tangential velocity.
    """
    n = features.dof
    if isinstance(features, TurnedFeatures) and features.is_central:
        return {"reversal": slice(n, n + 1)}
    result = {"reversal": slice(n, 2 * n)}
    if isinstance(features, TurnedFeatures) and features.zero == 1:
        result["mirror"] = slice(n + 1, n + 2)
    return result
