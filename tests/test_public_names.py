"""What a user sees who presses the tabulator: our names, and hints of their types."""

import inspect
import subprocess
import sys
from importlib import resources

import numpy as np

import leastaction as la
from leastaction.recordings.law import Law

PRESSED = "import leastaction, sys; print(*dir(leastaction)); print(*sys.modules)"


def test_the_package_shows_its_names_and_nothing_else():
    done = subprocess.run(
        [sys.executable, "-c", PRESSED], capture_output=True, text=True
    )
    names, modules = (line.split() for line in done.stdout.splitlines())
    assert names == sorted(la.__all__) and "numpy" not in modules
    assert all(hasattr(la, name) for name in names)


def test_a_recipe_shows_its_steps_and_what_it_does():
    recipe = la.recipes.trajectories.recommended()
    steps = {"differentiate", "assemble", "identify"}
    does = {"fit", "predict", "steps", "get_params", "set_params"}
    assert set(dir(recipe)) == steps | does
    for step in recipe.steps():
        assert set(dir(step)) == set(type(step).model_fields)


def test_a_recipe_is_cloned_as_scikit_learn_does():
    """``sklearn.base.clone``: the constructor takes what `get_params` gives."""
    recipe = la.recipes.ensembles.recommended(max_terms=3)
    given = recipe.get_params(deep=False)
    copy = type(recipe)(**given)
    assert all(
        copy.get_params(deep=False)[name] is step for name, step in given.items()
    )
    assert copy == recipe
    copy.set_params(identify__max_terms=2)
    assert (copy.identify.max_terms, recipe.identify.max_terms) == (2, 3)
    other = la.recipes.ensembles.recommended(max_terms=1).identify
    assert copy.set_params(identify=other).identify == other


def test_public_functions_have_hints():
    assert resources.files("leastaction").joinpath("py.typed").is_file()
    functions = [la.learn, la.load, la.describe, la.simulate, la.system]
    for kind in (la.IdentifiedModel, la.Recipe, la.System, Law):
        found = vars(kind).items()
        functions += [f for n, f in found if inspect.isfunction(f) and n[0] != "_"]
    missing = [
        f"{function.__qualname__}: {name}"
        for function in functions
        for name, one in inspect.signature(function).parameters.items()
        if name not in ("self", "cls") and one.annotation is one.empty
    ]
    missing += [
        f.__qualname__
        for f in functions
        if inspect.signature(f).return_annotation is inspect.Signature.empty
    ]
    assert not missing


def test_ten_first_actions_of_a_pysindy_user():
    """Of docs/coming_from_pysindy.md, on a motion without noise."""
    time = np.arange(0, 20, 0.02)
    x = np.array([a * np.cos(3 * time) for a in (1.0, 2.0, 3.0, 4.0)])
    few = {"lagrangian": ["xdot**2", "x**2", "x**4"], "dissipation": ["xdot**2"]}
    law = la.learn({"x": x}, time=time, library=few, progress=False)
    assert law.equations[0].startswith("xddot = ")
    assert law.terms.value[1] == law.coefficient("x**2")
    assert abs(law.coefficient("x**2") + 4.5) < 1e-4
    assert "Law found" in str(law) and "xddot" in str(law)
    assert law.score() > 0.999999 and law.rms_error.max() < 1e-4
    path = law.simulate([1.0], [0.0], time[:50])
    assert np.allclose(path.q[:, 0], x[0, :50], atol=1e-5)
    assert np.allclose(law.function()([1.0], [0.0]), -9.0, atol=1e-5)
    assert law.sympy["lagrangian"].free_symbols and law.latex_terms()
    assert law.plot().axes
