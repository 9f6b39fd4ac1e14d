"""A line in Ritz functions: its ends, its modes and its candidates, in closed form."""

import itertools

import numpy as np
import pytest
import scipy.linalg

from leastaction.core.library import staying
from leastaction.ensembles.sensor_records import Record
from leastaction.ensembles.state_space import Structure
from leastaction.likelihood.field_state_space import (
    FieldCandidates,
    FieldStateSpace,
    Line,
    Modal,
    QuadraticLibrary,
    channels_at,
    sensor_of,
    with_candidates,
)

LENGTH = 1.7
ENDS = [
    *map(", ".join, itertools.product(("free", "fixed", "clamped"), repeat=2)),
    "periodic",
]
L = ("u_t**2", "u_x**2", "u_xx**2", "u**2", "x*u_x**2")
D = ("u_t**2", "u_xt**2")
CANDIDATES = FieldCandidates("u", L, D, "3*u_t**2")
# Of a mass density of 6: what ω² and the rate 2ζω have of a coefficient.
DENSITY = 6.0


@pytest.mark.parametrize("ends", ENDS)
def test_functions_are_orthonormal_and_obey_the_ends(ends):
    line = Line.of(LENGTH, ends)
    x, weight = line.quadrature(6)
    psi, slope, bend = line.functions(6, x)
    np.testing.assert_allclose(psi.T @ (weight[:, None] * psi), np.eye(6), atol=1e-9)
    assert weight.sum() == pytest.approx(LENGTH)
    h = 1e-5
    near = line.functions(6, np.array([0.5 - h, 0.5, 0.5 + h]))
    for k in (0, 1):
        quotient = (near[k, 2] - near[k, 0]) / (2 * h)
        size = np.abs(near[k + 1, 1]).max()
        np.testing.assert_allclose(quotient, near[k + 1, 1], atol=1e-6 * size)
    at = line.functions(6, np.array([0.0, LENGTH]))
    if ends == "periodic":
        np.testing.assert_allclose(at[:, 0], at[:, 1], atol=1e-8)
        return
    for k, end in enumerate(line.ends):
        assert np.allclose(at[0, k], 0, atol=1e-9) == (end != "free")
        assert np.allclose(at[1, k], 0, atol=1e-8) == (end == "clamped")


@pytest.mark.parametrize("text", ["loose", "free, periodic", "free, free, free", ""])
def test_ends_that_are_none_are_refused(text):
    with pytest.raises(ValueError, match="expected free, fixed, clamped, periodic"):
        Line.of(1.0, text)
    assert Line.of(1, "fixed") == Line(1.0, ("fixed", "fixed"))


