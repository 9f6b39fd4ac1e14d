"""A user's field or positions: refusals at their limits, forecasts, frequencies."""

import io
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats
from snapshot_fields import five_point, learned_field, stored
from snapshot_support import oscillators

from leastaction.core.own_data import Prediction, Samples
from leastaction.snapshots import own_data
from leastaction.snapshots.own_data import Field, Positions

RANDOM = np.random.default_rng(5)


def samples(q, names=None, unit="m", section="coordinates", **settings) -> Samples:
    """Columns q (trajectory, time, column) at steps of 0.2 s."""
    names = names or tuple(f"u_{j}" for j in range(q.shape[2]))
    labels = tuple(str(i) for i in range(len(q)))
    settings = {"length": 6.0, "ends": "periodic", "coordinates": {"u": ""}} | settings
    units = {section: (unit,) * len(names) if isinstance(unit, str) else unit}
    return Samples({section: list(q)}, {section: names}, units, 0.2, labels, settings)


def smooth(shape=(2, 12, 8)) -> np.ndarray:
    """Slow waves of the nodes."""
    runs, times, nodes = shape
    t = 0.2 * np.arange(times)[:, None]
    x = 2 * np.pi / nodes * np.arange(nodes)
    return np.array([np.sin(x + t + k) + 0.3 for k in range(runs)])


def test_a_field_is_recorded_with_its_domain():
    u = smooth()
    data = Field().held_out(samples(u))
    np.testing.assert_array_equal(data["q"].values[0], u)
    assert not data["noise_q"].any() and data["noise_level"].values.tolist() == [0]
    np.testing.assert_allclose(data["time"], 0.2 * np.arange(12), rtol=1e-15)
    assert data["coordinate_unit"].values.tolist() == ["m"] * 8
    about = {k: data.attrs[k] for k in ("field", "domain_length", "domain_nodes")}
    assert about == {"field": "u", "domain_length": 6.0, "domain_nodes": 8}
    assert data.attrs["mirror"] == 0 and data.attrs["domain_left"] == "periodic"
    assert data.attrs["domain_right"] == "periodic" and data.attrs["time_step"] == 0.2


@pytest.mark.parametrize(("ends", "sign"), [("fixed", -1), ("free", 1)])
def test_a_line_with_ends_is_half_of_a_ring(ends, sign):
    u = np.sin(np.pi * np.arange(9) / 8) * smooth((2, 12, 9))
    data = Field().held_out(samples(u, ends=ends))
    q = data["q"].values[0]
    assert q.shape == (2, 12, 16) and data.attrs["domain_nodes"] == 16
    assert data.attrs["domain_length"] == 12.0 and data.attrs["mirror"] == sign
    np.testing.assert_allclose(q[..., :9], u, atol=1e-15)
    np.testing.assert_allclose(q[..., :8:-1], sign * u[..., 1:-1], atol=1e-15)
    assert data["dof"].values.tolist()[-1] == "u_15"


@pytest.mark.parametrize("side", [0, -1])
def test_fixed_ends_may_move_by_a_tenth_of_the_largest_node(side):
    u = np.sin(np.pi * np.arange(9) / 8) * np.ones((2, 12, 1))
    u[..., side] = 0.099
    Field().held_out(samples(u, ends="fixed"))
    u[..., side] = 0.101
    with pytest.raises(ValueError, match="the ends move by 10 % of the largest"):
        Field().held_out(samples(u, ends="fixed"))
    Field().held_out(samples(u, ends="free"))


def test_nodes_and_snapshots_are_eight_at_least():
    Field().held_out(samples(smooth((2, 8, 8))))
    with pytest.raises(ValueError, match="number of nodes: 7; expected 8 or more"):
        Field().held_out(samples(smooth((2, 8, 7))))
    for kind in (Field(), Positions()):
        with pytest.raises(ValueError, match="7 samples; expected 8 or more"):
            kind.held_out(samples(smooth((2, 7, 8))))


def test_angles_are_unwrapped_and_lengths_are_not():
    q = np.stack([np.linspace(0, 9, 20)] * 2, axis=1)[None]
    wrapped = np.angle(np.exp(1j * q))
    units = ("rad", "m")
    data = Positions().held_out(samples(wrapped, ("a", "b"), units))
    np.testing.assert_allclose(data["q"].values[0, ..., 0], q[..., 0], atol=1e-12)
    np.testing.assert_array_equal(data["q"].values[0, ..., 1], wrapped[..., 1])
    assert data["coordinate_unit"].values.tolist() == list(units)
    assert Positions().data({}) == "snapshots" and Field().data({}) == "field_snapshots"
    assert "sensors" not in data.attrs and "field" not in data.attrs


