"""A law from recordings: structure, numbers, error bars, and what shooting rests on."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
import yaml
from recorded import ROOT, identified
from scipy.signal import cont2discrete, dlsim, lfilter, lsim
from scipy.stats import ttest_1samp
from sympy import lambdify

import leastaction
from leastaction.core.euler_lagrange import symbols
from leastaction.core.expressions import parse
from leastaction.core.library import Library
from leastaction.core.model import simulate
from leastaction.recordings import (
    cross_validated_shooting,
    input_dynamics,
    input_hold,
)
from leastaction.recordings.candidates import prices, smooth_friction
from leastaction.recordings.error import RecordingError
from leastaction.recordings.error_bars import absent_term, halves_of
from leastaction.recordings.input_dynamics import InputDynamics, Unknown
from leastaction.recordings.input_hold import held_or_sampled
from leastaction.recordings.inputs import Inputs, is_held
from leastaction.recordings.leave_one_out import (
    ERROR_RATIO_OF_TERM,
    PRICE_OF_GAIN,
    LeaveOneOut,
    Problem,
)
from leastaction.recordings.measured_rollout import force_error
from leastaction.recordings.recorded_library import stribeck_losses
from leastaction.recordings.remarks import AMPLITUDE_PER_MISFIT, is_lost
from leastaction.recordings.stand_in import recorded_table
from leastaction.recordings.windows import Recording
from leastaction.trajectories.multiple_shooting import Positions, Segments
from leastaction.trajectories.variational_equations import variational_equations


def recording(folder, changes=None):
    """The stand-in pendulum of the project as a table, and the user's YAML."""
    settings = yaml.safe_load((ROOT / "config/stand_ins/pendulum.yaml").read_text())
    for section, values in (changes or {}).items():
        settings[section] |= values
    settings |= {"seed": 7, "example": "test"}
    (folder / "rig.csv").write_text(recorded_table(settings))
    return {
        "import": {
            "files": "rig.csv",
            "trajectory": "run",
            "time": "t",
            "coordinates": {"theta": "rad"},
        }
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rig")
    return identified(recording(folder), folder)


def law(model) -> dict[str, tuple[float, float]]:
    """Coefficient and standard error of every selected term; losses with D."""
    one = model.isel(replicate=0)
    terms = {}
    for mark, part, name in (
        ("", "", "term"),
        ("D ", "dissipation_", "dissipation_term"),
    ):
        for term, value, std in zip(
            one[name].values,
            one[f"{part}coefficient_estimate"].values,
            one[f"{part}coefficient_std"].values,
            strict=True,
        ):
            if value:
                terms[mark + str(term)] = (float(value), float(std))
    return terms


def test_the_stand_in_gives_its_law(found):
    """An encoder, a zero that is off, dry friction and a jittering clock."""
    terms = law(found[1])
    assert set(terms) == {
        "thetadot**2",
        "cos(theta)",
        "sin(theta)",
        "D abs(thetadot)",
        "D thetadot**2",
    }
    assert terms["thetadot**2"] == (0.5, 0)
    for term, truth, error in (
        ("cos(theta)", -64.0, 5e-4),
        ("sin(theta)", -64.0 * np.sin(0.002), 0.1),
        ("D abs(thetadot)", 0.15, 0.03),
        ("D thetadot**2", 0.015, 0.03),
    ):
        assert terms[term][0] == pytest.approx(truth, rel=error)


def test_a_held_out_swing_is_predicted(found):
    rollout = found[2]
    assert rollout["rms_error"].values.max() < 0.005
    error = np.abs(rollout["q_measured"] - rollout["q_estimate"])
    inside = (error < rollout["q_band"] + 0.001).values
    assert inside.mean() > 0.9


def test_held_out_swings_have_no_say(tmp_path):
    """Spoiling a held-out trajectory leaves the law as it is, to the last digit."""
    given = recording(tmp_path, {"simulate": {"trajectories": 5}})
    given["validate"] = {"held_out": [3]}
    _, before, _ = identified(given, tmp_path)
    lines = (tmp_path / "rig.csv").read_text().splitlines()
    for i, line in enumerate(lines):
        run, time, angle = line.split(",")
        if run == "3":
            lines[i] = f"{run},{time},{1.1 * float(angle) - 0.3:.6f}"
    (tmp_path / "rig.csv").write_text("\n".join(lines) + "\n")
    _, after, _ = identified(given, tmp_path)
    assert law(before) == law(after)


def forced():
    """A pendulum with an input, its candidates and a smooth force."""
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, x**2, x**4], ["x"], [v**2])
    c = np.array([0.5, -10.0, -20.0, 0.05])

    def nodes(rows, steps, dt):
        time = np.arange(2 * steps * rows) * dt / (2 * steps)
        return (3.0 * np.sin(4.0 * time))[:, None]

    return equations, c, nodes


