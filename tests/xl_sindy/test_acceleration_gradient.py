"""Descent on the accelerations, case II."""

import numpy as np
import pytest

from leastaction_papers.xl_sindy.staged_descent import (
    acceleration_descent,
    descend_accelerations,
)

STAGE = {"rate": 1e-2, "penalty": 0.0, "threshold": 1e-3}


def descend(mass, force, qddot, start, stage, epochs, batch):
    settings = {"epochs": epochs, "batch": batch}
    stage = {"penalty": 0.0} | stage
    return descend_accelerations(mass, force, qddot, start, stage, settings)


def staged_descent(mass, force, qddot, start, stages, epochs, batch):
    settings = {"stages": stages, "epochs": epochs, "batch": batch}
    return acceleration_descent(mass, force, qddot, start, settings)


def pendulum(rng, samples=256):
    """Mass and force of {q̇², cos q, q̇² cos q} and the true accelerations."""
    q, v = rng.uniform(-3, 3, samples), rng.normal(size=samples)
    mass = np.stack([2 + 0 * q, 0 * q, 2 * np.cos(q)])[None, None]
    force = np.stack([0 * q, np.sin(q), -np.sin(q) * v**2])[None]
    return mass, force, (-3.0 * np.sin(q))[None]


def coupled(rng, samples=128):
    """Two coordinates, four terms, a positive mass matrix at c = truth."""
    truth = np.array([1.0, 0.5, 0.3, -2.0])
    mass = np.zeros((2, 2, 4, samples))
    mass[0, 0, 0], mass[1, 1, 1] = 2.0, 2.0
    mass[0, 1, 2] = mass[1, 0, 2] = rng.normal(size=samples) / 3
    force = rng.normal(size=(2, 4, samples))
    m = np.einsum("abkn,k->nab", mass, truth)
    f = np.einsum("akn,k->na", force, truth)
    return mass, force, -np.linalg.solve(m, f[..., None])[..., 0].T, truth


def loss(mass, force, qddot, c):
    m = np.einsum("abkn,k->nab", mass, c)
    f = np.einsum("akn,k->na", force, c)
    predicted = -np.linalg.solve(m, f[..., None])[..., 0].T
    return ((qddot - predicted) ** 2).mean()


@pytest.mark.parametrize("dof", [1, 2])
def test_one_step_follows_the_gradient_of_the_loss(rng, dof):
    mass, force, qddot = pendulum(rng) if dof == 1 else coupled(rng)[:3]
    start = np.array([1.3, 4.0, 0.2, -1.0])[: force.shape[1]]
    stage = {"rate": 1e-7}
    size = qddot.shape[1]
    found, value = descend(mass, force, qddot, start, stage, 1, size)
    step, gradient = 1e-6, np.zeros(start.size)
    for k in range(start.size):
        shift = step * np.eye(start.size)[k]
        up, down = (loss(mass, force, qddot, start + s) for s in (shift, -shift))
        gradient[k] = (up - down) / (2 * step)
    np.testing.assert_allclose((start - found) / 1e-7, gradient, rtol=1e-4, atol=1e-6)
    assert value == pytest.approx(loss(mass, force, qddot, start))


def test_the_loss_does_not_know_the_scale_of_the_lagrangian(rng):
    mass, force, qddot = pendulum(rng)
    start, stage = np.array([1.0, 2.0, 0.1]), {"rate": 1e-9}
    values = [
        descend(mass, force, qddot, k * start, stage, 1, 256)[1] for k in (1.0, -5.0)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_from_nearby_it_finds_the_pendulum(rng):
    """Only the ratio is known: −c_cos / (2 c_kinetic) = −3."""
    mass, force, qddot = pendulum(rng)
    start = np.array([1.0, 5.0, 0.1])
    found, value = staged_descent(mass, force, qddot, start, [STAGE] * 2, 3000, 64)
    assert (found != 0).tolist() == [True, True, False]
    assert found[1] / found[0] == pytest.approx(6.0, rel=1e-3)
    assert value < 1e-5


def test_a_null_column_stays_where_it_began_and_changes_nothing(rng):
    mass, force, qddot = pendulum(rng)
    wide = np.concatenate([mass, 0 * mass[:, :, :1]], axis=2)
    broad = np.concatenate([force, 0 * force[:, :1]], axis=1)
    start = np.array([1.0, 5.0, 0.1, 0.7])
    alone, _ = descend(mass, force, qddot, start[:3], STAGE, 20, 64)
    found, _ = descend(wide, broad, qddot, start, STAGE, 20, 64)
    np.testing.assert_allclose(found, [*alone, 0.7], rtol=1e-10)


def test_a_stage_ends_at_its_tolerance(rng):
    mass, force, qddot = pendulum(rng)
    start = np.array([1.0, 5.0, 0.1])
    early = STAGE | {"tolerance": 1e-2}
    _, value = descend(mass, force, qddot, start, early, 5000, 64)
    assert 1e-5 < value <= 1e-2


def test_a_batch_larger_than_the_recording_is_refused(rng):
    mass, force, qddot = pendulum(rng, 60)
    with pytest.raises(ValueError, match="60 samples are given.*batch of 64"):
        descend(mass, force, qddot, np.ones(3), STAGE, 1, 64)


def test_nothing_left_is_an_infinite_loss(rng):
    mass, force, qddot = pendulum(rng)
    strict = STAGE | {"threshold": 1e9}
    found, value = staged_descent(mass, force, qddot, np.ones(3), [strict], 2, 64)
    assert not found.any()
    assert value == np.inf
