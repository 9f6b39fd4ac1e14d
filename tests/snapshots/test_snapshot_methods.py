"""Laws of the methods that learn a Lagrangian from positions."""

import numpy as np
import pytest
import snapshot_support as support

import leastaction as la
from leastaction.core.contracts import check
from leastaction.snapshots import discrete_euler_lagrange
from leastaction.snapshots.constrained_rows import evidence_maximisation, minimum_norm
from leastaction.snapshots.discrete_lagrangian import one_step_errors, whitened
from leastaction.snapshots.learned_model import LearnedLagrangian
from leastaction_papers.shadow_integration import gaussian_processes as gp
from leastaction_papers.shadow_integration.gaussian_processes import LearnedFlow


def learned(observations, damping="evidence", **changes):
    settings = support.RECOMMENDED | changes
    equations = discrete_euler_lagrange.assemble(observations, None, settings, {})
    check(equations, "shadow_equations")
    model = evidence_maximisation(equations, {"damping": damping}, observations, {})
    return check(model, "learned_lagrangian")


@pytest.fixture(scope="module")
def pendulum():
    return support.observed(support.pendulum()[..., :1], 0.5, ["th"])


@pytest.fixture(scope="module")
def model(pendulum):
    return learned(pendulum)


def test_each_order_of_backward_error_analysis_brings_the_truth_nearer(model):
    lagrangian = LearnedLagrangian.from_dataset(model)
    zero, two, four = (support.misalignment(lagrangian, k) for k in (0, 2, 4))
    assert zero > 30 * two > 300 * four
    assert two < 2.5e-4 and four < 2e-5


def test_positions_suffice_for_a_long_motion(model):
    lagrangian = LearnedLagrangian.from_dataset(model)
    motion = lagrangian.rollout([0.3, 0.0], 400, order=4)
    start = np.array([[0.3, 0.0]])
    truth = support.motion(support.pendulum_rate, start, 0.5, 20, 400)
    assert motion.complete
    assert abs(motion.positions[:, 0] - truth[0, :, 0]).max() < 3e-5


def test_velocities_follow_from_momenta(model):
    lagrangian = LearnedLagrangian.from_dataset(model)
    states = np.random.default_rng(1).uniform(-0.8, 0.8, (9, 2))
    momenta = lagrangian.momentum(states, 2)
    found = lagrangian.velocity(states[:, :1], momenta, 0.9 * states[:, 1:], 2)
    np.testing.assert_allclose(found, states[:, 1:], atol=1e-10)


def test_order_of_trajectories_changes_nothing(pendulum, model):
    order = np.random.default_rng(2).permutation(pendulum.sizes["trajectory"])
    shuffled = learned(pendulum.isel(trajectory=order))
    for name in model.data_vars:
        np.testing.assert_array_equal(model[name], shuffled[name])


def test_units_of_length_and_time_change_nothing(pendulum, model):
    """Except the numbers: an error of one step is a length."""
    scaled = pendulum.assign(q=pendulum["q"] * 1000).assign_coords(
        time=pendulum["time"] / 60
    )
    other = learned(scaled, damping=1e-8)
    one = learned(pendulum, damping=1e-8)
    ratio = float(other["one_step_error"][0] / one["one_step_error"][0])
    assert ratio == pytest.approx(1000, rel=1e-3)
    assert other["length_scale"].values == model["length_scale"].values


def test_noise_is_estimated(pendulum):
    """A row sees (e_0 - 2 e_1 + e_2)/h^2 times a mass of mean 1."""
    draw = np.random.default_rng(3).standard_normal(pendulum["q"].shape)
    for sigma in (1e-4, 1e-3):
        noisy = pendulum.assign(q=pendulum["q"] + sigma * draw)
        found = learned(noisy, basis={"kind": "taylor", "length_scale": 0.7})
        expected = sigma * np.sqrt(6) / 0.25
        assert float(found["row_error"][0]) == pytest.approx(expected, rel=0.2)
        assert support.misalignment(LearnedLagrangian.from_dataset(found), 4) < sigma


def test_whitened_rows_have_uncorrelated_errors():
    draws = np.random.default_rng(4).standard_normal((20000, 6))
    rows = (draws[:, :-2] - 2 * draws[:, 1:-1] + draws[:, 2:])[:, :, None, None]
    white = whitened(rows)[..., 0, 0]
    np.testing.assert_allclose(np.cov(white.T), 6 * np.eye(4), atol=0.25)