def test_an_input_drives_the_motion_to_fourth_order():
    """Halving the step of the integrator divides the error by 16."""
    equations, c, nodes = forced()
    dt, rows = 0.05, 60
    start = np.array([[0.3, 0.0]])
    paths = [
        equations.rollout(start, c, dt, rows, steps, nodes(rows, steps, dt))[0, -1, 0]
        for steps in (1, 2, 16)
    ]
    errors = np.abs(np.array(paths[:2]) - paths[2])
    assert 10 < errors[0] / errors[1] < 24


def test_sensitivities_with_an_input_are_derivatives():
    equations, c, nodes = forced()
    dt, rows, steps = 0.02, 50, 4
    force = nodes(rows, steps, dt)
    start, active = np.array([[0.3, 0.1]]), np.array([1, 2, 3])
    q = equations.rollout(start, c, dt, rows, steps, force)[0, :, :1] + 0.01
    arguments = (np.array([0]), np.array([rows]))

    def chi2(state, values):
        square = equations.normal_equations(
            q, *arguments, state, values, None, np.ones(1), dt, steps, force
        )[2]
        return square.sum()

    _, g, _ = equations.normal_equations(
        q, *arguments, start, c, active, np.ones(1), dt, steps, force
    )
    slopes = []
    for k in range(2):
        h = 1e-6 * np.eye(2)[k]
        slopes.append((chi2(start + h, c) - chi2(start - h, c)) / 2e-6)
    for k in active:
        h = 1e-5 * np.eye(4)[k]
        slopes.append((chi2(start, c + h) - chi2(start, c - h)) / 2e-5)
    np.testing.assert_allclose(-2 * g[0], slopes, rtol=1e-5)


@pytest.fixture
def regression(rng):
    """Blocks of a linear regression, in which everything is exact."""
    a = rng.standard_normal((6, 40, 4))
    y = a @ np.array([2.0, 0.0, -1.0, 0.0]) + 0.1 * rng.standard_normal((6, 40))
    c = np.array([1.5, 0.3, -0.8, 0.1])
    r = y - a @ c
    return (
        a,
        y,
        LeaveOneOut(
            np.einsum("sni,snj->sij", a, a),
            np.einsum("sni,sn->si", a, r),
            (r**2).sum(1),
            c,
            6 * 40 * 0.01,
            np.zeros(4, dtype=bool),
            np.ones(4),
        ),
    )


def test_leaving_a_block_out_is_leaving_it_out(regression):
    a, y, quadratic = regression
    support = [0, 2]
    errors = quadratic.block_errors(support, [])
    for s in range(6):
        others = [t for t in range(6) if t != s]
        fit = np.linalg.lstsq(
            a[others][..., support].reshape(-1, 2), y[others].ravel(), rcond=None
        )[0]
        expected = ((y[s] - a[s][:, support] @ fit) ** 2).sum()
        assert errors[s] == pytest.approx(expected, rel=1e-8)


def test_the_true_support_has_the_smallest_criterion(regression):
    quadratic = regression[2]
    truth = quadratic.criterion((0, 2), [])
    for other in ((0,), (2,), (0, 1), (0, 1, 2), (0, 2, 3), (0, 1, 2, 3)):
        assert quadratic.criterion(other, []) > truth


def test_a_term_that_may_belong_into_a_law_counts_by_its_probability(regression):
    """Half of what it changes, where it should be there; nothing of a free motion."""
    quadratic = regression[2]
    c = np.array([1.5, 0.0, 0.0, 0.0])
    present = SimpleNamespace(support=(0,), fit=SimpleNamespace(c=c))
    kept = SimpleNamespace(driven=True, price=np.ones(4))
    change = quadratic.coefficients((0, 2), []) - quadratic.coefficients((0,), [])
    found = absent_term(kept, present, quadratic)
    np.testing.assert_allclose(found, [change[0] / 2, 0, 0, 0])
    lower = [quadratic.block_errors(s, []).sum() for s in ((0, 2), (0,))]
    w = 0.5 * np.log(lower[0] / lower[1]) / (50 * np.log(ERROR_RATIO_OF_TERM))
    kept.price = np.full(4, 50.0)
    dear = absent_term(kept, present, quadratic)[0]
    assert 0 < w < 0.5 and dear == pytest.approx(np.sqrt(w * (1 - w)) * change[0])
    there = SimpleNamespace(support=(0, 2), fit=SimpleNamespace(c=c))
    assert np.abs(absent_term(kept, there, quadratic)).max() < 0.1 * abs(found[0])
    kept.driven = False
    assert not absent_term(kept, present, quadratic).any()


