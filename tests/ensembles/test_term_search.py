"""Search for terms on a quadratic log-likelihood, where every best law is known."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from leastaction.core.library import Damper
from leastaction.ensembles.innovations_likelihood import Fit
from leastaction.ensembles.state_space import Structure
from leastaction.ensembles.term_search import Search


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
