"""Laws of the estimators of stationary densities."""

import numpy as np
import pytest
import xarray as xr
from density_support import (
    LIBRARY,
    drawn,
    exact,
    identified,
    oscillator,
    simulation,
    stiffness_and_damping,
)

from leastaction.core.contracts import check
from leastaction.core.model import IdentifiedModel
from leastaction.core.system import System
from leastaction.densities.ito_gmm import Isometry
from leastaction.densities.stationary_estimate import (
    Solution,
    _nonnegative,
    chosen,
    price_of,
    stationary_estimate,
)
from leastaction.densities.stationary_samples import histogram

TRUTH = np.array([1.0, 0.5])
UNKNOWN_NOISE = {**LIBRARY, "known": {"lagrangian": {"-x**2/2": 1.0}}}


def errors(model) -> np.ndarray:
    """Relative errors of k and c, %."""
    return 100 * (stiffness_and_damping(model) / TRUTH - 1)


def test_the_published_bias_is_of_second_order():
    damping = [errors(identified(exact(b), "published"))[1] for b in (25, 50, 100, 200)]
    orders = np.log2(np.divide(damping[:-1], damping[1:]))
    np.testing.assert_allclose(orders[1:], 2.0, atol=0.05)


def test_the_weak_form_has_hardly_any_bias():
    assert np.abs(errors(identified(exact(), "recommended"))).max() < 2e-3
    assert np.abs(errors(identified(exact(25), "recommended"))).max() < 0.02


def test_j_has_a_degree_of_freedom_for_each_moment_beyond_the_unknown_ones():
    model = identified(exact(), "recommended", centres=5)
    assert model["j_degrees"].item() == 5 * 5 - 2
    assert model["j_p_value"].item() > 0.99


def test_a_density_that_no_law_has_is_on_the_first_line():
    """A stiffness that is given 30 % too large, and moments that tell."""
    data = drawn(np.random.default_rng(7), 1_000_000)
    known = {**LIBRARY["known"], "lagrangian": {"-x**2/2": 1.3}}
    model = IdentifiedModel(
        identified(data, "recommended", {**LIBRARY, "known": known})
    )
    first = str(model).splitlines()[0]
    assert first.startswith("Reservation: no law of these candidates agrees with")
    assert "most of all about x = " in first and "s.e.)" in first
    assert "too narrow by a factor" in first
    right = IdentifiedModel(identified(data, "recommended"))
    assert not right.misfit and str(right).startswith("Terms of the Lagrangian")


