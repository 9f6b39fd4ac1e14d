"""Forces of densities are gradients of their sum over the points."""

import numpy as np
import pytest
import xarray as xr

from leastaction.core.expressions import parse
from leastaction.fields.domain import Domain, ModalForces, NodeEvaluator
from leastaction.fields.field_system import FieldSystem
from leastaction.fields.library import FieldLibrary
from leastaction.fields.modal_moments import test_functions as basis_of
from leastaction.fields.modal_moments import turn_per_sample

DOMAINS = [
    Domain(1.0, 9, "fixed", "fixed"),
    Domain(1.0, 8, "clamped", "free"),
    Domain(2.0, 7, "free", "fixed"),
]
TERMS = ["u**2", "u_x**2", "u_xx**2", "u**3", "u_x**4", "u*u_x**2", "u", "u*u_xx"]
NAMES = ("u", "u_t", "u_x", "u_xx")


def terms(*texts):
    return [parse(text, NAMES) for text in texts]


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: f"{d.left}-{d.right}")
@pytest.mark.parametrize("text", TERMS)
def test_they_are_the_gradient(text, domain):
    rng = np.random.default_rng(1)
    phi = rng.standard_normal((domain.nodes, 3))
    u = rng.standard_normal((4, domain.nodes))
    (term,) = terms(text)
    _, (force,) = ModalForces([term], "u", domain, phi)(u)
    system = FieldSystem("u", domain, {}, term)
    rest, step = np.zeros_like(u), 1e-5
    for m in range(3):
        ahead, behind = u + step * phi[:, m], u - step * phi[:, m]
        rise = system.energy(behind, rest) - system.energy(ahead, rest)
        scale = 1 + np.abs(force[:, m]).max()
        np.testing.assert_allclose(force[:, m], rise / (2 * step), atol=1e-6 * scale)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: f"{d.left}-{d.right}")
def test_eigenvectors_and_general_functions_agree(domain):
    """The short cut for eigenvectors of a stiffness changes no number."""
    library = FieldLibrary.from_config(
        {
            "reference": "u_t**2/2",
            "lagrangian": [{"terms": ["u_t**2", "u**2", "u_x**2", "u_xx**2"]}],
        },
        "u",
    )
    operator, phi = basis_of(library, domain)
    assert operator == "u_xx**2"
    gram = phi.T @ (domain.cell[:, None] * phi)
    np.testing.assert_allclose(gram, np.eye(domain.nodes), atol=1e-10)
    u = np.random.default_rng(0).standard_normal((5, domain.nodes))
    potential = terms("u**2", "u_x**2", "u_xx**2")
    mix = np.random.default_rng(1).standard_normal(phi.shape)
    q, direct = ModalForces(potential, "u", domain, phi)(u)
    p, mixed = ModalForces(potential, "u", domain, phi @ mix)(u)
    np.testing.assert_allclose(p, q @ mix, rtol=1e-9, atol=1e-9)
    scale = np.abs(mixed).max()
    np.testing.assert_allclose(mixed, direct @ mix, rtol=1e-9, atol=1e-10 * scale)


def test_functions_at_nodes_are_exact_for_a_uniform_slope():
    domain = Domain(1.0, 6, "free", "free")
    u = 3.0 + 2.0 * domain.x[None]
    found = NodeEvaluator(terms("1", "u", "u_t", "u_x**2"), "u", domain)(u, 7 * u)
    for values, expected in zip(found[:, 0], (1, u[0], 7 * u[0], 4.0), strict=True):
        np.testing.assert_allclose(values, np.broadcast_to(expected, 6), rtol=1e-12)


def test_the_turn_of_an_oscillation_is_its_angle_per_sample():
    angle = np.array([0.01, 0.05, 0.3])
    path = np.cos(angle * np.arange(5000)[:, None])
    u = xr.DataArray(path[None, None], dims=("replicate", "trajectory", "time", "node"))
    np.testing.assert_allclose(
        turn_per_sample(u, np.eye(3)), 2 * np.sin(angle / 2), rtol=1e-2
    )
