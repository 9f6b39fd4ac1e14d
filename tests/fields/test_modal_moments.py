"""Modal moments: sums over the ensemble, however it is walked through."""

import numpy as np
import pytest
from field_recipes import LIBRARY, Recommended, observe, string

from leastaction.core.contracts import problems
from leastaction.fields import modal_moments

SUMS = ("moment", "instrument_gram")


@pytest.fixture(scope="module")
def paths():
    return observe(string(), trajectories=4, steps=2000)


@pytest.fixture(scope="module")
def expected(paths):
    return Recommended(paths)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10 * np.abs(b).max())


def test_they_honour_their_contract(expected):
    assert problems(expected.moments, "modal_moments") == []


@pytest.mark.parametrize("block", [57, 10**6])
def test_sums_do_not_depend_on_the_size_of_the_blocks(
    block, paths, expected, monkeypatch
):
    monkeypatch.setattr(modal_moments, "SAMPLES_PER_BATCH", block)
    found = Recommended(paths).moments
    for name in SUMS:
        for g in range(2):
            for i in np.ndindex(found[name].shape[2:-2]):
                close(
                    found[name].values[0, g][i], expected.moments[name].values[0, g][i]
                )


def test_nothing_depends_on_the_order_of_the_trajectories(paths, expected):
    found = Recommended(paths.isel(trajectory=[2, 0, 3, 1]))
    close(found.lagrangian.coefficients, expected.lagrangian.coefficients)
    close(found.lagrangian.std, expected.lagrangian.std)
    close(found.volatility().volatility, expected.volatility().volatility)


def test_they_agree_with_the_definition(paths):
    """By hand for u_x², whose force on its own eigenvectors is −λ q."""
    dt = 1e-3
    library = LIBRARY | {"lagrangian": [{"terms": ["u_t**2", "u_x**2"]}]}
    found = Recommended(paths, library)
    domain_cell = 0.01
    phi = found.basis["phi"].values[0]
    group = found.basis["group"].values[0]
    eigenvalue = 4 * np.sin(np.arange(1, 13) * np.pi / 26) ** 2 / domain_cell**2
    q = np.einsum("jkn,nm->jkm", paths["u"].values[0], domain_cell * phi)
    force = 2 * eigenvalue * q
    second = np.diff(q, n=2, axis=1)
    columns = [
        2 * second / dt,
        -dt * force[:, 1:-1],
        -dt * np.diff(force, n=2, axis=1),
    ]
    for g in range(2):
        z = force[:, :-2, group == g]
        for i, column in enumerate(columns):
            close(
                found.moments["moment"].values[0, g, 0, i],
                (z * column[..., group == g]).sum(),
            )
        close(found.moments["instrument_gram"].values[0, g, 0, 0, 0], (z * z).sum())


def test_uninformative_candidates_change_nothing(paths, expected):
    null = LIBRARY | {
        "lagrangian": [*LIBRARY["lagrangian"], {"pooled": ["u*u_x", "u_xx", "u_t"]}]
    }
    found = Recommended(paths, null)
    for name in ("moment", "increment_gram"):
        close(found.moments[name].values[0, 0], expected.moments[name].values[0, 0])
    assert found.support == expected.support
    assert found.coefficient() == pytest.approx(expected.coefficient(), rel=1e-12)
