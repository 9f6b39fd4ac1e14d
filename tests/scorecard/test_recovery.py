"""Recovery of a law over a sweep of noise: what it must not depend on."""

import copy

import numpy as np
import pytest
import xarray as xr
from synthetic_sweep import LEVELS, PENDULUM, swept

from leastaction_papers.scorecard.recovery import coverage, largest_noise, recovery
from leastaction_papers.scorecard.scores import truth_of

TRUTH = truth_of(PENDULUM)


def compared(model, config=PENDULUM):
    return recovery(model, config, truth_of(config))


def damped():
    config = copy.deepcopy(PENDULUM)
    config["system"]["parameters"]["b"] = {"value": 0.2, "unit": "J s"}
    config["system"]["dissipation"] = "b*thdot**2/2"
    config["library"]["dissipation"] = [{"terms": ["thdot**2", "abs(thdot)"]}]
    return config


def test_every_case_is_compared_by_itself():
    found = compared(swept(PENDULUM, wrong=lambda level: 0.5 if level > 0 else 0.0))
    assert found["exact"].dims == ("replicate", "noise_mode", "noise_level")
    counts = found["exact"].sum("replicate").sel(noise_mode="shared").values
    assert counts.tolist() == [4, 2, 2]


@pytest.mark.parametrize("scale", [3.0, -0.25])
def test_a_multiple_of_a_law_is_the_same_law(scale):
    once, again = (swept(PENDULUM, scale=factor) for factor in (1.0, scale))
    xr.testing.assert_allclose(compared(once), compared(again))


def test_a_total_derivative_and_an_identity_change_nothing():
    model = swept(PENDULUM)
    other = model.copy(deep=True)
    c = other["coefficient_estimate"]
    c.loc[{"term": "thdot*cos(th)"}] = 0.7
    # Both squares: a constant, which no motion feels.
    c.loc[{"term": "sin(th)**2"}] = 0.3
    c.loc[{"term": "cos(th)**2"}] = 0.3
    xr.testing.assert_allclose(compared(model), compared(other))


def test_where_forces_are_known_so_is_the_scale():
    driven = copy.deepcopy(PENDULUM)
    driven["simulate"]["input"] = {"th": "cos(time)"}
    assert compared(swept(driven, error=lambda level: 0.0), driven)[
        "worst_error"
    ].max() == pytest.approx(0.0)
    found = compared(swept(driven, error=lambda level: 0.0, scale=1.1), driven)
    np.testing.assert_allclose(found["worst_error"], 0.1)


def test_damping_is_part_of_the_law():
    config = damped()
    model = swept(config, error=lambda level: 0.0)
    assert compared(model, config)["exact"].all()
    model["dissipation_coefficient_estimate"][:] = 0.0
    found = compared(model, config)
    assert not found["exact"].any()
    np.testing.assert_allclose(found["worst_error"], 1.0)


def test_intervals_have_their_nominal_coverage():
    model = swept(PENDULUM, error=lambda level: 0.01, levels=[0.1], n=300)
    share = float(coverage(model, PENDULUM, TRUTH).mean())
    assert 0.92 < share < 0.98
    assert coverage(swept(PENDULUM, with_std=False), PENDULUM, TRUTH) is None
    model["coefficient_std"][:100] = np.nan
    found = coverage(model, PENDULUM, TRUTH)
    assert found[:100].isnull().all() and found[100:].notnull().all()


def exact(shares, count=4):
    hits = [[i < share * count for share in shares] for i in range(count)]
    return xr.DataArray(
        np.array(hits),
        dims=("replicate", "noise_level"),
        coords={"noise_level": list(LEVELS)},
    )


@pytest.mark.parametrize(
    ("shares", "wanted"),
    [
        ([1, 1, 1], (1e-1, np.inf, 0.0)),
        ([1, 0.5, 0.25], (1e-3, 1e-1, 0.0)),
        ([1, 0.25, 1], (0.0, 1e-3, 0.0)),
    ],
)
def test_every_level_up_to_the_largest_must_be_managed(shares, wanted):
    assert largest_noise(exact(shares)) == wanted
    backwards = exact(shares).isel(noise_level=[2, 0, 1])
    assert largest_noise(backwards) == wanted


def test_who_fails_without_noise_has_no_limit():
    limit = largest_noise(exact([0.25, 1, 1]))
    assert np.isnan(limit.level)
    assert not limit.at_end
    assert limit.between == (0.0, 0.0)


def test_of_levels_that_were_not_done_nothing_is_claimed():
    limit = largest_noise(exact([1, 0.25, 1]).isel(noise_level=[1, 2]))
    assert np.isnan(limit.level)
    assert limit.lowest == 1e-3
    assert limit.between == (0.0, 1e-3)
