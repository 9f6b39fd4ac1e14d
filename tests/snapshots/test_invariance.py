"""Symmetries of Lagrangians learned from snapshots: found, denied, imposed."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import leastaction as la
from leastaction.core.model import model_of, simulate
from leastaction.core.multi_index import multi_indices
from leastaction.core.noise_sweep import recorded
from leastaction.core.recipe import Recipe
from leastaction.core.symmetries import (
    DECISIVE,
    Symmetry,
    polynomials,
    sizes_along,
)
from leastaction.snapshots import invariance as symmetries_of_snapshots
from leastaction.snapshots import symmetric_fits
from leastaction.snapshots.bases import WeightSpace
from leastaction.snapshots.discrete_lagrangian import (
    LEAST_MASS,
    discrete_mass,
    discrete_momenta,
    mean_discrete_mass,
    pairs,
    positions_of,
)
from leastaction.snapshots.errors_in_variables import orthogonal_distance_regression
from leastaction.snapshots.invariance import (
    _embedded,
    _values,
    bracket,
    find,
    generated,
    invariance,
    likely,
    limited,
    readable,
    screw_of,
    settled,
    without_fits,
)
from leastaction.snapshots.invariant_features import adapted, invariant_sums
from leastaction.snapshots.learned_model import LearnedLagrangian
from leastaction.snapshots.symmetric_fits import SymmetricFits
from leastaction_papers.shadow_integration.symmetry_rows import true_symmetries

CENTRAL = "(xdot**2 + ydot**2)/2 - (x**2 + y**2)/2 - (x**2 + y**2)**2/4"
ANISOTROPIC = "(xdot**2 + ydot**2)/2 - (x**2 + 1.05*y**2)/2 - (x**2 + y**2)**2/4"
CART = "xdot**2 + ydot**2/2 + xdot*ydot*cos(y) + cos(y)"
TODA = "(xdot**2 + ydot**2 + zdot**2)/2 - exp(x - y) - exp(y - z) - exp(z - x)"
CHARGED = CENTRAL + " + 0.5*(x*ydot - y*xdot)"


def snapshots(text: str, trajectories=60, duration=1.6, reach=0.9, seed=4, **noise):
    system = la.System(text)
    names = [*system.coordinates, *(f"{name}dot" for name in system.coordinates)]
    box = {f"start_{name}": {"uniform": [-reach, reach]} for name in names}
    return system.simulate(
        duration=duration,
        time_step=0.2,
        trajectories=trajectories,
        initial_state={name: f"start_{name}" for name in names} | {"random": box},
        noise={"channels": ["q"], **noise},
        seed=seed,
    )


@cache
def learned(text: str, impose=False, **given) -> LearnedLagrangian:
    return fitted(snapshots(text, **given), impose)


def fitted(data, impose=False) -> LearnedLagrangian:
    base = la.recipes.snapshots.recommended()
    identify = {"method": "noether_symmetries", "impose": impose}
    return Recipe(
        differentiate=base.differentiate, assemble=base.assemble, identify=identify
    ).fit(data)


def fits_without(one) -> SymmetricFits:
    """L without symmetries, learned from one case."""
    base = la.recipes.snapshots.recommended()
    equations = base.assemble(one, base.differentiate(one, {}), {})
    rows = base.identify(one, equations, {})
    return SymmetricFits(*orthogonal_distance_regression(rows, positions_of(one)))


@pytest.mark.parametrize(
    ("text", "quantity"),
    [(CENTRAL, "x*p_y - y*p_x"), (CHARGED, "x*p_y - y*p_x"), (CART, "p_x")],
)
def test_symmetries_are_found(text, quantity):
    model = learned(text)
    (found,) = [one for one in model.symmetries if one.verdict == "found"]
    assert found.noether(model.coordinates) == quantity
    assert f"conserved: {quantity}" in str(model)


def test_a_weak_anisotropy_is_noticed():
    (nearest,) = learned(ANISOTROPIC).symmetries
    assert nearest.verdict == "not found"
    assert nearest.violation > 3 * nearest.bound


@pytest.mark.parametrize(
    ("anisotropy", "verdict"),
    [(1.0, "found"), (1.02, "undecided"), (1.05, "not found")],
)
def test_odds_deny_and_springs_find_where_noise_is_large(anisotropy, verdict):
    """Odds favour 2 %: a wide prior; found is what no spring may break."""
    text = CENTRAL.replace("x**2 + y**2)/2 -", f"x**2 + {anisotropy}*y**2)/2 -")
    many = {"trajectories": 23, "duration": 6.4, "levels": (1e-2,)}
    (nearest,) = learned(text, **many).symmetries
    assert nearest.verdict == verdict and abs(nearest.log_odds) > 10 * DECISIVE
    springs = nearest.violation + nearest.bound
    assert (springs < 5e-3) == nearest.decided == (verdict == "found")
    assert (nearest.violation > nearest.bound) == (verdict != "found")
    if verdict != "not found":
        assert nearest.change == 2 * np.pi * springs and nearest.bound < 5e-3
        period = (
            f"changes by at most {100 * nearest.change:.2g} % of its rms per period"
        )
        assert period in nearest.described("xy")


def test_only_a_fit_or_the_violation_denies():
    """A boost leaves no metric unchanged, so that no L with it can be learned."""
    fits = fits_without(recorded(snapshots(CENTRAL, 20), "independent", 0.0))
    given = np.zeros(2), np.diag([1.0, -1.0]), 0.1, 0.2, True
    boost = Symmetry(*given, log_odds=fits.odds([Symmetry(*given)]))
    assert np.isneginf(boost.log_odds)
    (alone,) = without_fits([boost], fits)
    assert alone.verdict == "undecided"
    turn = Symmetry(np.zeros(2), np.array([[0.0, -1], [1, 0]]), 0.0, 1.0, True, 100.0)
    same, excluded = without_fits([boost, turn], fits)
    assert same is turn and excluded.verdict == "not found"
    assert excluded.violation > excluded.bound > 0 and np.isnan(excluded.log_odds)


def test_a_translation_is_found_among_many_maps_that_pass():
    """A centre of mass that moves freely makes the bound wide: it hides them."""
    text = "xdot**2/2 + ydot**2 - (x - y)**2/2 - (x - y)**4/4"
    data = snapshots(text, 40, seed=1, levels=[1e-3])
    fits = fits_without(recorded(data, "independent", 1e-3))
    found = [one for one in find(fits, 5e-3) if one.verdict == "found"]
    assert [one.noether(("x", "y")) for one in found] == ["p_x + p_y"]
    shift, *_ = invariance(fits.free, fits.line).isometries(5e-3)
    assert shift[0].noether(("x", "y")) == "p_x + p_y"
    other = fits_without(recorded(snapshots(ANISOTROPIC), "independent", 0.0))
    assert invariance(other.free, other.line).isometries(5e-3) == []


def test_what_more_terms_mend_is_no_merit_of_a_symmetry():
    """20 % anisotropy in 8 short motions: features of degree 3 are too poor."""
    broken = CENTRAL.replace("+ y**2)/2 -", "+ 1.2*y**2)/2 -")
    (nearest, *_) = learned(broken, trajectories=8).symmetries
    assert nearest.kind == "rotation" and nearest.verdict == "undecided"


KEPLER = "(xdot**2 + ydot**2)/2 + 1/sqrt(x**2 + y**2)"


def patch(level: float, trajectories=60):
    """Snapshots of falling planets, on one side of the centre."""
    box = {
        "x0": [0.95, 1.25],
        "y0": [-0.15, 0.15],
        "u0": [-0.4, 0.4],
        "v0": [-0.4, 0.4],
    }
    return la.System(KEPLER).simulate(
        duration=0.48,
        time_step=0.06,
        trajectories=trajectories,
        initial_state={"x": "x0", "y": "y0", "xdot": "u0", "ydot": "v0"}
        | {"random": {name: {"uniform": ends} for name, ends in box.items()}},
        noise={"channels": ["q"], "levels": [level]},
        seed=4,
    )


@pytest.mark.parametrize("level", [0.0, 1e-4])
def test_a_rotation_about_a_centre_outside_the_data_is_found(level):
    """No polynomial of 1/r reaches from the centre to a patch of the plane."""
    (found,) = fitted(patch(level)).symmetries
    assert found.verdict == "found"
    assert found.noether(("x", "y")) == "x*p_y - y*p_x"


def test_an_imposed_rotation_holds_all_around_its_centre():
    """A motion on the other side is the turned one, though no snapshot is there."""
    model = fitted(patch(1e-4, 40), impose=True)
    start, turn = np.array([1.1, -0.05, 0.1, 0.3]), np.diag([-1.0] * 4)
    here, there = (model.rollout(z, 16, 2) for z in (start, turn @ start))
    np.testing.assert_allclose(there.positions, -here.positions, atol=1e-9)
    true, _ = simulate(la.System(KEPLER), start[:2], start[2:], np.arange(17) * 0.06)
    np.testing.assert_allclose(here.positions, true, atol=2e-3)
    assert model.basis.fixed_point == pytest.approx(0, abs=1e-12)


def space(potential: str, trajectories=30, level=1e-4):
    """Snapshots of planets in space, on one side of the centre."""
    box = {"x0": [0.85, 1.15], "y0": [-0.15, 0.15], "z0": [-0.15, 0.15]}
    box |= {"u0": [-0.2, 0.2], "v0": [0.8, 1.2], "w0": [-0.2, 0.2]}
    names = dict(zip(("x", "y", "z", "xdot", "ydot", "zdot"), box, strict=True))
    return la.System(f"(xdot**2 + ydot**2 + zdot**2)/2 + {potential}").simulate(
        duration=0.48,
        time_step=0.06,
        trajectories=trajectories,
        initial_state=names | {"random": {k: {"uniform": v} for k, v in box.items()}},
        noise={"channels": ["q"], "levels": [level]},
        seed=4,
    )


def test_polynomials_about_a_far_point_deny_nothing():
    """A rotation about a far axis, and a shift along it, have no turned features."""
    data = space("1/sqrt(x**2 + y**2)", level=0.0)
    fits = fits_without(recorded(data, "independent", 0.0))
    none = np.zeros((3, 3))
    turn = Symmetry(np.zeros(3), np.cross(np.eye(3), [0, 0, -1.0]), 0.0, 1.0, True)
    shift = Symmetry(np.array([0.0, 0.0, 1.0]), none, 0.0, 1.0, True)
    assert fits.odds([turn]) > 10 * DECISIVE and fits.odds([shift]) > 10 * DECISIVE
    assert np.isnan(fits.odds([turn, shift], fits.odds([turn])))


def test_all_rotations_about_a_far_centre_are_found():
    """Three invariants of Kepler in space; polynomials about the centre are poor."""
    model = fitted(space("1/sqrt(x**2 + y**2 + z**2)", 60))
    found = {s.noether("xyz") for s in model.symmetries if s.verdict == "found"}
    assert found == {"x*p_y - y*p_x", "x*p_z - z*p_x", "y*p_z - z*p_y"}


SCREW = (
    "(xdot**2 + ydot**2 + zdot**2)/2 - (x**2 + y**2)/2"
    " - 3*((x**2 - y**2)*cos(2*z) + 2*x*y*sin(2*z))/10"
)
TURN = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 0]])


def test_odds_of_a_screw_depend_on_its_pitch():
    """The features turn with the axis; without its pitch they have no such L.

    Positions that fit L with the symmetry are nearer to the motion.
    """
    data = snapshots(SCREW, 40, levels=[1e-3])
    fits = fits_without(recorded(data, "independent", 1e-3))
    turn = Symmetry(np.array([0, 0, 1.0]), TURN, 0.0, 1.0, True)
    right, line = fits.about([turn], fits.wide)
    other = replace(turn, offset=0.75 * turn.offset)
    wrong = fits.most_probable([other], fits.wide)
    true = positions_of(recorded(data, "independent", 0.0))
    free, near = (np.std(some.adjusted - true) for some in (fits.line, line))
    assert near < free / 2
    assert right.log_evidence > fits.free.log_evidence + 10 * DECISIVE
    assert wrong.log_evidence < right.log_evidence - 10 * DECISIVE
    assert right.noise == pytest.approx(1e-3, rel=0.1)


@pytest.mark.parametrize("advance", [-1.0, -0.19, 0.0, 0.31, 1.0, 2.5])
def test_screws_of_all_advances_are_tried(advance):
    """The evidence falls with the angle that an advance is off along the data."""
    top, (low, high) = bracket(lambda a: -abs(np.arctan(a) - np.arctan(advance)), 0.8)
    assert low < advance < high and -0.3 < top <= 0
    assert bracket(lambda a: -a, 0.8)[1].tolist() == [-3.2, -1.6]


@pytest.mark.parametrize(
    ("peak", "near", "wanted"),
    [
        (1.001, 0.98, 1.0),  # odds do not tell it from a readable number
        (0.83, 0.82, 0.83),  # told
        (-1.999, -1.98, -2.0),
        (1e-4, 5e-4, 0.0),  # a rotation
    ],
)
def test_the_advance_of_a_screw_is_the_likeliest(peak, near, wanted):
    one = readable(lambda advance: -(((advance - peak) / 2e-3) ** 2) / 2, near, 1.0)
    assert one == (pytest.approx(wanted, abs=3e-3) if wanted == 0.83 else wanted)


def test_screws_are_of_space_and_near_an_isometry():
    for dof, near in ((2, [["some"]]), (3, [])):
        basis = SimpleNamespace(dof=dof)
        assert screw_of(near, SimpleNamespace(free=SimpleNamespace(basis=basis))) == []


@pytest.mark.parametrize(
    ("violation", "bound", "log_odds", "verdict"),
    [
        (0.02, 0.003, -250.0, "not found"),
        (0.4, 0.6, -250.0, "undecided"),  # odds alone: that it is conserved may be
        (0.02, 0.003, 0.0, "undecided"),
        (0.02, 0.003, np.nan, "not found"),
        (0.001, 0.003, np.nan, "found"),
        (0.001, 0.003, 250.0, "found"),
        (0.02, 0.003, 250.0, "undecided"),
    ],
)
def test_a_change_beyond_its_bound_denies(violation, bound, log_odds, verdict):
    """Odds alone do not: without the true symmetry L may be too poor to say."""
    given = np.zeros(2), np.eye(2), violation, bound, violation + bound < 5e-3
    assert Symmetry(*given, log_odds).verdict == verdict


@pytest.mark.parametrize(("text", "even"), [(CENTRAL, True), (CHARGED, False)])
def test_odds_decide_about_time_reversal(text, even):
    """A magnetic field turns a motion to the same side on its way back."""
    data = snapshots(text, trajectories=15, duration=6.4, levels=[1e-3])
    model = fitted(data, impose=True)
    states = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 4))
    back = model.basis.partial(states * [1, 1, -1, -1]) @ model.coefficients
    values = model.basis.partial(states) @ model.coefficients
    assert np.allclose(back, values, atol=1e-12 * np.abs(values).max()) == even
    assert ("reversal_log_odds" in str(model)) and "mirror" not in str(model)


def test_a_length_scale_that_was_chosen_again_has_its_own_coefficients():
    """The mean mass is 1 by condition, for the features that go with them alone."""
    data = snapshots(CENTRAL, 15, 6.4, levels=[1e-3])
    rows = la.recipes.snapshots.recommended().fit(data)
    model = learned(CENTRAL, trajectories=15, duration=6.4, levels=(1e-3,))
    assert model.basis.length_scale != rows.basis.length_scale
    mass = mean_discrete_mass(model.basis, *pairs(data["q"].values[0]), 0.2, "midpoint")
    assert mass @ model.coefficients == pytest.approx(1, abs=1e-3)


def test_an_imposed_symmetry_conserves_its_quantity():
    """To round-off, far from the data's own error, by the discrete Noether theorem."""
    model = learned(CENTRAL, impose=True)
    (turn,) = model.symmetries
    motion = model.rollout([0.5, 0.1, -0.2, 0.6], 300)
    values = (turn.field(motion.positions) * motion.momenta).sum(axis=1)
    assert np.ptp(values) < 1e-9 * np.abs(values).max()
    free = learned(CENTRAL).rollout([0.5, 0.1, -0.2, 0.6], 300)
    drifts = (turn.field(free.positions) * free.momenta).sum(axis=1)
    assert np.ptp(drifts) > 1e3 * np.ptp(values)


