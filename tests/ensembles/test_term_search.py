"""Search for terms on a quadratic log-likelihood, where every best law is known."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from leastaction.core.library import Damper, Library
from leastaction.ensembles.innovations_likelihood import Fit
from leastaction.ensembles.state_space import Structure
from leastaction.ensembles.term_search import Search, is_dry, profiled_width


class Regression:
    """ℓ(c) = −|y − X c|²/2 as a likelihood; `inner` terms of L."""

    def __init__(self, X, y, inner=None):
        self.X, self.y, self.samples = X, y, len(y)
        terms = [None] * (X.shape[1] if inner is None else inner)
        library = SimpleNamespace(terms=terms)
        self.model = SimpleNamespace(dof=1, library=library)

    def residual(self, columns, theta):
        return self.y - self.X[:, list(columns)] @ theta

    def profiled(self, structure, theta, order=2):
        residual = self.residual(structure.columns, theta)
        return theta, -residual @ residual / 2

    def fit(self, structure, theta=None, order=2, levels=()):
        A = self.X[:, list(structure.columns)]
        theta = np.linalg.lstsq(A, self.y, rcond=None)[0]
        value = self.profiled(structure, theta)[1]
        n = len(theta)
        return Fit(structure, theta, value, np.eye(n), np.zeros(n), A.T @ A, True)

    def joint(self, fit, absent):
        A = self.X[:, [*fit.structure.columns, *absent]]
        return A.T @ self.residual(fit.structure.columns, fit.theta), A.T @ A

    def scores(self, fit, absent, memory=False):
        A = self.X[:, list(fit.structure.columns)]
        B = self.X[:, list(absent)]
        B = B - A @ np.linalg.lstsq(A, B, rcond=None)[0]
        return (
            B.T
            @ self.residual(fit.structure.columns, fit.theta)
            / np.linalg.norm(B, axis=0)
        )


def regression(seed, terms=7, samples=400, inner=None, common=0.8):
    """Three terms of some whose columns have a part in common."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, terms))
    X = X + common * rng.standard_normal((samples, 1))
    c = np.zeros(terms)
    c[[0, 2, 5]] = 2.0, -0.7, 0.5
    return Regression(X, X @ c + rng.standard_normal(samples), inner)


def search_of(likelihood, usable, further=(), dampers=()):
    names = [f"t{i}" for i in range(likelihood.X.shape[1])]
    return Search(likelihood, usable, list(further), names, ("diagonal",), dampers)


@pytest.mark.parametrize("start", [(0,), (1, 3, 4), tuple(range(7))])
@pytest.mark.parametrize("seed", range(3))
def test_the_law_has_the_least_penalised_likelihood_of_all_subsets(seed, start):
    likelihood = regression(seed)
    search = search_of(likelihood, range(7))

    def criterion(columns):
        fit = likelihood.fit(Structure(columns))
        return 2 * fit.value - search.penalty * len(columns)

    sizes = range(1, 8)
    subsets = [s for k in sizes for s in itertools.combinations(range(7), k)]
    fit, stop = search.terms(likelihood.fit(Structure(start)))
    assert sorted(fit.structure.columns) == list(max(subsets, key=criterion))
    absent = search.absent(fit.structure)
    z2 = likelihood.scores(fit, absent) ** 2
    best = absent[int(np.argmax(z2))]
    assert f"candidate, t{best}, has a score of {max(z2):.1f}; the threshold" in stop
    assert search.penalty == pytest.approx(np.log(400) + 2 * np.log(7))


@pytest.mark.parametrize("out", [(), (0,), (2,), (0, 1), (1, 2)])
def test_a_foreseen_gain_is_that_of_the_refit_where_it_is_quadratic(out):
    likelihood = regression(0)
    fit, absent = likelihood.fit(Structure((0, 1, 5))), [3, 2]
    gain, theta = search_of(likelihood, range(7)).foreseen(fit, absent, 1, out)
    columns = list(fit.structure.columns)
    if out:
        columns[out[0]] = 2
        columns = np.delete(columns, out[1:])
    else:
        columns.append(2)
    refit = likelihood.fit(Structure(tuple(columns)))
    assert gain == pytest.approx(refit.value - fit.value, rel=1e-9)
    assert np.allclose(theta, refit.theta)


@pytest.mark.parametrize(("law", "winner"), [((0, 6), 2), ((0, 2), 2)])
def test_terms_that_fit_alike_are_rivals_and_the_first_listed_stays(law, winner):
    """Both have the same column but for a millionth."""
    likelihood = regression(2)
    X = likelihood.X.copy()
    X[:, 6] = X[:, 2] + 1e-6 * X[:, 3]
    y = X[:, 0] - X[:, 2] + np.random.default_rng(0).standard_normal(len(X))
    search = search_of(Regression(X, y), [0, 2, 6])
    fit, _ = search.terms(search.likelihood.fit(Structure(law)))
    assert sorted(fit.structure.columns) == [0, winner]
    assert search.rivals == ["t6 instead of t2"]


