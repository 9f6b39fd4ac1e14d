"""A line at a few sensors: Ritz modes, a law in its intervals, what is refused.

Motions are exact in the modes of a string, sin(rπx/ℓ).
"""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import leastaction as la
from leastaction.core.contracts import check
from leastaction.ensembles.innovations_likelihood import Fit
from leastaction.ensembles.kalman_filter import discretised
from leastaction.ensembles.sensor_records import Record
from leastaction.ensembles.state_space import Structure
from leastaction.ensembles.stochastic_subspace import BLOCKS, main_frequency
from leastaction.ensembles.term_search import Search
from leastaction.likelihood import field_sensors
from leastaction.likelihood.contracts import CONTRACTS
from leastaction.likelihood.field_model import SensedField
from leastaction.likelihood.field_sensors import (
    Candidates,
    Readings,
    _agreement,
    _apart,
    _matched,
    _searched,
    error_with_all,
    identify,
    kept_modes,
    likeliest,
    likelihood_of,
    parameters_of,
    refined,
    seen_of_modes,
    starts_of,
    with_all,
)
from leastaction.likelihood.field_state_space import FieldCandidates, Line, Modal

STEP, LENGTH, MODES = 0.05, 2.0, 40
PLACES = (0.3, 0.8, 1.5)
TRUTH = {"-u_x**2/2": 4.0, "-u**2/2": 3.0, "u_t**2/2": 0.4, "u_xt**2/2": 0.03}


@cache
def string(seed: int, times: int = 4000) -> np.ndarray:
    """u_tt = 4 u_xx − 3 u − .4 u_t + .03 u_xxt + Ẇ between fixed ends."""
    rng, k = np.random.default_rng(seed), np.pi / LENGTH * np.arange(1, MODES + 1)
    squares, losses = 4.0 * k**2 + 3.0, 0.4 + 0.03 * k**2
    both = [
        discretised(np.array([[0.0, 1.0], [-square, -loss]]), np.diag([0.0, 1.0]), STEP)
        for square, loss in zip(squares, losses, strict=True)
    ]
    moved, spread = map(np.array, zip(*both, strict=True))
    normals = rng.standard_normal((MODES, times + 1, 2))
    state = normals[:, 0] / np.sqrt(2 * np.stack([losses * squares, losses], 1))
    kicks = np.einsum("kij,ktj->tki", np.linalg.cholesky(spread), normals[:, 1:])
    paths = np.empty((times, MODES))
    for path, kick in zip(paths, kicks, strict=True):
        path[:] = state[:, 0]
        state = np.einsum("kij,kj->ki", moved, state) + kick
    seen = paths @ (np.sqrt(2 / LENGTH) * np.sin(np.outer(k, PLACES)))
    return seen + 0.02 * seen.std(axis=0) * rng.standard_normal(seen.shape)


def learned(u: np.ndarray, **more):
    columns = {"t": STEP * np.arange(len(u))}
    table = pd.DataFrame(columns | {f"s{k}": 1e3 * a for k, a in enumerate(u.T)})
    usual = {
        "sensors": {f"u({x})": f"s{k} [mm]" for k, x in enumerate(PLACES)},
        "length": LENGTH,
        "ends": "fixed",
    }
    how = {"kind": "field", "time": "t", "progress": False}
    return la.learn(table, **how, **(usual | more))


@pytest.mark.parametrize(
    "ends, text, wanted",
    [
        ("clamped, free", "-u_xx**2/2", [1.8751040687, 4.6940911330, 7.8547574382]),
        ("fixed", "-u_xx**2/2", np.pi * np.array([1, 2, 3])),
        ("clamped, fixed", "-u_xx**2/2", [3.9266023120, 7.0685827456, 10.2101761228]),
        ("fixed, free", "-u_x**2/2", np.pi * np.array([0.5, 1.5, 2.5])),
        ("periodic", "-u_x**2/2", np.pi * np.array([0, 2, 2])),
    ],
)
def test_modes_are_those_of_textbooks(ends, text, wanted):
    """Roots βℓ of the frequency equations (Blevins 1979)."""
    candidates = FieldCandidates("u", ("u_t**2/2", text), (), "u_t**2/2")
    modal = Modal.of(candidates, Line.of(LENGTH, ends), [0.5], 16)
    squares = np.maximum(modal.modes(np.array([1.0, 1.0]))[0][:3], 0)
    order = 4 if "xx" in text else 2
    np.testing.assert_allclose(
        squares ** (1 / order) * LENGTH, wanted, rtol=1e-8, atol=1e-3
    )


@pytest.fixture(scope="module")
def law():
    """Of a string whose search begins with too few modes."""
    return learned(string(206))