def test_a_bracket_of_symmetries_is_none_further():
    """Two rotations of space make the third, a translation across an axis another."""
    turns = [np.cross(np.eye(3), axis) for axis in np.eye(3)]
    first, second, third = (
        Symmetry(-turn @ np.ones(3), turn, 0.0, 1.0, True) for turn in turns
    )
    other = replace(third, offset=np.zeros(3))
    along, across = (
        Symmetry(axis, np.zeros((3, 3)), 0.0, 1.0, True) for axis in np.eye(3)[[0, 1]]
    )
    last = replace(along, offset=np.array([0.0, 0.0, 1.0]))
    assert generated(third, [first, second]) and not generated(third, [first])
    assert not generated(other, [first, second]) and not generated(first, [])
    assert generated(last, [first, across]) and not generated(last, [first, along])


def test_sums_are_invariant_everywhere():
    model = learned(CENTRAL)
    basis = adapted(model.basis, model.symmetries)
    sums = invariant_sums(basis, model.symmetries)
    states = np.random.default_rng(0).uniform(-1, 1, (40, 4))
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turned = np.hstack([states[:, :2] @ turn.T, states[:, 2:] @ turn.T])
    before, after = (basis.partial(z) @ sums for z in (states, turned))
    np.testing.assert_allclose(after, before, atol=1e-10)
    assert 1 < sums.shape[1] < basis.size / 4


