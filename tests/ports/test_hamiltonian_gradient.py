"""Efforts of blocks: gradient and Hessian of one H, known constraints, what is stored.

Hyperparameters are set by hand: laws of the blocks hold whatever they are.
"""

import numpy as np
import pytest
import xarray as xr

from leastaction.ports import hamiltonian_gradient
from leastaction.ports.hamiltonian_gradient import GradientEfforts, identify
from leastaction.ports.hamiltonian_process import process_of

STATES = ["q", "p", "s", "l"]
# E = diag(D, 0): q, p and s have rates, the multiplier l of g = q² + s³ has none.
A = np.array([[0.5, 1, 0, 0.2], [-1, 2, 0, 0], [0, 0, 1, -1], [0, 0.3, 1, 1.0]])
SETTINGS = {"blocks": [["s"], ["q", "p"]], "multipliers": ["l"], "seed": 4}
RNG = np.random.default_rng(2)
X = RNG.uniform(0.2, 1.2, (12, 4))


def gradient(x: np.ndarray) -> np.ndarray:
    """Of H = q²/2 + q p + p⁴/4 + s⁴ − l (q² + s³)."""
    q, p, s, f = x.T
    parts = [q + p - 2 * f * q, q + p**3, 4 * s**3 - 3 * f * s**2, -(q**2) - s**3]
    return np.stack(parts, axis=1)


def data(sizes=(12, 9)) -> xr.Dataset:
    """Exact targets (J − R) z of two training sets."""
    index = np.full((1, len(sizes), 12), -1)
    for fit, size in enumerate(sizes):
        index[0, fit, :size] = np.arange(size)
    x = np.where(index[..., None] < 0, np.nan, X)
    y = np.where(index[..., None] < 0, np.nan, gradient(X) @ A.T)
    of_entries, skew = ("row", "effort"), (A - A.T) / 2
    return xr.Dataset(
        {
            "flow_matrix": (("row", "state"), np.diag([1.0, 1, 1, 0])),
            "structure_matrix": (of_entries, skew),
            "dissipation_matrix": (of_entries, skew - A),
            "port_matrix": (("row", "port"), np.zeros((4, 1))),
            "constraint": ("constraint_row", ["q**2 + s**3"]),
            "training_index": (("replicate", "fit", "order"), index),
            "x": (("replicate", "fit", "order", "state"), x),
            "y": (("replicate", "fit", "order", "row"), y),
            "y_test": (("replicate", "test", "row"), y[:, 0, :2]),
            "scheme": ((), "dop853"),
        },
        coords={"state": STATES, "row": STATES, "effort": STATES, "replicate": [0]},
    )


# ℓ and the rest of each block, for two fits.
HYPER = {
    0: {"length_scale": 1.3, "warp": 0.8, "variance": 2.0, "offset": 1.0}
    | {"slope": 3.0, "noise": 1e-4},
    1: {"length_scale": [1.5, 1.2], "variance": 3.0, "linear": 1.0}
    | {"quadratic": 0.5, "noise": [1e-4, 1e-4]},
}


@pytest.fixture(scope="module")
def model() -> xr.Dataset:
    """A stored model; fits themselves are tested with the processes."""
    fits = iter(range(100))

    def fitted(block):
        class Fitted(process_of(block)):
            @classmethod
            def fit(cls, x, z, *, random):
                number = next(fits)  # by fit, then by block
                known = HYPER[number % 2] | {"variance": 2.0 + number}
                known["seed"] = random.integers(10**6)
                processes.append((x, z, known))
                one = type("One", (), {"parameters": known})
                return one

        return Fitted

    processes.clear()
    before = hamiltonian_gradient.process_of
    hamiltonian_gradient.process_of = fitted
    try:
        return identify(data(), SETTINGS)
    finally:
        hamiltonian_gradient.process_of = before


processes: list = []


def efforts(model: xr.Dataset, fit: int = 0) -> GradientEfforts:
    return GradientEfforts(
        model.drop_vars(["parameter_0_seed", "parameter_1_seed"]), fit
    )


