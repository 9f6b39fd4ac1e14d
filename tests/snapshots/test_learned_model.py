"""Learned Lagrangians of oscillators in closed form: energies, momenta, rollouts."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from snapshot_support import Expressions, oscillators

from leastaction.snapshots import learned_model
from leastaction.snapshots.bases import WeightSpace
from leastaction.snapshots.contracts import (
    described,
    equations_dataset,
    lagrangian_dataset,
)
from leastaction.snapshots.learned_model import LearnedLagrangian, coordinates_of
from leastaction.snapshots.variational_integrator import Rollout

H, W = 0.4, 1.7
LAW = oscillators(np.array([[W**2]]), np.zeros(1), H)
STATES = np.random.default_rng(4).normal(size=(7, 2))
Q, V = STATES.T


def test_energies_and_momenta_of_an_oscillator(monkeypatch):
    """L^[2] = L + h² (W⁴ q² + W² v²)/24 of the midpoint rule; also batch by batch."""
    zero = (V**2 + W**2 * Q**2) / 2
    two = zero + H**2 / 24 * (W**2 * V**2 - W**4 * Q**2)
    np.testing.assert_allclose(LAW.hamiltonian(STATES, 0), zero, rtol=1e-12)
    np.testing.assert_allclose(LAW.hamiltonian(STATES), two, rtol=1e-11)
    monkeypatch.setattr(learned_model, "STATES_PER_BATCH", 3)
    np.testing.assert_allclose(LAW.hamiltonian(STATES, 2), two, rtol=1e-11)
    np.testing.assert_allclose(LAW.hamiltonian(STATES[0]), two[:1], rtol=1e-11)
    slopes = LAW.hamiltonian_derivatives(STATES, 2, 1)
    assert slopes.shape == (3, 7)
    heavy = 1 + H**2 * W**2 / 12
    np.testing.assert_allclose(slopes[2], V * heavy, rtol=1e-11)
    np.testing.assert_allclose(slopes[1], W**2 * Q * (1 - H**2 * W**2 / 12), rtol=1e-10)
    np.testing.assert_allclose(LAW.momentum(STATES, 0)[:, 0], V, rtol=1e-12)
    np.testing.assert_allclose(LAW.momentum(STATES, 2)[:, 0], V * heavy, rtol=1e-11)
    np.testing.assert_allclose(LAW.mass(STATES[0], 2), [[heavy]], rtol=1e-11)
    assert LAW.modified(STATES, 2, 1).shape == (3, 7)


def test_velocities_are_those_of_momenta():
    """Also of a momentum that is not linear in the velocity."""
    curved = LearnedLagrangian(
        Expressions(["x"], ["xdot**2/2", "xdot**4/4"]), np.ones(2), H, "midpoint"
    )
    p = (V + V**3)[:, None]
    guess = np.ones((7, 1))
    made = curved.velocity(STATES[:, :1], p, guess, 0)
    np.testing.assert_allclose(made[:, 0], V, rtol=1e-10)
    assert (guess == 1).all()
    made = LAW.velocity(STATES[:, :1], LAW.momentum(STATES, 2), guess, 2)
    np.testing.assert_allclose(made[:, 0], V, rtol=1e-9)


def test_a_momentum_without_a_mass_has_no_velocity_but_for_round_off():
    """p = v³: Newton's steps shrink by a third; small enough ones are round-off."""
    flat = LearnedLagrangian(
        Expressions(["x"], ["xdot**4/4"]), np.ones(1), H, "midpoint"
    )
    one, zero = np.ones((1, 1)), np.zeros((1, 1))
    with pytest.raises(RuntimeError, match="1 momenta did not converge in 20 iter"):
        flat.velocity(zero, zero, one, 0)
    assert 0 < flat.velocity(zero, zero, 1e-3 * one, 0)[0, 0] < 7e-4


def field_of(offset, matrix):
    return SimpleNamespace(field=lambda q: offset + q @ np.transpose(matrix))