def test_a_symmetry_is_judged_by_equations_about_the_symmetric_motion(monkeypatch):
    """Toda's free L moves the centre of mass anyhow, and weighs errors by that."""
    data = snapshots(TODA, 40, reach=0.6, levels=[1e-3])
    fits = fits_without(recorded(data, "independent", 1e-3))
    shift = Symmetry(np.ones(3), np.zeros((3, 3)), 0.0, 1.0, True)
    assert fits.odds([shift]) > 10 * DECISIVE
    monkeypatch.setattr(symmetric_fits, "relinearised", lambda line, fit: (fit, line))
    assert not SymmetricFits(fits.free, fits.line).odds([shift]) > 0


def test_an_imposed_translation_is_not_seen_by_the_features():
    """Of fewer inputs, it is stored among those of all: cases are put together."""
    model = learned(CART, impose=True, levels=(1e-3,))
    motion = model.rollout([0.1, 0.2, 0.3, -0.2], 50)
    moved = model.rollout([0.6, 0.2, 0.3, -0.2], 50)
    np.testing.assert_allclose(moved.positions[:, 0] - motion.positions[:, 0], 0.5)
    assert model.basis.inputs.shape == (4, 4)
    assert np.linalg.matrix_rank(model.basis.inputs) == 3


def test_a_free_centre_of_mass_leaves_the_others_their_mass():
    """It has an exact Lagrangian of its own, clean, and none of its own with noise."""
    data = snapshots(TODA, 30, levels=[0.0, 1e-3])
    models = la.recipes.snapshots.recommended().dataset(data)
    assert models.sizes["noise_level"] == 2
    for level in (0.0, 1e-3):
        model = model_of(models, noise_level=level)
        first, second = pairs(data["q"].values[0])
        mass = discrete_mass(model.basis, first, second, 0.2, "midpoint").mean(axis=2)
        values = np.linalg.eigvalsh(mass @ model.coefficients)
        assert values[0] > LEAST_MASS * values[-1]


