"""Reservations about the law of a random motion: what each of its tests says."""

import json

import numpy as np
import pytest
import xarray as xr
from frames import LEVEL, frame, storeys
from scipy.stats import chi2

from leastaction.core.recipe import recommended
from leastaction.ensembles.innovations_estimate import undecided
from leastaction.ensembles.term_search import SearchResult
from leastaction.recordings.remarks import (
    doubts,
    is_lost,
    negative_losses,
    of_inputs,
    of_modes,
    predictability,
    random_force,
    remarks,
    reservations,
    sensor_noise,
)


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


def driven_law(**changes):
    """Dataset of a law of two coordinates; what changes, by name."""
    zeros = np.zeros((1, 2))
    values = {
        "dof": ("dof", ["a", "b"]),
        "term": ("term", ["adot**2", "sin(a)", "cos(a)", "b"]),
        "dissipation_term": ("loss", ["adot**2", "abs(bdot)"]),
        "coefficient_estimate": (("replicate", "term"), [[0.5, 0.0, -6.0, 3.0]]),
        "coefficient_std": (("replicate", "term"), [[0.0, 0.0, 6e-3, 0.03]]),
        "dissipation_coefficient_estimate": (("replicate", "loss"), [[0.2, 0.1]]),
        "dissipation_coefficient_std": (("replicate", "loss"), [[1e-3, 2e-3]]),
        "amplitude_range": (("replicate", "dof", "end"), [[[1.0, 2.0], [0.5, 1.0]]]),
        "column_position": (("replicate", "column"), [[2, 4]]),
        "horizon_difference": (("replicate", "column"), np.zeros((1, 2))),
        "missed_force": (("replicate", "dof"), zeros),
        "input_degree": ("replicate", [5]),
        "corrections": ("replicate", ["{}"]),
    }
    for what in ("lag", "time_constant", "gain"):
        values[f"input_{what}"] = ("replicate", "dof"), zeros + (what == "gain")
        values[f"input_{what}_std"] = ("replicate", "dof"), zeros + np.nan
    numbers = {"period": 1.0, "free_run_ratio": 1.0, "missed_tone": np.nan}
    numbers |= {"memory_ratio": 0.0, "converged": 1, "blocks": 1000}
    numbers |= {"criterion_value": -5.0, "kurtosis": 0.1}
    values |= {k: ("replicate", [x]) for k, x in numbers.items()}
    data = xr.Dataset(values)
    for name, value in changes.items():
        shape = data[name].shape
        new = np.broadcast_to(np.array(value), shape)
        data[name] = data[name].dims, new
    return data


def rolled(error=1e-3, force=None):
    """Rollout of both coordinates."""
    data = {"rms_error": (("replicate", "trajectory", "dof"), [[[1e-3, error]]])}
    if force is not None:
        data["force_error"] = ("replicate", "dof"), [force]
    return xr.Dataset(data)


@pytest.mark.parametrize(
    ("changes", "force", "lost"),
    [
        ({}, None, False),
        ({"missed_force": [[0.0, 0.31]]}, None, False),
        ({"missed_force": [[0.0, 0.32]]}, None, True),  # a tenth of its power
        ({}, [0.31, np.nan], False),
        ({}, [0.32, np.nan], True),
        # The recorded force tells, of the coordinate that has one.
        ({"missed_force": [[0.9, 0.0]]}, [0.0, np.nan], False),
        ({"missed_force": [[0.0, 0.9]]}, [0.0, np.nan], True),
        ({"criterion_value": np.inf}, None, True),
    ],
)
def test_a_law_that_misses_a_tenth_of_the_power_is_lost(changes, force, lost):
    assert is_lost(driven_law(**changes), rolled(force=force)) is lost


@pytest.mark.parametrize(
    ("error", "band", "time", "reserved", "limited"),
    [
        (0.3, 0.31, 6.2, False, True),
        (0.3, 0.29, 6.2, True, False),  # more than its start explains
        (0.3, 0.31, np.inf, True, False),  # coefficients alone are uncertain
        (0.04, 0.31, 6.2, False, False),
        (np.inf, np.inf, 6.2, False, True),
        (0.3, np.nan, 6.2, True, False),
    ],
)
def test_a_run_that_noise_of_its_start_leads_astray_is_no_fault_of_the_law(
    error, band, time, reserved, limited
):
    rollout = rolled(error).assign(rms_band=rolled(band)["rms_error"])
    rollout["prediction_time"] = "trajectory", [time]
    texts = reservations(driven_law(), rollout)
    assert [text.startswith("a free run is off") for text in texts] == [True] * reserved
    assert (
        predictability(rollout).startswith("free runs are predictable for 6.2 s")
        == limited
    )
    assert bool(predictability(rollout)) == limited


