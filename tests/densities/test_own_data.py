"""A user's stationary record: intervals hold, and what is wrong is on the first line.

The records are Euler–Maruyama paths of NumPy, not those of the package.
"""

from functools import cache

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import leastaction as la
from leastaction.core.model import LEAST_P_VALUE
from leastaction.core.own_data import Samples
from leastaction.densities import own_data

STEP, SUBSTEPS, RUNS = 0.05, 10, 10
TRUTH = {"-x**2/2": 1.0, "-x**4/4": 0.5, "1": 1.0, "x**2": 0.36}
GIVEN = {"known": {"dissipation": {"xdot**2/2": 0.5}}}
COLUMNS = {"coordinates": {"x": "mm"}, "velocities": {"x": "v [mm/s]"}}


@cache
def paths(seed: int, count: int, rows: int, start: float = 0.0) -> np.ndarray:
    """States (row, path, 2) of a stiffening spring with both noises, settled."""
    rng, h = np.random.default_rng(seed), STEP / SUBSTEPS
    x, v = np.full(count, start), np.zeros(count)
    settle, kept = 0 if start else 40 * 20, np.empty((rows, count, 2))
    for row in range(-settle, rows):
        for _ in range(SUBSTEPS):
            push = np.sqrt((1 + 0.36 * x**2) * h) * rng.standard_normal(count)
            v, before = v + (-x - 0.5 * x**3 - 0.5 * v) * h + push, v
            x = x + h * (v + before) / 2
        kept[max(row, 0)] = np.stack([x, v], axis=1)
    return 1e3 * kept


def table(states: np.ndarray) -> dict:
    """Columns of a table in mm, one run after the other."""
    rows, runs = states.shape[:2]
    return {
        "run": np.repeat(np.arange(runs), rows),
        "t": np.tile(STEP * np.arange(rows), runs),
        "x": states[..., 0].T.ravel(),
        "v": states[..., 1].T.ravel(),
    }


def learned(columns: dict, library=GIVEN, **more):
    more = COLUMNS | more
    how = {"time": "t", "trajectory": "run", "progress": False}
    return la.learn(columns, kind="density", library=library, **how, **more)


def test_intervals_hold_the_truth_and_the_right_law_is_found():
    """Ten records of 2,000 s; seeds were not looked at before."""
    inside, verdicts = [], []
    states = paths(20261126, 10 * RUNS, 4000)
    for k in range(10):
        law = learned(table(states[:, k * RUNS : (k + 1) * RUNS]))
        rows = law.terms.set_index("term").loc[list(TRUTH)]
        true = np.array(list(TRUTH.values()))
        inside += list((rows.low < true) & (true < rows.high))
        verdicts.append(law.verdict)
    assert np.mean(inside) >= 0.9
    assert verdicts.count("no law found") == 0 and verdicts.count("found") >= 8


def test_a_saved_law_is_the_same(tmp_path):
    law = learned(table(paths(3, RUNS, 4000)))
    law.save(tmp_path / "law.nc")
    assert str(la.load(tmp_path / "law.nc")) == str(law)
    assert law.coefficient("x**2", "S^2") == law.terms.value.iloc[-1]


def test_damping_and_noise_in_balance_are_known_by_their_ratio():
    noise = {"volatility": ["1"], "lagrangian": ["-x**2/2", "-x**4/4"]}
    with pytest.raises(ValueError, match="unknown"):
        learned(table(paths(3, RUNS, 4000))).coefficient("x**3")
    law = learned(table(paths(3, RUNS, 4000)), noise)
    assert "only ratios of damping and noise" in str(law).splitlines()[0]
    assert "dissipation, ratio" in set(law.terms.of)


