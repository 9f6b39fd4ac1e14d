"""Laws of rollouts of Lagrangians that were learned from snapshots."""

import numpy as np
import pytest
from stages import assemble, differentiate, identify, simulate, validate
from support import motion_settings, system

from leastaction import load as load_law
from leastaction.core.contracts import check
from leastaction.core.files import load, save
from leastaction.snapshots.learned_model import LearnedLagrangian
from leastaction_papers.shadow_integration.gaussian_processes import LearnedFlow

KEY = {"example": "e", "seed": 1}
SIMULATION = motion_settings(
    {"modes": ["independent"], "levels": [0.0, 1e-3], "channels": ["q"]},
    time_step=0.5,
    integration_step=0.01,
    duration=2.5,
    trajectories=120,
    initial_state={
        "random": {"angle": {"halton": [-2.0, 2.0]}, "rate": {"halton": [-1.0, 1.0]}},
        "th": "angle",
        "thdot": "rate",
    },
)
LINE = {"low": [-1.0, -0.5], "high": [1.0, 0.5]}
SHADOW = {
    "start": [0.3, 0.0],
    "steps": 200,
    "short": 20,
    "snapshots": 13,
    "samples": 101,
    "energies": 41,
    "orders": [0, 2, 4],
    "box": LINE | {"points": 9},
}
TAYLOR = {
    "method": "discrete_euler_lagrange",
    "rule": "midpoint",
    "basis": {"kind": "taylor", "degree": 14, "length_scale": 0.7},
    "normalisation": "discrete_mass",
    "whiten": True,
}
NONE = {"method": "none"}


@pytest.fixture(scope="module")
def truth():
    return system("thdot**2/2 + cos(th)", ("th",))


@pytest.fixture(scope="module")
def recordings(truth):
    return simulate(truth, SIMULATION, **KEY, replicate=0, units={"th": "rad"})


def learned(recordings, assembled, identified):
    rates = check(differentiate(recordings, NONE, {}), "nothing")
    equations = assemble(recordings, rates, assembled, {})
    return identify(recordings, equations, identified, {})


@pytest.fixture(scope="module")
def model(recordings):
    recipe = {"method": "evidence_maximisation", "damping": "evidence"}
    found = learned(recordings, TAYLOR, recipe)
    return found.assign_attrs(contract="learned_lagrangian")


@pytest.fixture(scope="module")
def flow(recordings):
    recipe = {
        "method": "flow_gaussian_process",
        "variance": 10.0,
        "length_scale": 1.5,
        "jitter": 1e-10,
    }
    found = learned(recordings, NONE, recipe)
    return found.assign_attrs(contract="learned_flow")


def rolled(truth, model, cases=None, **changes):
    settings = {"cases": cases or {"levels": [0.0]}, "shadow": SHADOW | changes}
    result = validate(truth, model, SIMULATION, settings, {}, **KEY)
    return check(result, "shadow_rollout")


@pytest.fixture(scope="module")
def rollout(truth, model):
    return rolled(truth, model)


def test_a_learned_lagrangian_moves_like_the_truth(rollout):
    assert rollout["q_estimate"].dims[:4] == (
        "replicate",
        "noise_mode",
        "noise_level",
        "order",
    )
    assert (rollout["steps_done"] == 200).all()
    assert float(rollout["position_error"].max()) < 1e-4
    difference = abs(rollout["q_estimate"] - rollout["q_true"]).max().item()
    assert difference <= float(rollout["position_error"].max())


def test_velocities_of_snapshots_follow_from_positions_alone(rollout):
    found = rollout["state_snapshot"].squeeze().values
    true = rollout["state_snapshot_true"].values
    assert found.shape == true.shape == (13, 2)
    np.testing.assert_allclose(found, true, atol=1e-4)
    np.testing.assert_allclose(true[::2, 0], rollout["q_true"].values.ravel()[:7])
    line = rollout["state_line_true"].values
    energy = line[:, 1] ** 2 / 2 - np.cos(line[:, 0])
    np.testing.assert_allclose(energy, energy[0], atol=1e-9)
    assert np.isin(true, line).all()


def test_each_order_brings_the_energy_nearer(rollout):
    zero, two, four = rollout["misalignment"].values.ravel()
    assert zero > 10 * two > 50 * four


def test_the_true_lagrangian_integrated_misses_what_a_shadow_makes_up(rollout):
    """Both err alike without correction, to opposite sides."""
    integrated = rollout["misalignment_integrated"].values.ravel()
    assert integrated[0] < 1e-12
    shadow = rollout["misalignment"].values.ravel()
    assert integrated[1] == pytest.approx(shadow[0], rel=0.05)


def test_factor_and_sign_of_a_lagrangian_change_nothing_but_its_scale(
    truth, model, rollout
):
    other = model.assign(coefficient=-3.0 * model["coefficient"])
    found = rolled(truth, other)
    ratio = (found["scale"] / rollout["scale"]).values
    np.testing.assert_allclose(ratio, -3.0, rtol=1e-9)
    for name in ("misalignment", "energy_band"):
        np.testing.assert_allclose(found[name], rollout[name], rtol=1e-3, atol=1e-9)
    np.testing.assert_allclose(found["q_estimate"], rollout["q_estimate"], atol=1e-8)


