"""From noisy positions to a Lagrangian that knows whether to be believed."""

import numpy as np
import pytest
import xarray as xr
from motions import CART, CART_LIBRARY, cart, recording
from pendulum import DAMPED, DAMPING, SIGMA, TERMS, TRUTH, motions

from leastaction.trajectories import shooting
from leastaction.trajectories.gram import assemble
from leastaction.trajectories.joint_spline import differentiate
from leastaction.trajectories.shooting import identify

LIBRARY = {"reference": "thdot**2", "lagrangian": [{"terms": list(TERMS)}]}
WITH_DAMPING = LIBRARY | {"dissipation": [{"terms": list(DAMPING)}]}
SMOOTHING = {
    "trim": 5,
    "knot_spacing": 1,
    "trim_positions": 10,
    "knot_spacing_positions": 2,
    "inflation": 1.2,
    "samples": 500,
}
SETTINGS = {"segment": 0.5, "support": None, "largest": 5, "ranked": 10}


def identified(seed=1, c=TRUTH, library=LIBRARY, order=None, sigma=SIGMA, **settings):
    q, _ = motions(seed, c, trajectories=16, sigma=sigma)
    q = q if order is None else q[order]
    observations = xr.Dataset(
        {
            "q": (
                ("replicate", "trajectory", "time", "dof"),
                q[None],
                {"units": "rad", "long_name": "q"},
            )
        },
        coords={
            "replicate": [0],
            "trajectory": np.arange(len(q)),
            "time": ("time", np.arange(q.shape[1]) * 0.02, {"units": "s"}),
            "dof": ["th"],
        },
        attrs={"contract": "motion"},
    )
    rates = differentiate(observations, SMOOTHING, library)
    gram = assemble(observations, rates, SMOOTHING, library)
    return identify(gram, SETTINGS | settings, observations, library)


def test_structure_coefficients_and_noise_are_found():
    found = identified()
    assert np.flatnonzero(found.coefficients).tolist() == [0, 1]
    ratio = found.coefficients[1] / found.coefficients[0]
    error = found.std[1] / found.coefficients[0]
    assert abs(ratio - 2 * 9.81) < 4 * error < 0.2
    assert found.coefficients[0] == 1.0  # the reference
    assert found.std[0] == 0.0
    assert found.by_node["noise_std"][1][0] == pytest.approx(SIGMA, rel=0.05)
    diagnostics = {name: entry[0] for name, entry in found.diagnostics.items()}
    assert diagnostics["trusted"] == 1
    assert diagnostics["reached"] == 1
    assert diagnostics["largest_score"] < 30 < diagnostics["smallest_wald"]


def test_positions_without_noise_give_the_exact_law():
    """They are weighted by a noise that steps of the integrator can follow."""
    found = identified(sigma=0.0)
    assert np.flatnonzero(found.coefficients).tolist() == [0, 1]
    assert found.coefficients[1] == pytest.approx(2 * 9.81, rel=1e-8)
    assert found.diagnostics["trusted"][0] == 1


def test_trajectories_may_come_in_any_order():
    order = np.random.default_rng(3).permutation(16)
    np.testing.assert_allclose(
        identified(order=order).coefficients, identified().coefficients, rtol=1e-4
    )


def test_damping_is_found_with_the_lagrangian():
    found = identified(c=DAMPED, library=WITH_DAMPING)
    assert np.flatnonzero(found.joint_coefficients).tolist() == [0, 1, 6]
    assert abs(found.dissipation_coefficients[0] - 0.1) < (4 * found.dissipation_std[0])


def test_a_given_support_is_fitted_alone():
    found = identified(support=["thdot**2", "cos(th)", "th**2"])
    assert np.flatnonzero(found.coefficients).tolist() == [0, 1, 2]
    assert abs(found.coefficients[2]) < 4 * found.std[2]


def test_a_wrong_support_is_not_trusted(caplog):
    found = identified(support=["thdot**2", "th**2"])
    assert found.diagnostics["trusted"][0] == 0
    assert "not to be trusted" in caplog.text


def test_a_support_without_a_kinetic_term_is_refused():
    with pytest.raises(ValueError, match="no kinetic term"):
        identified(support=["cos(th)"])


def test_motions_that_are_all_lost_are_not_trusted(monkeypatch, caplog):
    """So strong a repulsion that every segment overflows, whatever its state."""
    start = np.array([1.0, 0.0, 1e12, 0.0, 0.0])
    monkeypatch.setattr(shooting, "_starts", lambda *_: [start])
    found = identified(support=["thdot**2", "th**2"])
    assert found.diagnostics["trusted"][0] == 0
    assert found.diagnostics["converged"][0] == 0
    assert np.isnan(found.std[found.coefficients != 0]).all()
    assert "not to be trusted" in caplog.text


@pytest.mark.parametrize(
    ("largest", "sizes"), [(1, {1}), (2, {2}), (8, set(range(2, 9)))]
)
def test_starts_have_up_to_the_largest_number_of_terms(monkeypatch, largest, sizes):
    """Eight free candidates, of which two are the pendulum's."""
    more = ["th**4", "thdot**4", "th**2*thdot**2"]
    library = {"reference": "thdot**2", "lagrangian": [{"terms": [*TERMS, *more]}]}
    seen = set()

    def first(positions, segments, starts, inertia):
        seen.update(np.count_nonzero(c) for c in starts)
        return best(positions, segments, starts[:1], inertia)

    best = shooting.best_start
    monkeypatch.setattr(shooting, "best_start", first)
    found = identified(library=library, largest=largest)
    assert seen == sizes
    assert np.flatnonzero(found.coefficients).tolist() == [0, 1]


def cart_fitted(noise):
    """The true terms of the cart, fitted to positions with this noise of (θ, x)."""
    time, q, *rest = cart(samples=150)
    q = q + noise * np.random.default_rng(5).standard_normal(q.shape)
    observations = recording(time, q, *rest, channels=1)
    rates = differentiate(observations, SMOOTHING, CART_LIBRARY)
    gram = assemble(observations, rates, SMOOTHING, CART_LIBRARY)
    settings = SETTINGS | {"support": list(CART)}
    return identify(gram, settings, observations, CART_LIBRARY)


def test_two_coordinates_are_weighted_each_by_its_noise():
    """A quiet coordinate makes up for a noisy one."""
    noise = np.array([0.02, 0.001])
    found, noisy = cart_fitted(noise), cart_fitted(noise[:1])
    assert found.by_node["noise_std"][1] == pytest.approx(noise, rel=0.1)
    assert found.diagnostics["trusted"][0] == 1
    wanted = np.array([CART.get(name, 0.0) for name in found.terms])
    chosen = np.flatnonzero(wanted)
    assert np.array_equal(np.flatnonzero(found.coefficients), chosen)
    for model in (found, noisy):
        error = np.abs(model.coefficients - wanted)[chosen]
        assert (error <= 4 * model.std[chosen]).all()
    place = found.terms.index("xdot**2")
    assert noisy.std[place] > 2 * found.std[place]


def test_a_support_outside_the_library_is_refused():
    with pytest.raises(ValueError, match="free candidate"):
        identified(support=["thdot**2", "sin(th)"])