@pytest.mark.parametrize("kind", [Field(), Positions()])
def test_snapshots_are_related_beyond_four_standard_errors(kind):
    """N numbers of noise correlate by 1/√N; all nodes of a field count."""
    rng, nodes = np.random.default_rng(3), 8
    trend = np.linspace(-1, 1, 400)[None, :, None] * np.ones((1, 1, nodes))
    noise = rng.normal(size=(1, 400, nodes))

    def correlation(q):
        q = q - q.mean(axis=(0, 1))
        a, b = q[0, :-1], q[0, 1:]
        axis = None if kind.name == "field" else 0
        products = ((a * b).sum(axis), (a * a).sum(axis), (b * b).sum(axis))
        return np.abs(products[0] / np.sqrt(products[1] * products[2])).min()

    least = 4 / np.sqrt(399 * (nodes if kind.name == "field" else 1))
    sides = {True: [], False: []}
    for share in np.linspace(0, 1.6, 81):
        q = noise + share * trend
        try:
            kind.observations(samples(q))
            sides[True].append(correlation(q))
        except ValueError as error:
            assert "neighbouring snapshots are unrelated (correlation" in str(error)
            sides[False].append(correlation(q))
    assert max(sides[False]) < least < min(sides[True])
    assert min(sides[True]) - max(sides[False]) < 0.2 * least


def test_columns_that_are_multiples_are_refused():
    q = smooth((1, 40, 8))[..., :3].copy()
    q[..., 2] = -2 * q[..., 0] + 1
    with pytest.raises(ValueError, match="c is a multiple of a; name another"):
        Positions().observations(samples(q, ("a", "b", "c")))
    with pytest.raises(ValueError, match="b is a multiple of a; name another"):
        Positions().observations(samples(q[..., [0, 2]], ("a", "b")))
    q[..., 2] += 1e-3 * q[..., 1]
    Positions().observations(samples(q, ("a", "b", "c")))


@pytest.mark.parametrize(
    ("table", "problems"),
    [
        ({}, []),
        ({"length": None}, ["import.length"]),
        ({"length": None, "position": {"x": "m"}}, []),
        ({"ends": "clamped"}, ["import.ends: 'clamped'"]),
        ({"coordinates": {"u": "", "v": ""}}, ["import.coordinates: u, v"]),
        ({"coordinates": {}, "ends": "x"}, ["import.coordinates", "import.ends"]),
    ],
)
def test_what_a_table_of_a_field_needs(table, problems):
    given = {"coordinates": {"u": ""}, "ends": "fixed", "position": None}
    table = {"length": 2.0} | given | table
    if table["length"] is None:
        del table["length"]
    texts = Field().completed({"import": table}, {})
    assert len(texts) == len(problems)
    for text, begin in zip(texts, problems, strict=True):
        assert text.startswith(begin)


def test_kinds_of_tables_and_methods():
    assert Field().of_import({"sensors": {"u(0)": "a"}}) == "sensed_field"
    assert Field().of_import({"sensors": {}}) == "field" == Field().of_import({})
    example = {"estimators": {"a": {"identify": {"degree": 3}}, "b": {}}, "x": 1}
    made = Positions().prepared(example)
    method = {"method": "orthogonal_distance_regression"}
    assert made["estimators"] == {
        "a": {"identify": method | {"degree": 3}},
        "b": {"identify": method},
    }
    assert made["x"] == 1


@pytest.mark.parametrize(("times", "begin"), [(12, 4), (16, 4), (19, 5), (40, 10)])
def test_a_quarter_of_a_motion_is_its_begin(times, begin):
    assert own_data._begin(xr.Dataset({"q": ("time", np.zeros(times))})) == begin


@pytest.mark.parametrize("nodes", [8, 9])
@pytest.mark.parametrize("highest", [0, 1, 3])
def test_waves_up_to_a_number_have_an_orthonormal_basis(nodes, highest):
    basis = own_data._wave_basis(nodes, highest)
    assert basis.shape == (nodes, 1 + 2 * highest)
    np.testing.assert_allclose(basis.T @ basis, np.eye(1 + 2 * highest), atol=1e-12)
    power = np.abs(np.fft.rfft(basis, axis=0)).max(axis=1)
    assert power[highest + 1 :].max(initial=0) < 1e-12


