"""The tool works without the package of the papers, and never loads it by itself."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

ROOT = Path(__file__).parents[1]
# As where only the tool is installed.
WITHOUT = """
import importlib.abc, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "leastaction_papers":
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Missing())
"""
LEARN = """
import numpy as np, leastaction as la, sys
time = np.arange(0, 20, 0.02)
x = np.array([a * np.cos(3 * time) for a in (1.0, 2.0, 3.0, 4.0)])
law = la.learn({"x": x}, time=time, progress=False)
law.to_markdown(), law.plot()
for family in ("ensembles", "fields", "trajectories", "recordings", "snapshots"):
    assert getattr(la.recipes, family).recommended().steps()
for family in ("densities", "ports"):  # which need settings
    assert getattr(la.recipes, family).kinds
law.save(sys.argv[1])
assert str(la.load(sys.argv[1])) == str(law)
assert not [name for name in sys.modules if name.startswith("leastaction_papers")]
"""
LEARN_SWINGS = "learn swings.csv --time t --trajectory run --coordinate theta:rad"
COMMANDS = [
    "demo swings.csv",
    "describe swings.csv",
    LEARN_SWINGS,
    "modes floors.csv --time t",
    "calibrate trap.csv --time t --sensor z:V",
]


def run(code, *arguments, folder="."):
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("before", ["", WITHOUT], ids=["beside the papers", "alone"])
def test_a_law_is_learned_saved_and_loaded(before, tmp_path):
    run(before + LEARN, tmp_path / "model.nc")


def test_the_commands_run_without_the_papers(tmp_path, rng):
    white = rng.normal(size=4000)
    floor = lfilter([1.0], [1.0, -1.8, 0.97], white)
    trap = lfilter([1.0], [1.0, -0.9], white)
    for name, y in (("floors", floor), ("trap", trap)):
        frame = pd.DataFrame({"t": 1e-3 * np.arange(y.size), "z": y})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    start = WITHOUT + "from leastaction.__main__ import main; sys.exit(main())"
    for command in COMMANDS:
        assert run(start, *command.split(), folder=tmp_path)
