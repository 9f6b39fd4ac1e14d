"""Odds of symmetries: which comparison decides, which features, which parities."""

from types import SimpleNamespace

import numpy as np
import pytest

from leastaction.core.symmetries import DECISIVE
from leastaction.snapshots import symmetric_fits
from leastaction.snapshots.bases import WeightSpace
from leastaction.snapshots.symmetric_fits import SymmetricFits, evidence, parities
from leastaction.snapshots.turned_features import TurnedFeatures

FREE = 100.0  # log evidence of L without symmetries
SURE = DECISIVE + 1.0


def space(dof: int, degree: int) -> WeightSpace:
    return WeightSpace(degree, 5.0, np.eye(2 * dof), np.zeros(2 * dof))


def fit(value):
    return None if value is None else SimpleNamespace(log_evidence=value)


class Given(SymmetricFits):
    """Evidence of each fit as given: with two degrees more, without, and as many."""

    def __init__(self, wider, enriched, poorer, turned=False, rows=10_000):
        system = SimpleNamespace(rows=rows)
        free = SimpleNamespace(log_evidence=FREE, basis=space(1, 4), system=system)
        super().__init__(free, None)
        self.__dict__["_enriched"] = fit(enriched)
        self.__dict__["values"] = wider, poorer, turned
        self.__dict__["asked"] = []

    def most_probable(self, symmetries, basis, enough=np.inf):
        wider, poorer, _ = self.values
        if basis.degree == 4:
            return fit(poorer)
        self.asked.append(enough)
        return fit(wider[min(len(self.asked), len(wider)) - 1])

    def _are_turned(self, symmetries):
        return self.values[2]


@pytest.mark.parametrize(
    ("wider", "enriched", "poorer", "others", "odds"),
    [
        ([None], 0, 0, 0, -np.inf),
        # Between without and what is enough nothing else is compared.
        ([FREE + 2], FREE + 99, 0, 0, 2),
        ([FREE + DECISIVE], FREE + 99, 0, 0, DECISIVE),
        ([FREE + 2], FREE + 99, 0, 1.5, 0.5),
        # Enough: more than two degrees more give L without the symmetries.
        ([FREE + SURE], FREE + SURE - 1, 0, 0, SURE),
        # Else again, with as much as that as enough, and better than it.
        ([FREE + SURE, FREE + 20], FREE + 19, 0, 0, 20),
        # Features mend more with the symmetries than without.
        ([FREE + SURE], FREE + SURE + 3, FREE + 2, 0, SURE),
        ([FREE + SURE], FREE + SURE + 3, FREE + SURE - 2, 0, np.nan),
        ([FREE + SURE], FREE + SURE + 3, FREE + SURE + 2, 0, np.nan),
        # Denied, unless as much again would mend all that denies them.
        ([FREE - 50], 0, FREE - 60, 0, -50),
        ([FREE - 50], 0, FREE - 101, 0, np.nan),
        ([FREE], 0, FREE - 1, 0, np.nan),
        ([FREE - 50], 0, FREE - 40, 0, -40),
    ],
)
def test_odds_are_those_of_features_that_do_not_mend_the_truncation(
    wider, enriched, poorer, others, odds
):
    fits = Given(wider, enriched, poorer)
    made = fits.odds([], others)
    assert made == pytest.approx(odds, abs=1e-9, nan_ok=True)
    assert fits.asked[0] == pytest.approx(FREE + others + DECISIVE)
    if len(wider) > 1:
        assert fits.asked[1] == pytest.approx(enriched + DECISIVE)


def test_fewer_rows_than_features_decide_nothing_by_more_of_them():
    given = [FREE + SURE], FREE + SURE + 3, FREE + 2
    size = space(1, 6).size
    assert Given(*given, rows=size).odds([]) == pytest.approx(SURE)
    assert np.isnan(Given(*given, rows=size - 1).odds([]))
    denied = [FREE - 50], 0, FREE - 60
    assert Given(*denied, rows=2).odds([]) == pytest.approx(-50)


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_polynomials_about_a_far_point_deny_nothing(far, turned, monkeypatch):
    monkeypatch.setattr(symmetric_fits, "is_far", lambda *_: far)
    denied = Given([FREE - 50], 0, FREE - 60, turned=turned).odds([])
    assert denied == pytest.approx(np.nan if far and not turned else -50, nan_ok=True)
    for_them = Given([FREE + SURE], FREE, 0, turned=turned).odds([])
    assert for_them == pytest.approx(SURE)