K = np.arange(1, 5)
MODES = {
    "string": ("fixed", 1, (np.pi * K / LENGTH) ** 2),
    "free string": ("free", 1, (np.pi * (K - 1) / LENGTH) ** 2),
    "organ pipe": ("fixed, free", 1, (np.pi * (K - 0.5) / LENGTH) ** 2),
    "hinged beam": ("fixed", 2, (np.pi * K / LENGTH) ** 4),
    "cantilever": ("clamped, free", 2, np.array([1.8751, 4.6941]) ** 4 / LENGTH**4),
    "ring": ("periodic", 1, (2 * np.pi * np.array([0, 1, 1, 2]) / LENGTH) ** 2),
    "bed": ("free", 3, np.ones(4)),
}


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("stiffness", [1.0, 0.25])
def test_modes_are_those_of_textbooks(name, stiffness):
    ends, place, squares = MODES[name]
    modal = Modal.of(CANDIDATES, Line.of(LENGTH, ends), [0.3, 0.9], 12)
    c = np.zeros(5)
    c[place] = -stiffness * DENSITY / 2
    result, vectors = modal.modes(c)
    expected = stiffness * squares
    np.testing.assert_allclose(result[: len(squares)], expected, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(modal.damping[0], 2 / DENSITY * np.eye(12), atol=1e-9)
    assert not modal.stiffness[0].any()  # that of the inertia
    few = modal.reduced(vectors[:, :3])
    of_three, _ = few.modes(c)
    np.testing.assert_allclose(of_three, result[:3], atol=1e-7)
    np.testing.assert_allclose(few.shapes, modal.shapes @ vectors[:, :3])
    np.testing.assert_allclose(few.damping[0], 2 / DENSITY * np.eye(3), atol=1e-9)
    none = FieldCandidates("u", L, (), "3*u_t**2")
    bare = Modal.of(none, Line.of(LENGTH, ends), [0.3], 5).reduced(np.eye(5)[:, :2])
    assert bare.damping.shape == (0, 2, 2)


def test_a_stiffness_may_change_along_the_line():
    line = Line.of(LENGTH, "fixed")
    modal = Modal.of(CANDIDATES, line, [0.3], 4)
    x, weight = line.quadrature(4)
    slope = line.functions(4, x)[1]
    expected = -2 / DENSITY * slope.T @ ((x * weight)[:, None] * slope)
    np.testing.assert_allclose(modal.stiffness[4], expected, atol=1e-9)


def test_coefficients_have_units_of_the_mass_density():
    assert CANDIDATES.mass == DENSITY and CANDIDATES.references == ((0, 3.0),)
    units = [CANDIDATES.unit("lagrangian", k) for k in range(5)]
    assert units == ["1", "m^2/s^2", "m^4/s^2", "1/s^2", "m/s^2"]
    assert [CANDIDATES.unit("dissipation", k) for k in range(2)] == ["1/s", "m^2/s"]


@pytest.mark.parametrize(
    ("lagrangian", "dissipation", "reference", "words"),
    [
        (("u_t**2", "u**3"), (), "u_t**2", r"library.lagrangian: u\*\*3 is not quad"),
        (("u_t**2", "u"), (), "u_t**2", "u is not quadratic"),
        (("u_t**2", "u**2 + u"), (), "u_t**2", "is not quadratic"),
        (("u_t**2",), ("abs(u_t)",), "u_t**2", "library.dissipation: abs"),
        (("u_t**2", "u_x**2"), (), "u_x**2", "library.reference"),
        (("u_x**2",), (), "u_t**2", "is not a multiple of a candidate"),
        (("u_t**2", "v**2"), (), "u_t**2", "library.lagrangian"),
    ],
)
def test_candidates_of_no_linear_line_are_refused(
    lagrangian, dissipation, reference, words
):
    with pytest.raises(ValueError, match=words):
        FieldCandidates("u", lagrangian, dissipation, reference)


def test_further_candidates_come_behind_those_of_the_density():
    more = with_candidates(CANDIDATES, ["u**2", "u*u_x"])
    assert more.lagrangian == (*L, "u*u_x") and more.dissipation == D
    library = QuadraticLibrary(more, Modal.of(more, Line.of(1.0, "fixed"), [0.5], 3))
    assert library.variables == ("q1", "q2", "q3", "q1dot", "q2dot", "q3dot")
    np.testing.assert_array_equal(library.fixed, [3.0, 0, 0, 0, 0, 0])
    assert len(library.terms) == 6 and len(library.dissipation) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" u ( 2e-1 ) ", ("u", "position", 0.2)),
        ("w_t(1)", ("w", "velocity", 1.0)),
        ("u_tt(.6)", ("u", "acceleration", 0.6)),
        ("u", None),
        ("u(..)", None),
        ("u_ttt(0.6)", None),
        ("u_x(0.6)", None),
    ],
)
def test_a_sensor_has_a_rate_and_a_place(text, expected):
    if expected is None:
        with pytest.raises(ValueError, match="measures no displacement"):
            sensor_of(text)
        return
    assert sensor_of(text) == expected


def test_channels_have_the_shapes_of_their_places():
    shapes = np.arange(6.0).reshape(3, 2) + 1
    channels = channels_at(["u_tt(0)", "u(0.1)", "u_t(1)"], shapes)
    for rows, part in (
        (1, channels.position),
        (2, channels.velocity),
        (0, channels.acceleration),
    ):
        expected = np.zeros((3, 2))
        expected[rows] = shapes[rows]
        np.testing.assert_array_equal(part, expected)
    assert not channels.absolute.any()


def test_uniform_damping_is_in_a_law_for_certain():
    losses = ("u_xt**2", "3*u_t**2", "x*u_t**2", "u_xt*u_t")
    candidates = FieldCandidates("u", L, losses, "3*u_t**2")
    assert [each.column for each in candidates.dampers] == [len(L) + 1]
    assert staying(candidates.dampers, [0]) == [len(L) + 1]
    assert FieldCandidates("u", L, losses[:1], "3*u_t**2").dampers == []