def test_noether_quantities_of_discrete_motions():
    """Momentum less the gauge of the translation; angular momentum of a rotation."""
    gauged = LearnedLagrangian(
        Expressions(["x"], ["xdot**2/2", "x*xdot"]), np.ones(2), H, "midpoint"
    )
    free = (0.3 + 0.7 * H * np.arange(12))[:, None]
    made = gauged.noether(field_of(np.ones(1), np.zeros((1, 1))), free)
    assert made.shape == (11,)
    np.testing.assert_allclose(made - made[0], 0.0, atol=1e-9)
    round_ = oscillators(W**2 * np.eye(2), np.zeros(2), H)
    turn = 2 * np.arctan(W * H / 2) * np.arange(12)
    q = np.stack([np.cos(turn), 0.5 * np.sin(turn)], axis=1)
    rotation = field_of(np.zeros(2), np.array([[0.0, -1.0], [1.0, 0.0]]))
    made = round_.noether(rotation, q)
    momenta = (q[1:] - q[:-1]) / H - H / 4 * W**2 * (q[1:] + q[:-1])
    expected = q[1:, 0] * momenta[:, 1] - q[1:, 1] * momenta[:, 0]
    np.testing.assert_allclose(made, expected, atol=1e-8)
    np.testing.assert_allclose(made, made[0], atol=1e-8)
    assert abs(made[0]) > 0.5


def test_the_order_of_a_start_is_the_highest_of_a_shadow():
    assert LAW.main_order([0, 2, 4]) == 4
    assert replace(LAW, shadow=False).main_order([0, 2, 4]) == 0


def with_integrator(law, result=None):
    """A law whose compiled rollouts only record how they were called."""
    calls = []

    def rollout(*arguments, **options):
        calls.append((arguments, options))
        if isinstance(result, Exception):
            raise result
        return result

    law = replace(law)
    law.__dict__["integrator"] = SimpleNamespace(rollout=rollout)
    return law, calls


@pytest.mark.parametrize(
    ("shadow", "order", "momentum"),
    [(True, None, 2), (False, None, 0), (True, 0, 0), (False, 2, 2)],
)
def test_a_rollout_begins_with_the_momentum_of_its_order(shadow, order, momentum):
    law, calls = with_integrator(replace(LAW, shadow=shadow), "run")
    assert law.rollout([0.5, -0.3], 20, order, every=4, jacobian=1) == "run"
    ((q, p, steps, v), options) = calls[0]
    heavy = 1 + (H**2 * W**2 / 12 if momentum else 0)
    assert q == [0.5] and v == [-0.3] and steps == 20
    assert p[0] == pytest.approx(-0.3 * heavy, rel=1e-11)
    assert options == {"every": 4, "jacobian": 1}


def test_a_rollout_through_two_positions_needs_no_velocity():
    law, calls = with_integrator(LAW, "run")
    law.through(np.array([0.2]), np.array([0.5]), 9, every=3)
    ((q, p, steps, v), options) = calls[0]
    assert q == [0.2] and steps == 9 and options == {"every": 3}
    assert v[0] == pytest.approx(0.3 / H)
    assert p[0] == pytest.approx(0.3 / H + H / 2 * W**2 * 0.35)


def test_a_singular_mass_ends_a_rollout_at_its_first_step():
    law, _ = with_integrator(LAW, np.linalg.LinAlgError("singular"))
    run = law.rollout([0.5, -0.3], 20, every=4)
    assert run.positions.shape == run.momenta.shape == (6, 1)
    assert run.positions[0] == 0.5 and np.isnan(run.positions[1:]).all()
    assert np.isnan(run.momenta).all() and run.steps == 0
    assert run.reason == "step 1: singular" and run.iterations == 0


def motion(count=9) -> Rollout:
    turn = 2 * np.arctan(W * H / 2)
    q = np.cos(turn * np.arange(count))
    p = -W * np.sin(turn * np.arange(count))
    return Rollout(q[:, None], p[:, None], count - 1, "", 1.0)


def test_a_rollout_goes_on_from_one_of_its_samples():
    law, calls = with_integrator(LAW, "run")
    run = motion()
    assert law.further(run, 3, 7, 2, every=1) == "run"
    ((q, p, steps, v), options) = calls[0]
    heavy = 1 + H**2 * W**2 / 12
    assert q == run.positions[3] and p == run.momenta[3] and steps == 7
    assert v[0] == pytest.approx(p[0] / heavy, rel=1e-9) and options == {"every": 1}


@pytest.mark.parametrize("every", [1, 5])
def test_states_along_a_rollout_have_the_velocities_of_its_momenta(every):
    run, heavy = motion(), 1 + H**2 * W**2 / 12
    run.positions[6:] = np.nan
    states = LAW.states(run, np.array([0, 2, 5, 7]), 2, every)
    assert states.shape == (4, 2) and np.isnan(states[3]).all()
    np.testing.assert_array_equal(states[:3, 0], run.positions[[0, 2, 5], 0])
    np.testing.assert_allclose(
        states[:3, 1], run.momenta[[0, 2, 5], 0] / heavy, rtol=1e-9, atol=1e-12
    )
    run.momenta[1:] = np.nan
    assert np.isnan(LAW.states(run, np.array([0]), 2)).all()  # one sample has no slope