def test_the_truth_has_its_symmetries_whatever_points_a_rollout_has():
    """Seven points of three coordinates are fewer than the generators of their maps."""
    config = {
        "coordinates": {name: {"unit": "m"} for name in "xyz"},
        "parameters": {},
        "lagrangian": "(xdot**2 + ydot**2 + zdot**2)/2 - (x**2 + y**2)*(1 + z**2)",
    }
    points = np.random.default_rng(0).uniform(-1, 1, (7, 6))
    (rotation,) = true_symmetries(config, points)
    assert rotation.matrix[0, 1] == -rotation.matrix[1, 0] != 0
    assert not rotation.matrix[2].any() and not rotation.offset.any()


def symmetry(offset=(0.0, 0.0), matrix=((0.0, 0.0), (0.0, 0.0)), **numbers) -> Symmetry:
    usual = {"violation": 0.1, "bound": 0.2, "decided": False}
    return Symmetry(np.array(offset), np.array(matrix), **usual | numbers)


ALONG_X, ALONG_Y, DIAGONAL = (symmetry(b) for b in [(1, 0), (0, 1), (1, 1)])
ROTATION = symmetry(matrix=((0.0, -1.0), (1.0, 0.0)))
ABOUT = symmetry((1.0, 0.0), ((0.0, -1.0), (1.0, 0.0)))
BOOST = symmetry(matrix=((0.0, 1.0), (1.0, 0.0)))
DENIED = symmetry((1.0, 2.0), violation=0.3)