def test_the_objective_of_the_first_batches_falls_with_their_number():
    """It is counting noise: inversely proportional to the number of samples."""
    data = drawn(np.random.default_rng(0), 200_000)
    batches = data.sizes["batch"]
    found = {
        count: float(identified(data, "published", batches=count)["objective"][0])
        for count in (1, batches // 2, batches, None)
    }
    assert found[batches] == found[None]
    assert found[1] / found[None] == pytest.approx(batches, rel=0.25)
    with pytest.raises(ValueError, match="identify.batches is 99"):
        identified(data, "published", batches=99)


def test_counting_noise_attenuates_the_published_residual():
    """It draws k to zero; the mean of many draws shows it."""
    rng = np.random.default_rng(2)
    drawn_ones = [identified(drawn(rng, 50_000), "published") for _ in range(40)]
    found = [errors(model)[0] for model in drawn_ones]
    assert np.mean(found) < -10 * np.std(found) / np.sqrt(len(found))


@pytest.mark.parametrize("estimator", ["published", "recommended"])
def test_damping_and_noise_together_are_refused(estimator, caplog):
    model = identified(exact(), estimator, UNKNOWN_NOISE)
    check(model.assign_attrs(contract="model"), "model")
    assert np.isnan(model["dissipation_coefficient_estimate"]).all()
    assert np.isnan(model["volatility_coefficient_estimate"]).all()
    assert np.isnan(model["volatility_estimate"]).all()
    reason = str(model["identifiability"].values[0])
    assert "does not determine" in reason and "level set" in reason
    assert "a stationary density does not" in caplog.text
    ratio = model["ratio_estimate"].values[0]
    np.testing.assert_allclose(ratio[2:], [0.5, 1.0], rtol=0.013)
    shown = str(IdentifiedModel(model.isel(replicate=0)))
    assert "does not determine" in shown
    assert "nan" not in shown.lower()


def test_the_refusal_keeps_what_is_known():
    """Without k either, k is still estimated; (c, a) are not."""
    model = identified(exact(), "recommended", {**LIBRARY, "known": {}})
    assert float(model["coefficient_estimate"].sel(term="-x**2/2")[0]) == pytest.approx(
        1, abs=1e-4
    )
    assert np.isnan(model["dissipation_coefficient_estimate"]).all()


def test_multiplicative_noise_makes_everything_identifiable():
    library = {**LIBRARY, "volatility": [{"terms": [1, "x**2"]}], "known": {}}
    data = histogram(
        oscillator(a2=0.6),
        simulation(duration=2000.0, trajectories=16, batches=16),
        example="t",
        seed=1,
        replicate=0,
        units={"x": "m"},
    )
    model = identified(data, "recommended", library)
    assert str(model["identifiability"].values[0]) == ""
    assert np.isfinite(model["volatility_coefficient_std"]).all()
    assert (model["volatility_coefficient_std"] > 0).all()


def test_data_in_detailed_balance_are_refused_whatever_the_library():
    """Additive noise, and a library that could tell a multiplicative one."""
    library = {
        **LIBRARY,
        "volatility": [{"terms": [1, "x**2"]}],
        "known": {"lagrangian": {"-x**2/2": 1.0}},
    }
    settings = simulation(duration=500.0, trajectories=32, batches=16)
    key = {"example": "t", "seed": 1, "replicate": 0, "units": {"x": "m"}}
    model = identified(histogram(oscillator(), settings, **key), "recommended", library)
    assert "looks like one in detailed balance" in str(
        model["identifiability"].values[0]
    )
    assert np.isnan(model["volatility_coefficient_estimate"]).all()
    other = histogram(oscillator(a2=0.6), settings, **key)
    model = identified(other, "recommended", library)
    assert str(model["identifiability"].values[0]) == ""
    assert float(model["scale_score"][0]) > 3


def test_intervals_hold_close_to_detailed_balance():
    """12 draws of 2e6 samples; two-step GMM is 29 % low there, with 69 % coverage."""
    library = {**LIBRARY, "volatility": [{"terms": [1, "x**2"]}], "known": {}}
    settings = simulation(duration=312.5, trajectories=64, batches=16)
    key = {"example": "t", "replicate": 0, "units": {"x": "m"}}
    truth = np.array([1.0, 0.5, 1.0, 0.16])
    values, errors = np.empty((2, 12, 4))
    for seed in range(12):
        data = histogram(oscillator(a2=0.4), settings, seed=seed, **key)
        model = identified(data, "recommended", library).isel(replicate=0)
        for found, of in ((values, "estimate"), (errors, "std")):
            found[seed, 0] = model[f"coefficient_{of}"].sel(term="-x**2/2")
            found[seed, 1] = model[f"dissipation_coefficient_{of}"][0]
            found[seed, 2:] = model[f"volatility_coefficient_{of}"].values.ravel()
    miss = (values - truth) / errors
    assert np.abs(values.mean(axis=0) / truth - 1).max() < 0.15
    assert np.mean(np.abs(miss) < 1.96) > 0.9
    assert np.all(np.sqrt(np.mean(miss**2, axis=0)) < 1.4)


def test_the_level_set_is_half_the_squared_volatility():
    levels = [0.1, 0.4, 1.0]
    asked = {"volatility": levels, "coefficients": {"-x**2/2": 1.0}}
    model = identified(exact(), "recommended", level_set=asked)
    np.testing.assert_allclose(
        model["level_dissipation_estimate"][0], np.square(levels) / 2, rtol=1e-4
    )


@pytest.mark.parametrize("estimator", ["published", "recommended"])
def test_a_level_set_is_one_estimate_for_each_of_its_points(estimator):
    """With k and a given in the library, and c estimated, point by point."""
    levels, data = [0.04, 0.3, 1.0], drawn(np.random.default_rng(6), 200_000)
    asked = {"volatility": levels, "coefficients": {"-x**2/2": 1.0}}
    whole = identified(data, estimator, level_set=asked)
    for i, a in enumerate(levels):
        known = {"lagrangian": {"-x**2/2": 1.0}, "volatility": {"x": {"1": a**2}}}
        one = identified(data, estimator, {**LIBRARY, "known": known})
        for name in ("estimate", "std"):
            np.testing.assert_allclose(
                whole[f"level_dissipation_{name}"][0, i],
                one[f"dissipation_coefficient_{name}"][0, 0],
                rtol=1e-11,
            )


def test_without_noise_the_weights_are_those_of_equal_noises():
    noise = np.stack([np.zeros((3, 3)), np.diag([1.0, 2.0, 3.0]), np.eye(3)])
    for terms in (noise[:2], noise):
        isometry = Isometry(terms, 1e-4)
        equal = isometry.weights(np.ones(len(terms)))
        np.testing.assert_array_equal(isometry.weights(np.zeros(len(terms))), equal)


def test_squared_volatilities_are_not_negative():
    library = {**LIBRARY, "volatility": [{"terms": [1, "x**2"]}], "known": {}}
    library["known"] = {"lagrangian": {"-x**2/2": 1}, "dissipation": {"xdot**2/2": 0.5}}
    rng = np.random.default_rng(4)
    for _ in range(5):
        for name in ("published", "recommended"):
            model = identified(drawn(rng, 20_000), name, library)
            assert (model["volatility_coefficient_estimate"] >= 0).all()


def test_intervals_cover_the_truth():
    """95 % intervals of 40 replicates of 800 000 samples, k and c pooled."""
    covered, doubted = [], 0
    settings = simulation(duration=1000.0)
    for replicate in range(40):
        data = histogram(
            oscillator(),
            settings,
            example="coverage",
            seed=9,
            replicate=replicate,
            units={"x": "m"},
        )
        model = identified(data)
        doubted += bool(IdentifiedModel(model).misfit)
        std = [
            float(model["coefficient_std"].sel(term="-x**2/2")[0]),
            float(model["dissipation_coefficient_std"][0, 0]),
        ]
        covered += list(
            np.abs(stiffness_and_damping(model) - TRUTH) < 1.96 * np.array(std)
        )
    assert 0.85 <= np.mean(covered) <= 1.0
    assert doubted <= 1


WIDE = {
    "reference": "xdot**2/2",
    "lagrangian": [{"terms": ["xdot**2/2", "-x**2/2", "-x**4/4", "-x**6/6"]}],
    "dissipation": [{"terms": ["xdot**2/2", "xdot**4/4"]}],
    "volatility": [{"terms": [1, "x**2"]}],
}


def test_terms_that_the_density_does_not_need_are_left_out():
    """A double well whose noise grows with the distance from the middle."""
    well = System(
        "xdot**2/2 + x**2/2 - x**4/4",
        dissipation="xdot**2/4",
        volatility={"x": "sqrt(16/25 + x**2/4)"},
    )
    cells = {"low": [-3.5, -3.5], "high": [3.5, 3.5], "bins": 50}
    settings = simulation(duration=800.0, trajectories=32, histogram=cells, batches=16)
    about = {"example": "well", "seed": 5, "replicate": 0, "units": {"x": "m"}}
    data = histogram(well, settings, **about)
    finer = {"centres": 7, "half_width": 0.5, "select": True}
    model = IdentifiedModel(identified(data, "recommended", WIDE, **finer))
    right = {
        **WIDE,
        "lagrangian": [{"terms": ["xdot**2/2", "-x**2/2", "-x**4/4"]}],
        "dissipation": [{"terms": ["xdot**2/2"]}],
    }
    given = IdentifiedModel(identified(data, "recommended", right, **finer))
    assert model.support == given.support
    for term, of in [("-x**2/2", "L"), ("-x**4/4", "L"), ("xdot**2/2", "D")]:
        found, asked = (m.coefficient(term, of) for m in (model, given))
        assert found == pytest.approx(asked, rel=1e-4)
    assert model.coefficient("xdot**4/4", "D") == 0
    assert "left out" in str(model) and "lagrangian: -x**6/6 (" in str(model)
    assert "left out" not in str(given)
    wide = identified(data, "recommended", WIDE, **finer | {"select": False})
    assert (wide["coefficient_estimate"] != 0).all()


def test_a_candidate_that_is_given_stays():
    known = {**LIBRARY["known"], "lagrangian": {"-x**4/4": 1e-6}}
    terms = ["xdot**2/2", "-x**2/2", "-x**4/4", "-x**6/6"]
    library = {**LIBRARY, "lagrangian": [{"terms": terms}], "known": known}
    found = identified(
        drawn(np.random.default_rng(3), 200_000), library=library, select=True
    )
    assert found["support"].values.tolist() == [[1, 1, 1, 0]]


KINDS = ["reference", "lagrangian", "dissipation", "dissipation", "volatility"]
KINDS += ["volatility"]
NAMES = ["T", "k", "c", "d", "a", "b"]


class Quadratic:
    """Solver that minimises (θ − target)ᵀ A (θ − target) over what is not given."""

    def __init__(self, target, weights=(1.0,) * 6, coupling=0.0):
        self.target, self.calls = np.array(target), []
        self.A = np.diag(weights) + coupling * (np.ones((6, 6)) - np.eye(6))

    def __call__(self, known):
        self.calls.append(known.copy())
        free = np.isnan(known)
        values = np.where(free, 0.0, known)
        off = np.where(free, 0.0, known - self.target)
        moved = np.linalg.solve(self.A[np.ix_(free, free)], self.A[free] @ off)
        values[free] = self.target[free] - moved
        left = values - self.target
        covariance = np.zeros((6, 6))
        covariance[np.ix_(free, free)] = np.linalg.inv(self.A[np.ix_(free, free)])
        j = {"j_statistic": (left @ self.A @ left, "1", "J")}
        return Solution(values, covariance, j)


def equations(known=(1.0, *[np.nan] * 5), balanced=0, duration=1e3):
    """An equation of one coordinate: L of one free term, two losses, two noises."""
    return xr.Dataset(
        {
            "known": ("equation_term", np.array(known)),
            "kind": ("equation_term", KINDS),
            "position": ("equation_term", [0, 1, 0, 1, 0, 1]),
            "status": ("term", ["reference", "independent"]),
            "equivalent": ("term", ["", ""]),
            "dissipation_status": ("dissipation_term", ["independent"] * 2),
            "dissipation_equivalent": ("dissipation_term", ["", ""]),
            "reference_value": ("term", [1.0, 0.0]),
            "detailed_balance": balanced,
            "mean_square": (("replicate", "dof", "noise"), [[[1.0, 3.0]]]),
            "velocity_square": (("replicate", "dof"), [[2.0]]),
            "duration": ("replicate", [duration]),
        },
        {
            "equation_term": NAMES,
            "term": ["xdot**2/2", "-x**2/2"],
            "dissipation_term": ["xdot**2/2", "xdot**4/4"],
            "volatility_term": ["1", "x**2"],
            "dof": ["x"],
        },
    )


def estimated(solve, about=None, **settings):
    usual = {"level_set": None}
    about = equations() if about is None else about
    return stationary_estimate(about, usual | settings, solve, None)


@pytest.mark.parametrize(
    ("target", "held"),
    [
        ([1.0, 2.0, 0.5, 0.3, 0.4, 0.2], []),
        ([1.0, 2.0, -0.5, 0.3, 0.4, -0.2], [5]),  # a loss may be negative
        ([1.0, 2.0, 0.5, 0.3, -0.4, -0.2], [4, 5]),
        ([1.0, 2.0, 0.5, 0.3, -0.4, 0.01], [4]),
        ([1.0, 2.0, 0.5, 0.3, 0.01, -0.4], [5, 4]),
    ],
)
def test_negative_squares_are_held_at_zero_the_lowest_first(target, held):
    solve = Quadratic(target, coupling=0.1 if held == [5, 4] else 0.0)
    known = np.array([1.0, *[np.nan] * 5])
    noisy = np.array(KINDS) == "volatility"
    result = _nonnegative(solve, noisy, known)
    assert [np.flatnonzero(call == 0).tolist() for call in solve.calls] == [
        sorted(held[:count]) for count in range(len(held) + 1)
    ]
    assert (result.values[noisy] >= 0).all() and np.isnan(known[1:]).all()
    np.testing.assert_array_equal(result.values[held], 0.0)


@pytest.mark.parametrize("duration", [10.0, 1e4])
def test_a_term_costs_as_much_as_independent_samples_say(duration):
    """Energy is renewed in 2 E q̇²/E S²: 2·2/(.4 + 3·.2)."""
    solution = Quadratic([1.0, 2.0, 0.5, 0.3, 0.4, 0.2])(equations()["known"].values)
    price = price_of(equations(duration=duration), solution)
    assert price == pytest.approx(np.log(duration / 4.0) + 2 * np.log(5))
    four = equations((1.0, 2.0, *[np.nan] * 4), duration=duration)
    assert price_of(four, solution) == pytest.approx(price + 2 * np.log(4 / 5))


# What a set of terms loses beside a price p, and what is left out.
CHOSEN = {
    "all are needed": ([9.0, 9.0, 9.0, 9.0, 9.0], []),
    "one is not": ([9.0, 0.9, 9.0, 9.0, 9.0], [2]),
    "one hardly is": ([9.0, 1.1, 9.0, 9.0, 9.0], []),
    "two are not": ([0.5, 0.9, 9.0, 9.0, 0.1], [1, 2, 5]),
}


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("gaining", [False, True])
def test_terms_that_are_not_worth_their_price_are_left_out(name, gaining):
    """A loss that feeds energy in is to be worth three."""
    losses, left_out = CHOSEN[name]
    about = equations()
    target = np.array([1.0, 2.0, 0.5, -0.3 if gaining else 0.3, 0.4, 0.2])
    price = price_of(about, Quadratic(target)(about["known"].values))
    times = np.array([1.0, *losses])
    times[3] = (3.1 if name == "one hardly is" else 2.9) if gaining else 9.0
    if gaining and times[3] < 3:
        left_out = sorted({*left_out, 3})
    solve = Quadratic(target, np.append(1.0, (times * price / target**2)[1:]))
    full = solve(about["known"].values)
    choice = chosen(about, solve, full, 0.0)
    assert np.flatnonzero(choice.known == 0).tolist() == left_out
    assert np.isnan(np.delete(choice.known, [0, *left_out])).all()
    lines = choice.left_out.split(", ") if choice.left_out else []
    assert lines[:-1] == [f"{NAMES[i]} ({times[i] * price:.1f})" for i in left_out]
    assert lines[-1:] == [f"the threshold is {price:.1f}"] * bool(left_out)


@pytest.mark.parametrize(("gap", "rival"), [(1.9, "k + d + a + b"), (2.1, "")])
def test_sets_that_fit_as_well_are_named(gap, rival):
    """Within two of J; d stands for c, and one of the two is enough."""
    about, known = equations(), equations()["known"].values

    def solve(held):
        present = (held[1:] != 0) | np.isnan(held[1:])
        j = 1e3 * (5 - present.sum() - (not present[1] or not present[2]))
        j += gap * (not present[1]) - 0.01 * (present[1] and present[2])
        j += 1e4 * ((~present[[0, 3, 4]]).sum() + (not present[1:3].any()))
        values = np.where(np.isnan(held), 1.0, held)
        return Solution(values, np.eye(6) * 1e-4, {"j_statistic": (j, "1", "J")})

    choice = chosen(about, solve, solve(known), 0.0)
    assert np.flatnonzero(choice.known == 0).tolist() == [3]
    assert choice.alternatives == rival


@pytest.mark.parametrize(("score", "known"), [(9.9, True), (10.1, False)])
def test_a_law_needs_noise_and_a_damping_or_noise_that_is_known(score, known):
    """The best is that with the largest score, ten standard errors."""
    about = equations()

    def solve(held):
        values = np.where(np.isnan(held), 1.0, held)
        std = np.array([0.0, 1e-9, 1.0, 0.1, 1.0, 1.0])
        return Solution(values, np.diag(std**2), {"j_statistic": (0.0, "1", "J")})

    choice = chosen(about, solve, solve(about["known"].values), score)
    held = np.flatnonzero(choice.known == 0).tolist()
    # Without any price none would be left; a noise is, and what is known.
    if known:
        assert 3 not in held and ({4, 5} - {*held})
    else:
        assert held == []


@pytest.mark.parametrize("score", [2.9, 3.1])
@pytest.mark.parametrize("balanced", [0, 1])
def test_a_common_factor_is_lost_in_detailed_balance(score, balanced, caplog):
    """Of damping and noise, with the first noise one; a score of three tells it."""
    target = np.array([1.0, 2.0, 0.5, 0.3, 0.4, 0.2])
    solve, passed = Quadratic(target, coupling=0.1), []
    many = 300
    products = np.zeros((many, many))
    upper = np.triu_indices(many, 1)
    count = len(upper[0])
    share = (1 + score / np.sqrt(count)) / 2
    products[upper] = np.where(np.arange(count) < round(share * count), 1.0, -1.0)

    def of_batches(values):
        passed.append(values)
        return products + 5 * np.eye(many)

    lagrangian, volatility = stationary_estimate(
        equations(balanced=balanced), {"level_set": None}, solve, None, of_batches
    )
    fixed = Quadratic(target, coupling=0.1)
    fixed = fixed(np.array([1.0, np.nan, np.nan, np.nan, 1.0, np.nan]))
    arrays = lagrangian.by_node
    lost = balanced or score < 3
    assert ("scale_score" in arrays) == (not balanced)
    if not balanced:
        assert arrays["scale_score"][1] == pytest.approx(score, rel=1e-2)
        np.testing.assert_allclose(passed[0], [1.0, fixed.values[1], 0, 0, 0, 0])
    reason = str(arrays["identifiability"][1])
    if not lost:
        assert reason == "" and "ratio_estimate" not in arrays and not caplog.records
        np.testing.assert_allclose(volatility.coefficients, [target[4:]])
        return
    assert reason in caplog.text and "does not determine c, d, a, b together" in reason
    assert ("in detailed balance, the density is" in reason) == bool(balanced)
    assert "c / a = " in reason and "a / a" not in reason
    ratio = np.where([0, 0, 1, 1, 1, 1], fixed.values, np.nan)
    np.testing.assert_allclose(arrays["ratio_estimate"][1], ratio)
    np.testing.assert_allclose(
        arrays["ratio_std"][1], np.where([0, 0, 1, 1, 1, 1], fixed.std, np.nan)
    )
    assert list(arrays["ratio_name"][1]) == NAMES
    assert np.isnan(volatility.coefficients).all()
    c = lagrangian.joint_coefficients
    np.testing.assert_allclose(c[:2], [1.0, fixed.values[1]])
    assert np.isnan(c[2:]).all()


@pytest.mark.parametrize("place", [2, 4, 1])
def test_a_coefficient_that_is_given_tells_the_common_factor(place):
    """Of damping or noise, if it is not zero."""
    for value in (0.7, 0.0):
        known = np.array([1.0, *[np.nan] * 5])
        known[place] = value
        solve = Quadratic([1.0, 2.0, 0.5, 0.3, 0.4, 0.2])
        lagrangian, _ = estimated(solve, equations(known, balanced=1))
        reason = str(lagrangian.by_node["identifiability"][1])
        assert (reason == "") == (place != 1 and value != 0)


def test_a_volatility_is_the_root_of_the_mean_square():
    """Its standard error by the delta method, of correlated coefficients."""
    target, weights = [1.0, 2.0, 0.5, 0.3, 0.4, 0.2], (1.0, 2, 3, 4, 5e3, 6e4)
    solve = Quadratic(target, weights, coupling=0.5)
    known = (1.0, 2.0, 0.5, 0.3, np.nan, np.nan)
    lagrangian, result = estimated(solve, equations(known))
    square = 0.4 + 3 * 0.2
    assert result.volatility == pytest.approx([np.sqrt(square)])
    C = np.linalg.inv(solve.A[4:, 4:])
    variance = np.array([1.0, 3.0]) @ C @ [1.0, 3.0]
    assert result.std == pytest.approx([np.sqrt(variance) / 2 / np.sqrt(square)])
    np.testing.assert_allclose(result.coefficients, [[0.4, 0.2]])
    np.testing.assert_allclose(result.coefficient_std, [np.sqrt(np.diag(C))])
    assert result.terms == ["1", "x**2"] and result.constant.tolist() == [False]
    np.testing.assert_allclose(result.covariance, [[square]])
    alone = estimated(solve, equations((1.0, 2.0, 0.5, 0.3, np.nan, 0.0)))[1]
    assert alone.constant.tolist() == [True]
    np.testing.assert_allclose(lagrangian.joint_coefficients, [1.0, 2.0, 0.5, 0.3])


def test_a_level_set_is_the_damping_for_each_volatility():
    target = np.array([1.0, 2.0, 0.5, 0.0, 0.4, 0.0])

    def solve(known):
        assert (np.isnan(known).sum(axis=-1) <= 5).all()
        if known.ndim == 1:
            return Quadratic(target)(known)
        each = [Quadratic(target, coupling=0.2)(row) for row in known]
        values, spread = (
            np.array([getattr(one, name) for one in each])
            for name in ("values", "covariance")
        )
        cases.append(known)
        return Solution(values, spread, each[0].diagnostics)

    cases = []
    known = (1.0, np.nan, np.nan, 0.0, np.nan, 0.0)
    settings = {"coefficients": {"-x**2/2": 2.5}, "volatility": [0.5, 1.0, 2.0]}
    lagrangian, _ = estimated(solve, equations(known, balanced=1), level_set=settings)
    (case,) = cases
    expected = np.tile([1.0, 2.5, np.nan, 0.0, 0.0, 0.0], (3, 1))
    expected[:, 4] = [0.25, 1.0, 4.0]
    np.testing.assert_array_equal(case, expected)
    arrays = lagrangian.by_node
    assert arrays["level_volatility"][1].tolist() == [0.5, 1.0, 2.0]
    each = [Quadratic(target, coupling=0.2)(row) for row in expected]
    for name, part in (("estimate", "values"), ("std", "std")):
        values = [getattr(one, part)[2] for one in each]
        np.testing.assert_allclose(arrays[f"level_dissipation_{name}"][1], values)
    free, _ = estimated(solve, equations(known, balanced=0), level_set=settings)
    assert "level_volatility" not in free.by_node
    many = (1.0, np.nan, np.nan, np.nan, np.nan, 0.0)
    with pytest.raises(ValueError, match="not for 2 and 1; leave it out"):
        estimated(solve, equations(many, balanced=1), level_set=settings)
