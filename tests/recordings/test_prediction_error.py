"""A recording identified by one likelihood, from a table to a law in words."""

import numpy as np

import leastaction
from leastaction.recordings.recorded_law import sigma_points

METHOD = {"identify": {"method": "prediction_error"}}


def test_points_around_a_law_have_its_covariance():
    rng = np.random.default_rng(0)
    c, deviations = rng.normal(size=5), rng.normal(size=(7, 5))
    deviations[:, 2] = 0.0
    points = sigma_points(c, deviations)
    moved = points - points.mean(axis=0)
    covariance = (len(points) - 1) / len(points) * moved.T @ moved
    np.testing.assert_allclose(covariance, deviations.T @ deviations, atol=1e-12)
    np.testing.assert_allclose(points.mean(axis=0), c)


def test_a_recipe_may_ask_for_the_likelihood():
    t, rng = np.arange(0, 20, 0.02), np.random.default_rng(1)
    rate = np.sqrt(9 - 0.05**2)
    swings = [
        a * np.exp(-0.05 * t) * np.cos(rate * t) + 1e-3 * rng.standard_normal(len(t))
        for a in (0.1, 0.3, 0.5)
    ]
    law = leastaction.learn({"x": swings}, time=t, progress=False, recipe=METHOD)
    rows = law.terms[["of", "term", "value", "std"]].itertuples(index=False)
    known = {(kind, name): (c, std) for kind, name, c, std in rows}
    assert set(known) == {("L", "xdot**2"), ("L", "x**2"), ("D", "xdot**2")}
    for term, truth in ((("L", "x**2"), -4.5), (("D", "xdot**2"), 0.05)):
        c, std = known[term]
        assert abs(c - truth) < 3 * std
        assert std < 0.01 * abs(truth)
    assert law.verdict == "found"
    assert law.dataset["missed_force"].values.max() < 1e-5
