"""Ten first actions of a hand that knows PySINDy, as docs/coming_from_pysindy.md."""

import pickle
import re
from types import SimpleNamespace

import numpy as np
import pytest

import leastaction as la
from leastaction.recordings.learn import described

TIME = np.linspace(0, 10, 401)
SIZES = (0.5, 0.7, 0.9, 1.1)


@pytest.fixture(scope="module")
def motions():
    noise = np.random.default_rng(2).standard_normal((len(SIZES), len(TIME)))
    swings = [a * np.exp(-0.05 * TIME) * np.cos(3 * TIME) for a in SIZES]
    return np.array(swings) + 1e-3 * noise


@pytest.fixture(scope="module")
def law(motions):
    """1: fit of (trajectory, time), and of a step instead of times."""
    recipe = la.recipes.recordings.recommended()
    return la.learn({"x": motions}, time=TIME[1], recipe=recipe, progress=False)


def test_what_is_typed_first(law, motions, capsys, tmp_path):
    print(law)  # 2
    assert "**Law found.**" in capsys.readouterr().out
    assert law.equations[0].startswith("xddot = ")  # 3
    assert list(law.terms.query("of == 'D'").term) == ["xdot**2"]  # 4
    assert law.coefficient("xdot**2", of="D") == pytest.approx(0.05, rel=0.1)
    q, v = np.array([[0.5], [1.0]]), np.zeros((2, 1))
    rates = law.function()(q, v)  # 5: derivatives
    assert rates == pytest.approx(-9.0025 * q, rel=0.01)
    path = law.simulate([1.0], [0.0], TIME)  # 6
    assert path.q.values[0, 0] == 1.0
    assert law.score() > 0.999 < law.score({"x": motions}, TIME)  # 7
    short = slice(40)  # less than a period
    assert law.score(motions[0, short], TIME[short]) > 0.999
    again = pickle.loads(pickle.dumps(law))  # 8
    law.save(tmp_path / "model.nc")
    loaded = la.load(tmp_path / "model.nc")
    assert again.terms.equals(law.terms) and loaded.terms.equals(law.terms)


def test_the_parameters_of_a_recipe():
    recipe = la.recipes.recordings.recommended()  # 9
    again = type(recipe)(**recipe.get_params(deep=False))  # as sklearn.base.clone
    assert again == recipe


def test_an_array_of_states_is_answered_with_the_line_to_type(motions):
    states = np.stack([motions[0], np.gradient(motions[0], TIME)], axis=1)
    with pytest.raises(la.RecordingError) as refusal:
        la.learn(states, TIME)
    read = []

    def learn(data, time):
        example, _ = described(data, time, None, None, {"velocities": None}, {})
        read.append(
            {k: list(example["import"][k]) for k in ("coordinates", "velocities")}
        )

    for line in re.findall(r"la.learn\(.*?\)", str(refusal.value)):
        exec(line, {"x": states, "t": TIME, "la": SimpleNamespace(learn=learn)})
    alone, pair = read
    assert alone == {"coordinates": ["x0", "x1"], "velocities": []}
    assert pair == {"coordinates": ["x"], "velocities": ["x"]}


def test_the_shape_and_the_system_of_its_first_page(motions):
    with pytest.raises(la.RecordingError, match=r"\(time, trajectory\)"):  # 10
        la.learn({"x": motions.T}, time=TIME)
    decays = {"x": 3 * np.exp(-2 * TIME), "y": 0.5 * np.exp(TIME / 4)}
    with pytest.raises(la.RecordingError, match="never turns around"):
        la.learn(decays, time=TIME)