RESERVED = [
    ({}, {}, ""),
    ({"kurtosis": 2.9}, {}, ""),
    ({"kurtosis": 3.1}, {}, "a few samples are far off"),
    ({"converged": 0}, {}, "did not converge"),
    ({}, {"force": [0.049, np.nan]}, ""),
    ({}, {"force": [0.051, np.nan]}, "misses 5.1 % of the recorded force"),
    ({}, {"force": [0.2, np.inf]}, "diverges in every short window"),
    ({}, {"error": 0.049}, ""),
    ({}, {"error": 0.051}, "off by 5.1 % rms"),
    # Half an interval is 1.962 standard errors; a damper may hold zero.
    ({"coefficient_std": [[0, 0, 3.05, 0]]}, {}, ""),
    ({"coefficient_std": [[0, 0, 3.06, 0]]}, {}, "of cos(a) of L includes zero"),
    ({"coefficient_std": [[0, 9, 0, 0]]}, {}, ""),
    ({"dissipation_coefficient_std": [[9, 0]]}, {}, ""),
    ({"dissipation_coefficient_std": [[0, 9]]}, {}, "of abs(bdot) of D includes zero"),
    # The most certain coefficient has ± 0.196 %; it counts beyond √2 of the noise.
    ({"free_run_ratio": 1.42, "missed_force": [[0, 1.9e-3]]}, {}, ""),
    (
        {"free_run_ratio": 1.42, "missed_force": [[0, 2e-3]]},
        {},
        "misses 0.20 % of the force, and free runs of the training data err by 1.4",
    ),
    ({"free_run_ratio": 1.41, "missed_force": [[0, 2e-3]]}, {}, ""),
    (
        {"free_run_ratio": np.inf, "missed_force": [[0, 2e-3]]},
        {},
        "free runs of the training data do not test",
    ),
    ({"free_run_ratio": 2.0, "missed_tone": 3.0}, {}, "a tone of 3 Hz"),
    ({"free_run_ratio": 1.0, "missed_tone": 3.0}, {}, ""),
    ({"memory_ratio": 1.0}, {}, ""),
    ({"memory_ratio": 1.01}, {}, "depends on earlier states"),
    # Twice the difference, a tenth of the coefficient.
    ({"horizon_difference": [[0.299, 0.0]]}, {}, ""),
    (
        {"horizon_difference": [[0.301, 0.0]]},
        {},
        "the coefficient of cos(a) of L differs by 10 %",
    ),
    ({"horizon_difference": [[0.0, 9.0]]}, {}, ""),
    (
        {"column_position": [[1, 5]], "horizon_difference": [[9.0, 6e-3]]},
        {},
        "abs(bdot) of D differs by 12 %",
    ),
]


@pytest.mark.parametrize("case", range(len(RESERVED)))
def test_each_reservation_has_its_threshold(case):
    changes, about, words = RESERVED[case]
    texts = reservations(driven_law(**changes), rolled(**about))
    assert len(texts) == bool(words)
    assert all(words in text for text in texts)


def test_a_memory_makes_what_is_missed_matter():
    changes = {"memory_ratio": 2.0, "free_run_ratio": 2.0}
    assert len(reservations(driven_law(**changes), rolled())) == 2


