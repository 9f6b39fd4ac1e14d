"""Samples in pieces, free runs of least squares, and what is judged by their misses."""

import numpy as np
import pytest
import xarray as xr

from leastaction.core.own_data import (
    BETTER,
    LOST,
    Prediction,
    Samples,
    free_run,
    judged,
    missed,
    one_case,
    percent,
    predicted,
)


def samples(*lengths, names=("x", "y"), settings=None):
    series = [np.arange(2.0 * n).reshape(n, 2) + 100 * k for k, n in enumerate(lengths)]
    labels = tuple("abcdef"[: len(lengths)])
    return Samples(
        {"coordinates": series, "inputs": [-y[:, :1] for y in series]},
        {"coordinates": names, "inputs": ("x",)},
        {"coordinates": ("m", "m"), "inputs": ("N",)},
        0.1,
        labels,
        settings or {},
    )


def test_a_part_has_its_trajectories_and_rows():
    whole = samples(5, 7, 9)
    part = whole.part([2, 0], slice(1, 4))
    assert part.labels == ("c", "a") and part.lengths == [3, 3]
    for section, arrays in part.series.items():
        for i, y in zip((2, 0), arrays, strict=True):
            np.testing.assert_array_equal(y, whole.series[section][i][1:4])
    assert whole.part([1]).lengths == [7] and whole.lengths == [5, 7, 9]


@pytest.mark.parametrize(
    ("lengths", "least", "pieces"),
    [
        ((5, 7, 11), 5, [(0, 0), (1, 0), (2, 0), (2, 5)]),
        ((5, 7, 14), 6, [(1, 0), (2, 0), (2, 7)]),
        ((5, 9), 5, [(0, 0), (1, 0)]),
        ((5, 7), 7, [(1, 0)]),
        ((5, 7), 8, None),
    ],
)
def test_pieces_are_as_long_as_the_shortest_that_is_long_enough(lengths, least, pieces):
    whole = samples(*lengths)
    if pieces is None:
        words = "the longest trajectory has 7 samples; expected 8 or more"
        with pytest.raises(ValueError, match=words):
            whole.stacked(least)
        return
    size = min(n for n in lengths if n >= least)
    for section, arrays in whole.stacked(least).items():
        expected = [whole.series[section][i][k : k + size] for i, k in pieces]
        np.testing.assert_array_equal(arrays, expected)


@pytest.mark.parametrize(
    ("still", "settings", "words"),
    [
        ([], {}, None),
        ([1], {}, "coordinates y does not change"),
        ([1], {"coordinates": {"x": "a", "y": "b"}}, "coordinates y does not"),
        ([1], {"coordinates": {"u": "u_*"}}, None),  # an end of a field
        ([0, 1], {"coordinates": {"u": "u_*"}}, "coordinates x does not change"),
    ],
)
def test_a_column_that_is_still_is_refused_but_for_nodes(still, settings, words):
    whole = samples(4, 4, settings=settings)
    for y in whole.series["coordinates"]:
        y[:, still] = 3.0
    if words is None:
        whole.refuse_still()
        return
    with pytest.raises(ValueError, match=words):
        whole.refuse_still()


def test_a_case_is_the_first_of_a_sweep():
    data = xr.DataArray(np.arange(6).reshape(2, 3), dims=("noise_level", "time"))
    case = one_case(data.to_dataset(name="a"))
    assert case.a.values.tolist() == [0, 1, 2]


def oscillation(starts, count):
    """x = a cos 2t + b sin 2t and its rate, on steps of 0.1."""
    t = 0.1 * np.arange(count)
    a, b = starts[:, :1], starts[:, 1:]
    x = a * np.cos(2 * t) + b * np.sin(2 * t)
    return np.stack([x, 2 * b * np.cos(2 * t) - 2 * a * np.sin(2 * t)], axis=-1)