def test_terms_are_in_their_intervals(law):
    assert law.verdict == "found", law.reservations
    rows = law.terms[law.terms["std"] > 0].set_index("term")
    assert set(rows.index) == {*TRUTH, "1"}
    z = (rows.value - pd.Series(TRUTH | {"1": 1.0})) / rows["std"]
    assert np.abs(z).max() < 3.5
    frequency, ratio, *errors = law.learned.modes[:, 0]
    root = np.sqrt(4.0 * (np.pi / LENGTH) ** 2 + 3.0)
    loss = 0.4 + 0.03 * (np.pi / LENGTH) ** 2
    wanted = np.array([root / 2 / np.pi, loss / 2 / root])
    assert (np.abs([frequency, ratio] - wanted) < 3.5 * np.array(errors)).all()
    assert "| u(0.3) |" in str(law) and "m^2/s^2" in str(law)


def test_errors_of_modes_are_those_of_the_coefficients(law):
    """Standard errors of f and ζ are √(J C Jᵀ), with J by central differences."""
    field = law.learned
    columns, step = len(field.columns), 1e-5
    covariance = field.dataset["covariance"].values[0][:columns, :columns]

    def modes(k: int, change: float) -> np.ndarray:
        moved = field.dataset.copy(deep=True)
        moved["theta"][0, k] *= 1 + change
        return SensedField(moved).modes[:2]

    theta = field.dataset["theta"].values[0][:columns]
    slopes = [
        (modes(k, step) - modes(k, -step)) / (2 * step * theta[k])
        for k in range(columns)
    ]
    variance = np.einsum("kpr,kl,lpr->pr", slopes, covariance, slopes)
    np.testing.assert_allclose(field.modes[2:], np.sqrt(variance), rtol=1e-3)


def test_a_slower_line_has_the_same_modes_at_lower_frequencies(law):
    """Stiffness times 10⁻⁴ and damping times 10⁻²: time times a hundred."""
    field = law.learned
    slow, columns = field.dataset.copy(deep=True), np.array(field.columns)
    of_l = columns < len(field.candidates.lagrangian)
    factor = np.where(of_l, 1e-4, 1e-2)
    slow["theta"][0, : len(columns)] *= factor
    slow["covariance"][0, : len(columns), : len(columns)] *= np.outer(factor, factor)
    wanted = field.modes * np.array([[1e-2], [1.0], [1e-2], [1.0]])
    np.testing.assert_allclose(SensedField(slow).modes, wanted, rtol=1e-8)


def test_a_law_is_saved(law, tmp_path):
    law.save(tmp_path / "law.nc")
    assert str(la.load(tmp_path / "law.nc")) == str(law)


def test_one_sensor_does_not_tell_where_a_line_is_stiff():
    """With a stiffness that changes along the line no frequency says where."""
    free = ["-u_x**2/2", "-u**2/2", "-x*u_x**2/2", "-x**2*u_x**2/2"]
    law = learned(
        string(1)[:2000, 2:],
        sensors={"u(1.5)": "s0 [mm]"},
        library={"lagrangian": free, "dissipation": ["u_t**2/2", "u_xt**2/2"]},
    )
    assert law.verdict == "no law found" and not len(law.terms)
    assert "place more sensors along the line" in str(law).splitlines()[0]


def test_other_ends_are_rejected_on_the_first_line():
    law = learned(string(1)[:2000], ends="free")
    assert str(law).startswith("**No law found")


@pytest.mark.parametrize(
    "more, message",
    [
        ({"length": None}, "length: it is missing"),
        ({"ends": "fixed, hinged"}, "ends 'fixed, hinged'; expected free, fixed"),
        ({"sensors": {"u(2.5)": "s0 [mm]"}}, "expected a place that moves, between 0"),
        ({"sensors": {"u at 0.3": "s0 [mm]"}}, "at a place; expected u"),
        (
            {"sensors": {"u(0.3)": "s0 [mm]", "u_tt(0.8)": "s1 [mm]"}},
            "the units are those of different fields",
        ),
        ({"library": {"lagrangian": ["-u_x**4"]}}, "-u_x\\*\\*4 is not quadratic in"),
    ],
)
def test_a_wrong_line_is_refused(more, message):
    with pytest.raises(la.RecordingError, match=message):
        learned(string(1)[:400], **more)


CANDIDATES = FieldCandidates(
    "u", ("u_t**2/2", "-u_x**2/2", "-u**2/2"), ("u_t**2/2", "u_xt**2/2"), "u_t**2/2"
)
WAVE_NUMBERS = np.pi / LENGTH * np.arange(1, 13)


def readings_of(y, sensors, ends="fixed") -> Readings:
    """Two records of the same sensors."""
    none = np.zeros((1, 1)), np.zeros(1, dtype=bool)
    records = [Record(part, *none) for part in np.array_split(y, 2)]
    return Readings(Line.of(LENGTH, ends), sensors, records, STEP)


def swing(sensors, omega=9.0, times=400, size=1.0, noise=0.02):
    """All sensors read a sine of one frequency, and noise."""
    rng, t = np.random.default_rng(5), STEP * np.arange(times)[:, None]
    y = size * np.sin(omega * t + np.arange(len(sensors)))
    return readings_of(y + noise * rng.standard_normal(y.shape), sensors)


def modal_of(one: Readings, candidates=CANDIDATES, functions=24) -> Modal:
    return Modal.of(candidates, one.line, one.places, functions)


