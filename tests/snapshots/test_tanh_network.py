import numpy as np
import pytest
import snapshot_support as support

from leastaction.core.contracts import check
from leastaction.snapshots import tanh_network
from leastaction.snapshots.bases import TanhLayer
from leastaction.snapshots.discrete_lagrangian import (
    discrete_euler_lagrange,
    mean_discrete_mass,
)
from leastaction.snapshots.learned_model import LearnedLagrangian
from leastaction.snapshots.tanh_network import NetworkResiduals

RNG = np.random.default_rng(6)
RULES = ["midpoint", "trapezoidal"]


@pytest.fixture(params=RULES)
def case(request):
    positions = RNG.normal(size=(4, 5, 2))
    return positions, NetworkResiduals(positions, 0.3, request.param), request.param


def test_jacobian_is_that_of_difference_quotients(case):
    _, network, _ = case
    point = RNG.normal(size=5 * 6)
    quotients = [
        (network.residuals(point + step) - network.residuals(point - step)) / 2e-6
        for step in 1e-6 * np.eye(point.size)
    ]
    np.testing.assert_allclose(
        network.jacobian(point), np.transpose(quotients), atol=1e-7
    )


def test_residuals_are_rows_and_discrete_mass_of_the_layer(case):
    positions, network, rule = case
    table = RNG.normal(size=(5, 6))
    layer, b = TanhLayer(table[:, 2:], table[:, 1]), table[:, 0]
    found = network.residuals(table.ravel())
    rows = discrete_euler_lagrange(layer, positions, 0.3, rule) @ b
    first, second = (p.reshape(-1, 2) for p in (positions[:, :-1], positions[:, 1:]))
    mass = mean_discrete_mass(layer, first, second, 0.3, rule) @ b
    size = np.sqrt(rows.size)
    np.testing.assert_allclose(found[:-1], rows.ravel() / size, atol=1e-12)
    assert found[-1] == pytest.approx(mass - 1)


def test_training_lowers_the_residual_and_keeps_the_mass():
    observations = support.observed(support.pendulum(100)[..., :1], 0.5, ["th"])
    errors = []
    for evaluations in (1, 25):
        settings = {"units": 25, "evaluations": evaluations, "rule": "midpoint"}
        model = tanh_network.identify(None, settings, observations, {})
        check(model, "learned_lagrangian")
        errors.append(float(model["row_error"][0]))
    assert errors[1] < 0.7 * errors[0]
    assert abs(float(model["mass_error"][0])) < 1e-3
    assert support.misalignment(LearnedLagrangian.from_dataset(model), 2) < 0.1