REMARKED = [
    ({}, {}, []),
    ({"input_degree": 1}, {}, ["inputs are taken as straight lines"]),
    (
        {"input_lag": [[2e-3, 2e-3]], "input_lag_std": 1e-3},
        {},
        ["inputs of a and b act 2.0 ± 2.0 ms after"],
    ),
    (
        {"input_lag": [[2e-3, -4e-3]], "input_lag_std": [[1e-3, 2e-3]]},
        {},
        ["the input of a acts 2.0 ± 2.0 ms after", "input of b acts 4.0 ± 3.9 ms befo"],
    ),
    (
        {"input_time_constant": [[0.1, 0.2]], "input_time_constant_std": 1e-3},
        {"b": {"time_constant": "unknown", "lag": 0.5}},
        ["the time constant (s) of the input of b is 0.2000 ± 0.0020"],
    ),
    ({}, {"a": {"lag": "unknown"}}, ["the lag (s) of the input of a could not be fo"]),
    (
        {"input_gain": [[2.0, 5.0]], "input_gain_std": 0.01},
        {"b": {"offset": "unknown", "gain": "unknown"}},
        [
            "the gain (SI units) of the input of b is 5.000 ± 0.020",
            "the offset of the input of b (SI units) is -0.600 ± 0.012",
        ],
    ),
    (
        {"coefficient_estimate": [[0.5, 0, -6, 0]]},
        {"b": {"offset": "unknown"}},
        ["no offset of the input of b is seen"],
    ),
    (
        {"corrections": '{"a**3": [0.5, 0.1]}'},
        {},
        ["corrections beside the law: a**3 0.50 ± 0.20 improve"],
    ),
    (
        {"dissipation_coefficient_estimate": [[-2e-3, 0]]},
        {},
        ["the damping adot**2 is negative"],
    ),
    ({"dissipation_coefficient_estimate": [[-1.9e-3, 0]]}, {}, []),
    (
        {"coefficient_estimate": [[0.5, 0.59, -6, 0]]},
        {},
        ["the zero of a is off by -5.6 degrees"],
    ),
    ({"coefficient_estimate": [[0.5, 0.61, -6, 0]]}, {}, []),
    ({"coefficient_estimate": [[0.5, 0.5, 0, 0]]}, {}, []),
]


@pytest.mark.parametrize("case", range(len(REMARKED)))
def test_remarks_about_inputs_and_losses(case):
    changes, stated, words = REMARKED[case]
    observations = xr.Dataset(attrs={"inputs": json.dumps(stated)})
    texts = remarks(driven_law(**changes), observations)
    assert len(texts) == len(words), texts
    for text, expected in zip(texts, words, strict=True):
        assert expected in text


def test_a_negative_loss_beside_a_larger_one_feeds_nothing():
    """q̇·∂D/∂q̇ = 2 c v² + 4 d v⁴ with |v| up to 2π q/T."""
    rate = 2 * np.pi * 2.0
    for share, fed in ((0.9, True), (1.1, False)):
        law = driven_law(
            dissipation_coefficient_estimate=[[2 * rate**2 * share, -1.0]],
            dissipation_coefficient_std=0.0,
        )
        law["dissipation_term"] = "loss", ["adot**2", "adot**4"]
        assert negative_losses(law) == ["adot**4"] * fed
    law["dissipation_term"] = "loss", ["adot**2", "adot*abs(a)"]  # not even
    law["dissipation_coefficient_estimate"] = ("replicate", "loss"), [[0.0, -1.0]]
    assert negative_losses(law) == []


def shaken(law, **changes):
    return law.assign(
        {k: law[k].copy(data=np.full(law[k].shape, v)) for k, v in changes.items()}
    )


DOUBTED = [
    ({"simulated_size": 9.9}, ""),
    ({"simulated_size": 10.1}, "as far as what was recorded"),
    ({"simulated_size": 0.101}, ""),
    ({"simulated_size": 0.099}, "as far as what was recorded"),
    ({"simulated_size": np.inf}, "inf times as far"),
    ({"simulated_size": np.nan}, ""),
    ({"identifiability": "a"}, "not identifiable"),
    ({"confounded": "a, b"}, "dampers or forces"),
    ({"converged": 0}, "did not settle"),
    ({"undecided_p_value": 0.021}, ""),
    ({"undecided_p_value": 0.019}, "undecided: "),
    ({"alternatives": "b"}, "another law fits nearly"),
    ({"colour_ratio": 9.5}, ""),
    ({"colour_ratio": 9.6}, "has a memory"),
    ({"colour_ratio": 9.6, "correlation_time_estimate": 1.0}, ""),
    ({"memory_score": -3.08}, ""),
    ({"memory_score": -3.1}, "folded"),
    ({"whiteness_p_value": 1.1e-3}, ""),
    ({"whiteness_p_value": 9e-4, "predicted_share": 0.0}, "p = 0.0009): a mode"),
    ({"whiteness_p_value": 9e-4, "predicted_share": 0.07}, "predict 7 % of their po"),
    ({"line_p_value": 1.1e-3, "line_frequency": 0.1}, ""),
    # Three periods in the record of 4000 s.
    ({"line_p_value": 9e-4, "line_frequency": 2.9 / 4000}, "drifts"),
    ({"line_p_value": 9e-4, "line_frequency": 3.1 / 4000}, "a tone acts"),
    ({"impulse_score": 3.9}, ""),
    ({"impulse_score": 4.1, "impulse_part": 0.49}, "intervals allow"),
    ({"impulse_score": 4.1, "impulse_part": 0.51}, "no finite variance"),
    ({"kurtosis": 9.0}, ""),
    ({"impulse_score": np.nan, "kurtosis": 0.49}, ""),
    ({"impulse_score": np.nan, "kurtosis": 0.51}, "not Gaussian"),
    ({"order_disagreement": 4.9}, ""),
    ({"order_disagreement": 5.1}, "disagree by 5.1"),
]


