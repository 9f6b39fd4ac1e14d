"""Lagrangian Shadow Integration for fields, from snapshots to the scorecard."""

import io

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from snapshot_fields import (
    KLEIN_GORDON,
    LENGTH,
    STARTS,
    field,
    settings,
    snapshots,
    waves,
)

from leastaction.core.model import model_of
from leastaction.core.recipe import Recipe, recommended
from leastaction.figures.style import draw, finding
from leastaction.snapshots import field_evidence
from leastaction.snapshots.field_evidence import Snapshots, damped
from leastaction_papers.scorecard.case import Case
from leastaction_papers.scorecard.panel import Panel
from leastaction_papers.shadow_integration import scores
from leastaction_papers.shadow_integration.field_rollout import validate

NOISE = {"channels": ["q"], "levels": [0.0, 4e-3]}
ROLLOUT = {"steps": 100, "motions": 2, "low": -0.5, "high": 0.5}


def recipe(**identify) -> Recipe:
    base = recommended("field_snapshots")
    given = {"method": "discrete_density"} | identify
    return Recipe(
        differentiate=base.differentiate, assemble=base.assemble, identify=given
    )


BASELINE = {"method": "field_regression", "derivatives": "spectral"}


@pytest.fixture(scope="module")
def panel() -> Panel:
    """Klein–Gordon without and with noise, and its baseline."""
    data = snapshots(noise=NOISE)
    recipes = {
        "recommended": recipe(length_scale=5.0),
        "spectral": recipe(**BASELINE),
    }
    models = {name: one.dataset(data) for name, one in recipes.items()}
    key = {"example": "klein_gordon", "seed": 1}
    simulation = settings(noise=NOISE)
    system = field(KLEIN_GORDON)
    rollouts = {
        name: validate(system, model, simulation, {"field": ROLLOUT}, {}, **key)
        for name, model in models.items()
    }
    config = {
        "title": "Klein–Gordon",
        "system": {
            "field": {"name": "u", "unit": "m"},
            "domain": {
                "length": LENGTH,
                "nodes": 16,
                "left": "periodic",
                "right": "periodic",
            },
            "parameters": {},
            "lagrangian": KLEIN_GORDON,
        },
        "publish": {"targets": {"field_error": 5e-3}},
    }
    return Panel("klein_gordon", config, models, rollouts)


def test_long_motions_follow_the_truth_better_than_those_of_a_regression(panel):
    clean, noisy = (
        [panel.rollouts[n]["error"].values[0, 0, k, -1] for k in (0, 1)]
        for n in ("recommended", "spectral")
    )
    assert clean[0] < 5e-3
    assert clean[0] < 0.2 * noisy[0]
    assert clean[1] < 0.1


def test_speed_and_force_are_recovered(panel):
    found = panel.rollouts["recommended"].isel(noise_level=0, noise_mode=0)
    assert found["speed_squared"].values == pytest.approx(1, abs=2e-3)
    error = np.abs(found["slope_estimate"] - found["slope_true"]).max()
    assert error < 2e-3 * np.abs(found["slope_true"]).max()


def test_noise_is_seen_and_the_stencil_follows(panel):
    """Nobody says whether data are noisy: the density of the snapshots decides."""
    model = panel.models["recommended"].isel(noise_mode=0, replicate=0)
    assert model["noise"].values[0] == 0
    assert model["noise"].values[1] == pytest.approx(4e-3, rel=0.15)
    assert model["misfit"].values[0] == np.inf
    assert model["misfit"].values[1] < 1
    assert "noise 0.00" in str(model_of(panel.models["recommended"], noise_level=4e-3))


def test_rows_and_figures_say_what_was_found(panel):
    rows = list(scores.rows(Case("beyond", "recommended", panel)))
    judged = [row for row in rows if row["verdict"]]
    assert [row["verdict"] for row in judged] == ["meets"]
    assert any("squared speed" in row["quantity"] for row in rows)
    file = io.BytesIO()
    draw("field_errors", [panel], {"dpi": 50}).savefig(file, format="png")
    assert file.tell() > 1000
    assert "Klein–Gordon" in finding("field_errors", [panel])


def test_a_refused_fit_is_counted_and_not_rolled_out(panel):
    model = panel.models["recommended"].copy(deep=True)
    model["distance"][:] = np.inf
    found = validate(
        field(KLEIN_GORDON),
        model,
        settings(noise=NOISE),
        {"field": ROLLOUT},
        {},
        example="klein_gordon",
        seed=1,
    )
    assert (found["stable"] == 0).all()
    assert not np.isfinite(found["error"].values[..., 2:]).any()
    refused = Panel(
        "refused", panel.config, {"recommended": model}, {"recommended": found}
    )
    rows = list(scores.rows(Case("beyond", "recommended", refused)))
    (first, *_) = [r for r in rows if r["quantity"].startswith("fits refused")]
    assert first["ours_median"] == 1
    assert "no motion (recommended)" in finding("field_errors", [refused])