@pytest.mark.parametrize("unit", [1.0, 1e4])
def test_a_free_run_of_a_linear_law_is_that_of_weighted_least_squares(rng, unit):
    truth, begin = unit * np.array([1.0, -0.5]), 12
    noise = unit * np.array([0.01, 0.2])
    exact = oscillation(truth[None], 60)[0]
    measured = exact + noise * rng.standard_normal(exact.shape)
    path, spread = free_run(oscillation, measured, np.array([0.3, 0.3]), noise, begin)
    columns = np.moveaxis(oscillation(np.eye(2), 60), 0, -1)
    rows = (columns[:begin] / noise[:, None]).reshape(-1, 2)
    right = (measured[:begin] / noise).ravel()
    best = np.linalg.lstsq(rows, right, rcond=None)[0]
    np.testing.assert_allclose(path, columns @ best, atol=1e-8 * unit)
    covariance = np.linalg.inv(rows.T @ rows)
    variance = np.einsum("tca,ab,tcb->tc", columns, covariance, columns)
    np.testing.assert_allclose(spread, np.sqrt(variance), rtol=1e-4)


@pytest.mark.parametrize("escaped", [np.nan, np.inf, -np.inf])
def test_where_a_moved_start_escapes_the_run_has_no_spread(escaped):
    """The mean of ten values elsewhere: σ/√10."""

    def run(starts, count):
        values = np.repeat(starts[:, :, None], count, axis=1)
        values[starts[:, 0] > 3.0, 20:] = escaped
        return values

    path, spread = free_run(run, np.full((25, 1), 3.0), np.array([3.0]), 0.1, 10)
    np.testing.assert_array_equal(path, 3.0)
    np.testing.assert_allclose(spread[:20], 0.1 / np.sqrt(10), rtol=1e-6)
    assert not spread[20:].any()


