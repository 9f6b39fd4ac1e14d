"""Unknown structures beside the truth: rows, figures, energy."""

from functools import cache

import numpy as np
from recipes_of_ports import MOTOR, TERMS, simulated

from leastaction.core.families import system_from_config
from leastaction.core.settings import Style
from leastaction.figures.style import draw, finding
from leastaction.ports.recipes import (
    PortRegression,
    PortStructure,
    SmoothedStates,
    WeakPortForm,
)
from leastaction.recipes import compose
from leastaction_papers.port_hamiltonian.scores import rows
from leastaction_papers.port_hamiltonian.structure_rollout import validate
from leastaction_papers.scorecard.case import Case
from leastaction_papers.scorecard.panel import Panel

SETTINGS = {"runs": 2, "steps": 100, "larger": 2.0, "box": 1.5, "points": 200}
START = {"random": {n: {"uniform": [-1.0, 1.0]} for n in "ab"}, **MOTOR["start"]}
SIMULATION = {"time_step": 0.03, "initial_state": START, "input": MOTOR["input"]}


@cache
def panel() -> Panel:
    """The motor at one level of noise, with and without structure."""
    data, models, rollouts = simulated(MOTOR, noise=1e-3), {}, {}
    system = system_from_config(MOTOR["system"])
    for name, method in (("recommended", PortStructure), ("blind", PortRegression)):
        recipe = compose((SmoothedStates, WeakPortForm, method), {"hamiltonian": TERMS})
        models[name] = recipe.dataset(data)
        given = SIMULATION, {"structure": SETTINGS}, {}
        rollouts[name] = validate(system, models[name], *given, example="m", seed=1)
    config = {"title": "Motor", "system": MOTOR["system"]}
    limits = {"noise_levels": [1e-3], "structure_right": 0.95, "energy_created": 0.0}
    limits["structure_gain"] = 0.95
    config["publish"] = {"targets": {"by_noise": [limits], "gauge_with_outputs": 1.0}}
    return Panel("m", config, models, rollouts)


def test_rows_judge_what_was_found():
    found = {row["quantity"]: row for row in rows(Case("p", "recommended", panel()))}
    right = found[
        "replicates with exactly the true entries of J, R, B and H, "
        "noise 0.001 of the rms"
    ]
    assert (right["ours_median"], right["verdict"]) == (1.0, "meets")
    gauge = found["dimension of the gauge: J, R, B and H unknown, with outputs"]
    assert gauge["verdict"] == "meets"
    told = [row for name, row in found.items() if "law.md says" in name]
    assert [row["verdict"] for row in told] == ["meets"] * 3
    assert all("law.md: 1" in row["note"] for row in told)
    created = [row for name, row in found.items() if "creates energy" in name]
    assert [row["verdict"] for row in created] == ["meets"]


def test_free_runs_and_energy_follow_the_truth():
    rollout = panel().rollouts["recommended"]
    assert float(rollout["run_error"].max()) < 1e-2
    assert float(rollout["energy_error"].max()) < 1e-2
    assert np.isnan(panel().rollouts["blind"]["own_energy_created"]).all()


def test_the_figure_has_a_caption_of_what_it_shows():
    assert draw("port_structure", [panel()], Style().plain()).axes
    said = finding("port_structure", [panel()])
    assert said.startswith("Exactly the true entries")
