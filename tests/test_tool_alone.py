"""The tool works without the package of the papers, and never loads it by itself."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.signal import lfilter

ROOT = Path(__file__).parents[1]
# As where only the tool is installed.
ALONE = "import sys; sys.modules['leastaction_papers'] = None\n"
COMMANDS = """
from leastaction.__main__ import main
for command in (
    "demo swings.csv",
    "describe swings.csv",
    "learn swings.csv --time t --trajectory run --coordinate theta:rad --quiet"
    " --term L:thetadot**2 --term L:cos(theta) --term D:abs(thetadot)",
    "modes floors.csv --time t",
    "calibrate trap.csv --time t --sensor z:V",
):
    assert main(command.split()) == 0, command
"""
LEARN = """
import numpy as np, leastaction as la, sys
time = np.arange(0, 20, 0.02)
x = np.array([a * np.cos(3 * time) for a in (1.0, 2.0, 3.0, 4.0)])
few = {"lagrangian": ["xdot**2", "x**2"], "dissipation": ["xdot**2"]}
law = la.learn({"x": x}, time=time, library=few, progress=False)
law.to_markdown(), law.plot(), law.save(sys.argv[1])
assert str(la.load(sys.argv[1])) == str(law)
for family in ("ensembles", "fields", "trajectories", "recordings", "snapshots"):
    assert getattr(la.recipes, family).recommended().steps()
assert la.recipes.ports.kinds and la.recipes.densities.kinds
assert not [name for name in sys.modules if name.startswith("leastaction_papers")]
"""


def run(code, *arguments, folder="."):
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_a_law_loads_nothing_of_the_papers(tmp_path):
    run(LEARN, tmp_path / "model.nc")


def test_the_commands_run_without_the_papers(tmp_path, rng):
    white = rng.normal(size=4000)
    floor = lfilter([1.0], [1.0, -1.8, 0.97], white)
    trap = lfilter([1.0], [1.0, -0.9], white)
    for name, y in (("floors", floor), ("trap", trap)):
        frame = pd.DataFrame({"t": 1e-3 * np.arange(y.size), "z": y})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    run(ALONE + COMMANDS, folder=tmp_path)