def test_the_double_of_an_angle_costs_more_than_the_angle():
    """Over a part of a turn each imitates the other, in inertia and potential alike."""
    names = ["cos(b)", "cos(2*b)", "adot*bdot*cos(b)", "adot*bdot*cos(2*b)"]
    library = Library.from_config(
        {"reference": "adot**2", "lagrangian": [{"terms": ["adot**2", *names]}]},
        ["a", "b"],
    )
    price = dict(zip(library.names, prices(library, np.arange(5)), strict=True))
    assert [price[name] for name in names] == [1.0, 1.25, 2.0, 2.5]


def recorded_rows(force, q, length=10):
    """Rows of trajectories of equal length, with a force or none."""
    parts = [slice(a, a + length) for a in range(0, len(q), length)]
    about = SimpleNamespace(q=q), parts, [], 1.0, np.ones((len(parts), 1)), None
    inputs = None if force is None else SimpleNamespace(recorded=force)
    return Recording(*about, np.arange(len(q)), 1, inputs)


@pytest.mark.parametrize(("driven", "alone"), [(8, True), (2, True), (1, False)])
def test_trajectories_are_left_out_where_others_tell_the_scale(driven, alone):
    force = np.where(np.arange(80) < 10 * driven, 1.0, 0.01)[:, None]
    assert recorded_rows(force, np.ones((80, 1))).by_trajectory is alone


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_free_swings_beside_a_driven_run_belong_to_its_law(noise):
    """The scale is that of one run in five; the noise of the others is no force."""
    rng, time = np.random.default_rng(5), np.arange(0, 15, 0.01)
    system, runs = (np.array([[0, 1], [-40, -0.3]]), [[0], [0.5]], [[1, 0]], 0), []
    for amplitude in (0.0, 0.2, 0.3, 0.4, 0.5, 0.6):
        force = np.zeros(len(time)) if amplitude else 9 * np.sin(7 * time)
        x = lsim(system, force, time, [amplitude, 0])[1]
        force = force + noise * rng.standard_normal(len(time))
        x = x + 2e-4 * rng.standard_normal(len(time))
        runs.append((force, x))
    forces, motions = zip(*runs, strict=True)
    found = leastaction.learn(
        {"x": list(motions), "force": list(forces)},
        time=time,
        coordinates={"x": "m"},
        inputs={"x": "force [N]"},
        held_out=[3],
        progress=False,
    )
    assert found.verdict == "found"
    assert "Without an input" in str(found)
    for name, true in (("xdot**2", 1.0), ("x**2", -40.0)):
        off, width = abs(found.coefficient(name) - true), 0.03 * abs(true)
        error = found.standard_error(name)
        assert off < found.interval_factor * error < width


@pytest.mark.parametrize(
    ("values", "held"),
    [
        (np.repeat([1.0, -1.0, 2.0, 0.0, 3.0], 20), True),
        (np.repeat([0.0, 1.0, 0.0, 1.0, 0.0, 0.0], 20), True),
        (np.append(np.zeros(900), np.sin(np.arange(100))), False),
        (np.maximum(np.sin(np.arange(1000) / 20) - 0.9, 0.0), False),
        (np.zeros(50), False),
    ],
)
def test_where_an_input_rests_it_is_not_held(values, held):
    assert is_held(values) is held


@pytest.mark.parametrize("free", [[], [0, 1, 2, 3], [6], [2, 5, 7]])
def test_free_swings_stand_in_both_halves_of_the_blocks(free):
    """A half of free swings alone does not know the scale of a driven law."""
    rows = np.arange(80).reshape(8, 10)
    loud = np.repeat(np.arange(8.0, 0.0, -1.0), 10)
    force = np.random.default_rng(3).standard_normal((80, 1))
    force[rows[free]] *= 0.01
    q = (loud * np.cos(np.arange(80)))[:, None]
    found = recorded_rows(force if free else None, q)
    segments = SimpleNamespace(first=rows[:, 0], length=np.full(8, 10))
    present = SimpleNamespace(fit=SimpleNamespace(segments=segments))
    large, small = halves_of(SimpleNamespace(blocks=np.arange(8)), present, found)
    assert sorted([*large, *small]) == list(range(8))
    assert abs(len(large) - len(small)) <= 2
    for group in (free, sorted({*range(8)} - {*free})):
        of_large, of_small = (
            [s for s in half if s in group] for half in (large, small)
        )
        assert [*of_large, *of_small] == list(group)  # the louder ones first
        assert 0 <= len(of_large) - len(of_small) <= 1


@pytest.mark.parametrize(
    ("misfit", "missed", "lost"),
    [
        (0.06, [0.01], False),
        (0.06, [0.1], True),
        (0.01, [0.4], True),
        (0.06, None, True),
        (0.06, [0.01, np.nan], True),
        (0.01, [0.01, np.nan], False),
    ],
)
def test_a_driven_law_is_judged_by_its_force(misfit, missed, lost):
    """Where that of a coordinate is not recorded, by its misfit over the windows."""
    rms = misfit / AMPLITUDE_PER_MISFIT
    model = xr.Dataset(
        {"misfit": ("replicate", [rms]), "criterion_value": ("r", [1.0])}
    )
    rollout = xr.Dataset({} if missed is None else {"force_error": ("r", missed)})
    assert is_lost(model, rollout) == lost