@pytest.mark.parametrize(
    "spoilt, first",
    [
        (lambda y: y * [1, 1e-3], "change 100. times as fast as its velocities state"),
        (lambda y: y[..., ::-1], "is not the change of its position"),
        (lambda y: y[:160], "correlation times of its energy"),
        (lambda y: y * [1, 0], "velocities x does not change"),
        (lambda y: y[::60], "is not the change of its position .* sample faster"),
        (
            lambda y: (
                y * np.linspace(0.3, 1.7, 40_000).reshape(RUNS, 4000).T[..., None]
            ),
            "not stationary: the mean square of x is 0.152 times",
        ),
    ],
)
def test_a_wrong_record_is_refused(spoilt, first):
    with pytest.raises(la.RecordingError, match=first):
        learned(table(spoilt(paths(3, RUNS, 4000))))


@pytest.mark.parametrize(
    ("count", "rows", "start"), [(1, 8_000, 15.0), (200, 200, 3.0), (400, 100, 1e-3)]
)
def test_a_transient_is_no_stationary_record(count, rows, start):
    """Parts of many runs that all relax are alike: each run is compared with itself."""
    states = paths(5, count, rows, start=start)
    with pytest.raises(la.RecordingError, match="the motion is not stationary"):
        learned(table(states))


@pytest.mark.parametrize("rows", [20, 100])
def test_runs_shorter_than_the_memory_may_be_stationary(rows):
    """Of settled runs no more are refused than the level of the test says."""
    states = paths(7, 400, 100)[:rows]
    own_data._refuse_relaxing(list(states.swapaxes(0, 1) ** 2), ["x", "xdot"])


def test_what_does_not_change_hides_no_other_that_relaxes(rng):
    """A coordinate with the same mean square in every part of every run has z = 0."""
    squares = rng.chisquare(1, (30, 80, 2))
    squares[:, :, 0] = 2.0
    own_data._refuse_relaxing(list(squares), ["x", "xdot"])
    squares[:, :20, 1] *= 3
    with pytest.raises(ValueError, match="the mean square of xdot"):
        own_data._refuse_relaxing(list(squares), ["x", "xdot"])


def test_a_missing_term_is_on_the_first_line():
    library = GIVEN | {"lagrangian": ["-x**2/2"]}
    law = learned(table(paths(3, RUNS, 4000)), library)
    first = str(law).splitlines()[0]
    assert first.startswith("**No law found: no law of these candidates agrees")
    assert "most of all about x" in first and law.terms.value.iloc[0] == 1.0
    assert "| `-x**2/2` |" not in str(law)


def test_a_clock_in_another_unit_is_refused():
    columns = table(paths(3, RUNS, 4000))
    with pytest.raises(la.RecordingError, match="units of the position, of the vel"):
        learned(columns | {"t": 1e3 * columns["t"]})


def test_what_a_kind_does_not_read_is_refused():
    with pytest.raises(la.RecordingError, match="states: a recording of kind"):
        learned(table(paths(3, RUNS, 4000)), states={"p": "m"})
    with pytest.raises(la.RecordingError, match="velocities: expected one"):
        learned(table(paths(3, RUNS, 4000)), velocities={})


STEPS = 400


def record(q, v, step=0.05, names=("x",), unit="m") -> Samples:
    """Columns (trajectory, time, coordinate)."""
    of = {"coordinates": names, "velocities": names}
    units = {"coordinates": (unit,) * len(names)}
    series = {"coordinates": list(q), "velocities": list(v)}
    return Samples(series, of, units, step, tuple("abc"[: len(q)]))


def waves(rate=1.0, turn=1.0) -> Samples:
    """Two motions of one frequency, whose velocities are `rate` times too large."""
    t = 0.05 * np.arange(STEPS)[:, None]
    q = [np.sin(turn * t), np.cos(turn * t)]
    return record(q, [rate * turn * np.cos(turn * t), -rate * turn * np.sin(turn * t)])


@pytest.mark.parametrize(
    ("rate", "refused"), [(1.1, 0), (1.125, 1), (0.91, 0), (0.89, 1)]
)
def test_positions_change_as_fast_as_velocities_say(rate, refused):
    if not refused:
        return own_data._refuse_unlike_rates(waves(1 / rate))
    with pytest.raises(
        ValueError, match=f"{rate:.3g}.* times as fast as its velocities"
    ):
        own_data._refuse_unlike_rates(waves(1 / rate))


