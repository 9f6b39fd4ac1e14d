"""Driven port-Hamiltonian systems, their data and fits, for tests."""

from leastaction import simulate, system
from leastaction.ports.recipes import PortStructure, SmoothedStates, WeakPortForm
from leastaction.recipes import compose

MOTOR = {
    "system": {
        "states": {"phi": {"unit": "V s"}, "p": {"unit": "J s"}},
        "inputs": {"v": {"unit": "V"}},
        "parameters": {},
        "flow": [[1, 0], [0, 1]],
        "structure": [[0, -0.5], [0.5, 0]],
        "dissipation": [[1, 0], [0, 0.2]],
        "port": [[1], [0]],
        "efforts": ["2*phi", "4*p"],
        "hamiltonian": "phi**2 + 2*p**2",
    },
    "start": {"phi": "a", "p": "b"},
    "input": {"v": "sin(time + a) + sin(2.3*time + b) + sin(0.7*time)"},
    "range": [-1.0, 1.0],
}
TERMS = [
    {"polynomial": {"of": ["phi", "p"], "degree": 2, "lowest": 2}},
    {"terms": ["phi**3", "p**3"]},
]
CONES = {
    "states": {"V1": {"unit": "m^3"}, "V2": {"unit": "m^3"}},
    "inputs": {"u": {"unit": "m^3/s"}},
    "parameters": {},
    "flow": [[1, 0], [0, 1]],
    "structure": [[0, 0], [0, 0]],
    "port": [[1], [0]],
    "efforts": ["4/3*V1**(1/3)", "V2"],
    "hamiltonian": "V1**(4/3) + V2**2/2",
}
TANKS = {
    "system": CONES | {"dissipation": [[0.6, -0.6], [-0.6, 1.0]]},
    "torricelli": CONES | {"dissipation": [[0.6, -0.6], [-0.6, "0.6 + 0.4/sqrt(V2)"]]},
    "start": {"V1": "2 + a/2", "V2": "1.5 + b/2"},
    "input": {"u": "1 + 0.4*sin(time + a) + 0.4*sin(2.3*time + b)"},
    "range": [-1.0, 1.0],
    "terms": [{"terms": ["V1**(4/3)", "V1**2", "V2**(4/3)", "V2**2", "V1*V2"]}],
}
STIFFENING = {
    "system": {
        "states": {"q": {"unit": "m"}, "p": {"unit": "kg m/s"}},
        "inputs": {"F": {"unit": "N"}},
        "parameters": {},
        "flow": [[1, 0], [0, 1]],
        "structure": [[0, 1], [-1, 0]],
        "dissipation": [[0, 0], [0, "0.1 + q**2/2"]],
        "port": [[0], [1]],
        "efforts": ["q + 0.8*q**3", "p/1.5"],
        "hamiltonian": "q**2/2 + q**4/5 + p**2/3",
    },
    "start": {"q": "a", "p": "b"},
    "input": {"F": "sin(time + a) + sin(2.3*time + b) + sin(0.7*time)"},
    "range": [-1.0, 1.0],
}


def simulated(of, noise=0.0, steps=400, trajectories=3):
    """One replicate of motions, recorded at one level of noise."""
    draws = {name: {"uniform": of["range"]} for name in "ab"}
    return simulate(
        system(of["system"]),
        method="driven_motions",
        time_step=0.03,
        duration=0.03 * steps,
        trajectories=trajectories,
        replicates=1,
        initial_state={"random": draws, **of["start"]},
        input=of["input"],
        noise={"levels": [noise]},
    )


def fit(data, terms=TERMS, method=PortStructure, **settings):
    """Model of the recommended recipe, or with another last method."""
    methods = (SmoothedStates, WeakPortForm, method)
    return compose(methods, {"hamiltonian": terms, **settings}).fit(data)
