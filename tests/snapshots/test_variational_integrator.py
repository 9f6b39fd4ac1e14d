import numpy as np
import pytest

from leastaction.snapshots.bases import RadialBasis, WeightSpace
from leastaction.snapshots.discrete_lagrangian import (
    discrete_euler_lagrange,
    discrete_mass,
    discrete_momenta,
)
from leastaction.snapshots.variational_integrator import VariationalIntegrator

RNG = np.random.default_rng(3)
H = 0.2
RULES = ["midpoint", "trapezoidal"]
BASES = {
    "weight_space": WeightSpace(5, 3.0, np.eye(4), np.zeros(4)),
    "radial": RadialBasis(RNG.uniform(-1, 1, (150, 4)), 3.0),
}
CYCLIC = WeightSpace(5, 3.0, np.eye(4)[[0, 2, 3]], np.zeros(4))


def lagrangian(state):
    x, y, u, v = state.T
    kinetic = 0.5 * u**2 * (1 + 0.1 * y**2) + 0.5 * v**2 + 0.1 * u * v + 0.2 * x * v
    return kinetic - 0.5 * (x**2 + y**2) - 0.2 * x**2 * y


def fitted(basis, function=lagrangian):
    states = RNG.uniform(-1, 1, (900, 4))
    return np.linalg.lstsq(basis.partial(states), function(states), rcond=1e-9)[0]


@pytest.fixture(scope="module")
def integrators():
    return {
        (name, rule): VariationalIntegrator(basis, fitted(basis), H, rule)
        for name, basis in BASES.items()
        for rule in RULES
    }


START, VELOCITY = np.array([0.3, -0.2]), np.array([0.1, 0.25])


@pytest.mark.parametrize("name", BASES)
def test_compiled_jets_are_the_partial_derivatives(integrators, name):
    basis, integrator = BASES[name], integrators[name, "midpoint"]
    b = integrator.coefficients
    states = RNG.uniform(-0.7, 0.7, (20, 4))
    gradients, hessians = integrator.jet(states)
    size = np.abs(b).sum()
    for i in range(4):
        expected = basis.partial(states, i) @ b
        np.testing.assert_allclose(gradients[:, i], expected, atol=1e-14 * size)
        for j in range(4):
            expected = basis.partial(states, i, j) @ b
            np.testing.assert_allclose(hessians[:, i, j], expected, atol=1e-13 * size)


@pytest.mark.parametrize("rule", RULES)
def test_momentum_form_is_the_position_form(integrators, rule):
    integrator, basis = integrators["weight_space", rule], BASES["weight_space"]
    motion = integrator.rollout(START, np.array([0.2, 0.3]), 60, VELOCITY)
    assert motion.complete and motion.steps == 60
    rows = discrete_euler_lagrange(basis, motion.positions[None], H, rule)
    size = np.abs(integrator.coefficients).sum()
    assert abs(rows @ integrator.coefficients).max() < 1e-14 * size + 1e-12