def test_error_of_one_step_is_the_displacement(model):
    lagrangian = LearnedLagrangian.from_dataset(model)
    path = lagrangian.rollout([0.5, 0.2], 2).positions
    displaced = path.copy()
    displaced[-1] -= 1e-6

    def error(scale):
        b = scale * lagrangian.coefficients
        return one_step_errors(lagrangian.basis, b, displaced[None], 0.5, "midpoint")

    assert error(1.0) == pytest.approx(1e-6, rel=1e-3)
    np.testing.assert_allclose(error(1.0), error(-7.0))


def test_posterior_samples_spread_as_the_factor_says(model):
    lagrangian = LearnedLagrangian.from_dataset(model)
    draws = lagrangian.samples(4000, np.random.default_rng(5))
    at = lagrangian.basis.partial(np.array([[0.4, 0.3]]))[0]
    values = [at @ draw.coefficients for draw in draws]
    expected = np.linalg.norm(lagrangian.factor @ at)
    assert np.std(values) == pytest.approx(expected, rel=0.05)


def test_published_rank_and_residual_of_henon_heiles():
    positions = support.henon_heiles()[..., :2]
    observations = support.observed(positions, 0.1, ["x", "y"])
    settings = support.PUBLISHED | {"basis": {"kind": "radial", "length_scale": 10.0}}
    equations = discrete_euler_lagrange.assemble(observations, None, settings, {})
    found = check(minimum_norm(equations, {}), "learned_lagrangian")
    assert equations["theta"].shape == (1, 1200, 800)
    assert found["rank"].values == [114]
    assert float(found["residual_square"][0]) == pytest.approx(1.997e-10, rel=0.05)


def test_exact_accelerations_find_the_lagrangian_of_the_motion(pendulum):
    recorded = pendulum.assign(qddot=-np.sin(pendulum["q"]))
    recorded["qddot"].attrs = pendulum["q"].attrs
    box = {"low": [-1.2], "high": [1.2], "first_index": 3}
    settings = {"length_scale": 5.0, "volume": 100.0, "rule": "midpoint"}
    values = {}
    for name, samples in {
        "exact": gp.halton_velocity(recorded, box, {}),
        "differences": gp.repeated_central_difference(pendulum, {}, {}),
    }.items():
        check(samples, "sampled_motion")
        equations = gp.continuous_euler_lagrange(pendulum, samples, settings, {})
        lagrangian = LearnedLagrangian.from_dataset(minimum_norm(equations, {}))
        assert not lagrangian.shadow
        values[name] = support.misalignment(lagrangian, 0)
    assert values["exact"] < 5e-4 < 1e-2 < values["differences"]
    with pytest.raises(ValueError, match="recorded accelerations"):
        gp.halton_velocity(pendulum, box, {})


def test_repeated_differences_are_exact_for_parabolas():
    time = np.arange(7) * 0.1
    path = (2 + 3 * time - 4 * time**2)[None, :, None]
    q, qdot, qddot = gp.repeated_differences(path, 0.1)
    np.testing.assert_allclose(q[0, :, 0], path[0, 2:-2, 0])
    np.testing.assert_allclose(qdot[0, :, 0], 3 - 8 * time[2:-2])
    np.testing.assert_allclose(qddot, -8.0)
    with pytest.raises(ValueError, match="five snapshots, got 4"):
        gp.repeated_differences(path[:, :4], 0.1)


def test_flow_process_goes_through_its_samples(pendulum):
    recipe = {"variance": 900.0, "length_scale": 1.0, "jitter": 1e-9}
    pendulum = pendulum.isel(trajectory=slice(0, 60))
    found = gp.flow_gaussian_process(None, recipe, pendulum, {})
    flow = LearnedFlow.from_dataset(check(found, "learned_flow"))
    first, second = gp.flow_pairs(pendulum["q"].values[0], 0.5)
    wide = recipe | {"length_scale": 100.0, "jitter": 1e-14}
    with pytest.raises(ValueError, match="raise jitter"):
        gp.flow_gaussian_process(None, wide, pendulum, {})
    for k in (0, 50):
        one, two = (flow.rollout(first[k], 4, every=every) for every in (1, 2))
        state = np.concatenate([one.positions[1], one.momenta[1]])
        np.testing.assert_allclose(state, second[k], atol=1e-4)
        np.testing.assert_array_equal(two.positions, one.positions[::2])
        np.testing.assert_array_equal(two.momenta, one.momenta[::2])


def test_what_does_not_fit_is_refused(pendulum):
    settings = support.RECOMMENDED | {"basis": {"kind": "taylor", "cyclic": ["phi"]}}
    with pytest.raises(ValueError, match=r"\['phi'\] are not coordinates"):
        discrete_euler_lagrange.assemble(pendulum, None, settings, {})
    with pytest.raises(ValueError, match="damping: expected a number, got the text"):
        la.recipes.snapshots.recommended(damping="guess")