def data_of(q, **attrs) -> xr.Dataset:
    data = Positions().held_out(samples(q, tuple("abcdefgh"[: q.shape[2]])))
    return data.assign_attrs(attrs)


def straight(starts, count):
    """Free particles: first position and its change (run, 2 columns)."""
    first, change = np.split(starts, 2, axis=1)
    return first[:, None] + np.arange(count)[:, None] * change[:, None]


def test_forecasts_are_runs_from_a_begin_of_least_squares():
    """Intervals are the errors of runs of what was learned from, so long after."""
    k = np.arange(16.0)
    true = np.stack([1 + 0.5 * k, 2 - 0.2 * k], axis=1)
    rng, noise = np.random.default_rng(2), np.array([0.01, 0.01])
    held = true + 0.01 * rng.normal(size=(2, 16, 2))
    seen = true[:12] + 0.01 * rng.normal(size=(10, 12, 2))
    how = straight, np.eye(2), noise
    made, expected = own_data._prediction(data_of(held), data_of(seen), *how, 0.02)
    design = np.stack([np.ones(16), k], axis=1)

    def fitted(q):
        return design[: len(q)] @ np.linalg.lstsq(design[:4], q[:4], rcond=None)[0]

    for path, q in zip(made.estimate, held, strict=True):
        np.testing.assert_allclose(path, fitted(q), atol=1e-6)
    errors = np.array([fitted(q) - q for q in seen[:8]])
    late = np.maximum.accumulate(np.sqrt((errors**2).mean(axis=(0, 2))))
    band = 1.959964 * np.append(late, [late[-1]] * 4)
    np.testing.assert_allclose(made.band[0][:, 1], band, rtol=1e-3)
    spread = design @ np.linalg.inv(design[:4].T @ design[:4]) @ design.T
    law = 0.02 * held.std()
    variance = 1e-4 + law**2 + 1e-4 * np.diag(spread)
    np.testing.assert_allclose(expected[1][:, 0] ** 2, variance, rtol=1e-3)
    assert made.names == ["a", "b"] and made.units == ["m", "m"]
    assert made.labels == ["motion 1", "motion 2"]
    _, without = own_data._prediction(data_of(held), data_of(seen), *how, np.inf)
    np.testing.assert_allclose(without[0] ** 2, expected[0] ** 2 - law**2, rtol=1e-6)


def test_an_interval_is_infinite_from_where_runs_are_lost():
    def lost(starts, count):
        path = straight(starts, count)
        path[:, 6:] = np.nan
        return path

    q = np.arange(12.0)[None, :, None] + np.zeros((2, 1, 1))
    made, _ = own_data._prediction(data_of(q), data_of(q), lost, np.eye(1), 0.1, 0.0)
    band = made.band[0][:, 0]
    assert np.isfinite(band[:6]).all() and np.isinf(band[6:]).all()


def test_the_error_of_a_law_widens_the_intervals_of_its_motions(monkeypatch):
    """That of other densities from the same starts, also at twice the step."""
    model = learned_field()
    first = np.cos(2 * np.pi * np.arange(12) / 12)
    estimate = model.rollout(first[None], 0.99 * first[None], 9)
    made = Prediction([], [], [], list(estimate), [np.full((10, 12), 0.3)], [])
    other, coarse = five_point(speed=1.6), five_point(speed=1.5, time_step=0.4)
    unstable = (5.0, five_point(speed=9.0), np.inf)
    found = [(0.5, other, 0.0), (0.25, coarse, 0.0), unstable]
    asked = []
    monkeypatch.setattr(own_data, "others", lambda *a: asked.append(a) or iter(found))
    (band,) = own_data._with_law(made, model, "observations")
    assert asked == [("observations", model.density.basis, model.misfit)]
    change = replace(model, density=other).rollout(estimate[:, 0], estimate[:, 1], 9)
    square = 0.5 * ((change - estimate) ** 2).mean(axis=2)[0]
    slow = replace(model, density=coarse).rollout(estimate[:, 0], estimate[:, 2], 4)
    moved = ((slow - estimate[:, ::2]) ** 2).mean(axis=2)[0]
    square += 0.25 * moved.repeat(2)[:10]
    square = np.maximum.accumulate(square)
    assert square.max() > 5e-4
    expected = np.sqrt(0.09 + 1.959964**2 * square)
    np.testing.assert_allclose(band, expected[:, None] * np.ones(12), rtol=1e-6)
    refused = learned_field(distance=np.inf)
    (same,) = own_data._with_law(made, refused, "observations")
    assert (same == 0.3).all()


