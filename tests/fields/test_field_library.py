"""Libraries of densities: what algebra says, and how many functions they stand for."""

import numpy as np
import pytest
import sympy as sp

from leastaction.fields.domain import Domain, count_functions
from leastaction.fields.field_system import FieldSystem
from leastaction.fields.library import (
    FieldLibrary,
    density_candidates,
    density_euler_lagrange,
    jet_symbol,
)

WAVE = Domain(0.51, 50, "fixed", "fixed")
BEAM = Domain(1.0, 100, "clamped", "free")
U, U_T, U_X, U_XX = (jet_symbol("u", *k) for k in ((0, 0), (0, 1), (1, 0), (2, 0)))


def library(*terms, reference="u_t**2/2"):
    entries = [{"terms": ["u_t**2", *terms]}]
    return FieldLibrary.from_config(
        {"reference": reference, "lagrangian": entries}, "u"
    )


def size(found, domain):
    return count_functions(found.terms, found.strides, found.field, domain)


@pytest.mark.parametrize("term", ["1", "u_t", "u_x", "u_xx", "u*u_x", "u**3*u_x"])
def test_divergences_say_nothing(term):
    assert library(term).status == ["reference", "null"]


@pytest.mark.parametrize("f", [U**3, U * U_X, sp.sin(U) * U_X**2], ids=str)
def test_adding_a_divergence_changes_no_equation(f):
    along = sp.diff(f, U) * U_X + sp.diff(f, U_X) * U_XX
    density = U_XX**2 + U**4
    assert density_euler_lagrange(density + along, ("u",)) == (
        density_euler_lagrange(density, ("u",))
    )


def test_integrating_by_parts_makes_duplicates():
    found = library("u_x**2", "u*u_xx")
    assert found.status[2] == "duplicate"
    assert found.freedom.equivalent[2] == "-u_x**2"


def test_the_paper_counts_254_and_204_candidates_of_the_wave():
    potential = ["u_x", "u_x**2", "u_x**3", "u_x**4"]
    assert size(library("1", *potential), WAVE) == 254
    terms, strides = density_candidates([{"terms": ["1", *potential]}], "u")
    assert count_functions(terms, strides, "u", WAVE) == 204


def test_size_counts_points_strides_and_nothing_pooled():
    def beyond_the_reference(*entries):
        recipe = {
            "reference": "u_t**2/2",
            "lagrangian": [{"terms": ["u_t**2"]}, *entries],
        }
        return size(FieldLibrary.from_config(recipe, "u"), BEAM) - 100

    assert beyond_the_reference({"every": {"points": 5, "terms": ["u_xx**4"]}}) == 20
    assert beyond_the_reference({"terms": ["u_xx**4", "u**2"]}) == 200
    assert beyond_the_reference({"pooled": ["u_xx**4", "u**2"]}) == 0
    excluded = {"terms": ["u_x**2", "u**2"]}, {"exclude": ["u**2"]}
    assert beyond_the_reference(*excluded) == 100


def test_projection_is_the_system_on_the_scale_of_the_reference():
    names = [sp.Symbol(n, real=True) for n in "rc"]
    density = names[0] * U_T**2 / 2 - names[1] * U_XX**2
    truth = FieldSystem("u", BEAM, {"r": 4.0, "c": 2.0}, density + U * U_X)
    found = library("u_x**2", "u_xx**2")
    coefficients, scale = found.projection(truth)
    np.testing.assert_allclose(coefficients, [0.5, 0.0, -0.5])
    assert scale == 0.25
    assert library("u_x**2").projection(truth) is None


def test_references_that_are_not_kinetic_are_refused():
    with pytest.raises(ValueError, match=r"not a multiple of u_t\*\*2"):
        library("u_x**2", reference="u_x**2")
    with pytest.raises(ValueError, match="not a multiple of a candidate"):
        FieldLibrary.from_config(
            {"reference": "u_t**2/2", "lagrangian": [{"terms": ["u_x**2"]}]}, "u"
        )


def test_candidates_with_u_t_beside_the_reference_are_refused_by_name():
    with pytest.raises(ValueError, match=r"u\*u_t\*\*2 depend on u_t"):
        _ = library("u*u_t**2").independent
    assert library("u*u_t", "u_x**2").independent == [2]
    assert library("u*u_t", "u_x**2").at_points == [2]
