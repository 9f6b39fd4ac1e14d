"""Discrete Lagrangian densities: rows, null Lagrangians, order, stability, laws."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from snapshot_fields import LENGTH, five_point, waves

from leastaction.core.periodic_line import projection_on_waves
from leastaction.snapshots.discrete_density import (
    DiscreteDensity,
    StencilBasis,
    Waves,
    inequalities,
    least_distance,
    stabilised,
)
from leastaction.snapshots.field_evidence import Snapshots
from leastaction.snapshots.field_models import LearnedField

STENCILS = [("square", 1), ("square", 3), ("edges", 1), ("edges", 3)]
DT, DX = 0.2, 0.3


def basis(stencil: str, width: int, degree: int = 4) -> StencilBasis:
    return StencilBasis(stencil, width, degree, 3.0, DT, DX)


def random_fields(seed: int = 0, size: float = 1.0) -> np.ndarray:
    return size * np.random.default_rng(seed).standard_normal((3, 7, 9))


def action(features: StencilBasis, u: np.ndarray) -> np.ndarray:
    """Sum of every function over all stencils of one motion u (time, node)."""
    layers = np.stack([u[:-1], u[1:]], axis=1)
    return np.concatenate(
        [
            (block.monomials(block.at(layers)) @ block.derivative()).sum(axis=(0, 1))
            for block in features.blocks
        ]
    )


@pytest.mark.parametrize(("stencil", "width"), STENCILS)
def test_rows_are_the_derivative_of_the_action(stencil, width):
    u = random_fields()
    features = basis(stencil, width).scaled_by(u)
    rows, step = features.rows(u), 1e-5
    for time, node in ((1, 0), (3, 4), (5, 8)):
        ends = []
        for sign in (1, -1):
            moved = u[0].copy()
            moved[time, node] += sign * step
            ends.append(action(features, moved))
        slope = (ends[0] - ends[1]) / (2 * step)
        assert rows[0, time - 1, node] == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("stencil", "width"), STENCILS)
def test_null_lagrangians_have_no_rows_and_no_mass(stencil, width):
    """Whatever field they are shown: their null space on one holds on another."""
    u, other = random_fields(), random_fields(1)
    features = basis(stencil, width).scaled_by(u)
    rows = features.rows(u).reshape(-1, features.size)
    _, singular, right = np.linalg.svd(rows)
    null = right[singular < 1e-10 * singular[0]]
    if stencil == "edges":
        assert len(null) >= 1
    size = np.abs(rows).max()
    assert np.abs(features.rows(other) @ null.T).max(initial=0) < 1e-9 * size
    condition, _ = features.mass_condition(u)
    assert np.abs(condition @ null.T).max(initial=0) < 1e-9 * np.abs(condition).max()


@pytest.mark.parametrize(("stencil", "width"), STENCILS)
def test_an_even_density_has_odd_equations(stencil, width):
    """E(−u) = −E(u); without the parity only the features of even degree obey it."""
    u = random_fields()
    features = replace(basis(stencil, width), even=True).scaled_by(u)
    assert features.rows(-u) == pytest.approx(-features.rows(u), abs=1e-9)
    whole = basis(stencil, width).scaled_by(u)
    assert features.size == (whole.orders % 2 == 0).sum() < whole.size


def test_the_five_point_density_has_the_symbol_of_leapfrog():
    """cos ω dt = 1 − (dt/dx)² (1 − cos θ) for L_d = v²/2 − w²/2."""
    features = basis("edges", 1, 2)
    powers = [block.powers.tolist() for block in features.blocks]
    coefficients = np.zeros(features.size)
    weight = features.blocks[0].weights[powers[0].index([0, 2])]
    coefficients[powers[0].index([0, 2])] = 0.5 / weight
    coefficients[len(powers[0]) + powers[1].index([0, 2])] = -0.5 / weight
    theta = np.linspace(0, np.pi, 9)
    found = DiscreteDensity(features, coefficients).dispersion([0.0, 0.7], theta)
    expected = 1 - (DT / DX) ** 2 * (1 - np.cos(theta))
    assert found == pytest.approx(np.stack([expected, expected]), abs=1e-12)


@pytest.mark.parametrize(
    ("stencil", "width", "order"), [("edges", 1, 2), ("edges", 2, 4), ("square", 1, 4)]
)
def test_order_of_a_stencil(stencil, width, order):
    """Error of the dispersion of the data, under refinement of dt and dx alike."""
    errors = []
    for nodes in (32, 64):
        dt = 0.6 * LENGTH / nodes
        shown = Snapshots(waves(dt, nodes, 24), dt, LENGTH / nodes)
        fit = shown.fit(np.inf, stencil, width, 2, 3.0)
        density, numbers = DiscreteDensity(fit.basis, fit.coefficients), np.arange(4)
        cosine = density.dispersion([0.0], numbers * LENGTH / nodes)[0]
        errors.append(np.abs(np.arccos(cosine) / dt - np.sqrt(numbers**2 + 1)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


def learned(**changed) -> tuple[LearnedField, np.ndarray]:
    u = waves(0.2, 16, 24)
    shown = Snapshots(u, 0.2, LENGTH / 16)
    given = {"stencil": "square", "width": 2, "degree": 2, "length_scale": 3.0}
    choice = shown.most_probable(given)
    density = DiscreteDensity(choice.fit.basis, choice.coefficients)
    model = LearnedField(density, 16, "u", 0.0, 8, 0.0, choice.distance)
    return replace(model, **changed), u


@pytest.mark.parametrize("highest", [8, 4])
def test_a_step_preserves_the_discrete_symplectic_form(highest):
    """δu_n · ∂₀₁L δ'u_{n+1} − δ'u_n · ∂₀₁L δu_{n+1} (Marsden, Patrick, Shkoller)."""
    model, u = learned(waves=highest)
    start, rng = u[0, :2], np.random.default_rng(0)
    changes = rng.standard_normal((2, 2, 16)) @ projection_on_waves(16, highest)
    step = 1e-6

    def path(first_two):
        return model.rollout(first_two[:1], first_two[1:], 9)[0]

    moved = [
        (path(start + step * d) - path(start - step * d)) / (2 * step) for d in changes
    ]
    whole = path(start)

    def form(n):
        layers = whole[None, n : n + 2]
        _, cross = model.density.derivatives(layers, 0, bend=True)
        a, b = moved
        return a[n] @ cross[0] @ b[n + 1] - b[n] @ cross[0] @ a[n + 1]

    assert form(8) == pytest.approx(form(0), rel=1e-6)


def test_waves_of_a_linear_field_move_alike_without_the_shorter_ones():
    model, _ = learned()
    start = np.random.default_rng(0).standard_normal((2, 1, 16))
    whole = model.rollout(*start, 40)
    held = replace(model, waves=3).rollout(*start, 40)
    assert held == pytest.approx(whole @ projection_on_waves(16, 3), abs=1e-9)
    assert np.abs(np.fft.rfft(held)[..., 4:]).max() < 1e-10


def test_waves_below_the_noise_are_not_held():
    u = waves(0.2, 16, 24)
    noisy = u + 1e-2 * np.random.default_rng(0).standard_normal(u.shape)
    assert Snapshots(noisy, 0.2, LENGTH / 16).shortest_wave(1e-2) == 3
    assert Snapshots(noisy, 0.2, LENGTH / 16).shortest_wave(0.0) == 8


def test_noise_does_not_count_as_rows():
    """Three waves and the mean of three equations are 21 rows: for 7 functions."""
    noise = np.random.default_rng(8).standard_normal((1, 5, 32))
    u = waves(0.1, 32, 5)[:1] + 0.05 * noise
    shown = Snapshots(u, 0.1, LENGTH / 32)
    fit = shown.most_probable({}).fit
    assert fit.noise > 0
    rows = 3 * (2 * shown.shortest_wave(fit.noise) + 1)
    assert 3 * fit.basis.size <= rows < shown.count


def test_the_speed_is_that_of_waves_that_the_snapshots_hold():
    """A mean that rests says nothing of the frequency of the uniform field."""
    u = waves(0.2, 16, 24)
    u = u - u.mean(axis=-1, keepdims=True)
    shown = Snapshots(u, 0.2, LENGTH / 16)
    assert Snapshots(u + 1.0, 0.2, LENGTH / 16).longest_waves(0.0) == (0, 1)
    assert shown.longest_waves(0.0) == (1, 2)
    choice = shown.most_probable({"degree": 2})
    density = DiscreteDensity(choice.fit.basis, choice.coefficients)
    given = density, 16, "u", 0.0, 8, 0.0, choice.distance
    assert LearnedField(*given, (1, 2)).speed_squared() == pytest.approx(1, abs=1e-8)
    assert LearnedField(*given).speed_squared() != pytest.approx(1, abs=1e-4)


def test_waves_must_not_grow_about_any_value_of_the_data():
    u = waves(0.2, 16, 24)
    bases = Waves.of(u).base
    assert -bases[0] == bases[-1] == np.abs(u).max()


def test_a_motion_continues_the_data():
    model, u = learned()
    path = model.rollout(u[:, 0], u[:, 1], 23)
    assert np.abs(path - u).max() < 0.02 * np.abs(u).max()


def test_a_motion_that_is_shifted_stays_so():
    model, u = learned()
    path = model.rollout(u[:1, 0], u[:1, 1], 5)
    shifted = model.rollout(np.roll(u[:1, 0], 3, -1), np.roll(u[:1, 1], 3, -1), 5)
    assert shifted == pytest.approx(np.roll(path, 3, -1), abs=1e-9)


def test_least_distance_is_on_the_boundary_and_nearest():
    rows = np.array([[1.0, 2.0], [-1.0, 1.0], [0.0, -1.0]])
    least = np.array([2.0, 0.5, -3.0])
    found = least_distance(rows, least)
    assert (rows @ found >= least - 1e-9).all()
    grid = np.stack(np.meshgrid(*[np.linspace(-4, 4, 401)] * 2), axis=-1).reshape(-1, 2)
    inside = grid[(grid @ rows.T >= least).all(axis=1)]
    assert found @ found <= (inside**2).sum(axis=1).min() + 1e-9
    assert least_distance(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0])) is None


def test_a_fit_that_waves_would_destroy_is_moved_or_refused():
    """A step of 1.3 dx, and waves that the data do not hold; by what the data allow."""
    u = waves(0.5, 16, 24) + 1e-2 * np.random.default_rng(0).standard_normal((24, 16))
    shown = Snapshots(u, 0.5, LENGTH / 16)
    fit = shown.fit(np.inf, "edges", 2, 2, 3.0)
    free = DiscreteDensity(fit.basis, fit.coefficients)
    assert shown.waves.excess(free) > 0.1
    factor = fit.system.factor(fit.damping)
    kept, distance = stabilised(fit.basis, fit.coefficients, factor, shown.waves)
    assert distance == np.inf
    assert (kept == fit.coefficients).all()
    moved, distance = stabilised(fit.basis, fit.coefficients, 10 * factor, shown.waves)
    assert 1 < distance < 5
    stable = DiscreteDensity(fit.basis, moved)
    assert shown.waves.excess(stable) < 1e-8
    rows, least = inequalities(stable, shown.waves)
    assert -1e-8 < (rows @ moved - least).min() < 1e-8


def test_a_stable_fit_stays_as_it_is():
    u = waves(0.2, 16, 24)
    shown = Snapshots(u, 0.2, LENGTH / 16)
    fit = shown.fit(np.inf, "square", 1, 2, 3.0)
    factor = fit.system.factor(fit.damping)
    found, distance = stabilised(fit.basis, fit.coefficients, factor, shown.waves)
    assert distance == 0
    assert (found == fit.coefficients).all()


def test_a_uniform_field_at_a_concave_potential_may_grow():
    """Only waves that grow faster than it count as unstable."""
    u = waves(0.2, 16, 24, mass=-0.2)
    shown = Snapshots(u, 0.2, LENGTH / 16)
    fit = shown.fit(np.inf, "square", 2, 2, 3.0)
    density = DiscreteDensity(fit.basis, fit.coefficients)
    assert density.dispersion([0.0], [0.0])[0, 0] > 1
    assert Waves.of(u).excess(density) < 1e-9


def test_an_unstable_density_is_not_rolled_out():
    model, u = learned(distance=np.inf, excess=0.2)
    with pytest.raises(ValueError, match="no stable rollout.*smaller time step"):
        model.rollout(u[:, 0], u[:, 1], 5)
    assert "Refused" in str(model)


@pytest.mark.parametrize(
    ("cosine", "square"),
    [
        (0.5, (np.pi / 3) ** 2),
        (1.0, 0.0),
        (np.cosh(0.7), -(0.7**2)),  # it grows
        (-1.0, np.pi**2),
        (-np.cosh(0.7), np.nan),  # it grows and alternates
    ],
)
def test_squared_frequencies_are_those_of_the_cosine(cosine, square):
    """cos ω dt; of ω² linear in k², c² is the slope for any pair of waves."""
    density = SimpleNamespace(basis=SimpleNamespace(time_step=DT, spacing=DX))
    density.dispersion = lambda base, theta: np.array([[cosine] * len(theta)])
    found = DiscreteDensity.squared_frequency(density, np.array([1.0]))
    np.testing.assert_allclose(found, [square / DT**2], atol=1e-12)
    density.squared_frequency = lambda theta, base: 3 + 4 * (theta / DX) ** 2
    speed = DiscreteDensity.speed_squared(density, np.array([0.2, 0.5]))
    assert speed == pytest.approx(4)


def coordinates_of(block) -> list:
    """Offsets and rows of M of a block, as plain numbers."""
    return block.offsets.tolist(), block.coordinates.tolist()


def test_blocks_of_a_square_are_a_cell_and_wider_differences():
    """Twice over each width beyond one: of one layer, and their change."""
    made = [coordinates_of(b) for b in basis("square", 3, 2).blocks]
    corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
    mean, rate = [0.25] * 4, np.array([-1, -1, 1, 1]) / (2 * DT)
    slope, twist = np.array([-1, 1, -1, 1]) / (2 * DX), [1, -1, -1, 1]
    assert made[0][0] == corners
    expected = [mean, rate, slope, np.array(twist) / (DX * DT)]
    np.testing.assert_allclose(made[0][1], expected, rtol=1e-14)
    assert len(made) == 5
    for r, one, two in ((2, *made[1:3]), (3, *made[3:5])):
        assert one[0] == [[0, 0], [0, r]]
        assert two[0] == [[0, 0], [0, r], [1, 0], [1, r]]
        np.testing.assert_allclose(one[1], [[-1 / DX, 1 / DX]], rtol=1e-14)
        np.testing.assert_allclose(two[1], [np.array(twist) / (DX * DT)], rtol=1e-14)
    assert all(b.powers.tolist() == [[2]] for b in basis("square", 3, 4).blocks[1:])


def test_blocks_of_edges_are_curved_up_to_two_cells():
    blocks = basis("edges", 4, 4).blocks
    made = [coordinates_of(b) for b in blocks]
    assert [one[0] for one in made] == [
        [[0, 0], [1, 0]],
        *([[0, 0], [0, r]] for r in (1, 2, 3, 4)),
    ]
    np.testing.assert_allclose(made[0][1], [[0.5, 0.5], [-1 / DT, 1 / DT]], rtol=1e-14)
    for k in (1, 2):
        np.testing.assert_allclose(made[k][1], [[0.5, 0.5], [-1 / DX, 1 / DX]])
        assert len(blocks[k].powers) > 3
    for k in (3, 4):
        np.testing.assert_allclose(made[k][1], [[-1 / DX, 1 / DX]])
        assert blocks[k].powers.tolist() == [[2]]


def test_exponents_are_even_under_reversal_of_time_and_space():
    powers = basis("square", 1, 4).blocks[0].powers
    assert powers.sum(axis=1).min() == 1 and powers.sum(axis=1).max() == 4
    assert not ((powers[:, 1] + powers[:, 3]) % 2).any()
    assert not ((powers[:, 2] + powers[:, 3]) % 2).any()
    assert [0, 1, 1, 1] in powers.tolist() and [1, 0, 0, 0] in powers.tolist()
    weights = basis("square", 1, 4).blocks[0].weights
    place = powers.tolist().index([2, 2, 0, 0])
    assert weights[place] == pytest.approx(3.0**-4 / 2)


def test_uniform_fields_obey_the_force_of_backward_error_analysis():
    """V'(u) of the oscillator u_tt = −m u is ω² u of its discrete frequency."""
    density = five_point(speed=0.7, mass=2.0, time_step=DT)
    square = (np.arccos(1 - DT**2) / DT) ** 2
    u = np.array([-1.5, 0.4])
    np.testing.assert_allclose(density.slope(u), square * u, rtol=1e-5)
    np.testing.assert_allclose(
        five_point(mass=2.0, decay=0.8).slope(u), square * u, rtol=1e-5
    )