def test_a_loss_that_feeds_energy_in_has_a_price(regression):
    quadratic = regression[2]
    free = quadratic.criterion((0, 2), [])
    lossy = replace(quadratic, positive=np.array([False, False, True, False]))
    price = lossy.criterion((0, 2), []) - free
    assert price == pytest.approx(-PRICE_OF_GAIN * np.log(ERROR_RATIO_OF_TERM))


def van_der_pol(seed):
    """Positions that approach a limit cycle from inside and outside, with noise."""
    truth = leastaction.System("xdot**2/2 - x**2/2", dissipation="(x**2 - 1)*xdot**2/4")
    box = {"a": {"uniform": [-3, 3]}, "b": {"uniform": [-3, 3]}}
    data = truth.simulate(
        duration=40,
        time_step=0.02,
        trajectories=8,
        seed=seed,
        initial_state={"x": "a", "xdot": "b", "random": box},
    )
    noise = np.random.default_rng(seed).standard_normal(data.q.shape[1:3])
    return data.time.values, data.q.values[0, :, :, 0] + 0.01 * noise


@pytest.mark.parametrize("seed", [1, 2])
def test_self_excited_motion_has_a_negative_damping(seed):
    time, x = van_der_pol(seed)
    found = leastaction.learn({"x": x}, time=time, progress=False)
    terms = law(found.model)
    assert set(terms) == {"xdot**2", "x**2", "D xdot**2", "D x**2*xdot**2"}
    assert terms["D xdot**2"][0] == pytest.approx(-0.25, abs=0.01)
    assert terms["D x**2*xdot**2"][0] == pytest.approx(0.25, abs=0.01)
    (said,) = [text for text in found.warnings if "feeds energy" in text]
    assert said.startswith("the damping xdot**2 is negative")


def test_oscillators_that_nothing_connects_have_a_scale_each():
    """No motion of an isotropic oscillator tells the ratio of its masses."""
    time, rng = np.arange(0, 12, 0.02), np.random.default_rng(1)
    start = rng.uniform(-1, 1, (2, 2, 5, 1))
    q = start[0] * np.cos(3 * time) + start[1] * np.sin(3 * time)
    x, y = q + 1e-3 * rng.standard_normal(q.shape)
    found = leastaction.learn(
        {"x": x, "y": y},
        time=time,
        library={"reference": "xdot**2/2 + 2*ydot**2", "inertia": "constant"},
        progress=False,
    )
    terms = law(found.model)
    assert set(terms) == {"xdot**2", "ydot**2", "x**2", "y**2"}
    assert terms["xdot**2"] == (0.5, 0)
    assert terms["ydot**2"] == (2.0, 0)
    assert terms["x**2"][0] == pytest.approx(-4.5, rel=1e-3)
    assert terms["y**2"][0] == pytest.approx(-18, rel=1e-3)
    assert "one for every group" in found.to_markdown()


def slide(seed, ripple=1.0, step=2e-3, count=8000, stribeck=0.0):
    """A slide under a position controller, 95 kg, as of a machine tool.

    A coloured force of `ripple` newtons acts that no column records. Friction is
    viscous and dry; it differs by direction, or falls by `stribeck` beyond 0.02 m/s.
    Returns times, positions and forces.
    """
    uneven = 0.0 if stribeck else 40.0
    rng = np.random.default_rng(seed)
    time = step * np.arange(count)
    wanted = 0.1 * np.sin(2 * np.pi * time / 4) + 0.03 * np.sin(2 * np.pi * time / 1.3)
    speed = np.gradient(wanted, step)
    noise = ripple * np.sqrt(1 - 0.95**2) * rng.standard_normal(count)
    hidden = lfilter([1.0], [1.0, -0.95], noise)
    x, v, path, forces = wanted[0], speed[0], [], []
    for k in range(count):
        force = 4e4 * (wanted[k] - x) + 1500 * (speed[k] - v)
        path.append(x)
        forces.append(force)
        for _ in range(20):
            dry = 20 + stribeck * np.exp(-abs(v) / 0.02)
            friction = 200 * v - uneven * abs(v) + dry * np.tanh(v / 5e-4)
            v += (force + hidden[k] - friction) / 95 * step / 20
            x += v * step / 20
    return time, np.array(path) + 1e-6 * rng.standard_normal(count), np.array(forces)