def waves_of(model, motions, times) -> np.ndarray:
    """Motions of its waves up to the second."""
    basis = own_data._wave_basis(12, 2)
    start = RANDOM.normal(size=(motions, 2, 5)) @ basis.T
    return model.rollout(start[:, 0], start[:, 0] + 0.1 * start[:, 1], times - 1)


@pytest.mark.parametrize("mirror", [0, -1])
def test_a_field_is_forecast_from_its_begin(mirror, monkeypatch):
    model = learned_field(noise=1e-6, speed_std=0.003, waves=2)
    q = waves_of(model, 3, 16)
    if mirror:  # odd about the first node
        q = q - np.roll(q[..., ::-1], 1, axis=-1)
    held, seen = q[:1], q[1:]
    monkeypatch.setattr(own_data, "others", lambda *a: iter(()))
    about = {"mirror": mirror, "field": "w"}
    names = [f"w_{j}" for j in range(12)]
    held, seen = (
        Positions().held_out(samples(one, names)).assign_attrs(about)
        for one in (held, seen)
    )
    made = Field().predict(held, stored(model), seen, None, {})
    nodes = 7 if mirror else 12
    assert made.names == names[:nodes] and len(made.units) == nodes
    assert made.estimate[0].shape == (16, nodes) == made.band[0].shape
    np.testing.assert_allclose(made.estimate[0], q[0][:, :nodes], atol=1e-5)
    (row,) = made.numbers["channels"]
    assert row["name"] == "w" and row["unit"] == "m" and row["error"] < 1e-5
    assert made.numbers["begin"] == 4 and row["noise"] == 1e-6
    law = 0.003 / 1.5 * q[0].std()
    assert row["expected"] == pytest.approx(law, rel=1e-3)
    rest = q[0][4:, :nodes]
    assert row["size"] == pytest.approx(rest.std(), rel=0.1)
    refused = stored(learned_field(noise=1e-6, distance=np.inf))
    lost = Field().predict(held, refused, seen, None, {})
    assert lost.numbers["channels"][0]["error"] == 1e100


ROW = {"name": "w", "unit": "m", "error": 1.0, "size": 10.0, "expected": 1.0}
NUMBERS = {"channels": [ROW | {"noise": 0.1}], "begin": 4}


def found(model, **numbers):
    rollout = xr.Dataset(attrs={"numbers": json.dumps(NUMBERS | numbers)})
    units = xr.Dataset({"coordinate_unit": ("dof", ["mm"] * 12)})
    return Field().findings(stored(model), units, rollout)


def test_findings_of_a_field():
    said = found(learned_field())
    assert said.terms == [
        ("c^2", "waves", 1.5, 0.1, "m²/s²"),
        ("gamma", "damping", 0.001, 0.01, "1/s"),
        ("V'(-0.4)", "force", -0.2, 0.01, "mm/s²"),
        ("V'(0.5)", "force", 0.25, 0.02, "mm/s²"),
    ]
    assert not said.refusals and not said.reservations and not said.undecided
    assert said.about == str(learned_field()) and "| w |" in said.predicted[-1]


@pytest.mark.parametrize(
    ("changes", "decay", "reservation"),
    [
        ({"damping": 0.2}, 0.99, "energy is lost: w_tt + γ w_t with γ = 0.200 ± 0.020"),
        ({"damping": -0.2}, 1.01, "energy is gained: w_tt + γ w_t with γ = -0.200"),
        ({"misfit": 1.0}, 1.0, "is 1 times the variance of the noise"),
        ({"misfit": 0.99}, 1.0, ""),
        ({"misfit": np.inf}, 1.0, ""),
        ({"speed": 0.195}, 1.0, "not significant, c^2 = 0.20 ± 0.20 m²/s²"),
        ({"speed": -0.195}, 1.0, "not significant"),
        ({"speed": 0.197}, 1.0, ""),
    ],
)
def test_reservations_about_a_field(changes, decay, reservation):
    said = found(learned_field(five_point(decay=decay), **changes))
    assert len(said.reservations) == bool(reservation) and not said.refusals
    assert all(reservation in text for text in said.reservations)


