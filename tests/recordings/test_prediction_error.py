"""Laws of recordings: structure, numbers, intervals."""

import numpy as np
import pytest
import yaml
from recorded import ROOT, identified
from scipy.integrate import solve_ivp
from scipy.signal import cont2discrete, dlsim, lfilter

import leastaction
from leastaction.core.model import simulate
from leastaction.recordings.error import RecordingError
from leastaction.recordings.recorded_law import sigma_points
from leastaction.recordings.stand_in import recorded_table


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


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_free_swings_beside_a_driven_run_belong_to_its_law(noise):
    """The scale is that of one run in five; the noise of the others is no force."""
    rng, time = np.random.default_rng(5), np.arange(0, 15, 0.01)
    runs = []
    for amplitude in (0.0, 0.2, 0.3, 0.4, 0.5, 0.6):
        push = 0.0 if amplitude else 9.0

        def rates(t, z, push=push):
            return [z[1], -40 * z[0] - 0.3 * z[1] + push / 2 * np.sin(7 * t)]

        how = {"t_eval": time, "rtol": 1e-9, "atol": 1e-10}
        x = solve_ivp(rates, (0, time[-1]), [amplitude, 0.0], **how).y[0]
        force = push * np.sin(7 * time)
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
    dampers = {"D xdot**2", "D ydot**2"}
    assert set(terms) == {"xdot**2", "ydot**2", "x**2", "y**2"} | dampers
    for name in dampers:
        assert abs(terms[name][0]) < found.interval_factor * terms[name][1]
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
    assert not score.missing and score.extra == ("x2dot**2",)
    assert found.terms.query("term == 'x2dot**2' and of == 'D'").low.item() < 0
    assert np.abs(score.error).max() < 2e-3


def test_points_around_a_law_have_its_covariance():
    rng = np.random.default_rng(0)
    c, deviations = rng.normal(size=5), rng.normal(size=(7, 5))
    deviations[:, 2] = 0.0
    points = sigma_points(c, deviations)
    moved = points - points.mean(axis=0)
    covariance = (len(points) - 1) / len(points) * moved.T @ moved
    np.testing.assert_allclose(covariance, deviations.T @ deviations, atol=1e-12)
    np.testing.assert_allclose(points.mean(axis=0), c)


def swing_up(seed: int, dry: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Some seconds of a pendulum that its motor pumps up, as its drive records them.

    Dry friction is `dry`, in N m; a coloured torque of 0.12 N m is not recorded.
    """
    rng = np.random.default_rng([seed, 1])
    step, within = 3e-3, 20
    time = np.arange(round(rng.uniform(3.5, 6) / step)) * step
    slow, fast = rng.uniform(3, 6), rng.uniform(7, 12)
    wanted = 1.2 * np.sin(slow * time + rng.uniform(0, 6.3))
    wanted += 0.5 * np.sin(fast * time + rng.uniform(0, 6.3))
    noise = 0.12 * np.sqrt(1 - 0.95**2) * rng.standard_normal(len(time))
    hidden, gain = lfilter([1.0], [1.0, -0.95], noise), rng.uniform(0.3, 0.7)
    angle = rate = 0.0
    rows = []
    for command, unknown in zip(wanted, hidden, strict=True):
        below = 0.189 * rate**2 / 2 < 3.6 * (1 + np.cos(angle))
        torque = float(np.clip(command + gain * rate * (1 if below else -0.6), -4, 4))
        rows.append((angle, rate, torque))
        for _ in range(within):
            force = torque + unknown - dry * np.tanh(rate / 5e-3) - 3.6 * np.sin(angle)
            rate += force / 0.189 * step / within
            angle += rate * step / within
    angle, rate, torque = np.array(rows).T
    noise = rng.standard_normal((2, len(time)))
    angle = np.round(angle / 2.9e-3) * 2.9e-3
    noisy = {"dtheta": rate + 0.06 * noise[0], "tau": torque + 0.1 * noise[1]}
    return time, {"theta": angle} | noisy


@pytest.mark.parametrize("dry", [0.15, 0.0])
def test_dry_friction_of_a_swing_up(dry):
    """Some seconds do not show it in every draw; without it inertia is too large."""
    seen, errors = 0, []
    for seed in range(20, 26):
        time, columns = swing_up(seed, dry)
        found = leastaction.learn(
            columns,
            time=time,
            coordinates={"theta": "rad"},
            velocities={"theta": "dtheta [rad/s]"},
            inputs={"theta": "tau [N m]"},
            progress=False,
        )
        terms = law(found.model)
        seen += "D abs(thetadot)" in terms
        errors.append(terms["thetadot**2"][0] / (0.189 / 2) - 1)
    assert np.sqrt(np.mean(np.square(errors))) < 0.03
    assert seen >= 3 if dry else seen == 0


def test_a_delay_and_a_time_constant_are_told_apart():
    """Slow inputs see their sum alone, and T = 0 is a saddle."""
    late, constant = 0.03, 0.04
    rng, time = np.random.default_rng(3), np.arange(0, 40, 0.01)
    tones, phase = rng.uniform(1.2, 16, 12), rng.uniform(0, 6, 12)

    def command(t):
        return 3 * np.sin(np.multiply.outer(t, tones) + phase).sum(axis=-1)

    def rates(t, state):
        x, v, force = state
        pushed = (force - 0.5 * v - 40 * x) / 1.5
        return [v, pushed, (command(t - late) - force) / constant]

    how = {"t_eval": time, "rtol": 1e-8, "atol": 1e-9, "max_step": 0.02}
    x = solve_ivp(rates, (0, time[-1]), [0.0, 0.0, 0.0], **how).y[0]
    x = x + 1e-5 * rng.standard_normal(len(time))
    asked = {"lag": "unknown", "time_constant": "unknown"}
    found = learned(time, x, command(time), unit="N", **asked)
    for name, truth in (("lag", late), ("time_constant", constant)):
        value, std = (found.model[f"input_{name}{k}"].item() for k in ("", "_std"))
        assert abs(value - truth) < 2 * std < 0.2 * truth
    terms = law(found.model)
    assert set(terms) == {"xdot**2", "x**2", "D xdot**2"}
    assert terms["x**2"][0] == pytest.approx(-20, rel=0.01)


def test_a_late_input_of_a_chaotic_motion():
    """A particle that tones drive from one well to the other and back."""
    step, late = 0.02, 3

    def force(time):
        return 0.45 * np.sin(1.2 * time) + 0.25 * np.sin(2.9 * time + 1)

    truth = leastaction.System(
        "xdot**2/2 + x**2/2 - x**4/4", dissipation="0.1*xdot**2", coordinates=["x"]
    )
    time = step * np.arange(4000)
    x = simulate(truth, [0.2], [0.0], time, lambda t: [force(t)])[0][:, 0]
    x = x + 1e-4 * np.random.default_rng(0).standard_normal(len(x))
    found = learned(time, x, force(time - late * step))
    assert found.model["input_lag"].item() == pytest.approx(-late * step, abs=0.002)
    terms = law(found.model)
    assert set(terms) == {"xdot**2", "x**2", "x**4", "D xdot**2"}
    for name, value in (("xdot**2", 0.5), ("x**2", 0.5), ("x**4", -0.25)):
        assert abs(terms[name][0] - value) < found.interval_factor * terms[name][1]
