"""Recipes of families: settings by name go to the step that has them."""

import pytest

import leastaction as la
from leastaction.core.families import FAMILIES
from leastaction.ensembles.recipes import MomentGmm, SquaredIncrements
from leastaction.recipes import compose, of_kind
from leastaction.trajectories.recipes import RECOMMENDED, Gram, JointSpline, NullVector
from leastaction_papers.xl_sindy.recipes import AccelerationGradient, ProximalGradient

MOTIONS = (JointSpline, Gram, NullVector)


def test_a_family_has_the_recipes_of_its_kinds():
    assert {*FAMILIES} < {*dir(la.recipes)} and "compose" in dir(la.recipes)
    family = la.recipes.ensembles
    assert family.kinds[0] == "states" and len(family.kinds) > 1
    assert family.recommended() == family.recommended("states")
    assert family.recommended(family.kinds[1]) != family.recommended()
    assert "random" in family.__doc__ and la.recipes.ensembles is family
    with pytest.raises(AttributeError, match="unknown family 'ensemble'; did you mean"):
        _ = la.recipes.ensemble
    with pytest.raises(AttributeError, match="unknown family"):
        _ = la.recipes._private
    with pytest.raises(ValueError, match="unknown kind of data 'state'"):
        of_kind({"states": MOTIONS}, "state", {})
    assert of_kind(RECOMMENDED, None, {"largest": 3}).identify.largest == 3


def test_a_setting_goes_to_the_first_step_that_has_it():
    recipe = compose(MOTIONS, {"trim": 3, "samples": "all", "halving": 4.0})
    assert recipe.differentiate.trim == 3 and recipe.assemble.samples == "all"
    assert recipe.identify.halving == 4.0
    assert compose(MOTIONS, {}).plain() == compose(MOTIONS, {"trim": 5}).plain()
    whole = compose(MOTIONS, {"identify": {"largest": 2}, "ranked": 7})
    assert (whole.identify.largest, whole.identify.ranked) == (2, 7)
    instead = {"method": "joint_spline", "trim": 1}
    assert compose(MOTIONS, {"differentiate": instead}).differentiate.trim == 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"larges": 3}, "unknown setting 'larges'; did you mean 'largest'"),
        ({"method": "gram"}, None),
        ({"identify": 3}, "identify is 3; expected settings by name, .*null_vector"),
        ({"largest": 0}, "less than the minimum of 1"),
    ],
)
def test_a_setting_that_no_step_has_is_refused(settings, words):
    if words is None:
        with pytest.raises(ValueError) as error:
            compose(MOTIONS, {"metho": "gram"})
        assert "method," not in str(error.value).partition("Known:")[2]
        return
    with pytest.raises(ValueError, match=words):
        compose(MOTIONS, settings)


def test_the_volatility_stands_in_the_step_that_identifies():
    recipe = la.recipes.ensembles.recommended(volatility={"max_terms": 2})
    assert recipe.identify.volatility.max_terms == 2
    assert recipe.identify.volatility.name() == SquaredIncrements.name()
    other = {"method": "squared_increments", "max_terms": 1}
    named = la.recipes.ensembles.recommended(identify={"volatility": other})
    assert named.identify.volatility.max_terms == 1


def test_steps_that_do_not_follow_each_other_are_refused():
    with pytest.raises(ValueError, match="'moment_gmm' needs assemble method"):
        compose((JointSpline, Gram, MomentGmm), {})


def test_a_setting_of_stages_is_set_in_each_of_them():
    methods = (JointSpline, Gram, ProximalGradient)
    usual = compose(methods, {"prior": "x"}).identify.stages
    recipe = compose(methods, {"penalty": 0.3, "rate": 2.0, "prior": "x"})
    assert [each.penalty for each in recipe.identify.stages] == [0.3] * len(usual)
    assert [each.rate for each in recipe.identify.stages] == [2.0] * len(usual)
    kept = [each.threshold for each in recipe.identify.stages]
    assert kept == [each.threshold for each in usual]
    some = [{"rate": 1e-4, "penalty": 0.1, "threshold": 0.1}] * 2
    recipe = compose(methods, {"stages": some, "penalty": 0.3, "prior": "x"})
    assert [each.penalty for each in recipe.identify.stages] == [0.3, 0.3]
    other = (JointSpline, Gram, AccelerationGradient)
    with pytest.raises(ValueError, match="unknown setting 'penalty'"):
        compose(other, {"penalty": 0.3})