def test_processes_learn_what_the_constraint_leaves(model):
    """Block by block, z + l ∇g, of every training set."""
    q, p, s, _ = X.T
    left = np.stack([q + p, q + p**3, 4 * s**3], axis=1)
    for number, (x, z, known) in enumerate(processes):
        size, block = (12, 9)[number // 2], ([2], [0, 1])[number % 2]
        np.testing.assert_array_equal(x, X[:size, block])
        np.testing.assert_allclose(z, left[:size, block], rtol=1e-12)
        random = np.random.default_rng([4, number % 2])
        assert known["seed"] == random.integers(10**6)
    assert len(processes) == 4


def test_a_model_stores_blocks_multipliers_and_parameters_by_fit(model):
    assert model["block"].values.tolist() == [1, 1, 0, -1]
    assert model["multiplier"].values.tolist() == [3]
    assert model["parameter_0_variance"].values.tolist() == [[2.0, 4.0]]
    assert model["parameter_1_variance"].values.tolist() == [[3.0, 5.0]]
    lengths = model["parameter_1_length_scale"]
    assert lengths.dims == ("replicate", "fit", "entry_parameter_1_length_scale")
    assert lengths.values.tolist() == [[[1.5, 1.2]] * 2]


@pytest.mark.parametrize("fit", [0, 1])
def test_efforts_are_those_of_the_blocks_and_of_the_constraint(model, fit):
    size, x = (12, 9)[fit], X[:5] + 0.1
    q, p, s, f = X[:size].T
    z = np.stack([q + p, q + p**3, 4 * s**3], axis=1)
    spring = process_of([2])(
        X[:size, 2:3], z[:, 2:], **HYPER[0] | {"variance": (2.0, 4.0)[fit]}
    )
    pair = HYPER[1] | {
        "variance": (3.0, 5.0)[fit],
        "length_scale": np.array([1.5, 1.2]),
    }
    pair = process_of([0, 1])(
        X[:size, :2], z[:, :2], **pair | {"noise": np.full(2, 1e-4)}
    )
    q, p, s, f = x.T
    expected = -np.stack([2 * f * q, 0 * p, 3 * f * s**2, q**2 + s**3], axis=1)
    expected[:, :2] += pair.efforts(x[:, :2])
    expected[:, 2:3] += spring.efforts(x[:, 2:3])
    np.testing.assert_allclose(
        efforts(model, fit).linearised(x)[0], expected, rtol=1e-9
    )
    np.testing.assert_allclose(expected, gradient(x), atol=0.2)


def test_efforts_are_the_gradient_of_h_and_slopes_its_hessian(model):
    """Except that of the algebraic state: its energy is that of the constraint."""
    of, h = efforts(model), 1e-4
    x = X[:4]
    z, slopes = of.linearised(x)
    for i in range(4):
        ends = x + h * np.eye(4)[i], x - h * np.eye(4)[i]
        energies = [of.hamiltonian(end) for end in ends]
        slope = [of.linearised(end)[0] for end in ends]
        np.testing.assert_allclose(
            (energies[0] - energies[1]) / 2 / h, z[:, i], atol=1e-6
        )
        turn = (slope[0] - slope[1]) / 2 / h
        np.testing.assert_allclose(turn, slopes[:, :, i], atol=1e-6)
    np.testing.assert_allclose(slopes, slopes.swapaxes(1, 2), atol=1e-12)


def test_covariance_is_that_of_each_block(model):
    of, x = efforts(model), X[:3] + 0.4
    covariance = of.covariance(x)
    assert covariance.shape == (3, 4, 4)
    for block, process in of.blocks:
        std = process.std(x[:, block])
        assert std.min() > 1e-6
        np.testing.assert_allclose(covariance[:, block, block], std**2, rtol=1e-12)
    assert not covariance[:, 3].any() and not covariance[:, 0, 1].any()


def test_lines_name_the_parts_of_h(model):
    assert efforts(model).lines() == [
        "  z_1(s) = grad H(s)",
        "  z_2(q, p) = grad H(q, p)",
        "  known constraints: q**2 + s**3 = 0",
    ]
    lost = model.assign(flow_matrix=(("row", "state"), np.diag([1.0, 1, 0, 0])))
    algebraic = efforts(lost)
    assert algebraic.lines()[0] == "  z_1(s) = an algebraic effort"
    x = X[:3]
    less = efforts(model).hamiltonian(x) - algebraic.hamiltonian(x)
    ((_, process), _) = algebraic.blocks
    np.testing.assert_allclose(less, process.hamiltonian(x[:, 2:3]), rtol=1e-10)
    value = algebraic.constraint.value(x)
    np.testing.assert_allclose(value[:, 0], x[:, 0] ** 2 + x[:, 2] ** 3, rtol=1e-14)