def main_of(one: Readings) -> float:
    return main_frequency(one.orders, [r.y for r in one.records], STEP)


def shapes_at(places, count=12):
    waves = np.outer(np.atleast_1d(places), WAVE_NUMBERS[:count])
    return np.sqrt(2 / LENGTH) * np.sin(waves)


def test_readings_are_those_of_the_first_replicate():
    values = np.arange(2 * 2 * 30 * 3.0).reshape(2, 2, 30, 3)
    sensors = ["u(0.3)", "u_tt(1.5)", "u_t(0.8)"]
    data = CONTRACTS["field_readings"].dataset(
        {"reading": values},
        {"replicate": [0, 1], "time": STEP * np.arange(30), "channel": sensors},
        {"domain_length": 2.5, "domain_ends": "fixed, free", "time_step": STEP},
    )
    one = Readings.of(data)
    assert one.line == Line(2.5, ("fixed", "free")) and one.dt == STEP
    assert one.sensors == sensors and one.places == [0.3, 1.5, 0.8]
    assert one.orders.tolist() == [0, 2, 1]
    assert len(one.records) == 2
    for record, y in zip(one.records, values[0], strict=True):
        np.testing.assert_array_equal(record.y, y)
        assert record.w.shape == (1, 1) and record.late.tolist() == [False]


def test_candidates_of_l_that_change_along_the_line_are_tested_for():
    library = {
        "lagrangian": ["-u_x**2/2", "-u**2/2", "3*u_t**2/2", "-x*u**2"],
        "dissipation": ["u_t**2/2", "u_xt**2/2"],
        "reference": "3*u_t**2/2",
    }
    one = Candidates.of(swing(["w(0.3)"])._replace(sensors=["u(0.3)"]), library)
    wide = ["x*(-u_x**2/2)", "x*(-u**2/2)"]
    assert one.fields.lagrangian == (*library["lagrangian"], *wide)
    assert one.names[:4] == [f"L: {text}" for text in library["lagrangian"]]
    assert one.names[4:] == [f"L: {t}" for t in wide] + ["D: u_t**2/2", "D: u_xt**2/2"]
    assert (one.listed, one.usable, one.further) == (4, [0, 1, 3, 6, 7], [4, 5])
    likelihood = SimpleNamespace(samples=500)
    search = one.search(likelihood)
    assert search.likelihood is likelihood and search.forces == ("equal",)
    assert search.usable == one.usable and search.further == one.further
    assert search.names == one.names
    assert [each.column for each in search.dampers] == [6]  # uniform damping


@pytest.mark.parametrize("c", [(0, 4.0, 3.0, 0.4, 0.03), (0, 0.5, 0.0, 0.0, 0.0)])
def test_variances_of_modes_are_those_of_oscillators_in_white_noise(c):
    """S²/(2·2ζω·ω²), over ω² of a velocity; the mean of an acceleration over Δt."""
    one = swing(["u_t(0.3)", "u(0.8)", "u_tt(1.5)"])
    k, main = WAVE_NUMBERS[:12], main_of(one)
    square = c[1] * k**2 + c[2]
    rate = np.maximum(c[3] + c[4] * k**2, 0.02 * main)
    mean = np.minimum(square, 4 / STEP**2)
    power = np.array([np.ones(12), 1 / square, mean]).T / (2 * rate)[:, None]
    result, shares = seen_of_modes(modal_of(one), one, np.array(c))
    np.testing.assert_allclose(result[:8], square[:8], rtol=1e-9)
    expected = shapes_at(one.places).T ** 2 * power
    np.testing.assert_allclose(shares[:8], expected[:8], rtol=1e-6, atol=1e-9)
    fast = np.array([0, 1e6, 0, 1.0, 0.0])
    shares = seen_of_modes(modal_of(one), one, fast)[1][:8, 2]
    np.testing.assert_allclose(
        shares, shapes_at(1.5)[0, :8] ** 2 * 2 / STEP**2, rtol=1e-6, atol=1e-6
    )


def test_a_line_that_moves_as_a_whole_has_all_but_no_stiffness():
    one = swing(["u(0.3)"])._replace(line=Line.of(LENGTH, "free"))
    square, shares = seen_of_modes(modal_of(one), one, np.array([0, 4.0, 0, 0.4, 0]))
    assert square[0] == pytest.approx((1e-9 * main_of(one)) ** 2)
    assert shares[0, 0] == pytest.approx(1 / LENGTH / (2 * 0.4 * square[0]), rel=1e-6)