@pytest.mark.parametrize(
    ("dof", "degree", "wide"), [(1, 4, 6), (3, 5, 6), (3, 6, 6), (2, 9, 10), (2, 8, 10)]
)
def test_symmetric_fits_have_two_degrees_more_of_a_thousand_features(dof, degree, wide):
    """As many as C(2n + d, d) of degree d; 1001 are not too many."""
    free = SimpleNamespace(basis=space(dof, degree))
    made = SymmetricFits(free, None).wide
    assert made.degree == wide and (made.size <= 1001 or wide == degree)
    assert made.length_scale == 5.0


def test_no_lagrangian_has_no_evidence():
    assert evidence(None) == -np.inf and evidence(fit(3.0)) == 3.0


class Turned(TurnedFeatures):
    """Turned features, by what their parities depend on."""

    def __init__(self, dof, central, zero):
        self.dof, self.central, self.first_zero = dof, central, zero

    is_central = property(lambda self: self.central)
    zero = property(lambda self: self.first_zero)


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (space(2, 2), {"reversal": slice(2, 4)}),
        (Turned(2, False, 1), {"reversal": slice(2, 4), "mirror": slice(3, 4)}),
        (Turned(3, False, 2), {"reversal": slice(3, 6)}),
        (Turned(3, True, 1), {"reversal": slice(3, 4)}),
    ],
)
def test_components_that_change_sign(features, expected):
    assert parities(features) == expected


@pytest.fixture
def scales(monkeypatch):
    """Fits whose evidence is a parabola of the log of the length scale, by parity."""
    tops = {(): 10.0, ("reversal",): 30.0, ("reversal", "mirror"): 31.0}
    asked = []

    def even(features, sums, axes):
        return features, (*sums, "mirror" if axes == slice(3, 4) else "reversal")

    def learned(line, features, sums):
        asked.append((features.length_scale, sums))
        if features.length_scale < 2:
            raise np.linalg.LinAlgError
        value = tops.get(sums, 0.0) - np.log(features.length_scale / 12) ** 2
        return SimpleNamespace(log_evidence=value, scale=features.length_scale)

    both = {"reversal": slice(2, 4), "mirror": slice(3, 4)}
    monkeypatch.setattr(symmetric_fits, "learned", learned)
    monkeypatch.setattr(symmetric_fits, "invariant_sums", lambda *_: ())
    monkeypatch.setattr(symmetric_fits, "adapted", lambda basis, _: basis)
    monkeypatch.setattr(symmetric_fits, "even", even)
    monkeypatch.setattr(symmetric_fits, "parities", lambda _: both)
    monkeypatch.setattr(symmetric_fits, "relinearised", lambda _, one: (one, None))
    return tops, asked


def test_a_fit_goes_uphill_in_its_length_scale_once(scales):
    _, asked = scales
    fits = SymmetricFits(SimpleNamespace(basis=space(2, 2)), None)
    best = fits.most_probable([], space(2, 2))
    assert best.log_evidence == max(10 - np.log(scale / 12) ** 2 for scale, _ in asked)
    count = len(asked)
    assert fits.most_probable([], space(2, 2)) is best and len(asked) == count
    other = SymmetricFits(SimpleNamespace(basis=space(2, 2)), None)
    enough = 10 - np.log(5 / 12) ** 2 - 0.1
    assert other.most_probable([], space(2, 2), enough).scale == 5.0
    assert len(asked) == count + 1  # the first one is enough


def test_parities_are_imposed_that_the_odds_decide_for(scales):
    tops, _ = scales
    best, odds = SymmetricFits(SimpleNamespace(basis=space(2, 2)), None).imposed(
        [], space(2, 2)
    )
    assert odds == {"reversal": pytest.approx(20.0), "mirror": pytest.approx(1.0)}
    assert best.log_evidence == pytest.approx(30, abs=1.0)
    tops["reversal", "mirror"] = 30 + SURE
    best, odds = SymmetricFits(SimpleNamespace(basis=space(2, 2)), None).imposed(
        [], space(2, 2)
    )
    assert odds["mirror"] == pytest.approx(SURE)
    assert best.log_evidence > 30 + SURE - 1.0


def test_features_that_no_symmetry_has_make_no_fit(monkeypatch):
    monkeypatch.setattr(symmetric_fits, "is_far", lambda *_: False)
    monkeypatch.setattr(symmetric_fits, "adapted", lambda *_: None)
    fits = SymmetricFits(SimpleNamespace(basis=space(1, 2)), None)
    assert fits.most_probable([], space(1, 2)) is None
