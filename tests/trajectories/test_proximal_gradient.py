"""Staged accelerated proximal gradient."""

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import minimize

from leastaction.trajectories.staged_descent import (
    descend_residual,
    identify_by_residual,
    residual_descent,
)

ABOUT = {"units": "1", "long_name": "made up"}
STAGE = {"rate": 1.0, "penalty": 0.5, "threshold": 1e-6}


def problem(rng, rows=200, columns=8):
    theta = rng.normal(size=(rows, columns))
    truth = np.zeros(columns)
    truth[[0, 3, 5]] = 2.0, -1.5, 4.0
    target = theta @ truth + 0.1 * rng.normal(size=rows)
    return theta.T @ theta / rows, theta.T @ target / rows, truth


def lasso(gram, moment, penalty, start):
    stage = {"rate": 1.0, "penalty": np.asarray(penalty, dtype=float), "free": False}
    settings = {"epochs": 2000, "steps_per_epoch": 40}
    return descend_residual(gram, moment, start, stage, settings)[0]


def staged_descent(gram, moment, start, stages, free, epochs, steps_per_epoch):
    every = np.arange(len(start))
    stages = [
        {**stage, "free": np.isin(every, known)}
        for stage, known in zip(stages, free, strict=True)
    ]
    settings = {"stages": stages, "epochs": epochs, "steps_per_epoch": steps_per_epoch}
    return residual_descent(gram, moment, start, settings)


def test_it_converges_to_the_lasso(rng):
    """The optimality conditions of Karush, Kuhn and Tucker hold."""
    gram, moment, _ = problem(rng)
    found = lasso(gram, moment, np.full(8, 0.5), rng.normal(size=8))
    slope = gram @ found - moment
    active = found != 0
    assert 0 < active.sum() < 8
    np.testing.assert_allclose(slope[active], -0.5 * np.sign(found[active]), atol=1e-9)
    assert (np.abs(slope[~active]) <= 0.5 + 1e-9).all()


def test_steps_have_the_momentum_of_the_formula(rng):
    gram, moment, _ = problem(rng)
    rate = 0.5 / np.linalg.eigvalsh(gram)[-1]
    stage = {"rate": rate, "penalty": np.zeros(8), "free": False}
    settings = {"epochs": 1, "steps_per_epoch": 6}
    found, epochs = descend_residual(gram, moment, np.zeros(8), stage, settings)
    before = present = np.zeros(8)
    for i in range(1, 7):
        ahead = present + (i - 1) / (i + 2) * (present - before)
        before, present = present, ahead - rate * (gram @ ahead - moment)
    assert epochs == 1
    np.testing.assert_allclose(found, present, rtol=1e-12)


def test_the_lasso_is_that_of_another_solver(rng):
    gram, moment, _ = problem(rng)
    halves = np.concatenate([np.eye(8), -np.eye(8)], axis=1)
    reference = minimize(
        lambda p: (
            (halves @ p) @ gram @ (halves @ p) / 2
            - moment @ (halves @ p)
            + 0.3 * p.sum()
        ),
        np.ones(16),
        bounds=[(0, None)] * 16,
        options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 5000},
    )
    found = lasso(gram, moment, np.full(8, 0.3), np.zeros(8))
    np.testing.assert_allclose(found, halves @ reference.x, atol=1e-5)


def test_without_penalty_it_is_least_squares(rng):
    gram, moment, _ = problem(rng)
    found = lasso(gram, moment, np.zeros(8), rng.normal(size=8))
    np.testing.assert_allclose(found, np.linalg.solve(gram, moment), rtol=1e-9)


def test_scaling_target_and_penalty_scales_the_coefficients(rng):
    gram, moment, _ = problem(rng)
    once = lasso(gram, moment, np.full(8, 0.5), np.zeros(8))
    twice = lasso(gram, 7 * moment, np.full(8, 3.5), np.zeros(8))
    np.testing.assert_allclose(twice, 7 * once, atol=1e-9)


def test_null_columns_change_nothing_and_a_penalty_removes_them(rng):
    gram, moment, _ = problem(rng)
    wide = np.zeros((10, 10))
    wide[:8, :8] = gram
    start = np.append(np.zeros(8), [0.5, -0.7])
    alone, *_ = staged_descent(gram, moment, start[:8], [STAGE], [[]], 300, 50)
    found, left, _ = staged_descent(
        wide, np.append(moment, [0, 0]), start, [STAGE], [[]], 300, 50
    )
    np.testing.assert_allclose(found[:8], alone, atol=1e-9)
    assert not found[8:].any()
    assert left == [np.count_nonzero(alone)]


def test_order_of_the_candidates_changes_nothing(rng):
    gram, moment, _ = problem(rng)
    start, order = rng.normal(size=8), rng.permutation(8)
    stages = [STAGE, STAGE | {"penalty": 0.1, "threshold": 0.2}]
    found, *_ = staged_descent(gram, moment, start, stages, [[], []], 200, 40)
    mixed, *_ = staged_descent(
        gram[np.ix_(order, order)],
        moment[order],
        start[order],
        stages,
        [[], []],
        200,
        40,
    )
    np.testing.assert_allclose(mixed, found[order], atol=1e-9)