@pytest.mark.parametrize(("noise", "refused"), [(0.30, False), (0.36, True)])
def test_velocities_correlate_with_changes_by_the_root_of_nine_tenths(noise, refused):
    """Noise of a variance c of that of the velocity leaves 1/(1 + c), whatever unit."""
    rng = np.random.default_rng(2)
    clean = waves()
    v = [one + noise * rng.normal(size=one.shape) for one in clean.series["velocities"]]
    spoilt = record(clean.series["coordinates"], v)
    mean = np.concatenate([(one[1:] + one[:-1]) / 2 for one in v])
    change = np.concatenate([np.diff(q, axis=0) for q in clean.series["coordinates"]])
    square = np.corrcoef(change[:, 0], mean[:, 0])[0, 1] ** 2
    assert (square < 0.9) == refused and abs(square - 0.9) < 0.05
    if refused:
        with pytest.raises(ValueError, match="is not the change of its position"):
            own_data._refuse_unlike_rates(spoilt)
    else:
        own_data._refuse_unlike_rates(spoilt)


def parts_of(first: float = 0.0, trend: float = 0.0) -> np.ndarray:
    """Mean squares of 16 parts with a step or a slope, in their own scatter."""
    rng = np.random.default_rng(5)
    y = rng.normal(size=16)
    y[:4] -= y[:4].mean()
    y[4:] -= y[4:].mean()
    y[4:] /= y[4:].std(ddof=1)
    y[:4] += first
    return (100 + y + trend * np.linspace(-1, 1, 16))[:, None]


def refused(parts) -> bool:
    first = parts[:4].mean(axis=0) / parts.mean(axis=0)
    try:
        own_data._refuse_change(parts, ["x"], first)
    except ValueError as error:
        assert "the mean square of x is" in str(error)
        return True
    return False


def test_a_first_quarter_that_differs_is_refused_at_its_p_value():
    """Student's t of four parts against twelve; both it and the trend are tested."""
    limits = np.linspace(0, 12, 241)
    judged = [refused(parts_of(first=one)) for one in limits]
    along = np.linspace(-1, 1, 16)
    for one, said in zip(limits, judged, strict=True):
        y = parts_of(first=one)[:, 0]
        z = (y[:4].mean() - y[4:].mean()) / y[4:].std(ddof=1) / np.sqrt(1 / 4 + 1 / 12)
        fit = stats.linregress(along, y)
        left = y - fit.intercept - fit.slope * along
        trend = fit.slope / np.sqrt((left**2).sum() / 14 / (along**2).sum())
        p = 2 * stats.t.sf(max(abs(z), abs(trend)), 11)
        assert said == (p < LEAST_P_VALUE / 2)
    assert any(judged) and not all(judged)


def test_a_trend_is_refused_of_which_the_first_quarter_shows_less():
    judged = [refused(parts_of(trend=one)) for one in np.linspace(0, 12, 121)]
    along = np.linspace(-1, 1, 16)
    for one, said in zip(np.linspace(0, 12, 121), judged, strict=True):
        y = parts_of(trend=one)[:, 0]
        z = (y[:4].mean() - y[4:].mean()) / y[4:].std(ddof=1) / np.sqrt(1 / 4 + 1 / 12)
        fit = stats.linregress(along, y)
        p = 2 * stats.t.sf(max(abs(z), abs(fit.slope / fit.stderr)), 11)
        assert said == (p < LEAST_P_VALUE / 2)
    assert any(judged) and not all(judged)