def test_what_a_field_leaves_open_and_why_it_is_refused():
    said = found(learned_field(waves=4))
    assert said.undecided == ["wavenumbers above 4 of 6 (below noise)"]
    refused = found(learned_field(distance=np.inf))
    assert "no stable density agrees" in refused.refusals[0] and not refused.terms
    lost = found(learned_field(), channels=[ROW | {"noise": 0.1, "error": 9.0}])
    assert "miss w by 90 % of its rms" in lost.refusals[0] and not lost.terms


def test_natural_frequencies_are_those_of_the_discrete_motion():
    """tan(Ω h/2) = ω h/2 by the midpoint rule, about a rest that is not the mean."""
    stiffness = np.array([[2.0, -1.0], [-1.0, 3.0]])
    rest, h = np.array([0.2, -0.1]), 0.5
    law = oscillators(stiffness, rest, h)
    q = RANDOM.uniform(-1, 1, (3, 9, 2))
    omega = np.sqrt(np.linalg.eigvalsh(stiffness))
    expected = 2 / h * np.arctan(omega * h / 2) / (2 * np.pi)
    np.testing.assert_allclose(own_data._natural(law, q), expected, rtol=1e-8)
    assert own_data._natural(law, q * [0.1, 1]) is None  # the rest is not among q
    assert own_data._natural(law, q * [1, 0.05]) is None
    saddle = oscillators(np.array([[2.0, 0.0], [0.0, -1.0]]), rest, h)
    assert own_data._natural(saddle, q) is None
    for spring in (1.0, 2.0, 3.0):  # between two masses that nothing else holds
        free = oscillators(spring * np.array([[1.0, -1.0], [-1.0, 1.0]]), rest, h)
        assert own_data._natural(free, q) is None


def test_residuals_of_a_motion_are_tested_for_a_spring_of_its_own():
    """By the F test of each motion's residuals on a constant and its positions."""
    law = oscillators(np.diag([1.0, 2.0]), np.zeros(2), 0.5)
    rng, turn = np.random.default_rng(6), 2 * np.arctan(np.sqrt([1.0, 2.0]) / 4)
    phase = rng.uniform(0, 6, (4, 1, 2)) + turn * np.arange(30)[:, None]
    q = np.cos(phase) + 1e-3 * rng.normal(size=phase.shape)
    rows = own_data.discrete_euler_lagrange(law.basis, q, 0.5, law.rule)
    missed = (rows @ law.coefficients).reshape(4, 28, 2)
    total, explained = (missed**2).sum(), 0.0
    for one, path in zip(missed, q, strict=True):
        design = np.column_stack([np.ones(28), path[1:-1]])
        fit = design @ np.linalg.lstsq(design, one, rcond=None)[0]
        explained += (fit**2).sum()
    used, left = 4 * 3 * 2, 4 * 28 * 2 - 24
    ratio = explained / used / ((total - explained) / left)
    share, p = own_data._run_by_run(law, q)
    assert p > 1e-4
    assert share == pytest.approx(explained / total, rel=1e-9)
    assert p == pytest.approx(stats.f.sf(ratio, used, left), rel=1e-8)


def frequencies(monkeypatch, draws, degrees, noisy, factor=True):
    """:func:`_frequencies` of laws whose natural frequencies are given."""
    number = {"draw": iter(draws), "noisy": iter(noisy)}

    def law(value, **more):
        return SimpleNamespace(value=value, **more)

    start = law(
        np.array([1.0, 2.0]),
        factor=np.ones((1, 1)) if factor else None,
        samples=lambda n, rng: [law(next(number["draw"])) for _ in range(n)],
    )
    q = np.zeros((2, 5, 2))
    observations = xr.Dataset(
        {"q": (("replicate", "trajectory", "time", "dof"), q[None])}
    )
    asked, sizes = [], []

    class Recipe:
        def __init__(self, degree=None):
            self.degree = degree

        def dataset(self, data, library):
            if self.degree is None:
                sizes.append(data["q"].values.std())
                return law(next(number["noisy"]))
            asked.append(self.degree)
            value = degrees[self.degree]
            if isinstance(value, str):
                raise ValueError
            return law(value)

    model = xr.Dataset(
        {"degree": ("replicate", [4.0]), "row_error": ("replicate", [0.1])}
    )
    known = SimpleNamespace(from_dataset=lambda data: start if data is model else data)
    monkeypatch.setattr(own_data, "LearnedLagrangian", known)
    monkeypatch.setattr(own_data, "one_case", lambda data: data)
    monkeypatch.setattr(own_data, "_natural", lambda law, q: law.value)
    monkeypatch.setattr(own_data, "_of_degree", lambda degree, _: Recipe(degree))
    result = own_data._frequencies(model, observations, Recipe(), {})
    return result, asked, sizes