def test_a_wave_equation_needs_two_powers():
    """Degree is that of the highest density, and the noise that of the data."""
    rng = np.random.default_rng(0)
    u = waves(0.2, 16, 24, mass=0.5)
    u = u + 1e-3 * rng.standard_normal(u.shape)
    choice = Snapshots(u, 0.2, LENGTH / 16).most_probable({"length_scale": 3.0})
    assert choice.fit.basis.degree == 2
    assert choice.fit.noise == pytest.approx(1e-3, rel=0.1)
    assert choice.distance == 0


@pytest.mark.parametrize(("force", "even"), [("", True), ("- u**3/6", False)])
def test_the_snapshots_decide_whether_the_density_is_even(force, even):
    """Of a field that u → −u leaves alone no constant force is learned."""
    noise = {"channels": ["q"], "levels": [2e-3]}
    data = snapshots(f"u_t**2/2 - u_x**2/2 - u**2/2 {force}", noise=noise)
    model = model_of(recipe(width=2, length_scale=3.0).dataset(data))
    assert model.density.basis.even == even
    slope = model.slope(np.array([-0.5, 0.0, 0.5]))
    assert (abs(slope[1]) < 1e-12) == even
    assert slope[0] + slope[2] == pytest.approx(0.0 if even else 0.25, abs=0.05)


def test_noise_is_propagated_about_all_values_of_the_field(monkeypatch):
    """J₀ changes with V″(u): snapshots are less probable with that of one u alone."""
    large = {**STARTS, "u": "3*(a + b*cos(x) + c*sin(x))"}
    noise = {"channels": ["q"], "levels": [1e-2]}
    given = {"time_step": 0.3, "duration": 9.0, "initial_state": large, "noise": noise}
    fit = recipe(stencil="edges", width=2, degree=4, length_scale=3.0).dataset
    data, found = snapshots(**given), []
    for quantiles in (field_evidence.QUANTILES, np.array([0.5])):
        monkeypatch.setattr(field_evidence, "QUANTILES", quantiles)
        found.append(float(fit(data)["log_density"].values.ravel()[0]))
    assert found[0] > found[1] + 50


def test_too_few_snapshots_are_refused():
    data = snapshots(duration=0.4, trajectories=1, nodes=8)
    with pytest.raises(ValueError, match="8 rows.*record more snapshots"):
        recipe(degree=6).fit(data)


def test_a_regression_finds_the_terms_of_the_equation():
    data = snapshots(time_step=0.05, duration=1.0, integration_step=0.05)
    model = recipe(**BASELINE).fit(data)
    assert str(model).startswith("u_tt = -1*u")
    kept = {term: c for term, c in model.coefficients.items() if c}
    assert kept.keys() == {"u", "u**3", "u_xx"}
    assert kept["u_xx"] == pytest.approx(1, abs=1e-2)


def damped_motions(rate: float, noise: float, motions: int = 4) -> np.ndarray:
    """u_tt + γ u_t = u_xx − u − u³ by SciPy's integrator: (motion, time, node)."""
    rng = np.random.default_rng(7)
    nodes, times = 16, 0.2 * np.arange(21)
    x = LENGTH / nodes * np.arange(nodes)
    square = np.fft.rfftfreq(nodes, 1 / nodes) ** 2

    def slope(_, state):
        u, v = state.reshape(2, motions, nodes)
        bent = np.fft.irfft(-square * np.fft.rfft(u), nodes)
        return np.concatenate([v, bent - u - u**3 - rate * v]).ravel()

    a, b, c, d, e, f = rng.normal(0, 0.4, (motions, 6)).T[..., None]
    start = a + b * np.cos(x) + c * np.sin(2 * x), d + e * np.sin(x) + f * np.cos(x)
    exact = {"t_eval": times, "rtol": 1e-10, "atol": 1e-12, "method": "DOP853"}
    solved = solve_ivp(slope, (0, times[-1]), np.ravel(start), **exact)
    u = solved.y.reshape(2, motions, nodes, -1)[0].swapaxes(1, 2)
    return u + noise * rng.standard_normal(u.shape)


SIZES = {"stencil": "edges", "width": 2, "degree": 4, "even": True}


@pytest.mark.parametrize("rate", [0.1, 0.0])
def test_a_loss_of_energy_is_identified_and_none_is_where_there_is_none(rate):
    u = damped_motions(rate, 1e-2)
    there, choice, found = damped(Snapshots(u, 0.2, LENGTH / 16), SIZES)
    assert abs(found.damping - rate) < 3 * found.damping_std < 0.02
    assert np.isnan(found.speed_std) or abs(found.speed - 1) < 3 * found.speed_std
    assert there.decay == (pytest.approx(np.exp(-0.2 * rate), abs=1e-3) if rate else 1)
    assert choice.fit.basis.decay == there.decay


def test_a_damped_field_is_predicted_and_its_model_loses_energy():
    data = snapshots(noise={"channels": ["q"]})
    u = damped_motions(0.1, 0.0, 5)
    learned = data.assign(q=(data["q"].dims, u[None, :4, : data.sizes["time"]]))
    model = model_of(recipe(**SIZES).dataset(learned))
    predicted = model.rollout(u[4:, 0], u[4:, 1], steps=20)
    assert np.abs(predicted - u[4:]).max() < 0.01 * np.abs(u[4]).max()
    assert "Energy is lost: u_tt + gamma u_t with gamma = 0.099" in str(model)