def learned(time, x, force, library=None, **chain):
    """Law of a driven slide; `chain` is what lies between its input and the force."""
    return leastaction.learn(
        {"x": x, "force": force},
        time=time,
        coordinates={"x": "m"},
        inputs={"x": {"column": "force", "unit": "N"} | chain},
        library=library,
        progress=False,
    )


@pytest.mark.parametrize(("seed", "every"), [(1, 1), (2, 5)])
def test_a_friction_that_differs_by_direction(seed, every):
    """500 and 100 Hz; windows are so short that the hidden force is not integrated."""
    found = learned(*(column[::every] for column in slide(seed)))
    terms = law(found.model)
    assert set(terms) == {
        "xdot**2",
        "D abs(xdot)",
        "D xdot**2",
        "D xdot*abs(xdot)",
    }
    assert 2 * terms["xdot**2"][0] == pytest.approx(95, rel=0.01)
    assert found.model["input_lag"].item() == 0
    assert bool(found.model["stepwise"].item()) == (every == 1)
    assert 0.005 < found.rollout["force_error"].item() < 0.05
    assert terms["D abs(xdot)"][0] == pytest.approx(20, rel=0.1)


def test_a_short_record_with_a_force_on_one_of_two_coordinates():
    """Two main periods of two masses; the force that is missed is told of one."""
    truth = leastaction.System(
        "xdot**2 + ydot**2/2 - 20*x**2 - 15*(x - y)**2",
        dissipation="0.4*xdot**2 + 0.2*ydot**2",
        coordinates=["x", "y"],
    )
    time = np.arange(0, 3, 0.005)

    def force(t):
        return [8 * np.sin(5 * t) + 5 * np.sin(13 * t + 1), 0.0]

    push = np.array([force(t)[0] for t in time])
    path = simulate(truth, [0, 0], [0, 0], time, force)
    q = path[0] + 1e-5 * np.random.default_rng(0).standard_normal(path[0].shape)
    found = leastaction.learn(
        {"x": q[:, 0], "y": q[:, 1], "push": push},
        time=time,
        coordinates={"x": "m", "y": "m"},
        inputs={"x": "push [N]"},
        library={"inertia": "constant"},
        progress=False,
    )
    missed = found.rollout["force_error"].values[0]
    assert missed[0] < 0.02 and np.isnan(missed[1])
    assert not found.model["stepwise"].item()
    (told,) = [line for line in str(found).splitlines() if "Force error" in line]
    assert told.startswith("Force error: x ") and told.count("%") == 1
    assert any("main periods" in text for text in found.warnings)


def test_a_force_of_the_wrong_sign_is_said():
    """So it is with the acceleration of the ground, which acts as −m a."""
    truth = leastaction.System("xdot**2 - 40*x**2", dissipation="0.5*xdot**2")
    time = np.arange(0, 10, 0.01)

    def force(t):
        return [3 * np.sin(4 * t) + 2 * np.sin(9 * t + 1)]

    push = np.array([force(t)[0] for t in time])
    x = simulate(truth, [0.1], [0], time, force)[0][:, 0]
    noise = 1e-5 * np.random.default_rng(0).standard_normal(len(x))
    with pytest.raises(RecordingError, match="masses are negative.*reverse: true"):
        learned(time, x + noise, -push)


@pytest.mark.parametrize("late", [0.0, 0.06])
def test_a_held_command_may_act_late(late):
    """Nobody asked for its lag, which is none within its steps of 20 ms."""
    truth = leastaction.System("xdot**2 - 40*x**2", dissipation="0.5*xdot**2")
    time, rng = 0.005 * np.arange(2000), np.random.default_rng(4)
    levels = lfilter([0.3], [1, -0.7], rng.normal(0, 4, 800))

    def force(t):
        return [levels[max(int((t - late) / 0.02 + 1e-9), 0)]]

    x = simulate(truth, [0.0], [0.0], time, force)[0][:, 0]
    command = levels[(time / 0.02 + 1e-9).astype(int)]
    found = learned(time, x + 1e-5 * rng.standard_normal(len(x)), command)
    assert set(law(found.model)) == {"xdot**2", "x**2", "D xdot**2"}
    assert found.model["input_lag"].item() == pytest.approx(late, abs=2e-3)
    assert (found.model["input_lag"].item() == 0) == (late == 0)


def test_a_friction_that_falls_with_the_velocity():
    """Its scale is one of five that are tried; the controller holds its force."""
    falling = {"also": {"stribeck": {"xdot": [0.005, 0.1]}}}
    found = learned(*slide(1, stribeck=15.0, count=4000), falling)
    terms = law(found.model)
    (name,) = [term for term in terms if "exp" in term]
    assert name == "D 1/50 - exp(-50*abs(xdot))/50"
    value, std = terms[name]
    assert abs(value - 15) < found.interval_factor * std < 4
    assert any("held from row to row" in text for text in found.warnings)


