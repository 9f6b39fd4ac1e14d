"""What a law conserves: energies and momenta of motions in closed form."""

from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
import xarray as xr

from leastaction.core.symmetries import Symmetry
from leastaction.recordings import conserved as module
from leastaction.recordings.conserved import (
    conserved,
    noether_quantity,
    readable_numbers,
)

X, Y, U, V = sp.symbols("x y xdot ydot", real=True)
TURN = Symmetry(np.zeros(2), np.array([[0.0, -1.0], [1.0, 0.0]]), 0, 0, True)
SHIFT = Symmetry(np.array([1.0, 0.0]), np.zeros((2, 2)), 0, 0, True)
DT = 0.01


class Terms:
    """The losses of a law, which is all that is asked for of its terms."""

    def __init__(self, *intervals):
        self.intervals = intervals

    def query(self, text):
        import pandas as pd

        assert text == "of == 'D'"
        return pd.DataFrame(self.intervals, columns=["low", "high"], dtype=float)


def model_of(law, *verdicts, losses=(), count=2):
    """Law of x and y; each symmetry with its verdict and kind."""
    state = (X, Y, U, V)
    hamiltonian = U * sp.diff(law, U) + V * sp.diff(law, V) - law
    system = SimpleNamespace(
        state=state,
        qdot=(U, V),
        lagrangian=law,
        hamiltonian=sp.expand(hamiltonian),
        evaluated=lambda expression: expression,
    )
    found = []
    for one, verdict in verdicts:
        about = {"offset": one.offset, "matrix": one.matrix, "verdict": verdict}
        found.append(SimpleNamespace(**about, kind="rotation"))
    return SimpleNamespace(
        system=system,
        dataset={"period": 1.0},
        terms=Terms(*losses),
        coordinates=("x", "y")[:count],
        symmetries_on=lambda q, qdot: found,
    )


def motion_of(*paths, held=(), driven=False):
    """Observations of motions (sample, dof)."""
    counts = [len(p) for p in paths]
    first = np.cumsum([0, *counts[:-1]])
    q = np.concatenate(paths)
    data = {
        "q": (("replicate", "sample", "dof"), q[None]),
        "first_sample": ("trajectory", first),
        "sample_count": ("trajectory", counts),
        "held_out": ("trajectory", [int(k in held) for k in range(len(paths))]),
    }
    if driven:
        data["input"] = ("replicate", "sample", "dof"), q[None]
    return xr.Dataset(data, {"dof": ["x", "y"]}, {"time_step": DT})


TIME = DT * np.arange(1000)
ELLIPSE = np.stack([np.cos(2 * np.pi * TIME), 0.5 * np.sin(2 * np.pi * TIME)], 1)
LAW = (U**2 + V**2 - 4 * sp.pi.evalf() ** 2 * (X**2 + Y**2)) / 2


def test_energy_and_angular_momentum_of_a_central_force():
    energy, momentum = conserved(model_of(LAW, (TURN, "found")), motion_of(ELLIPSE))
    assert energy.startswith("Energy is conserved: it is constant to 0.")
    assert energy.endswith("% along the motion.")
    text = "`X*ydot - xdot*y`, the momentum of a rotation, is conserved: it is constant"
    assert momentum.replace("`x*", "`X*").startswith(text)


def test_the_scatter_is_that_over_the_kinetic_energy():
    """Of an energy with a wrong potential: E − T − c x² has the scatter of x²."""
    wrong = LAW - 0.5 * X**2
    (energy, _) = conserved(model_of(wrong), motion_of(ELLIPSE))
    q, v = ELLIPSE, np.gradient(ELLIPSE, DT, axis=0)
    scatter = (0.5 * q[:, 0] ** 2).std()
    kinetic = np.sqrt(np.mean(((v**2).sum(axis=1) / 2) ** 2))
    share = float(energy.split("constant to ")[1].split(" %")[0])
    assert share == pytest.approx(100 * scatter / kinetic, rel=0.05)