@pytest.mark.parametrize(("memories", "short"), [(99, False), (93, True)])
def test_a_record_has_ninety_six_memories_of_its_energy(memories, short):
    """τ = T/16 · var(means of parts)/var(squares)."""
    rng = np.random.default_rng(9)
    states = rng.normal(size=(3200, 1))
    parts = states.reshape(16, 200)
    square = parts**2
    ratio = 16 / memories  # of the variance of the means of squares to that of all
    want = np.array([1.0, -1.0] * 8)
    inner = square - square.mean(axis=1, keepdims=True)
    scale = np.sqrt(ratio / (1 - ratio) * inner.var() * 15 / 16)
    square = inner + scale * want[:, None]
    square += 1e-9 - square.min()
    x = np.sqrt(square).reshape(-1, 1)
    samples = record([x], [x])
    if short:
        with pytest.raises(
            ValueError, match="correlation times .* expected 96 or more"
        ):
            own_data._refuse_unsteady([np.hstack([x, x])], samples)
    else:
        own_data._refuse_unsteady([np.hstack([x, x])], samples)


def test_the_histogram_reaches_a_tenth_beyond_almost_all_samples():
    states = np.stack([np.arange(2001.0), -2 * np.arange(2001.0)], axis=1)
    low, high = own_data._reach(states).T
    np.testing.assert_allclose(low, [1 - 199.8, -3998 - 399.6], rtol=1e-12)
    np.testing.assert_allclose(high, [1999 + 199.8, -2 + 399.6], rtol=1e-12)


def test_a_record_of_one_coordinate_is_counted_in_cells():
    rng = np.random.default_rng(4)
    q, v = rng.normal(size=(2, 2, 300, 1))
    samples = record(list(q), list(v), unit="mm")
    grid = np.array([[-2.0, -3.0], [2.0, 3.0]])
    states = own_data._states(samples)
    np.testing.assert_array_equal(states[1], np.hstack([q[1], v[1]]))
    parts = own_data._batches(states)
    assert [len(part) for part in parts] == [38] * 8 + [37] * 8
    data = own_data._counted(parts, grid, samples)
    assert (
        data["count"].shape[-2:] == (80, 80) and data.attrs["contract"] == "histogram"
    )
    assert data.attrs["grid"] == [-2.0, -3.0, 2.0, 3.0]
    np.testing.assert_allclose(data["q_bin"][:2], [-2 + 0.025, -2 + 0.075], rtol=1e-12)
    np.testing.assert_allclose(data["qdot_bin"][-1], 3 - 0.0375, rtol=1e-12)
    total = np.concatenate(parts)
    inside = (np.abs(total) < [2.0, 3.0]).all(axis=1).sum()
    counts = data["count"].values[0]
    assert counts.sum() == inside < len(total)
    left = (parts[0][:, 0] > -2) & (parts[0][:, 0] < 0) & (np.abs(parts[0][:, 1]) < 3)
    assert counts[0, :40].sum() == left.sum()
    assert data["samples"].values[0].tolist() == [38] * 8 + [37] * 8
    np.testing.assert_allclose(data["duration"][0], 0.05 * data["samples"][0])
    again = own_data.Density().held_out(samples, data)
    np.testing.assert_array_equal(again["count"], data["count"])


def test_a_record_of_several_coordinates_has_moments():
    rng = np.random.default_rng(4)
    q, v = rng.normal(size=(2, 1, 64, 2))
    samples = record(list(q), list(v), names=("x", "y"))
    data = own_data._counted(
        own_data._batches(own_data._states(samples)), [[0], [1]], samples
    )
    assert data["state"].values.tolist() == ["x", "y", "xdot", "ydot"]
    powers = data["exponent"].values
    assert powers.sum(axis=1).max() == 8 and data.attrs["contract"] == "state_moments"
    place = powers.tolist().index([2, 1, 0, 3])
    first = np.hstack([q[0], v[0]])[:4]
    expected = (first[:, 0] ** 2 * first[:, 1] * first[:, 3] ** 3).mean()
    assert data["moment"].values[0, 0, place] == pytest.approx(expected, rel=1e-12)