@pytest.mark.parametrize(
    ("decays", "noises"),
    [
        ((0.3, 0.2), (1.0, 1.0)),  # the fewest
        ((0.8, 0.5), (1.0, 1.0)),
        ((0.5, 0.8), (1.0, 1.0)),
        ((0.6, 0.6), (1.0, 0.01)),
        ((0.6, 0.6), (0.01, 1.0)),
        ((0.97, 0.3), (1.0, 1.0)),  # the most
        ((0.8, 0.8), (0.0, 0.0)),  # no noise to be beneath of
    ],
)
def test_modes_are_kept_until_a_tenth_of_each_noise_is_left(
    monkeypatch, decays, noises
):
    rng, t = np.random.default_rng(6), np.arange(600)
    y = 3 * (t[:, None] > 299) + np.array(noises) * rng.standard_normal((600, 2))
    y[:, :] = np.where(np.array(noises) == 0, t[:, None] / 600, y)
    one = readings_of(y, ["u(0.3)", "u(0.8)"])
    shares = 7.0 * np.array(decays) ** np.arange(40)[:, None]
    monkeypatch.setattr(field_sensors, "seen_of_modes", lambda *_: (None, shares))
    part = sum((np.diff(r.y, 3, axis=0) ** 2).sum(axis=0) for r in one.records)
    part = part / (2 * 297) / 20 / y.var(axis=0)
    count = 1
    while (shares[count:].sum(axis=0) >= 0.1 * part * shares.sum(axis=0)).any():
        count += 1
        if count == 40:
            break
    assert kept_modes(None, one, None) == min(max(count, 6), 24)


def test_a_likelihood_is_that_of_the_modes_of_a_law():
    """Amplitudes of modes are as large at one frequency as what the sensors move by."""
    sensors = ["u_t(0.3)", "u(0.8)"]
    one, c = swing(sensors, size=2.5), np.array([0, 4.0, 3.0, 0.4, 0.03])
    model = likelihood_of(CANDIDATES, modal_of(one), one, c, 8).model
    k, main = WAVE_NUMBERS[:8], main_of(one)
    shapes = shapes_at(one.places, 8)
    np.testing.assert_allclose(abs(model.library.modal.shapes), abs(shapes), atol=1e-6)
    rates = np.sqrt(np.maximum(4 * k**2 + 3, main**2))
    values = np.concatenate([r.y for r in one.records]).std(axis=0)
    largest = max(values[0] / main, values[1])
    q = largest / abs(shapes).max() * main / rates
    np.testing.assert_allclose(model.scale, [*q, *(rates * q)], rtol=1e-6)
    assert (rates == main).any() and (rates > main).any()
    assert model.moment == pytest.approx(0.3 / rates.max(), rel=1e-6)
    assert model.dof == 8 and model.dt == STEP and not model.driven and not model.late
    np.testing.assert_allclose(
        abs(model.channels.velocity[0]), abs(shapes[0]), atol=1e-6
    )
    np.testing.assert_allclose(
        abs(model.channels.position[1]), abs(shapes[1]), atol=1e-6
    )
    assert [len(r.y) for r in model.records] == [200, 200]
    assert all(r.w.shape == (1, 8) and len(r.late) == 8 for r in model.records)


def test_the_force_makes_motions_of_the_variance_that_sensors_show():
    one, start = swing(["u(0.3)", "u(0.8)"]), np.array([0, 4.0, 0.0, 0.4, 0.0])
    model = likelihood_of(CANDIDATES, modal_of(one), one, start, 8).model
    structure, theta = parameters_of(model, start, [1, 2, 3, 4], one)
    assert structure == Structure((1, 3), "equal")
    k = WAVE_NUMBERS[:8]
    of_one = (shapes_at(one.places, 8) ** 2 / (2 * 0.4 * 4 * k**2)).sum(axis=1)
    y = np.concatenate([r.y for r in one.records])
    rough = sum((np.diff(r.y, 3, axis=0) ** 2).sum(axis=0) for r in one.records)
    noise = np.log(np.sqrt(rough / (2 * 197) / 20))
    strength = np.sqrt((y.var(axis=0) / of_one).mean())
    np.testing.assert_allclose(theta, [4.0, 0.4, strength, *noise], rtol=1e-5)


def test_a_start_with_all_candidates_has_zeros():
    start = Structure((1, 3), "equal"), np.array([4.0, 0.4, -0.5, 7.0, 8.0])
    structure, theta = with_all(start, [1, 2, 3, 4])
    assert structure == Structure((1, 2, 3, 4), "equal")
    assert theta.tolist() == [4.0, 0.0, 0.4, 0.0, -0.5, 7.0, 8.0]


def free_likelihood(information, terms=3):
    library = SimpleNamespace(terms=[None] * terms)
    return SimpleNamespace(
        joint=lambda fit, absent: (None, np.array(information)),
        model=SimpleNamespace(library=library),
    )


def test_the_error_with_all_free_is_that_of_the_joint_information(rng):
    root = rng.standard_normal((9, 6)) * [1.0, 1e3, 1e-3, 1.0, 2.0, 5.0]
    theta = np.array([0.5, 200.0, 3.0, -0.1])
    fit = SimpleNamespace(structure=Structure((1, 2, 3, 4), "equal"), theta=theta)
    error = (
        np.sqrt(np.diag(np.linalg.inv(root.T @ root)))
        / abs(np.append(theta, 1e9))[[0, 1, 2, 3, 4, 4]]
    )
    for terms in (1, 2, 3, 4, 5):  # of L, without the reference
        result = error_with_all(free_likelihood(root.T @ root, terms), fit, [5])
        expected = max(error[: terms - 1], default=0.0)
        assert result == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("left", "known"), [(2e-8, True), (5e-9, False)])
