"""Laws of frames on shaking ground: a narrow likelihood, storeys, what is not told."""

from dataclasses import replace

import numpy as np
import pytest
from frames import LEVEL, frame, storeys

from leastaction.core.library import Library
from leastaction.core.recipe import Recipe, recommended
from leastaction.ensembles import modal_start, stochastic_subspace
from leastaction.ensembles.innovations_estimate import undetermined
from leastaction.ensembles.innovations_likelihood import Fit, Likelihood
from leastaction.ensembles.sensor_records import records_of
from leastaction.ensembles.state_space import FORCES, StateSpace, Structure
from leastaction.ensembles.term_search import Search

STIFFNESS, DAMPING = 400.0, 0.4
MICROMETRE = 1e-6


def found(data, library, **settings):
    """The law by the recommended recipe."""
    recipe = recommended("shaken measurements")
    settings = recipe.identify.plain() | settings
    recipe = Recipe(**recipe.plain() | {"identify": settings})
    return recipe.fit(data, library, progress=False)


def precise(samples=12_000, **options):
    """Two storeys with sensors that are exact to 10⁻⁵ of the motion."""
    both = [STIFFNESS] * 2, [DAMPING] * 2
    return frame(*both, ("a", "b"), MICROMETRE, samples, 1e-3, **options)


def with_truth(data, noise):
    """Likelihood of two storeys, and the structure and parameters of the truth."""
    library = Library.from_config(storeys(2, every=True), data["dof"].values)
    channels, records, dt = records_of(data)
    scale = np.array([0.05, 0.05, 1.0, 1.0])
    noise = np.full(2, noise)
    model = StateSpace(library, channels, records, dt, scale, 33.0, noise)
    truth = [0.5, -STIFFNESS / 2, -STIFFNESS / 2, DAMPING / 2, DAMPING / 2]
    theta = np.array([*truth, LEVEL, *np.log(noise)])
    return Likelihood(model), Structure((1, 2, 4, 5, 7), "ground"), theta


@pytest.fixture(scope="module")
def narrow():
    return with_truth(precise(), MICROMETRE)


def test_scoring_follows_the_floor_of_a_curved_canyon(narrow):
    """Of the mass m above, and k₂ (1 + m₁/m), which is known to 10⁻⁶."""
    likelihood, structure, theta = narrow
    best = likelihood.fit(structure, theta)
    start, heavier = best.theta.copy(), 1.2
    ratio = best.theta[0] / 0.5
    start[0] *= heavier
    start[[2, 4]] *= (1 + 1 / ratio) / (1 + 1 / ratio / heavier)
    again = likelihood.fit(structure, start)
    assert best.converged and again.converged
    assert again.condition > 1e8
    assert again.value == pytest.approx(best.value, abs=0.01)
    error = np.sqrt(np.diag(best.covariance))
    assert np.all(np.abs(best.theta - theta)[:5] < 4 * error[:5])


def test_a_frame_that_falls_over_was_not_recorded(narrow):
    """One without damping may be, and one that estimates make slightly unstable."""
    likelihood, structure, theta = narrow
    falling, undamped, excited = theta.copy(), theta.copy(), theta.copy()
    falling[1] = STIFFNESS / 4
    undamped[3:5], excited[3:5] = 0.0, -0.01
    for values, possible in ((falling, False), (undamped, True), (excited, True)):
        assert np.isfinite(likelihood.value(structure, values)[0]) == possible


def test_steps_of_the_nonlinear_filter_are_as_short_as_sensors_ask_for(narrow):
    likelihood, structure, theta = narrow
    model = likelihood.model
    exact, V = model.innovations(structure, theta)(0)
    assert model.steps == 1
    model.refine(structure, theta)
    linear, model.linear = model.linear, np.zeros_like(model.linear)
    e, _ = model.innovations(structure, theta)(0)
    model.linear = linear
    assert model.steps > 1 and np.abs((e - exact) / np.sqrt(V)).max() < 0.1


