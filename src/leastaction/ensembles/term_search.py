"""Which terms, which force: forward and backward search by score and Wald tests.

A term costs the price of all searches, log N + 2 log m of 2ℓ, with N sampling times and
m candidates. A term leaves if its Wald z² and the loss of the
refit are small; the absent candidate with the largest score enters if the refit
confirms it. Scores of all absent candidates cost one evaluation, so no cap on the
number of terms is needed.

A linear oscillator that is fitted to strongly nonlinear data passes every test of
whiteness: the random force hides what the law lacks. The score of the missing term
does not. So cubic and quartic springs, between two coordinates too, and cubic and dry
losses are tested beside the candidates that a user lists, and never part of the law.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from leastaction.core.euler_lagrange import symbols
from leastaction.core.library import Library, staying
from leastaction.core.sparse_regression import term_price
from leastaction.ensembles.innovations_likelihood import Fit, Likelihood
from leastaction.ensembles.state_space import FORCES, Structure

# Ratio of neighbouring widths: ℓ is flat over it where w is not known.
RATIO_OF_WIDTHS = 3.0
# Fall of ℓ that rejects a width: 95 % of χ² with one degree of freedom.
REJECTED_WIDTH = 1.92
# Velocity at which a force that jumps is still there.
SMALL_VELOCITY = 1e-12
# A Wald z² above so many penalties needs no refit to stay.
SURE_WALD = 1.5
MOST_ROUNDS = 100
# Terms whose loss is tried, the least certain first, before all are kept: a refit may
# miss its maximum where many coefficients are nearly free.
MOST_TRIED = 4
# Loss of ℓ up to which an exchange is reported.
NEARLY_AS_WELL = 3.0
# Exchanges of two terms that are tried, those whose foreseen gain in ℓ is not below a
# least one, and the gain that decides.
MOST_SWAPS, LEAST_FORESEEN_GAIN, LEAST_GAIN = 3, -10.0, 1.0
# Likelihood ratio that decides for a coloured force: 95 % of χ² with one degree.
RATIO_OF_COLOUR = 3.84
# First guesses of a correlation time, in samples: a nonlinear filter takes another step
# from one sample down, over which no slope is to be taken.
CORRELATION_SAMPLES = (1.5, 5.0, 25.0)


def widened(library: Library) -> tuple[Library, list[int]]:
    """The library with further candidates, and where its own columns are in that.

    Further ones whose equations its own candidates have already are left out.

    Examples
    --------
    >>> terms = {"reference": "xdot**2", "lagrangian": [{"terms": ["xdot**2", "x**2"]}]}
    >>> wide, own = widened(Library.from_config(terms, ["x"]))
    >>> wide.names, own
    (['xdot**2', 'x**2', 'x**3', 'x**4'], [0, 1])
    >>> wide.dissipation_names
    ['xdot**2', 'xdot**4', 'abs(xdot)', 'xdot**2*abs(xdot)']
    """
    n = len(library.coordinates)
    state = symbols(library.variables)
    springs = _powers(state[:n], (3, 4))
    losses = [*_powers(state[n:], (2, 4)), *map(sp.Abs, state[n:])]
    losses += [sp.Abs(v) ** 3 for v in state[n:]]
    springs = [term for term in springs if term not in library.terms]
    losses = [term for term in losses if term not in library.dissipation]
    wide = replace(
        library,
        terms=(*library.terms, *springs),
        dissipation=(*library.dissipation, *losses),
    )
    count, all_of_l = len(library.terms), len(wide.terms)
    places = [*range(count), *range(all_of_l, all_of_l + len(library.dissipation))]
    return wide, places


def independent(wide: Library, places: Sequence[int]) -> list[int]:
    """Columns of further candidates whose equations no other candidate has."""
    status = wide.joint_freedom.status
    return [
        i for i in range(len(status)) if i not in places and status[i] == "independent"
    ]


def _powers(variables: Sequence[sp.Symbol], powers: Sequence[int]) -> list[sp.Expr]:
    """Powers of each variable, and of differences of two the highest one."""
    result = [x**p for p in powers for x in variables]
    return result + [
        (b - a) ** powers[-1] for a, b in itertools.combinations(variables, 2)
    ]


@dataclass(frozen=True)
class SearchResult:
    """A law, and how the search ended.

    Candidates that are `absent`, the first `inside` ones those of the library, have
    z² = `scores`; a term needs the `penalty`. Why the search did `stop`, and exchanges
    of terms that fit nearly as well, are in words. A `memory` of a white force has this
    z: below zero its spectrum rises. The width of dry friction leaves the parameters a
    covariance `of_width`.
    """

    fit: Fit
    absent: list[int]
    inside: int
    scores: np.ndarray
    penalty: float
    stop: str
    rivals: tuple[str, ...]
    colour_ratio: float
    memory: float
    of_width: np.ndarray | float = 0.0


class Search:
    """Search for the terms of a law.

    Columns that are `usable` may be in it; for `further` ones it is tested only.
    `names` of all columns are for sentences; `forces` are forms that may be;
    `dampers` stay in the law, see :mod:`leastaction.core.library`.
    """

    def __init__(
        self, likelihood: Likelihood, usable, further, names, forces, dampers=()
    ):
        self.likelihood, self.names, self.forces = likelihood, names, forces
        self.dampers = [each for each in dampers if each.column in usable]
        self.usable, self.further = list(usable), list(further)
        self.rivals: list[str] = []
        self.penalty = term_price(likelihood.samples, len(usable))

    def run(self, starts, colour: str, searching: bool = True) -> SearchResult:
        """The law from the best of some starts, a structure and parameters each."""
        fit = first = self.simplest_force(self.first(starts))
        self.likelihood.model.refine(fit.structure, fit.theta)
        stop = "all candidates are to be in the law"
        if searching:
            fit, stop = self.terms(fit)
        if not set(fit.structure.columns) <= set(first.structure.columns):
            fit = self.simplest_force([fit])
            if fit.structure.force != first.structure.force:
                fit, stop = self.terms(fit)
        fit, stop, of_width = self.slid(fit, stop, searching)
        absent, scores, memory = self.tested(fit)
        ratio = max(memory, 0.0) ** 2
        if colour != "white":
            coloured, ratio = self.coloured(fit, memory)
            if coloured is not fit:
                fit = coloured
                if searching:
                    fit, stop = self.terms(fit)
                fit, stop, of_width = self.slid(fit, stop, searching)
                absent, scores, memory = self.tested(fit)
        about = absent, len(absent) - len(self.further), scores, self.penalty
        return SearchResult(
            fit, *about, stop, tuple(self.rivals), ratio, memory, of_width
        )

    def slid(self, fit: Fit, stop: str, searching: bool):
        """The fit with the likeliest width of dry friction, and what widths leave open.

        With another width other losses may be in the law.
        """
        while is_dry(self.likelihood, fit):
            fit, of_width = profiled_width(self.likelihood, fit)
            before = fit.structure
            if searching:
                fit, stop = self.terms(fit)
            if fit.structure == before:
                return fit, stop, of_width
        return fit, stop, 0.0

    def tested(self, fit: Fit) -> tuple[list[int], np.ndarray, float]:
        """Columns that a law lacks, their z², and z of a memory of a white force."""
        absent = self.absent(fit.structure) + self.further
        memory = not fit.structure.coloured
        z = self.likelihood.scores(fit, absent, memory)
        return absent, z[: len(absent)] ** 2, float(z[-1]) if memory else 0.0

    def absent(self, structure: Structure) -> list[int]:
        """Usable columns that are not in a structure."""
        return [i for i in self.usable if i not in structure.columns]

    def first(self, starts) -> list[Fit]:
        """Fits of each form of the force, from the best of its starts that converges.

        The best is that whose likelihood is largest once its noise is scaled;
        ValueError if every start diverges.
        """
        result: dict[str, Fit] = {}
        values = [self.likelihood.profiled(*start) for start in starts]
        for i in np.argsort([-value for _, value in values]):
            structure, (theta, value) = starts[i][0], values[i]
            before = result.get(structure.force)
            if not np.isfinite(value) or before is not None and before.converged:
                continue
            fit = self.likelihood.fit(structure, theta)
            if fit.value > (-np.inf if before is None else before.value):
                result[structure.force] = fit
        if result:
            return list(result.values())
        raise ValueError(
            "no linear law with the modes of these data follows them; expected motion "
            "about an equilibrium that a random force keeps up. Give candidates with a "
            "restoring force, or a longer record"
        )

    def terms(self, fit: Fit) -> tuple[Fit, str]:
        """Drop and add terms until neither helps, nor another maximum is higher."""
        while True:
            fit, stop = self.settled(fit)
            higher = self.elsewhere(fit)
            if higher is None:
                return fit, stop
            fit = higher

    def staying(self, columns: Sequence[int]) -> list[int]:
        """Dampers that a law with these columns has for certain."""
        return staying(self.dampers, columns)

    def removable(self, fit: Fit) -> list[int]:
        """Places of the columns that may leave a law."""
        columns = fit.structure.columns
        staying = self.staying(columns)
        return [i for i, column in enumerate(columns) if column not in staying]

    def damped(self, fit: Fit) -> Fit:
        """The fit with all dampers that stay."""
        while True:
            columns = fit.structure.columns
            missing = [d for d in self.staying(columns) if d not in columns]
            if not missing:
                return fit
            fit = self.with_column(fit, missing, 0)

    def elsewhere(self, fit: Fit) -> Fit | None:
        """A fit without a term that is likelier at once; None if there is none.

        A term that is certain at one maximum may have no place at a higher one: with θ⁴
        beside cos θ a filter does not follow a pendulum that turns over.
        """
        columns = fit.structure.columns
        for place in self.removable(fit) if len(columns) > 1 else ():
            fewer = *columns[:place], *columns[place + 1 :]
            structure = replace(fit.structure, columns=fewer)
            start = np.delete(fit.theta, place)
            theta, value = self.likelihood.profiled(structure, start, fit.order)
            if value > fit.value:
                return self.likelihood.fit(structure, theta, fit.order)
        return None

    def settled(self, fit: Fit) -> tuple[Fit, str]:
        """Drop, add and exchange terms until nothing helps."""
        for _ in range(MOST_ROUNDS):
            fit = self.backward(self.damped(fit))
            absent = self.absent(fit.structure)
            if not absent:
                return fit, "every candidate is in the law"
            scores = self.likelihood.scores(fit, absent) ** 2
            best = int(np.argmax(scores))
            score_text = (
                f"the best absent candidate, {self.names[absent[best]]}, has a score"
            )
            price = f"the threshold is {self.penalty:.1f}"
            if scores[best] <= self.penalty:
                swapped = self.swapped(fit, absent)
                if swapped is None:
                    return fit, f"{score_text} of {scores[best]:.1f}; {price}"
                fit = swapped
                continue
            wider = self.with_column(fit, absent, best)
            gain = 2 * (wider.value - fit.value)
            if gain < self.penalty:
                but = f"but gains only {gain:.1f} of 2 log likelihood"
                return fit, f"{score_text} of {scores[best]:.1f}, {but}; {price}"
            fit = wider
        return fit, f"{MOST_ROUNDS} rounds did not settle"

    def backward(self, fit: Fit) -> Fit:
        """Drop terms, the least certain first, as long as the criterion improves."""
        while len(fit.structure.columns) > 1:
            smaller = self._dropped(fit)
            if smaller is None:
                return fit
            fit = smaller
        return fit

    def _dropped(self, fit: Fit) -> Fit | None:
        """The fit without one of its least certain terms; None if all have to stay."""
        wald = fit.wald
        for i in sorted(self.removable(fit), key=wald.__getitem__)[:MOST_TRIED]:
            if wald[i] > SURE_WALD * self.penalty:
                return None
            smaller = self.without(fit, i)
            if 2 * (fit.value - smaller.value) < self.penalty:
                return smaller
        return None

    def swapped(self, fit: Fit, absent: Sequence[int]) -> Fit | None:
        """A fit with another candidate in the place of one or two of its own.

        None if none is better. Ties of a nat go to the candidate that is listed first:
        cos q beside q² is nearly q⁴, and enters as often as not. Further losses never
        enter, but one that fits as well as a loss of the law is reported.
        """
        places = self.removable(fit)
        ways = [(i,) for i in places] + [*itertools.combinations(places, 2)]
        fewer = {out: 0.5 * self.penalty * (len(out) - 1) for out in ways}
        pairs = [*itertools.product(ways, range(len(absent)))]
        first_loss = len(self.likelihood.model.library.terms)
        losses = [i for i in places if fit.structure.columns[i] >= first_loss]
        other = [i for i in self.further if i >= first_loss] if losses else []
        more = range(len(absent), len(absent) + len(other))
        pairs += [((i,), j) for i in losses for j in more]
        absent = [*absent, *other]
        gains = {
            (out, j): self.foreseen(fit, absent, j, out)[0] + fewer[out]
            for out, j in pairs
        }
        self.rivals = []
        for out, j in sorted(gains, key=gains.get, reverse=True)[:MOST_SWAPS]:
            if gains[out, j] < LEAST_FORESEEN_GAIN:
                break
            members = fit.structure.columns
            columns = np.delete(
                [*members[: out[0]], absent[j], *members[out[0] + 1 :]], out[1:]
            )
            structure = replace(fit.structure, columns=tuple(map(int, columns)))
            start = self.foreseen(fit, absent, j, out)[1]
            still = np.delete(fit.theta, out[1:])
            still[out[0]] = 0.0
            least = fit.value - fewer[out]
            simpler = absent[j] < members[out[0]]
            better = least + (-LEAST_GAIN if simpler else LEAST_GAIN)
            levels = least - NEARLY_AS_WELL, better
            tried = self._better(structure, [still, start], fit.order, levels)
            if tried.value > better and absent[j] not in other:
                return tried
            if tried.value > least - NEARLY_AS_WELL:
                old = " and ".join(self.names[members[i]] for i in out)
                self.rivals.append(f"{self.names[absent[j]]} instead of {old}")
        return None

    def foreseen(self, fit: Fit, absent: Sequence[int], new: int, out=()):
        """Gain of ℓ by an absent column and where it leads, to second order.

        It comes after the other columns, or in the place of the first one that is
        `out`.
        """
        g, information = self.likelihood.joint(fit, absent)
        size = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
        g, information = g / size, information / np.outer(size, size)
        count, move, out = len(fit.theta), np.zeros(len(g)), list(out)
        places = [i for i in range(count) if i not in out] + [count + new]
        move[out] = -fit.theta[out] * size[out]
        slope = g - information @ move
        gain = (g + slope) @ move / 2
        step = np.linalg.pinv(information[np.ix_(places, places)]) @ slope[places]
        move[places] += step
        theta, entry = fit.theta + (move / size)[:count], move[count + new]
        entry = entry / size[count + new]
        if out:
            theta[out[0]] = entry
            theta = np.delete(theta, out[1:])
        else:
            theta = np.insert(theta, len(fit.structure.columns), entry)
        return gain + slope[places] @ step / 2, theta

    def without(self, fit: Fit, place: int) -> Fit:
        """Fit without a free coefficient, from where it should then be."""
        column = fit.covariance[:, place]
        theta = fit.theta - column / column[place] * fit.theta[place]
        columns = fit.structure.columns
        columns = *columns[:place], *columns[place + 1 :]
        structure = replace(fit.structure, columns=columns)
        starts = [np.delete(fit.theta, place), np.delete(theta, place)]
        levels = [fit.value - self.penalty / 2]
        return self._better(structure, starts, fit.order, levels)

    def with_column(self, fit: Fit, absent: Sequence[int], new: int) -> Fit:
        """Fit with a further candidate."""
        columns = fit.structure.columns
        structure = replace(fit.structure, columns=(*columns, absent[new]))
        still = np.insert(fit.theta, len(columns), 0.0)
        starts = [still, self.foreseen(fit, absent, new)[1]]
        levels = [fit.value + self.penalty / 2]
        return self._better(structure, starts, fit.order, levels)

    def _better(self, structure: Structure, starts, order: int, levels=()) -> Fit:
        values = [self.likelihood.profiled(structure, s, order)[1] for s in starts]
        best = starts[int(np.argmax(values))]
        return self.likelihood.fit(structure, best, order, levels)

    def simplest_force(self, fits: Sequence[Fit]) -> Fit:
        """The force by BIC: independent, of the ground, or any covariance."""
        n = self.likelihood.model.dof
        result = {fit.structure.force: fit for fit in fits}
        for force in sorted(self.forces, key=FORCES.index, reverse=True):
            if force not in result:
                closest = max(result.values(), key=lambda f: f.value)
                result[force] = self.with_force(closest, force)
        unit = np.log(self.likelihood.samples)

        def criterion(fit: Fit) -> float:
            return 2 * fit.value - unit * len(fit.structure.entries(n))

        return max(result.values(), key=criterion)

    def with_force(self, fit: Fit, force: str) -> Fit:
        """Fit with another form of the force, from the closest S."""
        model = self.likelihood.model
        parameters = model.parameters(fit.structure, fit.theta)
        structure = replace(fit.structure, force=force)
        root, inverse = parameters.root, model.at(parameters.coefficients)[0]
        if fit.structure.force == "ground":
            mass = np.linalg.inv(inverse)
            root = mass @ root @ root.T @ mass.T
            root = np.linalg.cholesky(root + 1e-4 * np.diag(np.diag(root)))
        if force == "ground":
            square = inverse @ root @ root.T @ inverse.T
            values = [np.sqrt(np.mean(np.diag(square)))]
        elif force == "diagonal":
            values = np.sqrt(np.diag(root @ root.T))
        else:
            values = [root[a, b] for a, b in structure.entries(model.dof)]
        coefficients, old, _ = model.places(fit.structure)
        theta = np.concatenate([fit.theta[coefficients], values, fit.theta[old.stop :]])
        return self.likelihood.fit(structure, theta, fit.order)

    def coloured(self, fit: Fit, score: float) -> tuple[Fit, float]:
        """The fit with a coloured force if the likelihood ratio asks for it.

        Near white it is the squared score, which counts where it already says no. The
        form of the force is chosen again: with its memory left out, the common
        acceleration of the ground follows the motion worse than any covariance does.
        """
        if (near := max(score, 0.0) ** 2) < RATIO_OF_COLOUR:
            return fit, near
        structure = replace(fit.structure, coloured=True)
        times = np.multiply(CORRELATION_SAMPLES, self.likelihood.model.dt)
        starts = [np.append(fit.theta, np.log(time)) for time in times]
        coloured = self._better(structure, starts, fit.order)
        coloured = self.simplest_force([coloured])
        ratio = 2 * (coloured.value - fit.value)
        significant = ratio > RATIO_OF_COLOUR and coloured.converged
        return (coloured if significant else fit), float(ratio)


def is_dry(likelihood: Likelihood, fit: Fit) -> bool:
    """Whether a law has a loss whose force jumps, as that of |v| and not of |v|³."""
    library = likelihood.model.library
    losses = [i - len(library.terms) for i in fit.structure.columns]
    n = len(library.coordinates)
    state = symbols(library.variables)
    rest = {x: 1.0 for x in state[:n]} | {
        v: SMALL_VELOCITY * k for k, v in enumerate(state[n:], 1)
    }
    forces = [
        sp.diff(library.dissipation[j], v).subs(rest)
        for j in losses
        if j >= 0 and library.dissipation[j].has(sp.Abs)
        for v in state[n:]
    ]
    return any(abs(float(force)) > np.sqrt(SMALL_VELOCITY) for force in forces)


def profiled_width(likelihood: Likelihood, fit: Fit) -> tuple[Fit, np.ndarray]:
    """The fit with the narrowest width of dry friction that is likely; its covariance.

    A filter needs slopes, so |v| is √(v² + w²). Too wide a w is taken for viscous
    friction, by five standard errors at 1 % of the rms velocity of a free pendulum, and
    terms such as |v|³ enter to repair it. The width is well known from above and hardly
    from below. Dry friction jumps, so the narrowest width is taken that the likelihood
    ratio does not reject; what it and its neighbours leave open is in the error of all
    parameters: their covariance over these widths, with weights ∝ exp ℓ. The model is
    left with that width.
    """
    model = likelihood.model
    fits = {model.width: fit}
    for factor in (1 / RATIO_OF_WIDTHS, RATIO_OF_WIDTHS):
        width, last = factor * model.width, fit
        while model.narrowest <= width <= model.scale[model.dof :].max():
            model.slide(width)
            levels = [max(f.value for f in fits.values()) - REJECTED_WIDTH]
            last = likelihood.fit(last.structure, last.theta, last.order, levels)
            fits[width] = last
            if not last.value > max(f.value for f in fits.values()) - REJECTED_WIDTH:
                break
            width *= factor
        model.slide(max(fits))
        if len(fits) > 2:
            break
    least = max(f.value for f in fits.values()) - REJECTED_WIDTH
    narrowest = min(width for width, f in fits.items() if f.value >= least)
    model.slide(narrowest)
    near = [
        f for width, f in fits.items() if width <= 1.01 * RATIO_OF_WIDTHS * narrowest
    ]
    weight = np.exp([f.value - fits[narrowest].value for f in near])
    parameters = np.array([f.theta for f in near])
    away = parameters - weight @ parameters / weight.sum()
    return fits[narrowest], (weight * away.T) @ away / weight.sum()