def test_what_is_hardly_determined_has_no_error(left, known):
    fit = SimpleNamespace(structure=Structure((1,), "equal"), theta=np.array([2.0]))
    information = np.array([[4.0, 6.0 * (1 - left)], [6.0 * (1 - left), 9.0]])
    result = error_with_all(free_likelihood(information), fit, [2])
    expected = 0.5 / 2 / np.sqrt(2 * left) if known else np.inf
    assert result == pytest.approx(expected, rel=1e-4)


def line_of(squares, shapes=None):
    """Modes of a line, in closed form, in the place of Ritz matrices."""
    n = len(squares)
    return SimpleNamespace(
        stiffness=np.zeros((2, n, n)),
        modes=lambda c: (np.array(squares), np.eye(n)) if len(c) == 2 else None,
        shapes=np.ones((1, n)) if shapes is None else np.array(shapes),
    )


OCTAVES = 4.0 ** np.arange(8)  # ω doubles from mode to mode


@pytest.mark.parametrize(
    ("frequencies", "places"),
    [
        ([1.0, 2.0, 128.0], [0, 1, 7]),
        ([2**0.5, 2**1.1], [0.5, 1.1]),
        ([0.5, 0.25], [-1, -2]),
        ([512.0], [7]),
    ],
)
def test_modes_are_apart_by_their_numbers(frequencies, places):
    outputs = np.array(frequencies), None, np.ones((len(places), 1))
    apart, vectors = _apart(line_of(OCTAVES), swing(["u(1)"]), np.zeros(5), outputs)
    expected = np.subtract.outer(places, np.arange(8)) ** 2
    np.testing.assert_allclose(apart, expected, atol=1e-12)
    assert vectors.shape == (8, 8)


def test_a_dense_line_and_one_that_moves_as_a_whole_have_places():
    one = swing(["u(1)"])
    outputs = np.array([1.5]), None, np.ones((1, 1))
    wide = line_of((1.0 + np.arange(30)) ** 2)
    apart, vectors = _apart(wide, one, np.zeros(2), outputs)
    assert apart.shape == (1, 24) and vectors.shape == (30, 24)
    rigid = line_of([-1.0, 1.0, 4.0, 9.0, 16.0, 25.0, 36.0, 49.0])
    apart, _ = _apart(rigid, one, np.zeros(2), outputs)
    place = 1 + np.log(1.5) / np.log(2)
    assert apart[0, 0] == pytest.approx(place**2)
    # The lowest is at a part of 1e-9 of the square of the seventh.
    slow = np.array([6 * 1e-9**0.5]), None, np.ones((1, 1))
    assert _apart(rigid, one, np.zeros(2), slow)[0][0, 0] == pytest.approx(0, abs=1e-9)
    twice = line_of([1.0, 1.0, 4.0, 9.0, 16.0, 25.0, 36.0])
    below = np.array([np.exp(-1e-9)]), None, np.ones((1, 1))
    assert _apart(twice, one, np.zeros(2), below)[0][0, 0] == pytest.approx(1, rel=1e-3)


def test_shapes_are_compared_where_there_are_several_sensors():
    """Of a velocity ω times that of the displacement, a quarter of a turn before."""
    one = swing(["u(0.3)", "u_t(0.8)", "u_tt(1.5)"])
    shapes = np.array([[1.0, 1.0, 0.2], [1.0, -1.0, 0.5], [0.5, 0.5, -2.0]])
    omega = np.array([1.0, 2.0, 4.0])
    squares = [*(omega**2), *(4.0 ** np.arange(3, 8))]
    line = line_of(squares, np.hstack([shapes, np.ones((3, 5))]))
    moved = shapes.T * (1j * omega[:, None]) ** [0, 1, 2]
    apart, _ = _apart(line, one, np.zeros(2), (omega, None, (2 - 1j) * moved))
    size = np.linalg.norm(shapes, axis=0)
    mac = (shapes.T @ shapes / np.outer(size, size)) ** 2
    expected = np.subtract.outer(np.arange(3), np.arange(3)) ** 2 + 1 - mac
    np.testing.assert_allclose(apart[:, :3], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("places", "agreement"),
    [
        ([0], 1.0),
        ([0, 1], 2.0),
        ([0.1], 1 - 0.12),
        ([1], 1.0 - 1),  # one below is left out
        ([1, 3], 2.0 - 2),
        ([1, 1.1], 2 - 0.12 - 1),
        ([0.4], 0.0),  # as good as at random
    ],
)
def test_modes_agree_less_those_that_are_left_out(places, agreement):
    outputs = 2.0 ** np.array(places), None, np.ones((len(places), 1))
    result = _agreement(line_of(OCTAVES), swing(["u(1)"]), np.zeros(2), outputs)
    assert result == pytest.approx(agreement, abs=1e-9)


