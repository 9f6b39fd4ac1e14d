"""The free swing of a real pendulum arm, angle alone."""

import numpy as np
import pandas as pd
import pytest
from recorded import identified, measured_pendulum

from leastaction.core.expressions import parse

PATH = measured_pendulum()
pytestmark = pytest.mark.skipif(
    PATH is None,
    reason="../shared/data/measured/single-pendulum.csv is not there "
    "(LEASTACTION_MEASURED can name its folder)",
)
INSIDE = [1, 4]


def recording(folder, every=1, step=0.0, segments=range(6), held=INSIDE):
    """The recording, or a coarser one made of it."""
    table = pd.read_csv(PATH)
    table = pd.concat([table[table["trajectory"] == s].iloc[::every] for s in segments])
    if step:
        table = table.assign(theta=(table["theta"] / step).round() * step)
    table.to_csv(folder / "rig.csv", index=False, float_format="%.7g")
    return {
        "import": {
            "files": "rig.csv",
            "trajectory": "trajectory",
            "time": "time",
            "coordinates": {"theta": "rad"},
        },
        "validate": {"held_out": held, "start": 0.4},
    }


def terms(model):
    one = model.isel(replicate=0)
    of_l = one["term"].values[one["support"].values == 1]
    of_d = one["dissipation_term"].values[one["dissipation_support"].values == 1]
    return set(map(str, of_l)), set(map(str, of_d))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arm")
    return identified(recording(folder, every=5), folder)


def test_lagrangian_and_leading_loss(found):
    model = found[1].isel(replicate=0)
    of_l, of_d = terms(found[1])
    assert of_l == {"thetadot**2", "cos(theta)"}
    assert "abs(thetadot)" in of_d
    c = float(model["coefficient_estimate"].sel(term="cos(theta)"))
    assert c == pytest.approx(-64.08, rel=1e-3)
    losses = zip(
        model["dissipation_term"].values,
        model["dissipation_coefficient_estimate"].values,
        strict=True,
    )
    v = parse("v", ["v"])
    loss = sum(k * parse(t.replace("thetadot", "v"), ["v"]) for t, k in losses if k)
    force = [float(loss.diff(v).subs(v, x)) for x in (1.0, 3.0, 6.0)]
    assert force == pytest.approx([0.25, 0.22, 0.29], rel=0.2)


def test_free_run_of_swings_inside_the_trained_amplitudes(found):
    rollout = found[2]
    assert rollout["rms_error"].values.max() <= 0.015
    assert rollout["maximum_error"].values.max() <= 0.05


@pytest.mark.parametrize(
    ("options", "extra"),
    [
        ({"every": 50}, {"thetadot**2*sin(theta)", "theta**4"}),
        ({"step": 0.01, "every": 10}, {"sin(theta)"}),
        ({"every": 2, "segments": (3, 4, 5), "held": [5]}, {"sin(theta)"}),
    ],
)
def test_the_skeleton_survives(options, extra, tmp_path):
    """20 Hz; an encoder of 0.01 rad; small swings alone.

    Its zero may show, and that it is not centred, which moves all by a sine.
    """
    _, model, _ = identified(recording(tmp_path, **options), tmp_path)
    of_l, of_d = terms(model)
    assert (
        {"thetadot**2", "cos(theta)"} <= of_l <= {"thetadot**2", "cos(theta)"} | extra
    )
    assert "abs(thetadot)" in of_d
    c = model.isel(replicate=0)["coefficient_estimate"].sel(term="cos(theta)")
    assert np.abs(float(c) / -64.08 - 1) < 1.5e-3