@pytest.mark.parametrize("case", range(len(DOUBTED)))
def test_each_doubt_has_its_threshold(case, law):
    changes, words = DOUBTED[case]
    texts = doubts(shaken(law, **{"impulse_score": 0.0} | changes))
    assert len(texts) == bool(words), texts
    assert all(words in text for text in texts)


def test_impulses_have_their_times(law):
    some = {"impulse_score": 9.0, "impulse_part": 0.1}
    data = shaken(law, **some).drop_vars(["impulse_trajectory", "impulse_time"])
    data["impulse_trajectory"] = "impulse", [1, 0]
    data["impulse_time"] = "impulse", [2.5, 7.0]
    (text,) = doubts(data)
    assert "the largest at 7, 2.5 s" in text
    several = data["innovation_trajectory"].values.copy()
    several[:10] = 1
    data["innovation_trajectory"] = data["innovation_trajectory"].dims, several
    (text,) = doubts(data)
    assert "the largest at 7 (trajectory 1), 2.5 (trajectory 2) s" in text


def test_a_lag_is_that_of_inputs_without_a_stated_one():
    about = {"input_gain_estimate": 5.0, "input_gain_std": 0.01}
    model = xr.Dataset(about | {"input_lag_estimate": 2e-3, "input_lag_std": 1e-3})
    force = np.zeros((1, 4, 3))
    force[0, 2, :2] = 1.0
    stated = {"a": {"lag": 0.0}, "b": {"gain": "unknown"}}
    observations = xr.Dataset(
        {"input": (("replicate", "sample", "dof"), force)},
        {"dof": ["a", "b", "c"]},
        {"inputs": json.dumps(stated)},
    )
    late, gain = of_inputs(model, observations)
    assert "input of b acts 2.0 ± 2.0 ms after" in late
    assert gain == "the gain (SI units) of the input of b is 5.000 ± 0.020"
    model["input_lag_estimate"] = 0.0
    observations.attrs["inputs"] = "{}"
    assert of_inputs(model, observations) == []


def test_modes_that_a_law_lacks_are_named():
    def found(*frequencies, kind="mode"):
        kinds = ["tone" if f < 0 else kind for f in frequencies]
        values = {"frequency": ("mode", np.abs(frequencies)), "kind": ("mode", kinds)}
        return xr.Dataset(values)

    (text,) = of_modes(None, found(1.0, 2.0, -2.9, 4.0), found(3.8, 1.1))
    assert "show 3 modes, the law has 2: it lacks those at 2 Hz" in text
    assert of_modes(None, found(1.0, -2.0), found(1.0)) == []
    assert of_modes(None, None, found(1.0)) == of_modes(None, found(1.0), None) == []


def test_what_is_said_of_a_random_force_and_its_sensors():
    data = xr.Dataset(
        {
            "volatility_estimate": ("dof", [2.0, 0.1]),
            "volatility_std": ("dof", [0.1, 0.1]),
            "force_bound": ("dof", [np.nan, 0.3]),
            "correlation_time_estimate": 0.0,
            "correlation_time_std": 0.01,
            "sensor_noise_estimate": ("channel", [2.0, 0.1]),
            "sensor_noise_std": ("channel", [0.1, 0.11]),
        },
        {"dof": ["a", "b"], "channel": ["p", "q"]},
    )
    assert random_force(data) == (
        "Random force: 2.00 ± 0.20 on a, none above 0.3 on b (95 %); it is white. "
    )
    assert sensor_noise(data) == "`p` 2.00 ± 0.20, `q` none"
    data["correlation_time_estimate"] = 0.5
    assert random_force(data).endswith("; it has a memory of 0.500 ± 0.020 s. ")
    data["force_bound"] = "dof", [0.4, 0.3]
    assert random_force(data).endswith("none above 0.3 on b (95 %). ")