def test_frequencies_of_waves_that_grow_are_imaginary_or_none():
    """cos ω dt = 1 − dt² K/2: above 1 a wave grows, below −1 it alternates, too."""
    bound = five_point(speed=1.0, mass=-3.0)
    square = bound.squared_frequency(np.zeros(1))
    assert square[0] == pytest.approx(-((np.arccosh(1 + 1.5 * DT**2) / DT) ** 2))
    rough = five_point(speed=0.5**2 / (2 * DT**2) * 2.1, mass=0.0)
    square = rough.squared_frequency([0.0, np.pi])
    assert square[0] == pytest.approx(0, abs=1e-9) and np.isnan(square[1])
    waves_of = Waves(np.zeros(1), np.array([0.0, np.pi]))
    assert waves_of.excess(rough) == pytest.approx(0.1, rel=1e-9)
    assert waves_of.growth(bound)[0, 0] == pytest.approx(1 + 1.5 * DT**2)
    assert waves_of.growth(five_point())[0, 0] == 1.0
    assert Waves(np.zeros(1), np.zeros(1)).excess(bound) == pytest.approx(0, abs=1e-12)


def test_waves_of_snapshots_are_those_of_the_nodes_about_their_range():
    u = np.array([[0.5, -2.0, 1.0, 0.0, 0.3]])
    made = Waves.of(u)
    np.testing.assert_allclose(made.base, [-2, -1, 0, 1, 2])
    np.testing.assert_allclose(made.theta, 2 * np.pi / 5 * np.arange(3))


