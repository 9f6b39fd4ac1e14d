"""A line at a few sensors: Ritz modes, a law in its intervals, what is refused.

Motions are exact in the modes of a string, sin(rπx/ℓ).
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import leastaction as la
from leastaction.ensembles.kalman_filter import discretised
from leastaction.likelihood.field_model import SensedField
from leastaction.likelihood.field_state_space import FieldCandidates, Line, Modal

STEP, LENGTH, MODES = 0.05, 2.0, 40
PLACES = (0.3, 0.8, 1.5)
TRUTH = {"-u_x**2/2": 4.0, "-u**2/2": 3.0, "u_t**2/2": 0.4, "u_xt**2/2": 0.03}


@cache
def string(seed: int, times: int = 4000) -> np.ndarray:
    """u_tt = 4 u_xx − 3 u − .4 u_t + .03 u_xxt + Ẇ between fixed ends."""
    rng, k = np.random.default_rng(seed), np.pi / LENGTH * np.arange(1, MODES + 1)
    squares, losses = 4.0 * k**2 + 3.0, 0.4 + 0.03 * k**2
    both = [
        discretised(np.array([[0.0, 1.0], [-square, -loss]]), np.diag([0.0, 1.0]), STEP)
        for square, loss in zip(squares, losses, strict=True)
    ]
    moved, spread = map(np.array, zip(*both, strict=True))
    normals = rng.standard_normal((MODES, times + 1, 2))
    state = normals[:, 0] / np.sqrt(2 * np.stack([losses * squares, losses], 1))
    kicks = np.einsum("kij,ktj->tki", np.linalg.cholesky(spread), normals[:, 1:])
    paths = np.empty((times, MODES))
    for path, kick in zip(paths, kicks, strict=True):
        path[:] = state[:, 0]
        state = np.einsum("kij,kj->ki", moved, state) + kick
    seen = paths @ (np.sqrt(2 / LENGTH) * np.sin(np.outer(k, PLACES)))
    return seen + 0.02 * seen.std(axis=0) * rng.standard_normal(seen.shape)


def learned(u: np.ndarray, **more):
    columns = {"t": STEP * np.arange(len(u))}
    table = pd.DataFrame(columns | {f"s{k}": 1e3 * a for k, a in enumerate(u.T)})
    usual = {
        "sensors": {f"u({x})": f"s{k} [mm]" for k, x in enumerate(PLACES)},
        "length": LENGTH,
        "ends": "fixed",
    }
    how = {"kind": "field", "time": "t", "progress": False}
    return la.learn(table, **how, **(usual | more))


@pytest.mark.parametrize(
    "ends, text, wanted",
    [
        ("clamped, free", "-u_xx**2/2", [1.8751040687, 4.6940911330, 7.8547574382]),
        ("fixed", "-u_xx**2/2", np.pi * np.array([1, 2, 3])),
        ("clamped, fixed", "-u_xx**2/2", [3.9266023120, 7.0685827456, 10.2101761228]),
        ("fixed, free", "-u_x**2/2", np.pi * np.array([0.5, 1.5, 2.5])),
        ("periodic", "-u_x**2/2", np.pi * np.array([0, 2, 2])),
    ],
)
def test_modes_are_those_of_textbooks(ends, text, wanted):
    """Roots βℓ of the frequency equations (Blevins 1979)."""
    candidates = FieldCandidates("u", ("u_t**2/2", text), (), "u_t**2/2")
    modal = Modal.of(candidates, Line.of(LENGTH, ends), [0.5], 16)
    squares = np.maximum(modal.modes(np.array([1.0, 1.0]))[0][:3], 0)
    order = 4 if "xx" in text else 2
    np.testing.assert_allclose(
        squares ** (1 / order) * LENGTH, wanted, rtol=1e-8, atol=1e-3
    )


@cache
def law_of(seed: int):
    return learned(string(seed))


def test_terms_are_in_their_intervals():
    for seed in (1, 206):  # the second one begins with too few modes
        law = law_of(seed)
        assert law.verdict == "found", law.reservations
        rows = law.terms[law.terms["std"] > 0].set_index("term")
        assert set(rows.index) == {*TRUTH, "1"}
        z = (rows.value - pd.Series(TRUTH | {"1": 1.0})) / rows["std"]
        assert np.abs(z).max() < 3.5
        frequency, ratio, *errors = law.learned.modes[:, 0]
        root = np.sqrt(4.0 * (np.pi / LENGTH) ** 2 + 3.0)
        loss = 0.4 + 0.03 * (np.pi / LENGTH) ** 2
        wanted = np.array([root / 2 / np.pi, loss / 2 / root])
        assert (np.abs([frequency, ratio] - wanted) < 3.5 * np.array(errors)).all()
    assert "| u(0.3) |" in str(law) and "m^2/s^2" in str(law)


def test_errors_of_modes_are_those_of_the_coefficients():
    """Standard errors of f and ζ are √(J C Jᵀ), with J by central differences."""
    field = law_of(1).learned
    columns, step = len(field.columns), 1e-5
    covariance = field.dataset["covariance"].values[0][:columns, :columns]

    def modes(k: int, change: float) -> np.ndarray:
        moved = field.dataset.copy(deep=True)
        moved["theta"][0, k] *= 1 + change
        return SensedField(moved).modes[:2]

    theta = field.dataset["theta"].values[0][:columns]
    slopes = [
        (modes(k, step) - modes(k, -step)) / (2 * step * theta[k])
        for k in range(columns)
    ]
    variance = np.einsum("kpr,kl,lpr->pr", slopes, covariance, slopes)
    np.testing.assert_allclose(field.modes[2:], np.sqrt(variance), rtol=1e-3)


def test_a_slower_line_has_the_same_modes_at_lower_frequencies():
    """Stiffness times 10⁻⁴ and damping times 10⁻²: time times a hundred."""
    field = law_of(1).learned
    slow, columns = field.dataset.copy(deep=True), np.array(field.columns)
    of_l = columns < len(field.candidates.lagrangian)
    factor = np.where(of_l, 1e-4, 1e-2)
    slow["theta"][0, : len(columns)] *= factor
    slow["covariance"][0, : len(columns), : len(columns)] *= np.outer(factor, factor)
    wanted = field.modes * np.array([[1e-2], [1.0], [1e-2], [1.0]])
    np.testing.assert_allclose(SensedField(slow).modes, wanted, rtol=1e-8)


def test_a_law_is_saved(tmp_path):
    law_of(1).save(tmp_path / "law.nc")
    assert str(la.load(tmp_path / "law.nc")) == str(law_of(1))


def test_one_sensor_does_not_tell_where_a_line_is_stiff():
    """With a stiffness that changes along the line no frequency says where."""
    free = ["-u_x**2/2", "-u**2/2", "-x*u_x**2/2", "-x**2*u_x**2/2"]
    law = learned(
        string(1)[:2000, 2:],
        sensors={"u(1.5)": "s0 [mm]"},
        library={"lagrangian": free, "dissipation": ["u_t**2/2", "u_xt**2/2"]},
    )
    assert law.verdict == "no law found" and not len(law.terms)
    assert "place more sensors along the line" in str(law).splitlines()[0]


def test_other_ends_are_rejected_on_the_first_line():
    law = learned(string(1)[:2000], ends="free")
    assert str(law).startswith("**No law found")


@pytest.mark.parametrize(
    "more, message",
    [
        ({"length": None}, "length: it is missing"),
        ({"ends": "fixed, hinged"}, "ends 'fixed, hinged'; expected free, fixed"),
        ({"sensors": {"u(2.5)": "s0 [mm]"}}, "expected a place that moves, between 0"),
        ({"sensors": {"u at 0.3": "s0 [mm]"}}, "at a place; expected u"),
        (
            {"sensors": {"u(0.3)": "s0 [mm]", "u_tt(0.8)": "s1 [mm]"}},
            "the units are those of different fields",
        ),
        ({"library": {"lagrangian": ["-u_x**4"]}}, "-u_x\\*\\*4 is not quadratic in"),
    ],
)
def test_a_wrong_line_is_refused(more, message):
    with pytest.raises(la.RecordingError, match=message):
        learned(string(1)[:400], **more)