def test_errors_of_frequencies_add_up_in_squares(monkeypatch):
    rng = np.random.default_rng(3)
    draws = np.array([1.0, 2.0]) + 0.01 * rng.normal(size=(24, 2))
    noisy = np.array([1.1, 2.0]) + 0.02 * rng.normal(size=(4, 2))
    degrees = {3: np.array([1.03, 2.0]), 5: np.array([1.0, 1.95])}
    result, asked, sizes = frequencies(monkeypatch, draws, degrees, noisy)
    bias = noisy.mean(axis=0) - [1, 2]
    np.testing.assert_allclose(result["frequencies"], [1, 2] - bias, rtol=1e-12)
    square = draws.var(axis=0) + [0.03**2, 0.05**2] + bias**2
    square += noisy.var(axis=0, ddof=1) * 1.25
    np.testing.assert_allclose(result["frequency_std"], np.sqrt(square), rtol=1e-9)
    assert asked == [3, 5] and len(sizes) == 4
    assert np.mean(sizes) == pytest.approx(0.1, rel=0.3)
    degrees[5] = "few"  # more features than the snapshots determine
    result, *_ = frequencies(monkeypatch, draws, degrees, noisy)
    square -= [0, 0.05**2]
    np.testing.assert_allclose(result["frequency_std"], np.sqrt(square), rtol=1e-9)


@pytest.mark.parametrize("where", ["draws", "degrees", "noisy", "factor"])
def test_without_a_stable_rest_in_all_of_them_there_are_none(where, monkeypatch):
    good = np.array([1.0, 2.0])
    cases = {"draws": [good] * 24, "degrees": {3: good, 5: good}, "noisy": [good] * 4}
    for name, place in (("draws", 23), ("degrees", 5), ("noisy", 3)):
        if name == where:
            cases[name][place] = None
    result, *_ = frequencies(monkeypatch, **cases, factor=where != "factor")
    assert result == {"frequencies": [], "frequency_std": []}


@pytest.mark.parametrize(
    ("noise", "share", "p", "error", "outcome"),
    [
        (0.0029, 0.1, 0.5, 1.0, "found"),
        (0.0031, 0.1, 0.5, 1.0, "noisy"),
        (0.0029, 0.123, 1e-9, 1.0, "two laws"),
        (0.0029, 0.1, 0.5, 9.0, "refused"),
        (0.0029, 0.1, 0.5, None, "no rest"),
    ],
)
def test_findings_of_positions(noise, share, p, error, outcome, monkeypatch):
    law = oscillators(np.eye(2), np.zeros(2), 0.5)
    known = SimpleNamespace(from_dataset=lambda _: law)
    monkeypatch.setattr(own_data, "LearnedLagrangian", known)
    monkeypatch.setattr(own_data, "_run_by_run", lambda *_: (share, p))
    numbers = NUMBERS | {"frequencies": [1.0, 2.0], "frequency_std": [0.1, 0.2]}
    if error is None:
        numbers |= {"frequencies": [], "frequency_std": []}
    numbers["channels"] = [ROW | {"noise": 0.1, "error": error or 1.0}]
    rollout = xr.Dataset(attrs={"numbers": json.dumps(numbers | {"rms": 1.0})})
    model = xr.Dataset({"row_error": ("replicate", [noise])})
    said = Positions().findings(model, data_of(smooth()[..., :2]), rollout)
    rows = [
        ("frequency 1", "equilibrium", 1.0, 0.1, "Hz"),
        ("frequency 2", "equilibrium", 2.0, 0.2, "Hz"),
    ]
    if outcome in ("found", "two laws"):
        assert said.terms == rows and not said.undecided
    elif outcome == "noisy":
        assert [row[:3] for row in said.terms] == [row[:3] for row in rows]
        assert np.isnan([row[3] for row in said.terms]).all()
        assert "at a noise of 0.31 % of the rms motion" in said.undecided[0]
    else:
        assert not said.terms and bool(said.refusals) == (outcome == "refused")
        assert bool(said.undecided) == (outcome == "no rest")
    assert bool(said.reservations) == (outcome == "two laws")
    for text in said.reservations:
        assert (
            "one law does not follow all" in text
            and "(12 % of the square, p = 1e-09)" in text
        )
    assert said.notes == [f"noise of the positions: {noise:.3g} (SI units)"]