def test_a_law_is_sought_until_its_lags_are_those_it_was_sought_with(monkeypatch):
    """A friction that the first law lacks looks like a lag of 7 s."""
    told = {10.0: (7.0, True), 7.0: (1.3, False), 0.0: (1.2, False)}
    starts = []

    def dynamics(kept, present, found, unknowns, start):
        starts.append(*start)
        lag, seen = told[starts[-1]]
        one = np.ones(1)
        return InputDynamics(lag * one, 0.5 * one, 0 * one, np.array([seen]))

    monkeypatch.setattr(cross_validated_shooting, "input_dynamics", dynamics)
    whole = Problem(*[None] * 7, driven=False, definite=None, touched=None)
    found = SimpleNamespace(positions=None)
    climbs = cross_validated_shooting._through_inputs(
        whole, found, lambda problem, moved: (problem, moved), [], np.array([10.0])
    )
    assert starts == [10.0, 7.0, 0.0] and climbs[2].values == [1.2]


def test_an_input_recorded_late_is_found():
    """By 4 ms; held from sample to sample it acts 1 ms after its record."""
    time, x, force = slide(3)
    found = learned(time[2:], x[2:], force[:-2])
    lag, std = (found.model[k].item() for k in ("input_lag", "input_lag_std"))
    assert abs(lag + 0.003) < 2.2 * std < 1.5e-3
    assert any("before the time of its record" in text for text in found.warnings)
    assert 2 * law(found.model)["xdot**2"][0] == pytest.approx(95, rel=0.01)


def test_a_command_late_by_50_ms_of_unknown_gain_and_offset():
    """The mass gives the scale; a delay of three windows is found before the law."""
    time, x, force = slide(4)
    volts = (force / 12.5 + 0.3)[:-25]
    mass = {"reference": "95*xdot**2/2"}
    unknown = {"unit": "V", "gain": "unknown", "offset": "unknown", "lag": "unknown"}
    found = learned(time[25::2], x[25::2], volts[::2], mass, **unknown)
    for name, truth in (("lag", -0.049), ("gain", 12.5)):
        value, std = (found.model[f"input_{name}{k}"].item() for k in ("", "_std"))
        assert abs(value - truth) < found.interval_factor * std < 0.06 * abs(truth)
    terms = law(found.model)
    assert terms["xdot**2"] == (pytest.approx(47.5), 0)
    told = " ".join(found.warnings)
    assert "the gain (SI units) of the input of x is 12." in told
    assert "the offset of the input of x (SI units) is 0." in told


@pytest.mark.parametrize("late", [0.0, 0.3, -0.3])
def test_a_delay_of_many_rows_is_known_before_the_law(late):
    """Several motions in one record; an input that comes in time has no lag."""
    dt, rng = 0.01, np.random.default_rng(5)
    omega, phase = rng.uniform(0.5, 4, 12), rng.uniform(0, 6, 12)

    def motion(time):
        wave = np.exp(1j * (np.outer(time, omega) + phase))
        return [np.imag((1j * omega) ** k * wave).sum(axis=1) for k in range(3)]

    time = dt * np.arange(3000)
    x = motion(time)[0] + 1e-3 * rng.standard_normal(len(time))
    then, speed, rate = motion(time + late)
    inputs = recorded_input(2 * rate + 0.5 * speed + 3 * then, dt=dt)
    found = input_dynamics.first_values(
        [Unknown("lag", (0,), False)],
        inputs,
        x[:, None],
        lambda *q: np.stack(q, axis=2),
        5.0,
    )
    assert found[0] == pytest.approx(late, abs=0.015)


def test_the_minimum_of_a_valley_with_a_saddle_is_found():
    """Errors that hardly tell a lag from a time constant, and only its square."""

    def errors(p):
        lag, constant = p
        whole = 400 * (lag + constant - 10) ** 2
        return np.array([0.5, 0.5]) * (whole + (constant**2 - 225) ** 2 / 100 + 1)

    both = [Unknown(name, (0,), True) for name in ("lag", "time_constant")]
    along = input_dynamics.directions(both)
    found, around = input_dynamics.minimum(
        lambda y: errors(along @ y), np.zeros(2), 8.0, 1000.0
    )
    np.testing.assert_allclose(along @ found, [-5, 15], atol=0.1)
    assert len(around) == 9


def test_stribeck_friction_falls_with_the_velocity():
    """To 1/e at its velocity scale, and it turns around without a jump."""
    v = symbols(["xdot"])[0]
    (text,) = stribeck_losses({"xdot": [0.04, 0.06]}, ["x"])
    smooth = smooth_friction(parse(text, ["x", "xdot"]), 1e-4)
    force = lambdify(v, smooth.diff(v))
    assert force(0.05) == pytest.approx(np.exp(-1), rel=1e-3)
    assert force(-0.05) == -force(0.05) and force(0) == 0


