"""Laws of residual and weak form of stationary equations."""

import numpy as np
import pytest
import xarray as xr
from density_support import LIBRARY, dataset, exact, oscillator, shares, simulation
from stages import assemble, differentiate

from leastaction.core.contracts import check
from leastaction.core.multi_index import multi_indices
from leastaction.densities import stationary_samples
from leastaction.densities.weak_fokker_planck import DegreeError, bumps

BOTH = {**LIBRARY, "volatility": [{"terms": [1, "x**2"]}], "known": {}}
TRUTH = np.array([1.0, 1.0, 0.5, 1.0, 0.0])


def assembled(observations, before, method, library=BOTH):
    derivatives = differentiate(observations, {"method": before}, library)
    return assemble(observations, derivatives, {"method": method}, library)


def residual(p, theta, h):
    """The residual written out, term by term (eqs. 17, 19, 20)."""

    def difference(f, axis):
        out = np.zeros_like(f)
        f, o = np.moveaxis(f, axis, 0), np.moveaxis(out, axis, 0)
        o[1:-1] = (f[2:] - f[:-2]) / (2 * h)
        return out

    x = -4 + (np.arange(len(p)) + 0.5) * h
    q, v = np.meshgrid(x, x, indexing="ij")
    _, k, c, a2, b2 = theta
    current = (-k * q - c * v) * p - difference((a2 + b2 * q**2) / 2 * p, 1)
    return -difference(v * p, 0) - difference(current, 1)


def test_the_quadratic_form_is_the_sum_of_squared_residuals():
    equations = assembled(exact(), "central_stencil", "stationary_residual")
    check(equations, "stationary_residual")
    gram = equations["gram"].values[0].mean(axis=(0, 1))
    theta = np.array([1.0, 0.9, 0.7, 1.3, 0.2])
    expected = (residual(shares(50) / 0.16**2, theta, 0.16) ** 2).sum()
    assert theta @ gram @ theta == pytest.approx(expected, rel=1e-10)
    assert equations["mean_square"].values[0, 0] == pytest.approx([1.0, 1.0], rel=5e-3)


@pytest.mark.parametrize(("centres", "half_width"), [(1, 1.0), (3, 0.5), (5, 0.25)])
def test_bumps_are_of_the_fourth_power_and_fill_the_domain(centres, half_width):
    """(1 − ξ²)⁴ and two derivatives, from edge to edge, in any unit."""
    edges = np.linspace(-1.0, 5.0, 1201)
    cells = (edges[1:] + edges[:-1]) / 2
    value, slope, curvature = bumps(cells, centres, half_width)
    width, middles = 3.0 * half_width, np.linspace(-1, 5, 2 * centres + 1)[1::2]
    if centres > 1:
        middles = np.linspace(-1 + width, 5 - width, centres)
    xi = (cells - middles[:, None]) / width
    np.testing.assert_allclose(value, np.where(abs(xi) < 1, 1 - xi**2, 0) ** 4)
    for function, derivative in ((value, slope), (slope, curvature)):
        numeric = np.gradient(function, cells, axis=1)
        size = np.abs(numeric).max()
        np.testing.assert_allclose(derivative, numeric, atol=2e-3 * size)
    assert (value[0, 0] > 0) and (value[-1, -1] > 0)


def test_generators_of_batches_have_the_mean_of_all_samples():
    """Moments are kept apart; the noise is of the mean density, over its time."""
    rng = np.random.default_rng(2)
    counts, duration = rng.random((1, 3, 20, 20)), np.array([[1.0, 2.0, 5.0]])
    data = dataset(counts, np.full((1, 3), counts.sum() / 3))
    data["duration"] = data["duration"].copy(data=duration)
    chain = "bump_functions", "weak_fokker_planck"
    whole = assembled(data, *chain)
    each = [assembled(data.isel(batch=[b]), *chain) for b in range(3)]
    np.testing.assert_allclose(
        whole["moment"][0], [one["moment"].values[0, 0] for one in each], atol=1e-12
    )
    mean = np.mean([one["noise_gram"].values[0] for one in each], axis=0)
    np.testing.assert_allclose(whole["noise_gram"][0], mean, atol=1e-12)
    assert float(whole["duration"][0]) == 8.0


@pytest.mark.parametrize(
    "chain",
    [
        ("central_stencil", "stationary_residual"),
        ("bump_functions", "weak_fokker_planck"),
    ],
)
def test_the_mean_square_of_a_noise_is_that_of_the_samples_inside(chain):
    wide = exact(std=(3.0, 3.0))
    assert float(wide["count"].sum(["q_bin", "qdot_bin"])[0, 0]) < 0.7
    assert assembled(wide, *chain)["mean_square"].values[0, 0, 0] == pytest.approx(
        1.0, rel=1e-9
    )