@pytest.mark.parametrize("kept", [False, True])
def test_a_damper_beside_a_spring_of_the_law_stays(kept):
    dampers = [Damper(3, frozenset({0}), frozenset({0}))]
    dampers.append(Damper(9, frozenset({1}), frozenset()))  # is not usable
    likelihood = regression(0)
    search = search_of(likelihood, range(7), dampers=dampers if kept else ())
    fit, _ = search.terms(likelihood.fit(Structure((0, 2, 5))))
    assert (3 in fit.structure.columns) == kept
    assert set(fit.structure.columns) - {3} == {0, 2, 5}


LINEAR = {
    "reference": "adot**2/2",
    "lagrangian": [{"terms": ["adot**2", "bdot**2", "a**2", "b**2"]}],
    "dissipation": [{"terms": ["adot**2", "abs(bdot)", "abs(adot)**3"]}],
}


class Given:
    """A likelihood whose maxima are given by the form of the force and its colour."""

    def __init__(self, values, samples=100, dof=2, **more):
        inverse = np.array([[2.0, 0.5], [0.5, 1.0]])
        self.values, self.samples, self.calls = values, samples, []
        self.model = SimpleNamespace(
            dof=dof,
            dt=0.1,
            at=lambda c: (inverse, None, None),
            parameters=self.parameters,
            places=lambda s: s.places(dof, 1),
            library=Library.from_config(LINEAR, ["a", "b"]),
            **more,
        )

    def parameters(self, structure, theta):
        entries = theta[len(structure.columns) :][: len(structure.entries(2))]
        root = np.zeros((2, 2))
        if structure.force == "ground":
            root = np.full((2, 1), entries[0])
        elif structure.force == "equal":
            root = entries[0] * np.eye(2)
        else:
            root[tuple(np.transpose(structure.entries(2)))] = entries
        return SimpleNamespace(root=root, coefficients=None)

    def key(self, structure):
        return ("coloured " if structure.coloured else "") + structure.force

    def profiled(self, structure, theta, order=2):
        return theta, self.values[self.key(structure)] - abs(theta[-1])

    def fit(self, structure, theta, order=2, levels=()):
        self.calls.append((self.key(structure), theta, order))
        n, value = len(theta), self.values[self.key(structure)]
        axes = np.eye(n), np.zeros(n), np.eye(n)
        return Fit(structure, np.array(theta), value, *axes, True, order)


def first_fit(likelihood, force="diagonal", order=1):
    entries = {"diagonal": [3.0, 4.0], "ground": [0.5], "free": [3.0, 1.0, 2.0]}
    theta = np.array([7.0, *entries[force], -2.0])
    return likelihood.fit(Structure((2,), force), theta, order)


@pytest.mark.parametrize(
    ("before", "after", "entries"),
    [
        ("diagonal", "free", [3, 0, 4]),
        ("free", "diagonal", [3, np.sqrt(5)]),
        ("free", "free", [3, 1, 2]),
    ],
)
def test_another_force_begins_with_the_closest_one(before, after, entries):
    likelihood = Given({"diagonal": 0, "free": 0, "ground": 0})
    search = Search(likelihood, [0], [], "abcdefg", ("free",))
    made = search.with_force(first_fit(likelihood, before), after)
    np.testing.assert_allclose(made.theta, [7, *entries, -2.0])
    assert made.structure == Structure((2,), after) and likelihood.calls[-1][2] == 1


def test_a_ground_is_a_force_of_the_mass_and_back():
    """S Sᵀ = M a aᵀ M, made regular; the mean square of accelerations."""
    likelihood = Given({"diagonal": 0, "free": 0, "ground": 0})
    search = Search(likelihood, [0], [], "abcdefg", ("free",))
    inverse = likelihood.model.at(None)[0]
    made = search.with_force(first_fit(likelihood, "ground"), "free")
    root = np.array([[made.theta[1], 0], made.theta[2:4]])
    push = np.linalg.inv(inverse) @ [0.5, 0.5]
    square = np.outer(push, push)
    expected = square + 1e-4 * np.diag(np.diag(square))
    np.testing.assert_allclose(root @ root.T, expected, rtol=1e-9)
    back = search.with_force(first_fit(likelihood, "free"), "ground")
    root = inverse @ np.array([[3.0, 0], [1.0, 2.0]])
    level = np.sqrt((root**2).sum() / 2)
    np.testing.assert_allclose(back.theta, [7, level, -2.0])