@pytest.mark.parametrize("rule", RULES)
def test_compiled_steps_agree_with_newton_on_the_partial_derivatives(integrators, rule):
    basis, integrator = BASES["weight_space"], integrators["weight_space", rule]
    b = integrator.coefficients
    momentum = np.array([0.2, 0.3])
    motion = integrator.rollout(START, momentum, 12, VELOCITY)
    q, p = START.copy(), momentum.copy()
    before = q - H * VELOCITY
    for k in range(12):
        following = 2 * q - before
        for _ in range(5):
            left, _ = discrete_momenta(basis, q[None], following[None], H, rule)
            mass = discrete_mass(basis, q[None], following[None], H, rule)[:, :, 0] @ b
            following = following + H * np.linalg.solve(mass, p - left[:, 0] @ b)
        right = discrete_momenta(basis, q[None], following[None], H, rule)[1]
        before, q, p = q, following, right[:, 0] @ b
        np.testing.assert_allclose(motion.positions[k + 1], q, atol=1e-12)
        np.testing.assert_allclose(motion.momenta[k + 1], p, atol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_step_is_symplectic(integrators, rule):
    integrator = integrators["weight_space", rule]
    start = np.array([0.3, -0.2, 0.2, 0.3])
    columns = []
    for i in range(4):
        step = np.eye(4)[i] * 1e-4
        ends = []
        for sign in (1, -1):
            q, p = np.split(start + sign * step, 2)
            motion = integrator.rollout(q, p, 5, VELOCITY)
            ends.append(np.concatenate([motion.positions[-1], motion.momenta[-1]]))
        columns.append((ends[0] - ends[1]) / 2e-4)
    jacobian = np.array(columns).T
    form = np.kron(np.array([[0, 1], [-1, 0]]), np.eye(2))
    np.testing.assert_allclose(jacobian.T @ form @ jacobian, form, atol=1e-7)


def test_momentum_of_a_cyclic_coordinate_is_conserved_to_round_off():
    def without_y(state):
        x, _, u, v = state.T
        return 0.5 * u**2 + 0.5 * v**2 * (1 + x**2) - 0.5 * x**2

    integrator = VariationalIntegrator(CYCLIC, fitted(CYCLIC, without_y), H, "midpoint")
    motion = integrator.rollout(START, np.array([0.2, 0.3]), 2000, VELOCITY)
    assert motion.complete
    assert np.ptp(motion.positions[:, 0]) > 0.1
    assert abs(motion.momenta[:, 1] - 0.3).max() < 1e-12


def test_sampling_changes_nothing(integrators):
    integrator = integrators["weight_space", "midpoint"]
    every, some = (
        integrator.rollout(START, START, 60, VELOCITY, every=k) for k in (1, 10)
    )
    np.testing.assert_array_equal(every.positions[::10], some.positions)
    with pytest.raises(ValueError, match="not a multiple of every = 7"):
        integrator.rollout(START, START, 60, VELOCITY, every=7)


def test_failures_are_reported_with_their_step(integrators):
    integrator = integrators["weight_space", "midpoint"]

    def reason(**options):
        motion = integrator.rollout(START, START, 40, VELOCITY, **options)
        assert not motion.complete
        assert np.isnan(motion.positions[motion.steps + 1 :]).all()
        assert np.isfinite(motion.positions[: motion.steps + 1]).all()
        assert motion.reason.startswith(f"step {motion.steps + 1}: ")
        return motion.reason

    assert "did not converge" in reason(iterations=1, tolerance=0.0)
    assert "left the domain" in reason(high=0.31)
    basis = BASES["weight_space"]
    integrator = VariationalIntegrator(basis, np.zeros(basis.size), H, "midpoint")
    assert "singular" in reason()
    integrator = VariationalIntegrator(
        basis, np.full(basis.size, np.nan), H, "midpoint"
    )
    assert reason(tolerance=1e-12)


def test_tolerance_is_above_the_round_off_of_large_coefficients(integrators):
    """Coefficients that cancel lose digits; Newton's method must not chase them."""
    basis, integrator = BASES["radial"], integrators["radial", "midpoint"]
    null = np.linalg.svd(basis.partial(RNG.uniform(-1, 1, (400, 4))))[2][-1]
    rough = VariationalIntegrator(
        basis, integrator.coefficients + 1e8 * null, H, "midpoint"
    )
    smooth = integrator.tolerance(START, VELOCITY)
    assert rough.tolerance(START, VELOCITY) > 100 * smooth


QUADRATIC = WeightSpace(2, 50.0, np.eye(4), np.zeros(4))


@pytest.mark.parametrize("size", [1.0, 300.0])
@pytest.mark.parametrize("mass", [1.0, 1e-4])
@pytest.mark.parametrize("stiffness", [1.0, 1e4])
def test_a_correction_means_more_than_the_round_off_of_a_momentum(
    size, mass, stiffness
):
    """Eight times ε: of |L_q̇|, or h |L_q|, h/m times; of the state; of one."""

    def oscillator(state):
        x, y, u, v = state.T
        return mass * u**2 / 2 + 3 * v**2 / 2 - stiffness * (x**2 + y**2) / 2

    b = fitted(QUADRATIC, oscillator)
    integrator = VariationalIntegrator(QUADRATIC, b, H, "midpoint")
    q, v = size * np.array([0.3, -0.2]), size * np.array([0.1, 0.25])
    state = np.concatenate([q, v])[None]
    slopes = [abs(QUADRATIC.partial(state, i)) @ abs(b) for i in range(4)]
    largest = max(*np.ravel(slopes[2:]), *(H * np.ravel(slopes[:2])))
    masses = [[QUADRATIC.partial(state, i, j) @ b for j in (2, 3)] for i in (2, 3)]
    least = np.linalg.svd(np.array(masses)[..., 0], compute_uv=False).min()
    wanted = 8 * np.finfo(float).eps * max(H * largest / least, abs(state).max(), 1)
    assert integrator.tolerance(q, v) == pytest.approx(wanted, rel=1e-6)


def test_corrections_are_counted_by_step(integrators):
    """A motion that fails in its first step has those of one."""
    integrator = integrators["weight_space", "midpoint"]
    motion = integrator.rollout(START, START, 40, VELOCITY)
    assert motion.complete and motion.reason == "" and 1 < motion.iterations < 6
    assert motion.positions.shape == motion.momenta.shape == (41, 2)
    one = integrator.rollout(START, START, 40, VELOCITY, iterations=1, tolerance=0.0)
    assert (one.steps, one.iterations) == (0, 1.0)
    assert one.reason == "step 1: Newton's method did not converge"
    loose = integrator.rollout(START, START, 40, VELOCITY, tolerance=1e9)
    assert loose.complete and loose.iterations == 1.0
    low = integrator.rollout(START, START, 40, VELOCITY, low=-0.21)
    high = integrator.rollout(START, START, 40, VELOCITY, high=np.array([9.0, -0.19]))
    assert "left the domain" in low.reason or "left the domain" in high.reason
    assert low.complete != high.complete or not low.complete