def test_products_of_batches_are_kept_apart():
    rng = np.random.default_rng(1)
    counts = rng.random((1, 3, 20, 20))
    whole = assembled(
        dataset(counts, np.ones((1, 3))), "central_stencil", "stationary_residual"
    )
    single = [
        assembled(
            dataset(counts[:, [b]], np.ones((1, 1))),
            "central_stencil",
            "stationary_residual",
        )["gram"].values[0, 0, 0]
        for b in range(3)
    ]
    gram = whole["gram"].values[0]
    np.testing.assert_allclose(
        [gram[b, b] for b in range(3)], single, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(gram[0, 1], gram[1, 0].T, rtol=1e-9, atol=1e-9)


def test_moments_of_the_generator_vanish_at_the_truth():
    equations = assembled(exact(), "bump_functions", "weak_fokker_planck")
    check(equations, "generator_moments")
    moments = equations["moment"].values[0].mean(axis=0)
    size = np.abs(moments).max(axis=0)
    assert np.abs(moments @ TRUTH).max() < 1e-4 * size.max()
    # Each has the name of its middle, which lie alike on both sides of zero.
    names = [name.replace(",", "").split() for name in equations["test_name"].values]
    q, rate = (sorted({float(name[k]) for name in names}) for k in (3, 6))
    assert len(q) * len(rate) == len(names) and q == rate
    np.testing.assert_allclose(np.add(q, q[::-1]), 0, atol=0.17)  # a cell
    wrong = TRUTH + [0, 0, 0.1, 0, 0]
    assert np.abs(moments @ wrong).max() > 1e-3 * size.max()


def gaussian_moments(powers, deviation):
    """Means of monomials of independent normal numbers."""
    means = []
    for p in powers:
        odd = [np.prod(np.arange(n - 1, 0, -2)) for n in p]
        means.append(np.prod(odd * np.array(deviation) ** p) * (not (p % 2).any()))
    return np.array(means, dtype=float)


def moments_of(degree, deviation=(1.0, 1.0)):
    powers = multi_indices(2, degree)
    means = gaussian_moments(powers, deviation)
    about = {"units": "1", "long_name": "x"}
    each = ("replicate", "batch")
    return xr.Dataset(
        {
            "moment": ((*each, "monomial"), np.tile(means, (1, 2, 1)), about),
            "exponent": (("monomial", "state"), powers, about),
            "samples": (each, np.full((1, 2), 1000), about),
            "duration": (each, np.full((1, 2), 10.0), about),
        },
        coords={"replicate": [0], "state": ["x", "xdot"], "dof": ["x"]},
    )


def test_moments_over_samples_vanish_at_the_truth_exactly():
    """A Gaussian with k = 4 and c = a²/2 = 0.5: σ_x = ½, σ_v = 1."""
    equations = assembled(
        moments_of(8, (0.5, 1.0)), "monomial_functions", "moment_fokker_planck"
    )
    check(equations, "generator_moments")
    moments = equations["moment"].values[0, 0]
    np.testing.assert_allclose(moments @ [1, 4, 0.5, 1, 0], 0, atol=1e-12)
    assert np.abs(moments @ [1, 4, 0.5, 1, 0.1]).max() > 1e-3


@pytest.mark.parametrize("deviation", [(1.0, 1.0), (0.5, 3.0)])
def test_the_covariance_is_that_of_the_ito_integral(deviation):
    """E[B ∂φ_m ∂φ_n] of φ = v, v², x v over their scales: 1, 4 E[v²], E[x²]."""
    observations = moments_of(8, deviation)
    equations = assembled(observations, "monomial_functions", "moment_fokker_planck")
    noise = equations["noise_gram"].values[0]
    tests = [tuple(e) for e in multi_indices(2, 4) if e[1]]
    v, square, both = (tests.index(e) for e in ((0, 1), (0, 2), (1, 1)))
    x, rate = np.square(deviation)
    assert noise[3, v, v] == pytest.approx(1 / rate)
    assert noise[3, square, square] == pytest.approx(4 / rate)
    assert noise[3, both, both] == pytest.approx(1 / rate)
    assert noise[4, v, v] == pytest.approx(x / rate)  # B = x²
    assert noise[3, v, both] == noise[3, v, square] == 0  # E[x] and E[v]
    assert noise[:3].any() == np.False_


def test_ito_isometry_on_paths():
    """Scatter of the moments over independent paths is the predicted one."""
    settings = simulation(
        duration=100.0,
        trajectories=1500,
        batches=1500,
        moments={"degree": 8, "every": 10},
    )
    found = stationary_samples.moments(
        oscillator(), settings, example="t", seed=5, replicate=0, units={"x": "m"}
    )
    equations = assembled(found, "monomial_functions", "moment_fokker_planck")
    values = equations["moment"].values[0] @ TRUTH
    predicted = np.einsum("i,imm->m", TRUTH, equations["noise_gram"].values[0]) / 100.0
    tests = np.array([e for e in multi_indices(2, 4) if e[1]])
    checked = tests.sum(axis=1) <= 3
    np.testing.assert_allclose(
        values.var(axis=0)[checked], predicted[checked], rtol=0.18
    )


def test_moments_that_are_not_recorded_are_refused():
    with pytest.raises(DegreeError, match="degree 8 are needed, but those up to 6"):
        assembled(moments_of(6), "monomial_functions", "moment_fokker_planck")
    library = {**LIBRARY, "dissipation": [{"terms": ["abs(xdot)"]}]}
    with pytest.raises(DegreeError, match="is no polynomial"):
        assembled(moments_of(8), "monomial_functions", "moment_fokker_planck", library)