@pytest.mark.parametrize("signs", [(1.0, 1.0), (-1.0, 1.0)])
@pytest.mark.parametrize("lossy", [(0, 1), (1,), ()])
def test_matched_coefficients_are_those_of_the_modes_of_the_outputs(signs, lossy):
    texts = [f"{-s}*{u}**2/2" for s, u in zip(signs, ("u_x", "u"), strict=True)]
    losses = ("u_t**2/2", "u_xt**2/2")
    candidates = FieldCandidates("u", ("u_t**2/2", *texts), losses, "u_t**2/2")
    one = swing(["u(0.3)", "u(0.8)", "u(1.5)"])
    k, d = WAVE_NUMBERS[:3], np.array([0.4, 0.03]) * np.isin([0, 1], lossy)
    omega = np.sqrt(4 * k**2 + 3)
    outputs = omega, (d[0] + d[1] * k**2) / 2 / omega, shapes_at(one.places, 3).T
    first = np.array([0.0, 5.0 * signs[0], 0.0])
    full = modal_of(one, candidates)
    result = _matched(full, one, first, [1, 2], list(lossy), outputs)
    np.testing.assert_allclose(result, [0, 4 * signs[0], 3, *d], rtol=1e-6, atol=1e-8)


def test_a_start_that_matches_nothing_stays():
    """A stiffness that is negative in the mode next to that of the output."""
    n = 8
    stiffness = np.array([np.diag([-1.0, *[5.0] * (n - 1)])])
    line = SimpleNamespace(
        stiffness=stiffness,
        damping=np.zeros((1, n, n)),
        modes=lambda c: (OCTAVES, np.eye(n)),
        shapes=np.ones((1, n)),
    )
    outputs = np.array([1.0]), np.array([0.1]), np.ones((1, 1))
    result = _matched(line, swing(["u(1)"]), np.array([7.0]), [0], [], outputs)
    assert result.tolist() == [7.0, 0.0]


