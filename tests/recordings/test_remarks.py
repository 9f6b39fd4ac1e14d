"""Reservations about the law of a random motion: what each of its tests says."""

import numpy as np
import pytest
import xarray as xr
from frames import LEVEL, frame, storeys
from scipy.stats import chi2

from leastaction.core.recipe import recommended
from leastaction.ensembles.innovations_estimate import undecided
from leastaction.ensembles.term_search import SearchResult
from leastaction.recordings.remarks import doubts, reservations


def law_of(samples_per_period):
    """One lightly damped mode, sampled once a second with noise of a tenth of it."""
    rate, ratio = 2 * np.pi / samples_per_period, 0.01
    loss = 2 * ratio * rate
    noise = 0.1 * LEVEL / np.sqrt(2 * loss * rate**2)
    data = frame([rate**2], [loss], ("a",), noise, 4000, 1.0, seed=1)
    recipe = recommended("shaken measurements")
    return recipe.fit(data, storeys(1), progress=False).dataset


@pytest.fixture(scope="module")
def law():
    return law_of(11.0)


def test_samples_folded_from_beyond_half_the_sampling_rate_are_seen(law):
    """They have about the frequency of another mode, but not its force."""
    folded = law_of(1.1)
    found, other = (x["coefficient_estimate"].sel(term="a**2") for x in (law, folded))
    assert float(other) == pytest.approx(float(found), rel=0.2)
    assert doubts(law) == [] and abs(float(law["memory_score"])) < 3
    (text,) = [text for text in doubts(folded) if "folded" in text]
    assert "z = -" in text


def test_few_candidates_that_are_left_are_judged_by_themselves():
    """The last one of a library beside thirty further ones."""
    fit = None
    for first, other, place in ((9.7, 6.0, 0), (3.0, 18.0, 4)):
        scores = np.array([first, 0.5, 0.1, 2.0, other, *[1.0] * 26])
        found = SearchResult(fit, [*range(31)], 1, scores, 15.7, "", (), 0.0, 0.0)
        p, found_place = undecided(found)
        assert found_place == place
        assert p == pytest.approx((1 if place == 0 else 31) * chi2.sf(scores[place], 1))


@pytest.mark.parametrize(
    ("score", "chance", "said"),
    [(20.0, 1e-4, "a term is missing"), (11.9, 0.01, "undecided"), (5.0, 0.3, "")],
)
def test_a_term_that_may_be_missing_is_named(law, score, chance, said):
    values = {"best_absent_score": score, "undecided_p_value": chance}
    values |= {"term_penalty": 15.7, "undecided_term": "D: adot**4"}
    values |= {"best_absent_term": "D: adot**4"}
    changed = {
        name: law[name].copy(data=np.full(law[name].shape, value))
        for name, value in values.items()
    }
    texts = doubts(law.assign(changed))
    assert len(texts) == bool(said)
    assert all(text.startswith(said) and "D: adot**4" in text for text in texts)


def turning_one_way(friction):
    """A rotor that turns one way, with a dry friction: dataset and rollout."""
    zero = np.zeros((1, 1))
    values = {
        "dof": ("dof", ["phi"]),
        "term": ("term", ["phidot**2", "cos(phi)"]),
        "dissipation_term": ("loss", ["abs(phidot)", "phidot**2"]),
        "coefficient_estimate": (("replicate", "term"), [[0.5, -6.0]]),
        "coefficient_std": (("replicate", "term"), [[0.0, 1e-3]]),
        "dissipation_coefficient_estimate": (("replicate", "loss"), [[friction, 0.1]]),
        "dissipation_coefficient_std": (("replicate", "loss"), [[1e-3, 1e-3]]),
        "amplitude_range": (("replicate", "dof", "end"), [[[9.0, 10.0]]]),
        "column_position": (("replicate", "column"), [[0, 1, 2, 3]]),
        "horizon_difference": (("replicate", "column"), np.zeros((1, 4))),
        "missed_force": (("replicate", "dof"), zero),
    }
    numbers = {"period": 1.0, "free_run_ratio": 1.0, "missed_tone": np.nan}
    numbers |= {"memory_ratio": 0.0, "converged": 1, "blocks": 1000}
    values |= {k: ("replicate", [x]) for k, x in numbers.items()}
    rollout = xr.Dataset({"rms_error": ("dof", [1e-3])})
    return xr.Dataset(values), rollout


@pytest.mark.parametrize(("friction", "said"), [(3.0, []), (-3.0, ["abs(phidot)"])])
def test_a_dry_friction_that_pushes_is_a_constant_force(friction, said):
    """Of a joint that turns one way no data tell them apart but by their sign."""
    texts = reservations(*turning_one_way(friction))
    assert len(texts) == len(said)
    assert all(name in text for name, text in zip(said, texts, strict=True))