class Odds:
    """Odds of sets of symmetries in the place of fits."""

    def __init__(self, *table):
        self.table = {tuple(x.entries for x in some): odds for *some, odds in table}
        self.calls = []

    def odds(self, some, others=0.0):
        self.calls.append((tuple(one.entries for one in some), others))
        return self.table[self.calls[-1][0]]


@pytest.mark.parametrize(
    ("readings", "table", "likeliest", "count"),
    [
        ([ROTATION, ABOUT, BOOST], [(ROTATION, 5.0)], ROTATION, 1),
        ([ROTATION, ABOUT, BOOST], [(ROTATION, 4.0), (ABOUT, 5.0)], ABOUT, 2),
        ([ROTATION, ABOUT, BOOST], [(ROTATION, 4.0), (ABOUT, -9.0)], ROTATION, 2),
        ([ROTATION, ABOUT, BOOST], [(ROTATION, -4.0), (ABOUT, np.nan)], ABOUT, 2),
        ([ROTATION, ABOUT, BOOST], [(ROTATION, np.nan), (ABOUT, 1.0)], ABOUT, 2),
        ([BOOST], [(BOOST, -np.inf)], BOOST, 1),  # as it was computed
        ([DENIED, BOOST], [(DENIED, 2.0), (BOOST, 3.0)], BOOST, 2),
        ([DENIED, ROTATION, BOOST], [(DENIED, 2.0), (ROTATION, 3.0)], ROTATION, 2),
    ],
)
def test_the_simplest_reading_that_odds_decide_for_is_taken(
    readings, table, likeliest, count
):
    fits = Odds(*table)
    result = likely(readings, fits)
    assert result.entries == likeliest.entries and len(fits.calls) == count
    expected = dict((one.entries, odds) for one, odds in table)[likeliest.entries]
    np.testing.assert_equal(result.log_odds, expected)