def test_states_without_velocities_are_unknown(caplog):
    massless = LearnedLagrangian(
        Expressions(["x"], ["x**2"]), np.ones(1), H, "midpoint"
    )
    assert np.isnan(massless.states(motion(), np.array([1, 2]), 0)).all()
    assert "no velocities of order 0 along a rollout" in caplog.text


def test_draws_have_the_posterior_covariance():
    factor = np.array([[0.5, 0.0, 0.3], [0.2, 0.1, 0.0]])
    law = replace(LAW, factor=factor)
    draws = law.samples(3, np.random.default_rng(5))
    normals = np.random.default_rng(5).standard_normal((3, 2))
    for draw, normal in zip(draws, normals, strict=True):
        expected = law.coefficients + normal @ factor
        np.testing.assert_allclose(draw.coefficients, expected, rtol=1e-13)
        assert draw.factor is None and draw.basis is law.basis
    for none in (None, np.zeros((0, 3))):
        with pytest.raises(ValueError, match="without a posterior"):
            replace(LAW, factor=none).samples(1, np.random.default_rng(0))


def test_a_file_gives_the_law_back():
    basis = WeightSpace(2, 5.0, np.diag([1.0, 0.5]), np.array([0.1, 0.2]))
    observations = xr.Dataset(
        coords={"replicate": [0], "dof": ["x"]}, attrs={"time_step": H}
    ).assign_coords(time=("time", [0, H, 2 * H]))
    rows, conditions = np.zeros((4, 6)), (np.zeros((1, 6)), np.ones(1))
    rule = "trapezoidal"
    equations = equations_dataset(basis, rows, conditions, observations, rule, 0)
    assert described(observations, rule, 0)["time_step"] == H
    numbers = {"row_error": 0.00123456, "rank": 6.0, "reversal_log_odds": np.nan}
    factor = np.arange(12.0).reshape(2, 6)
    data = lagrangian_dataset(equations, np.arange(6.0), numbers, factor)
    law = LearnedLagrangian.from_dataset(data)
    assert law.coefficients.tolist() == [0, 1, 2, 3, 4, 5] and law.time_step == H
    assert law.rule == rule and law.shadow is False and law.coordinates == ("x",)
    np.testing.assert_array_equal(law.factor, factor)
    assert [line.split(":")[0] for line in law.diagnostics] == [
        "0.001235  row_error",
        "6  rank",
    ]
    np.testing.assert_array_equal(law.basis.centre, basis.centre)
    without = lagrangian_dataset(equations, np.arange(6.0), numbers)
    assert LearnedLagrangian.from_dataset(without).factor is None
    assert coordinates_of(xr.Dataset(attrs={"dof": "x"})) == ("x",)
    assert coordinates_of(xr.Dataset(attrs={"dof": ["x", "y"]})) == ("x", "y")


KNOWN, OPEN = (
    SimpleNamespace(described=lambda names, t=text: f"{t} {names}", is_open=text != "a")
    for text in "ab"
)


@pytest.mark.parametrize("shadow", [True, False])
@pytest.mark.parametrize(
    ("symmetries", "printed"),
    [((KNOWN, OPEN), ["a ('q0',)"]), ((OPEN,), ["b ('q0',)"]), ((), [])],
)
def test_a_law_prints_what_is_known_of_it(shadow, symmetries, printed):
    """Symmetries of which nothing is known only where there are no others."""
    law = replace(LAW, shadow=shadow, diagnostics=("6  rank",), symmetries=symmetries)
    kind = "Inverse modified Lagrangian" if shadow else "Lagrangian"
    hint = (
        "L includes the error of its integrator: rollout(state, steps) is the motion, "
        "hamiltonian(states, k) its energy up to h^k"
    )
    assert str(law).splitlines() == [
        f"{kind} L(q0, q0dot)",
        f"  3 basis functions: {law.basis}",
        "  midpoint rule, h = 0.4 s",
        "Diagnostics",
        "  6  rank",
        *[hint] * shadow,
        "L is determined up to a factor and a null Lagrangian",
        *printed,
    ]
    assert repr(law) == str(law)
