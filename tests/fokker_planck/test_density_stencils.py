"""Laws of differences and test functions on histograms."""

import numpy as np
import pytest
from density_support import dataset, exact, shares

from leastaction.core.contracts import check
from leastaction.densities.contracts import coarsened
from leastaction.densities.weak_fokker_planck import bumps, sheppard
from leastaction_papers.fokker_planck.fokker_planck_residual import (
    central_difference,
    central_stencil,
)


def test_the_difference_is_exact_for_quadratics_and_zero_in_the_outer_layer():
    x = np.linspace(-1, 1, 21)
    found = central_difference(21, x[1] - x[0]) @ (x**2 + 3 * x)
    np.testing.assert_allclose(found[1:-1], 2 * x[1:-1] + 3, atol=1e-13)
    assert found[0] == found[-1] == 0


def test_the_density_counts_samples_outside():
    out = central_stencil(exact(), {"bins": None}, {})
    check(out, "density_stencil")
    mass = float(out["density"].isel(replicate=0, batch=0).sum()) * 0.16**2
    assert mass == pytest.approx(shares(50).sum(), rel=1e-12)


def test_the_sum_over_corrected_cells_is_of_the_fourth_order():
    """E[cos] of a standard Gaussian, cell by cell; a plain sum is of second order."""

    def errors(correct):
        found = []
        for bins in (10, 20, 40):
            p = correct(shares(bins, edge=8.0))
            x = -8 + (np.arange(bins) + 0.5) * 16 / bins
            mean = np.einsum("ij,i,j->", p, np.cos(x), np.cos(0.5 * x))
            found.append(abs(mean - np.exp(-0.625)))
        return np.log2(np.divide(found[:-1], found[1:]))

    assert errors(sheppard)[-1] == pytest.approx(4, abs=0.3)
    assert errors(lambda p: p)[-1] == pytest.approx(2, abs=0.2)


def test_the_correction_moves_probability_and_makes_none():
    p = np.random.default_rng(0).random((2, 7, 9))
    corrected = sheppard(p)
    np.testing.assert_allclose(corrected.sum((1, 2)), p.sum((1, 2)), rtol=1e-13)


def test_bumps_have_their_derivatives_and_end_with_the_domain():
    cells = -4 + (np.arange(4000) + 0.5) * 8 / 4000
    values, slopes, curvatures = bumps(cells, 5, 0.6)
    h = cells[1] - cells[0]
    for f, derivative in ((values, slopes), (slopes, curvatures)):
        np.testing.assert_allclose(
            np.gradient(f, h, axis=1)[:, 1:-1], derivative[:, 1:-1], atol=1e-4
        )
    assert np.abs(values[:, [0, -1]]).max() < 1e-10
    centres = cells[np.argmax(values, axis=1)]
    np.testing.assert_allclose(centres, np.linspace(-1.6, 1.6, 5), atol=h)


def test_coarser_cells_are_sums_of_finer_ones():
    fine = dataset(shares(100)[None, None], np.ones((1, 1)))
    found = coarsened(fine, 25)
    np.testing.assert_allclose(found["count"][0, 0], shares(25), rtol=1e-10)
    np.testing.assert_allclose(found["q_bin"], -4 + (np.arange(25) + 0.5) * 0.32)
    with pytest.raises(ValueError, match="100 cells along each side cannot be put"):
        coarsened(fine, 30)