def test_positions_are_forecast_through_a_position_and_its_change(monkeypatch):
    """Straight motions; the most certain frequency is the error of the law."""

    def through(first, second, steps):
        change = np.arange(steps + 1)[:, None] * (second - first)
        return SimpleNamespace(positions=first + change)

    law = SimpleNamespace(through=through, basis=SimpleNamespace(dof=2))
    known = SimpleNamespace(from_dataset=lambda _: law)
    monkeypatch.setattr(own_data, "LearnedLagrangian", known)
    frequencies = {"frequencies": [1.0, 2.0], "frequency_std": [0.1, 0.06]}
    monkeypatch.setattr(own_data, "_frequencies", lambda *_: dict(frequencies))
    k = np.arange(20.0)
    q = np.stack([1 + 0.5 * k, 2 - 0.2 * k], axis=1) * np.ones((2, 1, 1))
    model = xr.Dataset({"row_error": ("replicate", [1e-3])})
    made = Positions().predict(data_of(q), model, data_of(q), None, {})
    np.testing.assert_allclose(made.estimate, q, atol=1e-6)
    numbers = made.numbers
    assert numbers["frequencies"] == [1.0, 2.0] and numbers["begin"] == 5
    assert numbers["rms"] == pytest.approx(np.sqrt((q**2).mean()))
    first, second = numbers["channels"]
    law_error = 0.03 * q.std()
    assert first["expected"] == pytest.approx(law_error, rel=1e-3)
    assert (first["name"], second["name"]) == ("a", "b") and first["noise"] == 1e-3


def test_the_demo_of_a_field_is_what_it_names():
    """u_tt = u_xx − u − u³ by differences in time, of the longest waves."""
    table = pd.read_csv(io.StringIO(Field().demo()))
    assert len(table) == 8 * 26 and list(table)[:3] == ["run", "t", "u_0"]
    assert table["t"].iloc[1] == 0.1 and table.shape[1] == 26
    u = table.to_numpy()[:, 2:].reshape(8, 26, 24) / 1e3
    second = (u[:, 2:] - 2 * u[:, 1:-1] + u[:, :-2]) / 0.01
    waves = np.fft.rfftfreq(24, 1 / 24)
    inner = u[:, 1:-1]
    bend = np.fft.irfft(-(waves**2) * np.fft.rfft(inner) * (waves < 5), 24)
    low = np.fft.irfft(np.fft.rfft(second) * (waves < 5), 24)
    left = low - bend + inner + inner**3
    assert np.std(left) < 0.35 and np.std(low) > 3 * np.std(left)
    high = np.abs(np.fft.rfft(u, norm="ortho"))[..., 8:12]
    assert np.sqrt((high**2).mean()) == pytest.approx(2e-3, rel=0.1)


def test_the_demo_of_positions_is_what_it_names():
    table = pd.read_csv(io.StringIO(Positions().demo()))
    assert len(table) == 16 * 25 and list(table) == ["run", "t [s]", "x [mm]", "y [mm]"]
    assert table["t [s]"].iloc[1] == 0.5
    q = table.to_numpy()[:, 2:].reshape(16, 25, 2) / 1e3
    np.testing.assert_array_equal(
        own_data._force_of_demo(np.array([0.5, -2.0])),
        [2 * 0.5 + 2 + 0.0625, -6 - 0.5 - 4],
    )
    from scipy.integrate import solve_ivp

    one = q[0]

    def path(start):
        def rate(_, y):
            return [*y[2:], *-own_data._force_of_demo(y[:2])]

        times = 0.5 * np.arange(25)
        return (
            solve_ivp(rate, (0, 12), start, t_eval=times, rtol=1e-9, atol=1e-9).y[:2].T
        )

    rng = np.random.default_rng(1)
    start = np.concatenate(rng.uniform(-1, 1, (2, 2)))
    assert (path(start) - one).std() == pytest.approx(1e-3, rel=0.25)