def test_a_free_run_of_a_law_that_is_not_linear_takes_four_steps():
    """x₀ eᵗ of x₀ = s²: Gauss and Newton's steps, halved errors once or more each."""

    def run(starts, count):
        return (starts**2 * np.exp(0.1 * np.arange(count)))[..., None]

    measured = run(np.array([[3.0]]), 20)[0]
    path, _ = free_run(run, measured, np.array([30.0]), np.array([1e-3]), 5)
    start = 30.0
    for _ in range(4):
        start = (start + 9.0 / start) / 2
    assert np.sqrt(path[0, 0]) == pytest.approx(start, rel=1e-3)
    path, _ = free_run(run, measured, np.array([2.0]), np.array([1e-3]), 5)
    np.testing.assert_allclose(path, measured, rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_slopes_are_differences_that_are_small_beside_the_motion(unit):
    """x₀ + x₀²/u: whatever its slope, a mean of eight samples has the noise over √8."""

    def run(starts, count):
        return np.tile((starts + starts**2 / unit)[:, None], (1, count, 1))

    start, noise = np.array([unit]), np.array([1e-3 * unit])
    path, spread = free_run(run, run(start[None], 12)[0], start, noise, 8)
    np.testing.assert_allclose(path, 2 * unit, rtol=1e-6)
    np.testing.assert_allclose(spread, noise[0] / np.sqrt(8), rtol=1e-6)


def test_a_step_that_is_no_better_or_not_finite_is_not_taken():
    measured = np.ones((6, 1))

    def cubic(starts, count):  # a step of Newton from 0.7 overshoots
        return np.tile(starts[:, None] ** 3 - 2 * starts[:, None] + 1, (1, count, 1))

    start = np.sqrt(2 / 3) + 0.01
    path, _ = free_run(cubic, measured, np.array([start]), np.ones(1), 6)
    np.testing.assert_allclose(path, start**3 - 2 * start + 1)

    def lost(starts, count):
        return np.full((len(starts), count, 1), np.inf)

    with np.errstate(all="ignore"):
        path, spread = free_run(lost, measured, np.array([1.0]), np.ones(1), 6)
    assert np.isinf(path).all() and not spread.any()


def test_no_noise_is_round_off_of_the_motion():
    measured = oscillation(np.array([[1.0, 0.0]]), 20)[0]
    _, spread = free_run(oscillation, measured, np.array([1.0, 0.0]), np.zeros(2), 8)
    size = np.sqrt((measured**2).mean(axis=0)).max()
    _, one = free_run(
        oscillation, measured, np.array([1.0, 0.0]), np.full(2, 1e-9 * size), 8
    )
    np.testing.assert_allclose(spread, one, rtol=1e-6)


def test_misses_are_rms_values_behind_the_begin(rng):
    """Channels x (two columns) and v (two) of runs of 5 and 7 samples."""
    paths, truths, bands = (
        [rng.standard_normal((n, 4)) + 2 for n in (5, 7)] for _ in range(3)
    )
    runs = Prediction([], [], truths, paths, [], [])
    found = missed(["x", "v"], ["m", "m/s"], runs, [0.1, 0.2], bands, 2)
    assert found["begin"] == 2
    for k, one in enumerate(found["channels"]):
        some = slice(2 * k, 2 * k + 2)
        path, truth, band = (
            np.concatenate([y[2:, some] for y in arrays])
            for arrays in (paths, truths, bands)
        )
        assert (one["name"], one["unit"]) == (("x", "m"), ("v", "m/s"))[k]
        assert one["noise"] == (0.1, 0.2)[k]
        assert one["error"] == pytest.approx(np.sqrt(np.mean((path - truth) ** 2)))
        assert one["size"] == pytest.approx(truth.std())
        assert one["expected"] == pytest.approx(np.sqrt(np.mean(band**2)))
    paths[0][3, 0] = np.nan
    lost = missed(["x", "v"], ["m", "m/s"], runs, 0.3, bands, 0)
    assert lost["channels"][0]["error"] == LOST == 1e100
    assert lost["channels"][1]["noise"] == 0.3


def channel(error, size=10.0, expected=1.0, noise=0.5, name="x", unit="m"):
    numbers = {"error": error, "size": size, "expected": expected, "noise": noise}
    return {"name": name, "unit": unit, **numbers}


@pytest.mark.parametrize(
    ("one", "refused", "reserved"),
    [
        (channel(1.41), [], []),
        (
            channel(1.42),
            [],
            ["free runs of held-out data miss x by 1.4 times the expected error (χ² "
             "over its degrees of freedom 2.02)"],
        ),
        (channel(7.0, 10.0, 10.0, 0.0), [], []),
        (channel(7.1, noise=0.0), ["free runs of held-out data miss x by 71 % of its "
                                   "rms"], []),
        (channel(7.1, 10.0, 6.0, 3.0), [], []),
        (channel(0.4, noise=0.5, expected=1.0, size=1e-3), [], []),
        (channel(1e100), ["free runs of held-out data diverge"], []),
    ],
)  # fmt: skip
def test_a_law_is_denied_by_half_of_the_motion_and_doubted_by_twice_the_square(
    one, refused, reserved
):
    assert judged({"channels": [one]}) == (refused, reserved)


def test_the_same_refusal_is_said_once():
    both = {"channels": [channel(1e100), channel(2e100, name="y")]}
    assert judged(both, "steps") == (["steps of held-out data diverge"], [])


def test_predictions_are_a_table():
    misses = {
        "channels": [
            channel(1.234567, 10.0, 2.0, 0.5),
            channel(3.0, 0.0, 0.0, 0.0, "y", "1"),
            channel(LOST, name="z"),
        ],
        "begin": 7,
    }
    assert predicted(misses) == [
        "Free runs of held-out data, initial states from 7 samples:",
        "| channel | rms error | rms error / rms | rms error / noise | χ²/dof |",
        "|---|---|---|---|---|",
        "| x | 1.23 m | 12 % | 2.47 | 0.381 |",
        "| y | 3 | inf % |  | inf |",
        "| z | lost |  |  |  |",
        BETTER,
    ]
    calm = {"channels": [channel(1.0, expected=1.41)], "begin": 0}
    assert predicted(calm, "Steps")[0] == "Steps of held-out data:"
    assert predicted(calm)[-1].startswith("| x |")
    calm["channels"].append(channel(1.0, expected=1.42))
    assert predicted(calm)[-1] == BETTER


@pytest.mark.parametrize(
    ("share", "text"), [(0.123, "12 %"), (12.34, "1200 %"), (0.999, "100 %")]
)
def test_a_share_has_two_digits(share, text):
    assert percent(share) == text