def test_starts_begin_with_each_candidate_at_the_main_frequency(monkeypatch):
    """Four of every one and two; the best has the modes of the outputs."""
    one = swing(["u(0.3)", "u(0.8)", "u(1.5)"], omega=np.sqrt(4 * (np.pi / 2) ** 2 + 3))
    k = WAVE_NUMBERS[:3]
    omega, calls, tried = np.sqrt(4 * k**2 + 3), [], []
    exact = omega, 0.2 / omega, shapes_at(one.places, 3).T

    class Realised:
        def __init__(self, series, stride, blocks, order):
            assert [len(y) for y in series] == [200, 200]
            self.about = stride, blocks, order

        def rates(self, order, dt):
            calls.append((*self.about, order, dt))
            return "rates", "shapes"

    def modes_of(rates, shapes, count):
        assert (rates, shapes) == ("rates", "shapes")
        return tuple(part[:count] for part in exact)

    def matched(full, readings, alone, chosen, lossy, outputs):
        tried.append((alone, chosen, lossy, len(outputs[0])))
        return _matched(full, readings, alone, chosen, lossy, outputs)

    monkeypatch.setattr(field_sensors, "StochasticRealisation", Realised)
    monkeypatch.setattr(field_sensors, "modes", modes_of)
    monkeypatch.setattr(field_sensors, "_matched", matched)
    starts = starts_of(modal_of(one), one, [1, 2, 3])
    assert len(starts) == 4 * 3
    main = main_of(one)
    strides = [max(1, round(2 * np.pi / main / STEP / n)) for n in (6, 12, 24, 48)]
    expected = [
        (stride, BLOCKS, 2 * count + 1, 2 * count, stride * STEP)
        for stride in strides
        for count in (1, 2, 3, 4)
    ]
    assert calls == expected and strides[-1] == 1 < strides[0]
    for number, (alone, chosen, lossy, count) in enumerate(tried):
        (first,) = np.flatnonzero(alone)
        mode = (number // 16 if number < 96 else (number - 96) // 12) % 3
        square = k[mode] ** 2 if first == 1 else 1.0
        assert alone[first] == pytest.approx(main**2 / square, rel=1e-6)
        assert lossy == [0] and count >= len(chosen) and first in chosen
    assert [chosen for _, chosen, *_ in tried[:: 16 * 3][:2]] == [[1], [2]]
    assert len(tried) == 2 * 3 * 16 + 2 * 3 * 12
    np.testing.assert_allclose(starts[8], [0, 4, 3, 0.4, 0], rtol=1e-6, atol=1e-9)
    assert all(not s[2] for s in starts[:4]) and all(not s[1] for s in starts[4:8])


def test_the_likeliest_start_is_judged_in_its_modes(monkeypatch):
    made, starts = [], [np.array([0.0, x]) for x in (1.0, 3.0, 3.001, 0.0, 2.0)]

    def made_of(candidates, full, readings, coefficients, dof):
        made.append((coefficients[1], dof))
        value = 10 - (coefficients[1] - 3) ** 2
        return SimpleNamespace(
            model=coefficients[1], profiled=lambda *start: (None, value)
        )

    shown = {1.0: 4, 3.0: 20, 2.0: 7}
    monkeypatch.setattr(field_sensors, "likelihood_of", made_of)
    monkeypatch.setattr(field_sensors, "kept_modes", lambda full, one, c: shown[c[1]])
    monkeypatch.setattr(field_sensors, "parameters_of", lambda *about: about)
    likelihood, about = likeliest("fields", "full", "readings", starts, "usable")
    assert made == [(1.0, 4), (3.0, 10), (2.0, 7), (3.0, 20)]
    assert likelihood.model == 3.0
    assert about == (3.0, starts[1], "usable", "readings")
    for none in ([], [np.zeros(2)]):
        with pytest.raises(ValueError, match="no line with these ends and candidates"):
            likeliest("fields", "full", "readings", none, "usable")


@pytest.mark.parametrize(("dof", "more"), [(6, 9), (7, 11)])
@pytest.mark.parametrize("value", [-5.0, -np.inf])
def test_a_law_is_estimated_with_half_as_many_modes_again(
    monkeypatch, dof, more, value
):
    made = []

    def likelihood_with(candidates, full, readings, coefficients, count):
        made.append((full.shapes.shape, readings.records, coefficients, count))
        return SimpleNamespace(fit=lambda *law: SimpleNamespace(value=value, law=law))

    monkeypatch.setattr(field_sensors, "likelihood_of", likelihood_with)
    parameters = SimpleNamespace(coefficients="coefficients")
    model = SimpleNamespace(
        dof=dof, parameters=lambda *law: parameters, records="centred"
    )
    fit = SimpleNamespace(structure="structure", theta="theta")
    one = swing(["u(0.3)", "u(0.8)"])
    if np.isinf(value):
        with pytest.raises(ValueError, match="no line with these ends"):
            refined(CANDIDATES, one, model, fit)
        return
    assert refined(CANDIDATES, one, model, fit)[1].law == ("structure", "theta")
    assert made == [((2, more + 24), "centred", "coefficients", more)]


def searched(monkeypatch, kept, terms=True, value=-1.0):
    """The search over lines that show as many modes, round by round, from six."""
    calls, counts = [], iter(kept)
    names = {
        "parameters": lambda *law: SimpleNamespace(coefficients=law),
        "centred": lambda *law: ("centred", law),
    }

    def likelihood_with(candidates, full, readings, coefficients, dof):
        calls.append(("likelihood", coefficients, dof, readings))
        fit = lambda *law: SimpleNamespace(value=value, law=law)  # noqa: E731
        return SimpleNamespace(model=SimpleNamespace(dof=dof, **names), fit=fit)

    def run(starts, colour, searching):
        calls.append(("run", starts, colour, searching))
        fit = SimpleNamespace(structure="law", theta=len(calls))
        return SimpleNamespace(fit=fit)

    first = Structure((1,), "equal"), np.array([4.0, 0.5, 7.0])
    begun = likelihood_with(None, None, "readings", "first", 6)
    calls.clear()
    monkeypatch.setattr(field_sensors, "likelihood_of", likelihood_with)
    monkeypatch.setattr(field_sensors, "starts_of", lambda *about: "starts")
    monkeypatch.setattr(field_sensors, "likeliest", lambda *about: (begun, first))
    monkeypatch.setattr(field_sensors, "kept_modes", lambda *about: next(counts))
    candidates = SimpleNamespace(
        fields=CANDIDATES,
        usable=[1, 2],
        search=lambda likelihood: SimpleNamespace(run=run),
    )
    return _searched(swing(["u(0.3)"]), candidates, terms), calls


@pytest.mark.parametrize("kept", [[6], [5], [8, 8], [8, 9, 7]])
def test_terms_are_sought_again_with_all_modes_that_are_shown(monkeypatch, kept):
    (likelihood, fit), calls = searched(monkeypatch, kept)
    runs = [call for call in calls if call[0] == "run"]
    assert len(runs) == len(kept) and all(c[2:] == ("white", True) for c in runs)
    # The last one is in the modes of the law.
    assert calls[-1][1][0] == "law" and calls[-1][2] == kept[-1]
    assert likelihood.model.dof == kept[-1] and fit.law == calls[-1][1]
    assert calls[-1][3].records == ("centred", calls[-1][1])
    assert [call[2] for call in calls[1:-1] if call[0] != "run"] == kept[:-1]
    assert all(call[1][0].columns == (1,) for call in calls[1:-1] if call[0] != "run")


def test_a_law_that_is_not_searched_has_all_terms(monkeypatch):
    _, calls = searched(monkeypatch, [6], terms=False)
    ((_, (start,), _, searching), _) = calls
    assert start[0].columns == (1, 2) and not searching


@pytest.mark.parametrize(("kept", "value"), [(range(7, 13), -1.0), ([6], -np.inf)])
def test_a_line_whose_modes_do_not_settle_is_none(monkeypatch, kept, value):
    with pytest.raises(ValueError, match="no line with these ends"):
        searched(monkeypatch, [*kept, 1], value=value)


@pytest.mark.parametrize("white", [True, False])
@pytest.mark.parametrize("settled", [True, False])
def test_a_line_is_written_with_what_its_modes_and_terms_leave_open(
    monkeypatch, white, settled
):
    """The covariance has the square of the change by further modes."""
    library = {
        "lagrangian": ["u_t**2/2", "-u_x**2/2", "-u**2/2"],
        "dissipation": ["u_t**2/2", "u_xt**2/2"],
        "reference": "u_t**2/2",
    }
    sensors = ["u(0.3)", "u(0.8)"]
    values = np.random.default_rng(0).standard_normal((1, 2, 30, 2))
    units = {"units": ["mm", "mm"], "time_step": STEP}
    about = units | {"domain_length": LENGTH, "domain_ends": "fixed"}
    data = CONTRACTS["field_readings"].dataset(
        {"reading": values},
        {"replicate": [4], "time": STEP * np.arange(30), "channel": sensors},
        about,
    )
    both, one = Structure((1, 5), "equal"), Structure((1,), "equal")
    columns = both if not settled else one
    coarse_theta = np.array([4.0, 0.4, 0.5, -1.0, -2.0])[: 5 if columns is both else 4]
    theta = coarse_theta + np.arange(1, len(coarse_theta) + 1) / 10
    C = np.diag(np.arange(1.0, len(theta) + 1))

    def fit_of(structure, theta):
        none = np.zeros(0)
        axes = np.eye(len(theta))
        return Fit(structure, theta, -1.0, axes, none, np.linalg.inv(C), True)

    first = fit_of(both, np.array([4.0, 0.4, 0.5, -1.0, -2.0]))
    finer, law = fit_of(both, theta), fit_of(columns, theta)
    refitted = fit_of(one, coarse_theta)
    coarse = SimpleNamespace(model="coarse", fit=lambda *law: refitted)
    shown = SimpleNamespace(
        whiteness=1.001e-3 if white else 0.999e-3, past=0.25, impulses=None
    )
    scores = np.array([1.0, -3.0, 2.0, 0.5, -7.0])
    nearly = SimpleNamespace(theta=np.arange(len(theta)) / 7)
    entry, known = np.arange(1.0, 6.0), np.array([4.0, 0.0, 1.0, 1.0, 1.0])
    likelihood = SimpleNamespace(
        model=SimpleNamespace(dof=9),
        samples=60,
        scores=lambda fit, absent, memory: scores[-1 - len(absent) :],
        entries=lambda fit, absent, memory: (entry, known, None),
    )
    replaced = {
        "_searched": lambda readings, candidates, terms: (coarse, first),
        "refined": lambda fields, readings, model, fit: (likelihood, finer),
        "tested": lambda model, fit: shown,
        "error_with_all": lambda likelihood, fit, absent: 0.01 * len(absent),
        "nearest_absent": lambda *about: nearly,
        "robust_covariance": lambda likelihood, fit: 3 * C,
    }
    for name, function in replaced.items():
        monkeypatch.setattr(field_sensors, name, function)
    monkeypatch.setattr(Search, "settled", lambda self, fit: (law, ""))
    result = identify(None, {"search": settled}, data, library)
    check(result, "sensed_field")
    moved, (numbers,) = theta - coarse_theta, [result.isel(replicate=0)]
    total = (C if white else 3 * C) + np.outer(moved, moved)
    total = total + np.outer(nearly.theta, nearly.theta)
    np.testing.assert_allclose(numbers["covariance"], total)
    np.testing.assert_allclose(numbers["theta"], theta)
    assert numbers["column"].values.tolist() == [*columns.columns]
    assert numbers["kept"] == 9 and numbers["converged"] == 1
    share = np.abs(moved / np.sqrt(np.diag(total))).max()
    assert float(numbers["truncation"]) == pytest.approx(share)
    inside = 4 - len(columns.columns)  # usable: two of L, two of D
    assert float(numbers["open_error"]) == pytest.approx(0.01 * inside)
    absent = scores[-1 - inside - 2 : -1]
    assert numbers["best_score"] == (absent**2).max()
    assert numbers["memory_score"] == -7.0 and numbers["predicted_share"] == 0.25
    assert numbers["whiteness"] == shown.whiteness
    np.testing.assert_array_equal(numbers["absent_estimate"], entry[:inside])
    np.testing.assert_allclose(numbers["absent_std"][0], 0.5)
    assert float(numbers["absent_std"][1]) > 1e150
    names = ["-u**2/2", "u_t**2/2", "u_xt**2/2", "x*(-u_x**2/2)", "x*(-u**2/2)"]
    names = [n for n in names if n != "u_t**2/2" or columns is one]
    assert result.attrs["best_absent"] == names[int((absent**2).argmax())]
    assert [text[3:] for text in result.attrs["absent"]] == names[:inside]
    assert result.attrs["own"] == 3 and result.attrs["field"] == "u"
    assert result.attrs["units"] == ["mm", "mm"] and result.attrs["sensors"] == sensors
    assert result["replicate"].values.tolist() == [4]
