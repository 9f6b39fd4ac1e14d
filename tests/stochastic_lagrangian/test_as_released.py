"""The random numbers and the recipe of the scripts that Tripura et al. released."""

from pathlib import Path

import numpy as np
import pytest
from project import PAPER, ROOT
from stages import differentiate
from support import OSCILLATOR_LIBRARY, observe, oscillator, recommended

from leastaction.core.method import step
from leastaction.core.recipe import Recipe
from leastaction.core.system import System
from leastaction.ensembles.strong_taylor import legacy_noise
from leastaction_papers.configuration.config import read_yaml, with_variants
from leastaction_papers.configuration.jobs import is_random
from leastaction_papers.stochastic_lagrangian.ensemble_mean import (
    mean_square_lagrangian,
    mean_square_residual,
)

SQUARES = [{"terms": ["x**2", "x**4"]}]


def as_released(name):
    path = Path(ROOT, "config", "examples", PAPER, f"{name}.yaml")
    return dict(with_variants(name, read_yaml(path)))[f"{name}-as_released"]


def identified(name):
    """Model of the published recipe on the released random numbers."""
    example = as_released(name)
    observations = step("simulate", example["simulate"])(
        System.from_config(example["system"]),
        example=name,
        seed=1,
        replicate=0,
        units={q: c["unit"] for q, c in example["system"]["coordinates"].items()},
    )
    recipe = Recipe(**example["estimators"]["published"])
    return recipe.dataset(observations, example["library"]).isel(replicate=0)


@pytest.mark.parametrize(
    ("name", "coefficients", "volatility"),
    [
        ("duffing", {"x**2": -0.5 * 999.3567, "x**4": -0.5 * 2502.3122}, 1.138303),
        ("pendulum", {"cos(theta)": 9.808765}, 0.117196),
    ],
)
def test_printed_numbers_digit_by_digit(name, coefficients, volatility):
    """999.35, 2502.31, 9.80 and 0.11, cut off; not the 1.03 of Duffing."""
    model = identified(name)
    support = set(model["term"].values[model["support"].values.astype(bool)])
    reference = as_released(name)["library"]["reference"].removesuffix("/2")
    assert support == {reference, *coefficients}
    for term, value in coefficients.items():
        found = float(model["coefficient_estimate"].sel(term=term))
        assert found == pytest.approx(value, abs=5e-5)
    assert float(model["volatility_estimate"][0]) == pytest.approx(volatility, abs=1e-6)


def test_the_stream_is_that_of_the_released_scripts():
    """One seed, then two numbers per step, trajectory by trajectory."""
    rng = np.random.RandomState(0)
    expected = np.array([[rng.normal(0, 1, 2) for _ in range(7)] for _ in range(5)])
    whole = legacy_noise(0, 1, 7)(range(5))(7)
    np.testing.assert_array_equal(whole[:, :, 0], expected.transpose(2, 1, 0))


def test_the_stream_is_continued_and_begins_anew():
    noise = legacy_noise(3, 2, 10)
    whole = noise(range(6))(10)
    draw = noise(range(2, 5))
    parts = np.concatenate([draw(steps) for steps in (1, 7, 2)], axis=1)
    np.testing.assert_array_equal(parts, whole[..., 2:5])


def test_a_fixed_seed_is_not_random():
    assert not is_random(as_released("duffing"))


def test_one_sided_differences_at_the_ends():
    """Inside they are central ones; at the ends exact for a parabola."""
    paths = observe(oscillator(sigma=0.0), trajectories=1, steps=40)
    time = paths["time"].values
    paths["qdot"] = paths["qdot"].copy(data=(time**2)[None, None, :, None])
    inner, whole = (
        differentiate(
            paths, {"method": "central_difference", "ends": ends}, OSCILLATOR_LIBRARY
        )
        for ends in (False, True)
    )
    assert whole.sizes["time"] == inner.sizes["time"] + 2
    term = list(whole["term"].values).index("xdot**2")
    rate = whole["momentum_rate"].values[0, 0, :, term]
    np.testing.assert_allclose(rate, 4 * time, atol=1e-9)
    np.testing.assert_allclose(
        whole["momentum_rate"].values[0, :, 1:-1],
        inner["momentum_rate"].values[0],
        atol=1e-9,
    )


@pytest.fixture(scope="module")
def found():
    """Paths of an oscillator and its Lagrangian."""
    paths = observe(oscillator(), trajectories=10, steps=2000)
    return paths, recommended(paths, OSCILLATOR_LIBRARY).lagrangian


def test_of_the_square_alone_it_is_the_published_diagnostic(found):
    library = OSCILLATOR_LIBRARY | {"volatility": SQUARES}
    high = {"threshold": 0.0}
    plain = mean_square_residual(*found, high, library)
    library["volatility"] = [{"terms": ["x**2"]}]
    value = mean_square_lagrangian(*found, high, library).volatility
    expected = plain.diagnostics["volatility_of_lagrangian"][0]
    np.testing.assert_allclose(value, expected)


def test_a_threshold_leaves_nothing(found):
    library = OSCILLATOR_LIBRARY | {"volatility": SQUARES}
    result = mean_square_lagrangian(*found, {"threshold": 1e9}, library)
    assert result.volatility.tolist() == [0.0]
    assert not result.coefficients.any()


def test_the_square_of_a_coordinate_is_needed(found):
    library = OSCILLATOR_LIBRARY | {"volatility": [{"terms": ["x"]}]}
    with pytest.raises(ValueError, match=r"library.volatility lacks x\*\*2"):
        mean_square_lagrangian(*found, {"threshold": 0.0}, library)