def test_inequalities_are_mass_and_both_bounds_of_the_cosine():
    density = five_point(speed=1.0, mass=-3.0)
    waves_of = Waves(np.array([0.0, 0.5]), np.array([0.0, 1.0, np.pi]))
    rows, least = inequalities(density, waves_of)
    assert rows.shape == (18, density.basis.size)
    j0, j1 = DT**2 * density.symbol(waves_of.base, waves_of.theta)
    growth = 1 + 1.5 * DT**2
    expected = [-j1, -2 * growth * j1 - j0, -2 * j1 + j0]
    np.testing.assert_allclose(
        rows @ density.coefficients, np.ravel(expected), atol=1e-12
    )
    np.testing.assert_array_equal(least, [0.01] * 6 + [0.0] * 12)


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_a_density_needs_a_hundredth_of_its_mass(share):
    """−2 J₁ dt² is one of the density, and 0.01 at least."""
    density = five_point(speed=0.0, mass=0.0)
    light = DiscreteDensity(density.basis, 0.005 * share * density.coefficients)
    _, j1 = light.symbol(0.0, 0.0)
    assert -2 * j1 * DT**2 == pytest.approx(0.01 * share)
    assert np.isinf(Waves(np.zeros(1), np.zeros(1)).excess(light)) == (share < 1)


def test_distances_are_least_or_there_are_none():
    rows = np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    found = least_distance(rows, np.array([3.0, 4.0, 0.0]))
    np.testing.assert_allclose(found, [3.0, 2.0], rtol=1e-9)
    assert least_distance(rows, np.array([3.0, 4.0, 1.0])) is None
    np.testing.assert_allclose(least_distance(rows, -np.ones(3)), [0, 0], atol=1e-12)