SETTLED = {
    # Each beside those before it, whose odds L without them has.
    "two": (
        [[ALONG_X], [ALONG_Y]],
        [(ALONG_X, 50.0), (ALONG_Y, 70.0), (ALONG_Y, ALONG_X, 20.0)],
        [(ALONG_Y, 70.0), (ALONG_X, 20.0)],
        [((ALONG_Y, ALONG_X), 70.0)],
    ),
    "three": (
        [[ALONG_X], [ALONG_Y], [BOOST]],
        [(ALONG_X, 50.0), (ALONG_Y, 70.0), (BOOST, 90.0)]
        + [(ALONG_Y, ALONG_X, 20.0), (ALONG_Y, ALONG_X, BOOST, -7.0)],
        # Translations and rotations are before affine maps.
        [(ALONG_Y, 70.0), (ALONG_X, 20.0), (BOOST, -7.0)],
        [((ALONG_Y, ALONG_X), 70.0), ((ALONG_Y, ALONG_X, BOOST), 90.0)],
    ),
    "an affine map that odds decide against": (
        [[BOOST], [ROTATION]],
        [(BOOST, 3.0), (ROTATION, -3.0)],
        [(BOOST, 3.0), (ROTATION, -3.0)],
        [],
    ),
    "what is denied beside the first": (
        [[ALONG_X], [ALONG_Y], [BOOST]],
        [(ALONG_X, 50.0), (ALONG_Y, 70.0), (BOOST, 90.0)]
        + [(ALONG_Y, ALONG_X, 4.0), (ALONG_Y, BOOST, 5.0)],
        [(ALONG_Y, 70.0), (ALONG_X, 4.0), (BOOST, 5.0)],
        [((ALONG_Y, ALONG_X), 70.0), ((ALONG_Y, BOOST), 70.0)],
    ),
    "the sum of two has no odds of its own": (
        [[DIAGONAL], [ALONG_X], [ALONG_Y]],
        [(DIAGONAL, 30.0), (ALONG_X, 50.0), (ALONG_Y, 70.0), (ALONG_Y, ALONG_X, 20.0)],
        [(ALONG_Y, 70.0), (ALONG_X, 20.0), (DIAGONAL, 30.0)],
        [((ALONG_Y, ALONG_X), 70.0)],
    ),
    "the same twice, and one that is denied": (
        [[ALONG_X], [DENIED], [ALONG_X]],
        [(ALONG_X, 50.0)],
        [(ALONG_X, 50.0)],
        [],
    ),
    "nothing passes": ([[DENIED], [DENIED]], [], [(DENIED, np.nan)] * 2, []),
}


@pytest.mark.parametrize("name", SETTLED)
def test_symmetries_are_judged_beside_those_that_are_likelier(name):
    readings, table, expected, beside = SETTLED[name]
    fits = Odds(*table)
    result = settled(readings, fits)
    assert [one.entries for one in result] == [one.entries for one, _ in expected]
    np.testing.assert_equal([x.log_odds for x in result], [x for _, x in expected])
    together = [call for call in fits.calls if len(call[0]) > 1]
    named = [(tuple(one.entries for one in some), height) for some, height in beside]
    assert together == named
    alone = {call[0] for call in fits.calls if len(call[0]) == 1}
    assert alone == {some for some in fits.table if len(some) == 1}


def test_values_of_symmetries_are_those_of_what_is_found_first():
    """Three at most in the plane; NaN where there are fewer."""
    none = symmetry((1.0, 3.0), violation=0.4)
    found = replace(ROTATION, violation=0.01, decided=True, log_odds=9.0)
    result = _values([none, found], 2)
    np.testing.assert_array_equal(result["symmetry_offset"][:2], [[0, 0], [1, 3]])
    np.testing.assert_array_equal(result["symmetry_matrix"][0], ROTATION.matrix)
    np.testing.assert_array_equal(result["symmetry_violation"], [0.01, 0.4, np.nan])
    np.testing.assert_array_equal(result["symmetry_bound"], [0.2, 0.2, np.nan])
    np.testing.assert_array_equal(result["symmetry_decided"], [1, 0, 0])
    np.testing.assert_array_equal(result["symmetry_log_odds"], [9, np.nan, np.nan])
    for name in ("offset", "matrix"):
        assert np.isnan(result[f"symmetry_{name}"][2]).all()
    assert result["symmetry_matrix"].shape == (3, 2, 2)
    many = _values([none] * 4 + [found], 2)
    np.testing.assert_array_equal(many["symmetry_violation"], [0.01, 0.4, 0.4])


INPUTS = np.array([[1.0, 0.2, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.3, 0.0, 1.0]])


@pytest.mark.parametrize("more", [0, 2])
def test_a_function_is_the_same_among_more_features(rng, more):
    basis = WeightSpace(3, 2.0, INPUTS, np.array([0.1, -0.2, 0.0, 0.3]))
    inputs = np.vstack([INPUTS, [[0.0, 0.0, 0.0, 0.0]]])
    wide = replace(basis, degree=3 + more, inputs=inputs)
    b, states = rng.standard_normal((2, basis.size)), rng.standard_normal((20, 4))
    among = _embedded(basis, wide, b)
    assert among.shape == (2, wide.size)
    expected = basis.partial(states) @ b.T
    np.testing.assert_allclose(wide.partial(states) @ among.T, expected, atol=1e-12)
    assert np.count_nonzero(among) == b.size