def test_every_form_of_the_force_begins_with_its_own_best_start(narrow):
    """The start that is best for independent forces may have no other way out."""
    likelihood, structure, theta = narrow
    worse = theta * np.array([1.5, 1.3, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    search = Search(likelihood, structure.columns, [], [], FORCES)
    both = np.insert(theta, 5, LEVEL)
    starts = [(structure, worse), (structure, theta)]
    starts.append((replace(structure, force="diagonal"), both))
    fits = {fit.structure.force: fit for fit in search.first(starts)}
    assert set(fits) == {"ground", "diagonal"}
    best = likelihood.fit(structure, theta).value
    assert fits["ground"].value == pytest.approx(best, abs=0.01)
    assert search.simplest_force(list(fits.values())) is fits["ground"]


def test_a_force_with_a_memory_has_its_form_again():
    """The common acceleration of the ground, as a white one, is taken for several."""
    both, memory = ([STIFFNESS] * 2, [DAMPING] * 2), 0.1
    data = frame(*both, ("a", "b"), 1e-3, 10_000, 0.01, memory=memory)
    likelihood, structure, theta = with_truth(data, 1e-3)
    search = Search(likelihood, structure.columns, [], [], FORCES)
    white = search.with_force(likelihood.fit(structure, theta), "free")
    coloured, ratio = search.coloured(white, search.tested(white)[2])
    assert ratio > 100 and coloured.converged
    assert coloured.structure.force == "ground"
    error = np.sqrt(np.diag(coloured.covariance))
    truth = np.append(theta, np.log(memory))
    assert np.all(np.abs(coloured.theta - truth) < 4 * error)


def test_modes_that_hardly_move_are_seen_in_a_short_record():
    """The second one has a fiftieth of the power, in nine times the memory of it."""
    found = stochastic_subspace.differentiate(precise(), {}, storeys(2))
    truth = np.sqrt(STIFFNESS * np.array([3 - 5**0.5, 3 + 5**0.5]) / 2)
    for frequency in found["mode_frequency"].values[0, :3]:
        assert frequency == pytest.approx(truth, rel=0.02)


def test_the_memory_of_a_force_moves_no_modes():
    """It is a state of its own; main frequencies are those of modes, not of it."""
    sensors = ("addot + ground", "bddot + ground")
    both = [STIFFNESS] * 2, [DAMPING] * 2
    data = frame(*both, sensors, 0.05, 20_000, 0.01, memory=0.5)
    found = stochastic_subspace.differentiate(data, {}, storeys(2))
    truth = np.sqrt(STIFFNESS * np.array([3 - 5**0.5, 3 + 5**0.5]) / 2)
    for frequency in found["mode_frequency"].values[0, 1::2]:
        assert frequency == pytest.approx(truth, rel=0.02)
    main = float(found["main_frequency"].values[0])
    assert np.abs(main / truth - 1).min() < 0.05


@pytest.mark.parametrize("order, frequency", [(0, 2.0), (1, 0.5)])
def test_the_main_frequency_is_that_of_the_velocity(order, frequency):
    """Half a displacement at four times the frequency is twice the velocity."""
    time = 0.05 * np.arange(4000)
    y = np.cos(np.pi * time) + 0.5 * np.cos(4 * np.pi * time)
    main = stochastic_subspace.main_frequency(np.array([order]), [y[:, None]], 0.05)
    assert main == pytest.approx(2 * np.pi * frequency, rel=0.02)


def test_a_fast_mode_that_one_realisation_sees_shortens_no_steps():
    """As that with a memory of the force that is not there may have it."""
    data, library = precise(4000), storeys(2)
    modes = stochastic_subspace.differentiate(data, {}, library)
    wrong = modes.copy(deep=True)
    wrong["mode_frequency"].values[0, 1, -1] *= 15
    highest = [
        modal_start.assemble(data, each, {}, library)["highest_frequency"].item()
        for each in (modes, wrong)
    ]
    assert highest[1] == pytest.approx(highest[0], rel=0.01)


def test_storeys_are_found_among_springs_and_dampers_between_all_floors():
    """Of a common force: as an independent one it hides dampers of its storeys."""
    both = [STIFFNESS] * 2, [2 * DAMPING] * 2
    data = frame(*both, ("a", "b"), 1e-4, 6000, 5e-3)
    model = found(data, storeys(2, every=True), colour="white")
    terms = {(row.of, row.term) for row in model.terms.itertuples() if row.of in "LD"}
    truth = {("L", "adot**2"), ("L", "bdot**2"), ("L", "a**2"), ("D", "adot**2")}
    assert terms == truth | {("L", "(-a + b)**2"), ("D", "(-adot + bdot)**2")}
    assert str(model.dataset["force_structure"].item()) == "ground"
    assert int(model.dataset["converged"]) == 1


def test_the_absolute_acceleration_of_the_top_does_not_distinguish_storeys():
    """Its transfer function has no zeros: masses and springs change places."""
    both = [STIFFNESS] * 2, [DAMPING] * 2
    data = frame(*both, ("bddot + ground",), 0.3, 6000, 0.02, seed=2)
    model = found(data, storeys(2), search=False, colour="white")
    named = model.not_identifiable
    assert "D: adot**2" in named and "D: (-adot + bdot)**2" in named
    both_floors = frame(*both, ("addot + ground", "bddot + ground"), 0.3, 6000, 0.02)
    assert not found(both_floors, storeys(2), search=False).not_identifiable


def test_undetermined_changes_are_named_by_as_few_parameters_as_possible():
    """Of two null vectors, each with a parameter that the other lacks."""
    theta, eye = np.array([2.0, -4.0, 1.0, 5.0]), np.eye(4)
    null = np.array([[1.0, -0.5, 0.0, 0.0], [0.0, 0.25, 1.0, 0.0]]).T
    changes = np.linalg.qr(null)[0]
    told = eye - changes @ changes.T
    information = (1e4 * told + eye) / np.outer(theta, theta)
    structure = Structure((0, 1, 2, 3))
    fit = Fit(structure, theta, 0.0, eye, np.zeros(4), information, True)
    assert undetermined(fit, list("abcd"))[0] == "a +100 %, b -50 %; c +100 %, b +25 %"
    fit = Fit(structure, theta, 0.0, eye, np.zeros(4), 100 * information, True)
    assert undetermined(fit, list("abcd")) == ("", "")
    fit.covariance[:2, :2] = (
        np.array([[1.0, -0.9], [-0.9, 1.0]]) * np.outer(*2 * [fit.theta[:2]]) * 0.2
    )
    confounded = undetermined(fit, ["D: a", "D: b", "c", "d"])
    assert confounded == ("", "D: a +100 %, D: b -100 %")