@pytest.mark.parametrize(
    ("losses", "driven", "words"),
    [
        ([(0.1, 0.3)], False, "Energy is dissipated by friction."),
        ([(0.1, 0.3)], True, "Energy is changed by friction and the recorded input."),
        ([], True, "Energy is changed by the recorded input."),
        ([(-0.1, 0.3)], False, "Energy may be conserved (losses may be zero): it is"),
        ([(-0.1, 0.3), (-2, -1)], False, "Energy is dissipated by friction."),
    ],
)
def test_what_changes_the_energy_is_named(losses, driven, words):
    verdicts = ((TURN, "found"), (SHIFT, "not found"))
    model = model_of(LAW, *verdicts, losses=losses)
    energy, momentum = conserved(model, motion_of(ELLIPSE, driven=driven))
    assert energy.startswith(words)
    if words.endswith("."):
        cause = words.partition(" by ")[2].rstrip(".")
        assert momentum.startswith(f"Nothing but {cause} changes `")
        assert momentum.endswith("the momentum of a rotation.")
    else:
        assert "is conserved: it is" in momentum


def test_what_is_not_known_to_be_conserved():
    (_, momentum) = conserved(model_of(LAW, (TURN, "undecided")), motion_of(ELLIPSE))
    assert momentum.startswith("The data do not decide whether `")
    (_, none) = conserved(model_of(LAW, (SHIFT, "not found")), motion_of(ELLIPSE))
    assert none == "No momentum is conserved."
    assert len(conserved(model_of(LAW, count=1), motion_of(ELLIPSE))) == 1


def test_what_is_held_out_shows_what_is_conserved():
    wrong = LAW - 0.5 * X**2
    still = 1e-3 * ELLIPSE + [[3.0, 0.0]]
    texts = [
        conserved(model_of(wrong), motion_of(ELLIPSE, still, held=held))[0]
        for held in ((), (0,))
    ]
    assert "along the motion" in texts[0] and "along the held-out motion" in texts[1]


def test_velocities_are_slopes_of_cubics_over_a_tenth_of_a_period():
    """Eleven samples of a period of a second; five at least."""
    from scipy.signal import savgol_filter

    observations = motion_of(ELLIPSE, ELLIPSE[:11], ELLIPSE[:12])
    q, v = module._states(observations, 1.0)
    assert [len(p) for p in q] == [1000, 12]
    expected = savgol_filter(ELLIPSE, 11, 3, deriv=1, delta=DT, axis=0)
    np.testing.assert_allclose(v[0], expected)
    np.testing.assert_allclose(q[0], savgol_filter(ELLIPSE, 11, 3, axis=0))
    q, _ = module._states(observations, 0.01)
    np.testing.assert_allclose(q[0], savgol_filter(ELLIPSE, 5, 3, axis=0))
    assert len(q) == 3


@pytest.mark.parametrize(("count", "shown"), [(1, 1), (6, 6), (7, 4), (12, 6), (13, 5)])
def test_some_of_many_trajectories_are_enough(count, shown, monkeypatch):
    monkeypatch.setattr(module, "MOST_TRAJECTORIES", 6)
    q, _ = module._states(motion_of(*[ELLIPSE[:30]] * count), 1.0)
    assert len(q) == shown


def noether(law, symmetry, scale=1.0):
    q, v = scale * np.random.default_rng(1).standard_normal((2, 60, 2))
    return sp.expand(noether_quantity(law, symmetry, q, v, (X, Y, U, V)))


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e3])
def test_a_magnetic_field_adds_to_a_momentum(scale):
    """L of a uniform field in Landau's gauge: p_x or p_x + B y by total derivatives."""
    field = 3.0
    law = (U**2 + V**2) / 2 + field * X * V
    momentum = noether(law, SHIFT, scale)
    expected = sp.expand(U - field * Y)
    assert sp.simplify(momentum - expected).free_symbols == set()
    other = Symmetry(np.array([0.0, 1.0]), np.zeros((2, 2)), 0, 0, True)
    assert sp.simplify(noether(law, other, scale) - (V + field * X)) == 0


def test_a_constant_force_leaves_no_remainder():
    """It is no derivative of the time of a function of positions."""
    law = (U**2 + V**2) / 2 - 9.81 * X
    assert noether(law, SHIFT) == U
    assert noether(LAW, TURN) == X * V - Y * U


def test_numbers_have_four_digits():
    shown = readable_numbers(sp.Float(1.23456) * X + sp.Float(3.00001) * Y)
    assert str(shown) == "1.235*x + 3*y"
    assert readable_numbers(X / 3) == X / 3
