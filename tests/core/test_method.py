"""Laws of steps and recipes: they can be found, called, and told apart."""

import itertools

import numpy as np
import pytest
from support import OSCILLATOR_LIBRARY, observe, oscillator

import leastaction
from leastaction.core.contracts import check, contracts
from leastaction.core.families import modules
from leastaction.core.method import Identify, Rollout, step, steps
from leastaction.core.recipe import Recipe, recommended

STAGES = ("simulate", "differentiate", "assemble", "identify", "volatility")
METHODS = [(stage, name) for stage in STAGES for name in steps(stage)]
LIBRARY_PARTS = {
    *("reference", "inertia", "lagrangian", "dissipation"),
    *("volatility", "known", "implicit", "calculus"),
}


@pytest.mark.parametrize(("stage", "name"), METHODS)
def test_every_method_has_a_function_and_contracts_that_there_are(stage, name):
    method = steps(stage)[name]
    assert callable(method.function())
    if stage != "volatility":
        assert {method.makes, *method.reads} <= set(contracts())
    assert set(method.uses) <= LIBRARY_PARTS
    for field, about in method.model_fields.items():
        assert field == "method" or about.description or field == "volatility", field


def test_every_kind_of_data_and_model_has_one_rollout():
    found = [
        kind
        for module in modules("recipes")
        for value in vars(module).values()
        if isinstance(value, type) and Rollout in value.__bases__
        for kind in (value.reads if value.function() else ())
    ]
    assert len(found) == len(set(found))
    assert set(found) <= set(contracts())


@pytest.mark.parametrize("module", [*modules("recipes")], ids=lambda m: m.__name__)
def test_recommended_methods_understand_each_other(module):
    tables = [getattr(module, name, {}) for name in ("RECOMMENDED", "PUBLISHED")]
    for methods in itertools.chain(*map(dict.values, tables)):
        for before, after in zip(methods[:-1], methods[1:], strict=True):
            assert after.accepts(before)


def test_a_step_that_is_misspelt_has_a_suggestion():
    with pytest.raises(ValueError, match="did you mean 'martingale_moments'"):
        step("assemble", {"method": "martingale_moment"})


def test_a_number_stays_as_it_was_written():
    found = step(
        "identify", {"method": "stlsq", "threshold": 3, "volatility": VARIANCE}
    )
    assert repr(found.plain()["threshold"]) == "3"


VARIANCE = {"method": "mean_square_residual", "threshold": 0.1}


def test_a_recipe_fits_and_predicts():
    observations = observe(oscillator(), trajectories=40, steps=2000)
    recipe = recommended("states")
    model = recipe.fit(observations, OSCILLATOR_LIBRARY)
    assert isinstance(model, leastaction.IdentifiedModel)
    assert model.support == ["x**2", "xdot**2"]
    time = np.linspace(0, 1, 50)
    predicted = recipe.predict([1.0], [0.0], time)
    assert predicted is not None
    with pytest.raises(ValueError, match="call fit"):
        recommended("states").predict([1.0], [0.0], time)


def test_a_recipe_identifies_every_replicate():
    import xarray as xr

    observed = [
        observe(oscillator(), trajectories=20, steps=1000, replicate=r) for r in (0, 1)
    ]
    both = xr.concat(observed, "replicate")
    recipe = Recipe(**recommended("states").plain())
    found = check(recipe.dataset(both, OSCILLATOR_LIBRARY), "model")
    one = recipe.dataset(observed[1], OSCILLATOR_LIBRARY)
    xr.testing.assert_identical(found.isel(replicate=[1]), one)


class Halved(Identify):
    """A method of a notebook, which no family has."""

    run = "leastaction.ensembles.moment_gmm:identify"
    reads = ("moments",)
    max_terms: int = 2


def test_a_step_of_a_notebook_makes_a_recipe():
    usual = recommended("states")
    recipe = Recipe(
        differentiate=usual.differentiate, assemble=usual.assemble, identify=Halved()
    )
    assert recipe.plain()["identify"] == {"method": "halved", "max_terms": 2}
    assert recipe.identify.accepts(type(recipe.assemble))
    observations = observe(oscillator(), trajectories=40, steps=1000)
    assert recipe.fit(observations, OSCILLATOR_LIBRARY).support == ["x**2", "xdot**2"]
