"""Time schemes are named by what their samples obey, or not at all."""

import numpy as np
import pytest
import xarray as xr

from leastaction.fields.time_scheme import (
    AUTOCORRELATION,
    DISPERSION,
    EXACT,
    LEAPFROG,
    NEWMARK,
    UNKNOWN,
    right_scheme,
    scheme_name,
    true_scheme,
)


@pytest.mark.parametrize("name", DISPERSION)
def test_a_scheme_is_named_by_its_dispersion_or_its_noise(name):
    value = DISPERSION[name]
    for off, error, found in (
        (0.0, 0.0, name),
        (0.019, 0.0, name),
        (-0.021, 0.0, UNKNOWN),
        (0.03, 0.003, name),
        (0.03, 0.002, UNKNOWN),
    ):
        assert scheme_name((value + off, error), 9.0) == found
    assert scheme_name(None, AUTOCORRELATION[name] + 0.049) == name
    assert scheme_name(None, AUTOCORRELATION[name] - 0.051) == UNKNOWN


def test_second_differences_have_the_dispersion_of_their_scheme():
    """Δ²q/dt² = F + (1/12 + ρ) δ²F of waves q = cos(ω t), F = −Ω² q."""
    angle = 0.2  # true frequency times dt
    second = 2 * (np.cos(angle) - 1)
    turned = 2 * np.arctan(angle / 2)
    newmark = 2 * (np.cos(turned) - 1)
    for name, bend in ((EXACT, second), (NEWMARK, newmark), (LEAPFROG, -(angle**2))):
        rho = (-bend / angle**2 - 1) / bend - 1 / 12
        assert rho == pytest.approx(DISPERSION[name], abs=1e-3)


def test_the_scheme_of_a_simulation_is_that_of_its_method():
    model = xr.Dataset({"scheme": ("replicate", [NEWMARK, EXACT, UNKNOWN])})
    for method, right in (("newmark", 0), ("newmark_hermite", 0), ("modal", 1)):
        config = {"simulate": {"method": method}}
        assert right_scheme(model, config).tolist() == [i == right for i in range(3)]
    config = {"simulate": {"method": "euler"}}
    with pytest.raises(ValueError, match="'euler' has no scheme; known: modal"):
        true_scheme(config)
    nameless = xr.Dataset(coords={"replicate": [0, 1]})
    assert not right_scheme(nameless, {"simulate": {"method": "modal"}}).any()