@pytest.mark.parametrize(
    ("values", "force"),
    [
        # 2ℓ less log N of each entry: ground one, diagonal two, free three.
        ({"ground": 0.0, "diagonal": 2.2, "free": 4.5}, "ground"),
        ({"ground": 0.0, "diagonal": 2.4, "free": 4.6}, "diagonal"),
        ({"ground": 0.0, "diagonal": 2.2, "free": 4.7}, "free"),
    ],
)
def test_the_force_is_the_simplest_by_bic(values, force):
    """log 100 / 2 = 2.303 per entry."""
    likelihood = Given(values)
    search = Search(likelihood, [0], [], "abcdefg", ("diagonal", "ground", "free"))
    made = search.simplest_force([first_fit(likelihood, "diagonal")])
    assert made.structure.force == force
    asked = [key for key, *_ in likelihood.calls]
    assert asked == ["diagonal", "free", "ground"]  # the most general one first


@pytest.mark.parametrize(
    ("gain", "score", "coloured", "ratio"),
    [
        (1.93, 2.0, True, 3.86),
        (1.91, 2.0, False, 3.82),
        (9.0, 1.95, False, 1.95**2),
        (9.0, -3.0, False, 0.0),
    ],
)
def test_a_force_is_coloured_if_its_ratio_says_so(gain, score, coloured, ratio):
    """By χ² at 95 %, from the likeliest of some correlation times."""
    values = {"diagonal": 10.0, "coloured diagonal": 10.0 + gain}
    likelihood = Given(values)
    search = Search(likelihood, [0], [], "abcdefg", ("diagonal",))
    fit = first_fit(likelihood)
    made, found = search.coloured(fit, score)
    assert made.structure.coloured == coloured and found == pytest.approx(ratio)
    if score == 2.0:
        start = likelihood.calls[1][1]
        times = np.log(np.array([1.5, 5.0, 25.0]) * 0.1)
        assert start[-1] == min(times, key=abs)
    else:
        assert made is fit and len(likelihood.calls) == 1


@pytest.mark.parametrize(
    ("columns", "dry"),
    [((1, 2), False), ((2, 4), False), ((2, 5), True), ((6,), False)],
)
def test_dry_friction_is_a_loss_whose_force_jumps(columns, dry):
    """|v| does, v² and |v|³ do not."""
    likelihood = Given({"diagonal": 0})
    fit = SimpleNamespace(structure=Structure(columns))
    assert is_dry(likelihood, fit) is dry


class Widths:
    """ℓ and θ of a law by the width of its dry friction."""

    def __init__(self, value, narrowest=0.01, width=0.09, largest=5.0):
        self.value, self.asked = value, []
        self.model = SimpleNamespace(
            width=width, narrowest=narrowest, dof=1, scale=np.array([1.0, largest])
        )
        self.model.slide = lambda width: setattr(self.model, "width", width)

    def fit(self, structure, theta, order=2, levels=()):
        width = self.model.width
        self.asked.append((round(width, 6), levels))
        return self.at(width)

    def at(self, width):
        theta = np.array([width, 2 * width])
        axes = np.eye(2), np.zeros(2), np.eye(2)
        return Fit(Structure((1,)), theta, self.value(width), *axes, True)


def test_the_width_is_the_narrowest_that_is_not_rejected():
    """ℓ falls by .8 and 3.2 over factors of three and nine; 1.92 rejects."""

    def value(width):
        return -0.8 * (np.log(width / 0.09) / np.log(3)) ** 2

    likelihood = Widths(value, narrowest=0.001)
    fit, spread = profiled_width(likelihood, likelihood.at(0.09))
    assert fit.theta[0] == pytest.approx(0.03)
    assert likelihood.model.width == pytest.approx(0.03)
    assert [width for width, _ in likelihood.asked] == [0.03, 0.01]
    levels = [level for _, (level,) in likelihood.asked]
    assert levels == pytest.approx([-1.92, -1.92])
    near = np.array([0.01, 0.03, 0.09])
    weight = np.exp([-2.4, 0.0, 0.8])
    mean = weight @ near / weight.sum()
    variance = weight @ (near - mean) ** 2 / weight.sum()
    np.testing.assert_allclose(spread, variance * np.array([[1, 2], [2, 4]]), rtol=1e-9)


@pytest.mark.parametrize(
    ("narrowest", "widths"),
    [(0.029, [0.03, 0.27]), (0.031, [0.27, 0.81, 2.43])],
)
def test_widths_are_between_the_steps_and_the_motion(narrowest, widths):
    """Wider ones are tried where narrower ones do not show a fall."""
    likelihood = Widths(lambda width: 0.0, narrowest)
    profiled_width(likelihood, likelihood.at(0.09))
    asked = [width for width, _ in likelihood.asked]
    assert asked[: len(widths)] == pytest.approx(widths)
    assert max(asked) <= 5.0
