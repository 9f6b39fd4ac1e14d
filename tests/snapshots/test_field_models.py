"""Learned fields of a density in closed form: motions, waves, files, print."""

import numpy as np
import pytest
from snapshot_fields import five_point, learned_field, stored

from leastaction.snapshots.field_models import LearnedField

DT, DX, NODES = 0.2, 0.5, 12
ANGLES = 2 * np.pi * np.arange(NODES // 2 + 1) / NODES
WAVES = np.cos(np.arange(NODES) * ANGLES[:, None])


def stiffness(speed=1.5, mass=0.5):
    """K of every wave: cos ω dt = 1 − dt² K/2."""
    bend = 2 * speed * (1 - np.cos(ANGLES)) / DX**2
    return bend + mass * (1 + np.cos(ANGLES)) / 2


def starts(numbers, cosines) -> tuple:
    first = WAVES[list(numbers)]
    return first, np.array(cosines)[:, None] * first


def test_waves_move_with_the_frequency_of_the_discrete_equation():
    model = learned_field()
    cosine = 1 - DT**2 * stiffness() / 2
    path = model.rollout(*starts(range(7), cosine), 30)
    times = np.cos(np.arange(31) * np.arccos(cosine)[:, None])
    expected = times[:, :, None] * WAVES[:, None]
    assert path.shape == (7, 31, 12)
    np.testing.assert_allclose(path, expected, atol=1e-11)


def test_waves_above_those_of_the_snapshots_are_still():
    model = learned_field(waves=3)
    cosine = 1 - DT**2 * stiffness() / 2
    path = model.rollout(*starts((3, 4), cosine[[3, 4]]), 5)
    assert np.abs(path[0, :, 0]).min() > 0.1 and np.abs(path[1]).max() < 1e-12


def test_a_damped_wave_obeys_its_recursion():
    """u⁺ = u + g (u − u⁻) − dt² K u (1 + g)/2."""
    g, k = 0.8, stiffness()[2]
    model = learned_field(five_point(decay=g))
    path = model.rollout(*starts([2], [0.9]), 12)[0, :, 0]
    expected = [1.0, 0.9]
    for _ in range(11):
        before, now = expected[-2:]
        expected.append(now + g * (now - before) - DT**2 * k * now * (1 + g) / 2)
    np.testing.assert_allclose(path, expected, rtol=1e-10)


def test_a_motion_that_grows_a_thousandfold_has_failed_and_others_go_on():
    """cos ω dt = −1.25: the wave doubles in every step."""
    model = learned_field(five_point(speed=2.25 * DX**2 / (2 * DT**2), mass=0.0))
    first = np.stack([WAVES[6], WAVES[0]])
    path = model.rollout(first, first * [[-2.0], [1.0]], 14)
    size = np.abs(path).max(axis=2)
    np.testing.assert_allclose(size[0, :11], 2.0 ** np.arange(11), rtol=1e-9)
    assert np.isnan(size[0, 11:]).all() and np.abs(path[0, 1]).max() == 2
    np.testing.assert_allclose(size[1], 1.0, rtol=1e-9)


def test_no_motion_of_a_density_that_is_not_stable():
    model = learned_field(distance=np.inf, excess=0.023)
    assert not model.stable and learned_field(distance=3.0).stable
    with pytest.raises(ValueError, match="its bound by 0.023, and no stable one"):
        model.rollout(*starts([0], [1.0]), 3)


def test_speed_and_force_are_those_of_the_motion():
    model = learned_field()
    square = (np.arccos(1 - DT**2 * stiffness() / 2) / DT) ** 2
    np.testing.assert_allclose(model.squared_frequency(ANGLES), square, rtol=1e-10)
    wave = ANGLES[2] / DX
    speed = (square[2] - square[0]) / wave**2
    assert model.speed_squared() == pytest.approx(speed, rel=1e-9)
    assert model.speed_squared(0.3) == pytest.approx(speed, rel=1e-9)
    other = learned_field(longest=(1, 3))
    speed = (square[3] - square[1]) * DX**2 / (ANGLES[3] ** 2 - ANGLES[1] ** 2)
    assert other.speed_squared() == pytest.approx(speed, rel=1e-9)
    np.testing.assert_allclose(
        model.slope([0.5, -1.0]), square[0] * np.array([0.5, -1]), rtol=1e-7
    )


def test_of_a_nonlinear_field_waves_depend_on_the_uniform_field():
    model = learned_field(five_point(cubic=2.0))
    for base, mass in ((0.0, 0.5), (0.6, 0.5 + 6 * 0.36)):
        square = (np.arccos(1 - DT**2 * stiffness(mass=mass) / 2) / DT) ** 2
        made = model.squared_frequency(ANGLES, base)
        np.testing.assert_allclose(made, square, rtol=1e-9)
        speed = (square[2] - square[0]) / (ANGLES[2] / DX) ** 2
        assert model.speed_squared(base) == pytest.approx(speed, rel=1e-8)
        if not base:
            assert model.speed_squared() == pytest.approx(speed, rel=1e-8)
            np.testing.assert_allclose(model.squared_frequency(ANGLES), square)
    u = np.array([0.3, -0.2])
    np.testing.assert_allclose(model.slope(u), 0.5 * u + 2 * u**3, rtol=0.02)


def test_what_a_model_does_not_say_is_none_of_it():
    plain = LearnedField(five_point(), NODES, "u", 0.0, 6, 0.0, 0.0)
    assert plain.longest == (0, 1) and plain.damping == plain.damping_std == 0
    assert np.isnan([plain.speed, plain.speed_std]).all()
    assert plain.misfit == 0 and plain.force.shape == (3, 0)


def test_a_file_gives_the_model_back():
    model = learned_field(five_point(decay=0.9), waves=4, longest=(1, 3))
    again = LearnedField.from_dataset(stored(model))
    basis, same = model.density.basis, again.density.basis
    assert same.family == basis.family and same.decay == 0.9 and same.even is False
    assert (same.time_step, same.spacing, same.length_scale) == (DT, DX, 3.0)
    assert again.density.coefficients.shape == model.density.coefficients.shape
    path = model.rollout(*starts([2], [0.9]), 4)
    np.testing.assert_array_equal(again.rollout(*starts([2], [0.9]), 4), path)
    np.testing.assert_array_equal(again.force, model.force)
    for name in (
        *("nodes", "field", "noise", "waves", "excess", "distance", "longest"),
        *("damping", "damping_std", "speed", "speed_std", "misfit"),
    ):
        assert getattr(again, name) == getattr(model, name), name
    without = stored(model).drop_vars(["force_place", "force", "force_std"])
    assert LearnedField.from_dataset(without).force.shape == (3, 0)


HEAD = [
    "Discrete Lagrangian density of w on 12 nodes",
    "  6 basis functions: stencil edges, width 1, degree 2",
    "  dt = 0.2 s, dx = 0.5 m",
    "  noise 0.012 (SI); 6 wavenumbers above it",
    "  c^2 = 1.50 ± 0.20 m^2/s^2 (95 %)",
]
STABLE = "Stable: no wave grows beyond a uniform field (von Neumann)"
STILL = "Energy is conserved: gamma = 0.001 ± 0.020 1/s (95 %) is compatible with zero"


@pytest.mark.parametrize(
    ("decay", "changes", "energy", "stability"),
    [
        (1.0, {}, STILL, STABLE),
        (
            0.9,
            {"damping": 0.5},
            "Energy is lost: w_tt + gamma w_t with gamma = 0.500 ± 0.020 1/s (95 %)",
            STABLE,
        ),
        (
            1.1,
            {"damping": -0.5, "damping_std": np.inf},
            "Energy is gained: w_tt + gamma w_t with gamma = -0.5 1/s (95 %)",
            STABLE,
        ),
        (
            1.0,
            {"distance": 1.5, "excess": 0.02},
            STILL,
            "Stabilised: as fitted |cos(omega dt)| exceeds its bound by 0.02; this "
            "density is 1.5 standard deviations away, and no wave grows",
        ),
        (
            1.0,
            {"distance": np.inf},
            STILL,
            "Refused: no stable density is compatible with the data",
        ),
    ],
)
def test_a_field_prints_what_is_known_of_it(decay, changes, energy, stability):
    model = learned_field(five_point(decay=decay), **changes)
    assert str(model).splitlines() == [*HEAD, energy, stability]
    assert repr(model) == str(model)
    even = learned_field(five_point(even=True))
    assert str(even).splitlines()[1].endswith("degree 2, even")


def test_a_model_is_itself_alone():
    """Two of them have arrays, whose equality has no one value."""
    one, other = learned_field(), learned_field()
    assert len({one, other}) == 2 and one == one and one != other