def test_a_finished_descent_stops_early_and_stays(rng):
    gram, moment, _ = problem(rng)
    stage = {"rate": 1.0, "penalty": 0.5, "free": np.zeros(8, bool)}
    settings = {"epochs": 5000, "steps_per_epoch": 40}
    found, taken = descend_residual(gram, moment, np.zeros(8), stage, settings)
    assert taken < 5000
    again, _ = descend_residual(gram, moment, found, stage, settings | {"epochs": 50})
    np.testing.assert_allclose(again, found, rtol=1e-11)


def test_terms_known_beforehand_are_not_shrunk(rng):
    gram, moment, _ = problem(rng)
    free, *_ = staged_descent(gram, moment, np.zeros(8), [STAGE], [[0]], 500, 50)
    held, *_ = staged_descent(gram, moment, np.zeros(8), [STAGE], [[]], 500, 50)
    assert free[0] > held[0] + 0.3


def equations(theta, target=None):
    """A ``gram`` dataset of made-up columns q**k of one coordinate."""
    names = ["xdot**2", "x", "x**2", "x**3"]
    gram = theta.T @ theta / len(theta)
    moment = np.zeros(4) if target is None else theta.T @ target / len(target)
    square = 0.0 if target is None else (target**2).mean()
    data = {
        "gram": (("replicate", "column", "column_other"), gram[None], ABOUT),
        "inertia_gram": (("replicate", "column", "column_other"), gram[None], ABOUT),
        "input_moment": (("replicate", "column"), moment[None], ABOUT),
        "input_square": ("replicate", [square], ABOUT),
        "acceleration_scale": (("replicate", "dof"), [[1.0]], ABOUT),
        "samples": ("replicate", [len(theta)], ABOUT),
        "status": ("term", ["reference", *["independent"] * 3], ABOUT),
        "equivalent": ("term", [""] * 4, ABOUT),
        "dissipation_status": ("dissipation_term", np.array([], dtype=object), ABOUT),
        "dissipation_equivalent": (
            "dissipation_term",
            np.array([], dtype=object),
            ABOUT,
        ),
    }
    for name in ("q", "qdot", "qddot"):
        sample = np.zeros((1, 1, 1))
        data[f"{name}_sample"] = (("replicate", "sample", "dof"), sample, ABOUT)
    coords = {
        "replicate": [3],
        "dof": ["x"],
        "term": names,
        "column": names,
        "column_other": names,
        "dissipation_term": np.array([], dtype=object),
    }
    return xr.Dataset(data, coords)


SETTINGS = {
    "prior": "xdot**2",
    "unpenalised": [],
    "exclude": [],
    "candidates": "all",
    "start": 1.0,
    "seed": 0,
    "epochs": 500,
    "steps_per_epoch": 50,
    "stages": [{"rate": 1.0, "penalty": 0.0, "threshold": 1e-3}],
}


def test_the_prior_term_has_coefficient_one(rng):
    theta = rng.normal(size=(50, 4))
    theta[:, 0] = -3.0 * theta[:, 2]
    found = identify_by_residual(equations(theta), SETTINGS)
    np.testing.assert_allclose(found.coefficients, [1.0, 0, 3.0, 0], atol=1e-8)
    assert found.diagnostics["loss"][0] == pytest.approx(0, abs=1e-12)


def test_with_an_input_the_scale_is_found(rng):
    theta = rng.normal(size=(50, 4))
    truth = np.array([0.5, 0, -2.0, 0])
    found = identify_by_residual(
        equations(theta, theta @ truth), SETTINGS | {"prior": None}
    )
    np.testing.assert_allclose(found.coefficients, truth, atol=1e-8)


def test_what_is_excluded_is_left_out_however_it_is_written(rng):
    theta = rng.normal(size=(50, 4))
    found = identify_by_residual(equations(theta), SETTINGS | {"exclude": ["x*x"]})
    assert found.coefficients[2] == 0
    assert found.coefficients[[1, 3]].all()


def test_without_input_and_prior_the_first_velocity_gives_the_scale(rng):
    theta = rng.normal(size=(50, 4))
    theta[:, 0] = -3.0 * theta[:, 2]
    plain = equations(theta)
    found = identify_by_residual(plain, SETTINGS | {"prior": None})
    np.testing.assert_allclose(found.coefficients, [1.0, 0, 3.0, 0], atol=1e-8)
    assert found.diagnostics["loss"][0] == pytest.approx(0, abs=1e-12)
    other = plain.assign_coords(term=["xdot**4", "x", "x**2", "x**3"])
    with pytest.raises(ValueError, match="external input"):
        identify_by_residual(other, SETTINGS | {"prior": None})


def test_refusals_say_what_is_missing(rng):
    change = {"prior": "x**7"}
    with pytest.raises(ValueError, match="unknown candidate 'x\\*\\*7'"):
        identify_by_residual(equations(rng.normal(size=(50, 4))), SETTINGS | change)