def test_a_constant_force_that_a_law_misses_is_seen_in_every_window():
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, x], ["x"])
    time = np.arange(1000) * 0.01
    force = 2 * np.sin(time)
    q = force * -1 + 2 * time + 0.3 * time**2 / 2

    def nodes(steps):
        half = np.arange(2 * steps * len(time)) * 0.01 / (2 * steps)
        return 2 * np.sin(half)[:, None]

    positions = Positions(
        equations, q[:, None], len(q), 0.01, np.full(1, 1e-3), 1, nodes
    )
    missing, mean = force_error(positions, np.array([0.5, 0]), np.array([1]), 0.5)
    np.testing.assert_allclose(missing, 0.3, atol=1e-4)
    windows = force.reshape(20, -1)
    np.testing.assert_allclose(mean[::2, 0], windows.mean(axis=1), atol=0.05)


def test_a_blow_between_two_windows_is_a_recorded_force():
    """Else a hammer that hits there has next to no force, and the law misses it all."""
    x, v = symbols(["x", "xdot"])
    equations = variational_equations([v**2, x**2, x], ["x"])
    samples, dt, fine = 1000, 0.01, 32
    rms = []
    for hit in (5.0, 5.12, 5.25):  # windows begin at multiples of 0.5 s
        at = np.arange(2 * fine * samples) * dt / (2 * fine)
        force = 100 * np.exp(-0.5 * ((at - hit) / 0.02) ** 2)

        def nodes(steps, force=force):
            return force[:: fine // steps, None]

        start = Segments(np.array([0]), np.array([samples]), np.array([[0.1, 0.0]]))
        c = np.array([0.5, -2.0, 0.0])
        begun = Positions(
            equations, np.zeros((samples, 1)), samples, dt, np.full(1, 1e-3), 8, nodes
        )
        motion = replace(begun, q=begun.rollout(start, c, samples)[0])
        missing, mean = force_error(motion, c, np.array([2]), 0.5)
        assert np.abs(missing).max() < 0.01
        rms.append(np.sqrt((mean**2).mean()))
    assert max(rms) < 1.5 * min(rms)


def recorded_input(values, *, dt=1.0, lag=0.0, time_constant=0.0):
    """One trajectory of one input."""
    parts = [slice(0, len(values))]
    chain = np.array([lag]), np.array([time_constant])
    return Inputs(values[:, None], parts, dt, *chain)


@pytest.mark.parametrize("constant", [0.3, 2.0, -0.5])
def test_a_first_order_lag_of_a_tone_is_known(constant):
    """Amplitude 1/√(1 + ω²T²) and phase −arctan ωT, far from both ends."""
    time, omega = 0.01 * np.arange(4000), 7.0
    found = recorded_input(np.sin(omega * time), dt=0.01, time_constant=constant)
    middle = np.arange(1900, 2100)
    exact = np.imag(np.exp(1j * omega * time) / (1 + 1j * omega * constant))
    np.testing.assert_allclose(found.at(middle)[:, 0], exact[middle], atol=2e-3)


def test_a_lagging_input_of_one_trajectory_knows_nothing_of_another():
    values = np.concatenate([np.zeros(50), np.ones(50)])
    parts = [slice(0, 50), slice(50, 100)]
    inputs = Inputs(values[:, None], parts, 1.0, np.array([5.0]), np.zeros(1))
    np.testing.assert_allclose(inputs.at(np.arange(100))[:, 0], values, atol=1e-12)


def test_a_broadband_input_is_no_straight_line():
    """Half-way between its samples a band-limited input is met within 1 %."""
    rng = np.random.default_rng(0)
    row = np.arange(2000)
    tones = rng.uniform(0.05, 0.3, 30)
    phase = rng.uniform(0, 2 * np.pi, 30)

    def force(at):
        return np.cos(2 * np.pi * np.outer(at, tones) + phase).sum(axis=1)

    found = recorded_input(force(row)).nodes(row[100:-100], 1)(1)[:, 0]
    exact = force(100 + np.arange(2 * len(row[100:-100])) / 2)
    assert np.sqrt(np.mean((found - exact) ** 2)) < 0.05 * exact.std()


def test_a_held_input_acts_in_the_middle_of_its_row():
    """A pulse of row 5 by Simpson's rule, the last stage of RK4: at 5.5, not 5.33."""
    values = np.zeros(12)
    values[5] = 1.0
    held = replace(recorded_input(values), stepwise=True)
    force = held.nodes(np.arange(11), 1)(1)[:, 0]
    weights = np.tile([2, 4], 11) / 6
    at = np.arange(22) / 2
    np.testing.assert_allclose([weights @ force, weights @ (at * force)], [1, 5.5])


@pytest.mark.parametrize("gain", [0.5, -0.5])
def test_an_input_is_held_where_that_leaves_a_smaller_error(monkeypatch, gain):
    """By Student's t of the blocks; the change of the law counts by its doubt."""
    less = gain + 0.4 * np.array([-1.0, 1.0, -1.0, 1.0, 0.0, 0.0])
    errors = 5 + np.zeros(6)

    def law(c, errors):
        left_out = SimpleNamespace(block_errors=lambda support, fixed: errors)
        fit = SimpleNamespace(c=np.array([c]), segments=None)
        return SimpleNamespace(fit=fit, left_out=left_out, support=(0,))

    laws = {"sampled": law(1.0, errors), "held": law(1.2, errors - less)}
    monkeypatch.setattr(
        input_hold, "fitted", lambda problem, *_: laws[problem.positions.force]
    )
    monkeypatch.setattr(input_hold, "short_windows", lambda problem, *_: (problem, 0))
    rows = recorded_input(np.sin(np.arange(50.0)))
    found = SimpleNamespace(
        inputs=rows,
        positions=SimpleNamespace(force="sampled"),
        driven_by=lambda inputs: SimpleNamespace(
            inputs=inputs, positions=SimpleNamespace(force="held")
        ),
    )
    positions = Positions(None, None, 0, 1.0, None)
    problem = Problem(positions, *[None] * 6, driven=True, definite=None, touched=None)
    monkeypatch.setattr(Problem, "accurate", lambda self, *_: self)
    sampled = (problem, laws["sampled"], "quadratic")
    hold = held_or_sampled(sampled, found, None, lambda problem, law: (law, "new"))
    assert hold.found.inputs.stepwise == (gain > 0)
    assert hold.law[1].fit.c == (1.2 if gain > 0 else 1.0)
    np.testing.assert_allclose(hold.change, 0.2 if gain > 0 else 0.0)
    assert hold.ratio == pytest.approx(0.9 if gain > 0 else 1.0)
    w = ttest_1samp(less, 0).pvalue / 2
    np.testing.assert_allclose(hold.deviation, 0.2 * np.sqrt(w * (1 - w)))


def test_levels_that_change_in_every_row_are_held():
    """An oscillator of nine rows per period, whose motion under them is exact."""
    rng = np.random.default_rng(0)
    step, mass, damping, stiffness = 0.01, 2.0, 8.0, 1e4
    rates = np.array([[0, 1], [-stiffness / mass, -damping / mass]])
    system = rates, np.array([[0], [1 / mass]]), np.eye(2), np.zeros((2, 1))
    levels = rng.uniform(-100, 100, 1000)
    _, path, _ = dlsim(cont2discrete(system, step), levels)
    x = path[:, 0] + 2e-5 * rng.standard_normal(1000)
    found = learned(step * np.arange(1000), x, levels)
    terms = law(found.model)
    truth = {"xdot**2": mass / 2, "x**2": -stiffness / 2, "D xdot**2": damping / 2}
    assert set(terms) == set(truth) and found.model["stepwise"].item()
    for name, value in truth.items():
        error = found.interval_factor * terms[name][1]
        assert abs(terms[name][0] - value) < error < 0.01 * abs(value)


def test_a_tone_of_an_input_keeps_its_strength_between_rows():
    """At a ninth of the sampling rate; a cubic spline lowers it by 0.04 %."""
    row, omega = np.arange(2000), 2 * np.pi / 9
    found = recorded_input(np.cos(omega * row)).nodes(row[500:1490], 1)(16)[:, 0]
    at = 500 + np.arange(len(found)) / 32
    assert 2 * np.mean(found * np.cos(omega * at)) == pytest.approx(1, abs=3e-5)


def test_a_frame_gives_back_its_natural_terms():
    """Free decay of two storeys, whose Lagrangian has infinitely many equivalents."""
    truth = leastaction.System(
        "x1dot**2/2 + 0.8*x2dot**2/2 - 300*x1**2/2 - 200*(x1 - x2)**2/2",
        dissipation="0.4*x1dot**2/2 + 0.3*(x1dot - x2dot)**2/2",
    )
    box = {name: {"uniform": [-0.05, 0.05]} for name in ("a", "b")}
    start = {"x1": "a", "x2": "b", "x1dot": 0, "x2dot": 0, "random": box}
    data = truth.simulate(
        duration=6, time_step=0.005, trajectories=5, seed=2, initial_state=start
    )
    rng = np.random.default_rng(2)
    q = data.q.values[0] + 1e-5 * rng.standard_normal(data.q.shape[1:])
    columns = {"x1": q[:, :, 0], "x2": q[:, :, 1]}
    found = leastaction.learn(columns, time=data.time.values, progress=False)
    score = found.score(truth)
    assert score.exact and score.worst < 2e-3