@pytest.mark.parametrize("losses", [D, ()])
def test_a_state_space_has_the_matrices_of_its_candidates(losses):
    """q̈ = −Σ θ K q − Σ η C q̇, and the rms of each force at the size of the motion."""
    rng = np.random.default_rng(0)
    candidates = FieldCandidates("u", L, losses, "3*u_t**2")
    line = Line.of(LENGTH, "fixed")
    library = QuadraticLibrary(candidates, Modal.of(candidates, line, [0.3], 3))
    space = object.__new__(FieldStateSpace)
    q, v = rng.uniform(0.5, 2.0, (2, 3))
    space.__dict__ |= {"library": library, "scale": np.concatenate([q, v])}
    space.__dict__ |= {"dof": 3}
    modal, count = library.modal, len(L) + len(losses)
    assert space.linear.tolist() == [True] * count
    inertia, sizes = space.forces_of_motion()
    assert inertia == pytest.approx(np.sqrt(np.mean(v**4 / q**2)))
    forces = [np.sqrt((k**2 @ q**2).mean()) for k in modal.stiffness]
    forces += [np.sqrt((c**2 @ v**2).mean()) for c in modal.damping]
    np.testing.assert_allclose(sizes, forces)
    c, state = rng.standard_normal(count), rng.standard_normal(6)
    inverse, acceleration, slopes = space.at(c, state)
    K = sum(x * k for x, k in zip(c, modal.stiffness, strict=False))
    C = sum((x * k for x, k in zip(c[len(L) :], modal.damping, strict=True)), 0 * K)
    np.testing.assert_allclose(slopes, np.hstack([-K, -C]))
    np.testing.assert_allclose(acceleration, -K @ state[:3] - C @ state[3:])
    np.testing.assert_array_equal(inverse, np.eye(3))
    assert not space.at(c)[1].any()


@pytest.mark.parametrize("name", ["u", "u_tt"])
def test_means_of_channels_are_those_of_generalised_least_squares(rng, name):
    """With all covariances of a record; of accelerations, the mean is worse by far."""
    count, dof = 60, 3
    modal = Modal.of(CANDIDATES, Line.of(LENGTH, "fixed"), [0.3, 0.8], dof)
    y = rng.standard_normal((count, 2)) + [3.0, -2.0]
    model = FieldStateSpace(
        QuadraticLibrary(CANDIDATES, modal),
        channels_at([f"{name}(0.3)", f"{name}(0.8)"], modal.shapes),
        [Record(y, np.zeros((1, dof)), np.zeros(dof, bool))],
        *(0.05, np.ones(2 * dof), 5.0, np.ones(2)),
    )
    law = Structure((1, 5), "equal"), np.array([-9.0, 3.0, 2.0, -1.5, -1.0])
    A, Q, sees, *_ = model.discrete(law[0], model.parameters(*law))
    state = scipy.linalg.solve_discrete_lyapunov(A, Q)
    moved = [np.linalg.matrix_power(A, k) @ state for k in range(count)]
    lags = np.array([sees @ one @ sees.T for one in moved])
    later = np.subtract.outer(np.arange(count), np.arange(count))
    blocks = np.where(
        later[..., None, None] >= 0, lags[abs(later)], lags[abs(later)].swapaxes(2, 3)
    )
    covariance = blocks.swapaxes(1, 2).reshape(2 * count, 2 * count)
    covariance = covariance + np.diag(np.tile(np.exp(2 * law[1][3:]), count))
    ones = np.tile(np.eye(2), (count, 1))
    weighed = np.linalg.solve(covariance, ones)
    known = np.linalg.inv(ones.T @ weighed)
    means = known @ weighed.T @ y.ravel()
    (centred,) = model.centred(*law)
    np.testing.assert_allclose(y - centred.y, np.tile(means, (count, 1)), rtol=1e-6)
    of_samples = np.diag(ones.T @ covariance @ ones) / count**2
    assert (of_samples > 5 * np.diag(known)).all() == (name == "u_tt")
    model.records = [model.records[0]._replace(y=y + [1.0, 2.0])]
    np.testing.assert_allclose(model.centred(*law)[0].y, centred.y)