def test_parts_scatter_as_their_covariance_says():
    """χ² of parts about their mean, in the directions that are well determined."""
    rng = np.random.default_rng(8)
    root = rng.normal(size=(4, 4))
    noise = np.array([np.zeros((4, 4)), root @ root.T])
    values = np.array([1.5, 2.0])
    moments = rng.normal(size=(10, 4, 2))
    data = xr.Dataset(
        {
            "moment": (("replicate", "batch", "test", "term"), moments[None]),
            "noise_gram": (("replicate", "term", "a", "b"), noise[None]),
            "duration": ("replicate", [30.0]),
        }
    )
    total, degrees = own_data._scatter(data, values, 0.1)
    by_part = moments @ values
    centred = by_part - by_part.mean(axis=0)
    inverse = np.linalg.inv(2 * noise[1])
    expected = 3.0 * np.einsum("bi,ij,bj->", centred, inverse, centred)
    assert degrees == 36 and total == pytest.approx(expected, rel=1e-9)
    size = np.sqrt(np.diag(noise[1]))
    smallest = np.linalg.eigvalsh(noise[1] / np.outer(size, size))
    assert smallest[0] > 1e-3 * smallest[-1]
    flat = np.outer(size, size) + 1e-5 * noise[1]
    data["noise_gram"] = data["noise_gram"].dims, np.array([0 * flat, flat])[None]
    assert own_data._scatter(data, values, 0.1)[1] == 9


def model_of(ratio=None) -> xr.Dataset:
    values = {
        "coefficient_estimate": (("replicate", "term"), [[1.0, 2.0, 3.0]]),
        "dissipation_coefficient_estimate": (("replicate", "d"), [[0.5, np.nan]]),
        "volatility_coefficient_estimate": (
            ("replicate", "dof", "v"),
            [[[7.0, 8.0], [9.0, np.nan]]],
        ),
    }
    if ratio is not None:
        values["ratio_estimate"] = (("replicate", "equation_term"), [ratio])
    return xr.Dataset(values)


def test_coefficients_are_those_of_the_model_or_its_ratios():
    kinds = ["lagrangian", "dissipation", "volatility", "volatility", "lagrangian"]
    terms = xr.Dataset(
        {
            "known": ("equation_term", [np.nan, np.nan, np.nan, np.nan, 4.0]),
            "kind": ("equation_term", kinds),
            "position": ("equation_term", [2, 1, 0, 1, 0]),
            "of_dof": ("equation_term", [0, 0, 1, 1, 0]),
        }
    )
    ratio = np.arange(5) + 10.0
    known = own_data.coefficients(model_of(ratio), terms)
    assert known.tolist() == [3.0, 11.0, 9.0, 13.0, 4.0]
    without = own_data.coefficients(model_of(), terms)
    assert np.isnan(without[[1, 3]]).all() and without[[0, 2, 4]].tolist() == [3, 9, 4]


@pytest.mark.parametrize(
    ("names", "noise", "kinetic"),
    [
        (["x"], ["1", "x**2"], ["xdot**2/2"]),
        (["x", "y"], ["1"], ["xdot**2/2", "ydot**2/2"]),
    ],
)
def test_usual_candidates_are_those_of_stiffening_springs(names, noise, kinetic):
    example = {"library": {}}
    units = {"coordinates": dict.fromkeys(names, "m")}
    assert own_data.Density().completed(example, units) == []
    springs = [f"-{x}**{n}/{n}" for x in names for n in (2, 4)]
    assert example["library"] == {
        "reference": " + ".join(kinetic),
        "lagrangian": [{"terms": kinetic}, {"terms": springs}],
        "dissipation": [{"terms": [f"{x}dot**2/2" for x in names]}],
        "volatility": [{"terms": noise}],
        "inertia": "free",
    }
    wrong = {"library": {"lagrangian": [{"terms": ["y**2"]}]}}
    (problem,) = own_data.Density().completed(wrong, {"coordinates": {"x": "m"}})
    assert problem.startswith("library: ")
    kind = own_data.Density().data({"coordinates": names})
    assert kind == ("density" if len(names) == 1 else "density moments")