def test_noise_is_swept(truth, model):
    found = rolled(truth, model, cases={"levels": [0.0, 1e-3]})
    clean, noisy = found["misalignment"].isel(order=-1).values.ravel()
    assert clean < noisy < 0.01


def test_an_escape_is_reported_and_censors_nothing(truth, model):
    narrow = {"low": [-0.2], "high": [0.31]}
    survival = {"steps": 1000, "starts": 3, "perturbation": 1e-15}
    found = rolled(truth, model, domain=narrow, survival=survival)
    assert (found["steps_done"] < 10).all()
    assert all("left the domain" in text for text in found["failure"].values.ravel())
    assert np.isnan(found["q_estimate"].isel(time=-1)).all()
    assert (found["survival_censored"] == 0).all()
    assert (found["survival_steps"] < 10).all()
    end = found["passage_end"].values.ravel()
    assert np.isfinite(end).sum() == found["survival_steps"].values.ravel()[0] + 1
    free = rolled(truth, model, survival=survival)
    assert np.isfinite(free["passage_end"]).all()
    np.testing.assert_allclose(free["survival_time"], 500.0)
    assert abs(free["passage_drift"].item()) < 1e-8
    assert (free["survival_censored"] == 1).all()
    assert (free["survival_steps"] == 1000).all()


def test_coarse_samples_of_a_passage_are_those_of_the_fine_rollout(truth, model):
    survival = {"steps": 4000, "starts": 1, "perturbation": 1e-15}
    found = rolled(truth, model, survival=survival)
    fine = found["q_estimate"].sel(order=4)
    assert found["passage_time"].values.ravel()[1] == 1.0
    np.testing.assert_allclose(
        found["passage_q"].values.ravel()[:41], fine.values.ravel()[:41], atol=1e-9
    )
    energy = found["passage_energy"].values.ravel()
    assert abs(energy).max() < 1e-4


def test_a_motion_through_two_positions_needs_no_velocity(truth, model):
    """And so has no error of the series in h."""
    box = {**LINE, "starts": 4, "steps": 20}
    begun = {
        start: rolled(truth, model, orders=[0], horizon=box | {"start": start})
        for start in ("state", "positions")
    }
    state, positions = (float(one["horizon_error"].max()) for one in begun.values())
    assert positions < 1e-3 * state
    one = model.isel(noise_mode=0, noise_level=0)
    learned = LearnedLagrangian.from_dataset(one)
    motion = learned.through(np.array([0.3]), np.array([0.25]), 5)
    np.testing.assert_allclose(motion.positions[:2, 0], [0.3, 0.25], rtol=1e-9)


def test_the_other_checks(truth, model):
    found = rolled(
        truth,
        model,
        horizon={
            **LINE,
            "starts": 6,
            "steps": 10,
            "start": "state",
            "below": -0.6,
        },
        potential={
            "low": [-4.0],
            "high": [4.0],
            "points": 81,
            "below": -0.5,
            "saddles": [[1.0]],
        },
    )
    assert float(found["horizon_error"].max()) < 1e-3
    # Of the wells of the cosine within the grid the one with its minimum in it.
    assert abs(found["q_rest"].values[found["inside"].values > 0]).max() < 1.1
    # Only up to a monotone map is H known in one degree of freedom.
    assert float(found["potential_error"].sel(order=4).max()) < 0.05
    margins = found["saddle_margin"].sel(order=4).values.ravel()
    expected = found["saddle_margin_true"].values.ravel()
    np.testing.assert_allclose(margins, expected, rtol=0.2)


def test_a_flow_moves_and_has_no_energy_of_its_own(truth, flow):
    found = rolled(
        truth, flow, survival={"steps": 30, "starts": 2, "perturbation": 1e-9}
    )
    assert float(found["position_error"].max()) < 0.1
    assert np.isnan(found["scale"]).all() and np.isnan(found["misalignment"]).all()
    assert np.isfinite(found["energy_drift"]).all()
    assert (found["survival_censored"] == 1).all()


def test_a_rollout_needs_its_settings(truth, model):
    with pytest.raises(ValueError, match="validate.shadow is missing"):
        validate(truth, model, SIMULATION, {}, {}, **KEY)


@pytest.mark.parametrize("kind", ["learned_lagrangian", "learned_flow"])
def test_a_file_alone_gives_the_model_back(kind, model, flow, tmp_path):
    dataset = {"learned_lagrangian": model, "learned_flow": flow}[kind]
    path = tmp_path / "model.nc"
    save(dataset, path, kind)
    assert load(path).attrs["contract"] == kind
    found = load_law(path, noise_level=1e-3)
    assert isinstance(found, (LearnedLagrangian, LearnedFlow))
    assert found.coordinates == ("th",)
    text = str(found)
    assert "(th, thdot)" in text and "h = 0.5 s" in text
    assert abs(found.rollout([0.3, 0.0], 4).positions[1, 0] - 0.2638) < 0.02