PLANE = WeightSpace(4, 3.0, np.eye(4), np.zeros(4))


def fit_and_line(rule="midpoint"):
    """Features of an isotropic L, and neighbouring positions that need not follow it.

    (ẋ² + ẏ² − x² − y²) exp(−|z|²/ℓ²) is a sum of them.
    """
    rng = np.random.default_rng(10)
    states = rng.uniform(-1, 1, (600, 4))
    values = (states**2 * [-1, -1, 1, 1]).sum(axis=1)
    values = values * np.exp(-(states**2).sum(axis=1) / 9)
    b = np.linalg.lstsq(PLANE.partial(states), values, rcond=None)[0]
    steps = 0.2 * rng.standard_normal((6, 40, 2)) * [1.0, 0.5]
    positions = rng.uniform(-0.5, 0.5, (6, 1, 2)) + 0.3 * np.cumsum(steps, axis=1)
    factor = 1e-3 * rng.standard_normal((3, PLANE.size))
    fit = SimpleNamespace(basis=PLANE, coefficients=b, factor=factor)
    return fit, SimpleNamespace(adjusted=positions, step_and_rule=(0.2, rule))


def of_motion(fit, line, one, sums, basis=PLANE):
    """P X L of sums of functions by D L_d, and the size of the momentum, (ν) apart."""
    h, rule = line.step_and_rule
    first, second = pairs(line.adjusted)
    before, after = discrete_momenta(basis, first, second, h, rule)
    change = [
        np.einsum("si,isf->sf", one.field(q), p)
        for q, p in ((second, after), (first, before))
    ]
    change = (change[0] - change[1]) @ sums / h
    scale = line.adjusted.reshape(-1, 2).std(axis=0)
    ends = [polynomials(q, scale, fit.basis.degree)[0] for q in (first, second)]
    total = np.hstack([(ends[1] - ends[0]) / h, np.ones((len(first), 1))])
    change = change - total @ np.linalg.lstsq(total, change, rcond=None)[0]
    momenta = discrete_momenta(fit.basis, first, second, h, rule)
    momenta = np.concatenate([(p @ fit.coefficients).T for p in momenta])
    speed = (second - first).std(axis=0) / h
    rate = np.sqrt(((speed / scale) ** 2).mean())
    both = np.concatenate([first, second])
    sizes = sizes_along(both, momenta, scale, rate, fit.basis.degree)
    theta = np.append(one.offset / scale, one.matrix * scale / scale[:, None])
    return change, np.mean((sizes @ theta) ** 2)


@pytest.mark.parametrize("rule", ["midpoint", "trapezoidal"])
@pytest.mark.parametrize("one", [ALONG_X, ROTATION, ABOUT, BOOST])
def test_a_violation_is_the_change_of_discrete_l_along_a_generator(rule, one):
    """h X L = ξ(q₁)·∇₂L_d + ξ(q₀)·∇₁L_d, without total derivatives."""
    fit, line = fit_and_line(rule)
    change, size = of_motion(fit, line, one, fit.coefficients)
    result = invariance(fit, line).measured(one)
    violation = np.sqrt((change**2).mean() / size)
    assert result.violation == pytest.approx(violation, rel=1e-6, abs=1e-7)
    if rule == "midpoint":  # it has the rotations of L
        assert (result.violation < 1e-3) == (one is ROTATION)
    spread = of_motion(fit, line, one, fit.factor.T)[0]
    np.testing.assert_allclose(invariance(fit, line).along(one), spread, atol=1e-9)
    fit.factor = 0 * fit.factor
    powers = multi_indices(4, 4, True).sum(axis=1)
    cut = np.where(powers > 2, fit.coefficients, 0.0)
    change, size = of_motion(fit, line, one, cut)
    bound = np.sqrt((change**2).mean() / size + 1e-12)
    assert invariance(fit, line).measured(one).bound == pytest.approx(bound, rel=1e-5)


FOUND = {
    # Odds of the readings, of screws, and of readings with isometries.
    "a symmetry of the basis": ([9.0], [], [], [9.0], 1),
    "a screw": ([1.0], [9.0], [], [9.0], 2),
    "a near isometry": ([1.0], [2.0], [9.0], [9.0], 3),
    "none": ([1.0], [], [2.0, -9.0], [2.0, -9.0], 2),
}


