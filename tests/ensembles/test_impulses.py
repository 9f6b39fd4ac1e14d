"""Impulses of the random force that a matched filter of innovations sees."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.stats import levy_stable

import leastaction as la

RATE, STEP, SAMPLES = 2 * np.pi, 0.02, 6000
DRIFT = np.array([[0.0, 1.0], [-(RATE**2), -0.04 * RATE]])
PARTS = 10


def record(per_second: float, seed: int) -> np.ndarray:
    """Displacements under impulses of intensity one with noise of 5 %.

    Each acts at one of ten instants in a step. Very many are a Gaussian force; of an
    endless number the sums are stable with an exponent of 1.8, without a variance.
    """
    rng = np.random.default_rng(seed)
    h = STEP / PARTS
    one = expm(DRIFT * h)
    steps, state = np.zeros((2 * SAMPLES, PARTS)), np.zeros(2)
    if np.isinf(per_second):
        stable = levy_stable(1.8, 0.0, scale=h ** (1 / 1.8))
        steps = stable.rvs(steps.shape, random_state=rng)
    else:
        count = rng.poisson(per_second * h, steps.shape)
        steps = np.sqrt(count / per_second) * rng.standard_normal(steps.shape)
    powers = [np.linalg.matrix_power(one, PARTS - k)[:, 1] for k in range(PARTS)]
    jumps, whole = steps @ np.array(powers), np.linalg.matrix_power(one, PARTS)
    x = np.empty(len(jumps))
    for k, jump in enumerate(jumps):
        x[k] = state[0]
        state = whole @ state + jump
    x = x[SAMPLES:]
    return x + 0.05 * x.std() * rng.standard_normal(SAMPLES)


@pytest.fixture(scope="module")
def laws() -> dict:
    """Each of two trajectories."""
    time = STEP * np.arange(SAMPLES // 2)
    return {
        per_second: la.learn(
            {"x": np.split(record(per_second, seed), 2)},
            time=[time, time],
            excitation="random",
        )
        for per_second, seed in ((2.0, 3), (1e5, 3), (np.inf, 5))
    }


def test_impulses_are_named_with_their_rate(laws):
    data = laws[2.0].dataset
    assert float(data["impulse_rate"]) == pytest.approx(2.0, rel=0.5)
    assert "comes in impulses, about" in str(laws[2.0])
    assert "(trajectory 1)" in str(laws[2.0]) and "(trajectory 2)" in str(laws[2.0])
    level, error = (
        float(data[f"volatility_{n}"].squeeze()) for n in ("estimate", "std")
    )
    assert abs(level - 1) < 3 * error


def test_a_force_without_a_variance_is_one_that_few_impulses_carry(laws):
    text = "such a force may have no finite variance"
    assert [text in str(laws[k]) for k in (np.inf, 2.0, 1e5)] == [True, False, False]


def test_a_figure_shows_the_sizes_of_impulses_over_time(laws):
    """Sizes have the rms of the impulses and the noise; a Gaussian force has no row."""
    sizes = laws[2.0].dataset["impulse_size"].values.ravel()
    largest = np.sort(np.abs(sizes[np.isfinite(sizes)]))[-20:]
    assert largest.min() > 0.5 and largest.max() < 4 / np.sqrt(2.0)
    marks = laws[2.0].plot("force_spectrum").axes[1].lines[-1]
    assert np.abs(marks.get_ydata()) == pytest.approx(largest[-5:].mean(), rel=0.3)
    assert 0 < (marks.get_xdata() > STEP * SAMPLES / 2).sum() < len(marks.get_xdata())
    rows = {k: len(law.plot("force_spectrum").axes) for k, law in laws.items()}
    assert rows == {2.0: 2, 1e5: 1, np.inf: 2}


def test_a_gaussian_force_has_none(laws):
    data = laws[1e5].dataset
    assert abs(float(data["impulse_score"])) < 4
    assert "impulses" not in str(laws[1e5])


def test_the_interval_of_the_force_allows_for_impulses(laws):
    """The variance of a variance grows by the kurtosis of the force."""
    wide, narrow = (
        float(laws[k].dataset["volatility_std"].squeeze()) for k in (2.0, 1e5)
    )
    assert wide > 1.4 * narrow
