"""Laws of steps and recipes: they can be found, called, and told apart."""

import itertools
import json
import logging

import numpy as np
import pytest
import xarray as xr
from support import OSCILLATOR_LIBRARY, observe, oscillator

import leastaction
from leastaction.core.contracts import check, contracts
from leastaction.core.families import modules
from leastaction.core.method import (
    Assemble,
    Ensemble,
    Identify,
    Rollout,
    Simulate,
    _over_cases,
    kind_of_rollout,
    known_steps,
    method_of,
    part,
    rollout,
    step,
    steps,
)
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


def test_a_step_accepts_what_it_reads_or_what_it_follows():
    spline, gram = steps("differentiate")["joint_spline"], steps("assemble")["gram"]
    null = steps("identify")["null_vector"]
    moments = steps("assemble")["martingale_moments"]
    assert gram.accepts(spline) and null.accepts(gram)
    assert not null.accepts(moments) and not moments.accepts(spline)
    library = {"reference": 1, "lagrangian": 2, "volatility": 3}
    assert gram.parts_of(library) == {"reference": 1, "lagrangian": 2}
    assert gram().contract() == "gram" and gram.module().endswith("trajectories.gram")
    assert gram().modules() == ["leastaction.trajectories.gram"]
    assert [*gram().problems(None, {})] == []
    volatility = {"volatility": {"method": "squared_increments"}}
    volatile = steps("identify")["moment_gmm"](**volatility)
    assert volatile.modules() == [
        "leastaction.ensembles.moment_gmm",
        "leastaction.ensembles.squared_increments",
    ]


@pytest.mark.parametrize(
    ("duration", "width", "expected"), [(1.0, 1, 288), (2.0, 3, 1440)]
)
def test_paths_have_so_many_bytes(duration, width, expected):
    """8 bytes × 2 numbers × width × (2 replicates × 3 trajectories) × samples."""
    taylor = steps("simulate")["strong_taylor"](
        time_step=0.5, duration=duration, initial_state={}, trajectories=3, replicates=2
    )
    assert taylor.bytes_of_paths(width) == expected
    assert expected == 8 * 2 * width * 6 * (duration / 0.5 + 1)


def test_a_method_is_that_of_its_name():
    assert method_of("assemble", {"method": "gram"}).name() == "gram"
    with pytest.raises(ValueError, match="assemble: method is missing; give one"):
        method_of("assemble", {})
    with pytest.raises(ValueError, match="unknown assemble method 'grm'; did you mean"):
        method_of("assemble", {"method": "grm"})
    assert part({"a": {"b": 1}}, "a") == {"b": 1}
    assert part({"a": 1}, "a") == part({}, "a") == {}
    found = kind_of_rollout("model", "observations")
    assert found == "observations" and "observations" in rollout(found).reads
    assert kind_of_rollout("observations", "x") == "observations"


def test_warnings_of_a_step_go_along_with_data_that_carry_theirs():
    def warn(data, *others):
        logging.getLogger("leastaction").warning("mine")
        return data.drop_attrs()

    data = xr.Dataset({"a": 1}, attrs={"warnings": json.dumps(["first"])})
    other = xr.Dataset(attrs={"warnings": json.dumps(["theirs", "mine"])})
    made = _over_cases(warn, data, other, xr.Dataset())
    assert json.loads(made.attrs["warnings"]) == ["theirs", "mine"]
    assert "warnings" not in _over_cases(warn, data.drop_attrs(), other).attrs


# Methods of the tool that differ from what a class of their stage declares.
DECLARED = {
    ("simulate", "fills_boxes", False): {"runge_kutta": True},
    ("simulate", "simulates", "coordinates"): {
        **dict.fromkeys(("modal", "leapfrog", "newmark", "spectral"), "a field"),
        **dict.fromkeys(
            ("minimal_coordinates", "driven_motions"), "a port-Hamiltonian system"
        ),
    },
    ("simulate", "stored", 2): {"gill_histogram": 0, "gill_moments": 0},
    ("differentiate", "needs_channels", ("q",)): {"measured": ("q", "qdot", "qddot")},
    ("assemble", "ignores_dissipation", False): {},
    ("assemble", "needs_velocities", True): {"modal_start": False},
    ("identify", "knows_input", False): dict.fromkeys(
        ("innovations_likelihood", "null_vector", "prediction_error"), True
    ),
    ("identify", "finds_volatility", False): dict.fromkeys(
        ("innovations_likelihood", "ito_gmm"), True
    ),
    ("identify", "returns_to_samples", True): dict.fromkeys(
        ("moment_gmm", "modal_gmm", "ito_gmm", "minimum_norm", "hamiltonian_gradient"),
        False,
    ),
}


@pytest.mark.parametrize(("stage", "name", "usual"), DECLARED)
def test_a_method_declares_what_it_can(stage, name, usual):
    found = {
        method: value
        for method, kind in steps(stage).items()
        if kind.__module__.startswith("leastaction.")
        and (value := getattr(kind, name, usual)) != usual
    }
    assert found == DECLARED[stage, name, usual]


def test_what_a_class_of_a_stage_declares():
    """Fields of a frozen class of a notebook are those of its stage."""
    assert not Halved.returns_to_samples and not Halved.knows_input
    assert not Identify.finds_volatility and not Simulate.fills_boxes
    assert not Assemble.ignores_dissipation and Assemble.needs_velocities
    assert Simulate.simulates == "coordinates" and Ensemble.stored == 2
    assert kind_of_rollout("measurements", "model") == "measurements"
    assert kind_of_rollout("model", "measurements") == "measurements"
    assert kind_of_rollout("model", "other") == "other"


def test_cases_of_a_sweep_stand_in_all_results_but_records():
    """What is recorded once has no cases; every other result may have them."""
    recorded = {name for name, one in contracts().items() if not one.swept}
    assert recorded == {
        *("recordings", "port_motions", "measurements", "measured_rollout"),
        *("smoothed_motion", "sensor_readings", "field_readings"),
    }


def test_other_packages_are_asked_for_a_name_that_no_family_has(monkeypatch):
    """And for no other: to look for them takes longer than most calls."""
    requests = []
    monkeypatch.setattr("leastaction.core.families.extend", lambda: requests.append(1))
    assert known_steps("assemble", "gram") == steps("assemble")
    assert method_of("assemble", {"method": "gram"}).name() == "gram"
    assert not requests
    assert known_steps("assemble", "none of them") == steps("assemble")
    assert len(requests) == 1
    with pytest.raises(KeyError):
        rollout("none of them")
    assert len(requests) == 2