@pytest.mark.parametrize("name", FOUND)
def test_isometries_are_tried_where_odds_decide_for_nothing(monkeypatch, name):
    first, screws, both, expected, count = FOUND[name]
    readings, near, calls = ["nearest", "basis"], ["isometry"], []
    problem = SimpleNamespace(
        readings=lambda resolution: readings, isometries=lambda resolution: near
    )

    def settled_by(some, fits):
        calls.append(list(some))
        odds = {"basis": first, "screw": screws, "nearest": both}
        key = some[0] if isinstance(some[0], str) else some[0][0]
        return [replace(ALONG_X, log_odds=x) for x in odds[key]]

    def limited_by(one, some, fits, resolution):
        calls.append(([x.log_odds for x in some], resolution))
        return replace(one, bound=0.0)

    replaced = {
        "invariance": lambda free, line: problem,
        "settled": settled_by,
        "screw_of": lambda near, fits: ["screw"] * bool(screws),
        "limited": limited_by,
        "without_fits": lambda some, fits: some,
    }
    for key, function in replaced.items():
        monkeypatch.setattr(symmetries_of_snapshots, key, function)
    result = find(SimpleNamespace(free=None, line=None), 0.5)
    assert [one.log_odds for one in result] == expected
    tried = [call for call in calls if isinstance(call, list)]
    every = [["basis"], [["screw"]], ["nearest", "basis", "isometry"]]
    assert tried == [x for x in every if screws or x != [["screw"]]][:count]
    limits = [call for call in calls if isinstance(call, tuple)]
    # A change by 2π·0.3 in a period is all but none: no springs are tried.
    assert limits == [([9.0], 0.5)] * (9.0 in expected)
    assert all((one.bound == 0) == (one.log_odds == 9) for one in result)


def test_springs_deny_what_odds_deny_where_it_is_nearly_conserved(monkeypatch):
    calls = []
    nearly = replace(ALONG_X, violation=0.05, bound=0.1, log_odds=-9.0)
    hardly = replace(nearly, violation=0.1)  # 2π·.2 > 1
    unlikely = replace(nearly, log_odds=-4.0)
    replaced = {
        "invariance": lambda *_: SimpleNamespace(
            readings=lambda _: ["one"], isometries=lambda _: []
        ),
        "settled": lambda some, fits: [nearly, hardly, unlikely],
        "screw_of": lambda near, fits: [],
        "limited": lambda one, some, fits, resolution: calls.append((one, some)) or one,
        "without_fits": lambda some, fits: some,
    }
    for key, function in replaced.items():
        monkeypatch.setattr(symmetries_of_snapshots, key, function)
    find(SimpleNamespace(free=None, line=None), 0.5)
    assert calls == [(nearly, [nearly])]


def test_advances_from_a_quarter_of_a_radian_to_four_are_tried():
    tried = []
    bracket(lambda advance: tried.append(advance) or 0.0, 3.0)
    radians = [0.25, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]
    one_way = 3.0 / np.array(radians)
    np.testing.assert_allclose(tried, [*-one_way, 0.0, *one_way[::-1]])


@pytest.mark.parametrize("one", [ALONG_X, ROTATION, ABOUT])
@pytest.mark.parametrize("softer", [0.999, 1.001])
def test_what_may_break_a_symmetry_are_springs_without_it(one, softer):
    """Two of the three of the plane: a spring across a translation has it."""
    fit, line = fit_and_line()
    calls = []

    def beside(about, basis, sums):
        calls.append((about, basis, sums))
        count = sums.shape[1]
        return 1e-3 * np.arange(1.0, count + 1), 1e-4 * np.eye(count)

    fit.beside = beside
    fits = SimpleNamespace(about=lambda some, wide: (fit, line), wide="wide")
    result = limited(one, [one], fits, 1.0)
    ((about, springs, sums),) = calls
    assert about is line and sums.shape[1] == 2
    positions = line.adjusted.reshape(-1, 2)
    centre = positions.mean(axis=0)
    if one is not ALONG_X:
        centre = -np.linalg.solve(one.matrix, one.offset)
    np.testing.assert_allclose(springs.centre, [*centre, 0.0, 0.0], atol=1e-12)
    q = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    x = (q - centre) / positions.std(axis=0)
    forms = np.stack([x[:, 0] ** 2, x[:, 0] * x[:, 1], x[:, 1] ** 2], axis=1)
    values = springs.partial(np.hstack([q, 0 * q])) @ sums
    left = values - forms @ np.linalg.lstsq(forms, values, rcond=None)[0]
    assert np.abs(left).max() < 1e-3 * np.abs(values).max()
    b = sums @ (1e-3 * np.arange(1.0, 3))
    change, size = of_motion(fit, line, one, b, springs)
    assert result.violation == pytest.approx(np.sqrt((change**2).mean() / size))
    assert result.bound > 0 and result.entries == one.entries
    limit = softer * (result.violation + result.bound)
    assert limited(one, [one], fits, limit).decided == (softer > 1)
