"""Port-Hamiltonian systems whose structure is to be found, with their unknowns."""

from itertools import combinations_with_replacement

import numpy as np
import sympy as sp
import xarray as xr

from leastaction.core.expressions import parse
from leastaction.ports.port_structure import Candidates, PortStructure

Q, P = ("q1", "q2", "q3"), ("p1", "p2", "p3")


def _powers(**of) -> list[str]:
    return [f"{x}**({p})" for x, powers in of.items() for p in powers]


MATRICES = {
    "motor": {"J_12": -0.5, "R_11": 1.0, "R_22": 0.2, "B_11": 1.0},
    "tanks": {"R_11": 0.6, "R_12": -0.6, "R_22": 1.0, "B_11": 1.0},
    "network": {"J_12": -1.0, "J_23": -1.0, "R_11": 1.0, "R_22": 0.5, "B_11": 1.0},
    "chain": {
        **{"J_14": 1.0, "J_25": 1.0, "J_36": 1.0, "B_61": 1.0},
        **{"R_44": 0.5, "R_45": -0.2, "R_55": 0.5, "R_56": -0.3, "R_66": 0.4},
    },
}
ENERGIES = {
    "motor": "x1**2 + 2*x2**2",
    "tanks": "x1**(4/3) + x2**2/2",
    "network": "x1**(3/2) + 7*x2**2/10 + 2*x3**2/5",
    "chain": "p1**2/2 + p2**2/3 + p3**2/4 + q1**2/2 + q1**4/10 + (q2 - q1)**2 "
    "+ (q2 - q1)**4/5 + (q3 - q2)**2/3 + (q3 - q2)**4/7",
}


def candidates(name: str) -> Candidates:
    """Candidates of H of one of the systems."""
    if name == "motor":
        return Candidates.of(
            ["x1", "x2"], [*_powers(x1=(2, 3, 4), x2=(2, 3, 4)), "x1*x2"]
        )
    if name == "tanks":
        powers = ("4/3", "3/2", 2, 3)
        return Candidates.of(["x1", "x2"], [*_powers(x1=powers, x2=powers), "x1*x2"])
    if name == "network":
        charge = ("3/2", 2, 3)
        terms = _powers(x1=charge, x2=(2, 3, 4), x3=charge)
        return Candidates.of(["x1", "x2", "x3"], [*terms, "x1*x2", "x2*x3", "x1*x3"])
    springs = [c for d in (2, 3, 4) for c in combinations_with_replacement(Q, d)]
    others = [*combinations_with_replacement(P, 2), *((a, b) for a in Q for b in P)]
    return Candidates.of([*Q, *P], ["*".join(term) for term in [*springs, *others]])


def truth(
    name: str, known: bool = False, **options
) -> tuple[PortStructure, np.ndarray]:
    """Structure with all of J, R, B and H unknown, or J `known`; and the unknowns."""
    found = candidates(name)
    free = PortStructure.of(found, 1)
    energy = sp.expand(parse(ENERGIES[name], found.states)).as_coefficients_dict()
    theta = np.zeros(len(free.names))
    for k, value in MATRICES[name].items():
        theta[free.names.index(k)] = value
    theta[free.inner :] = [energy.get(sp.expand(term), 0) for term in found.terms]
    given = free.matrices(theta)[0].tolist() if known else "unknown"
    structure = PortStructure.of(found, 1, structure=given, **options)
    return structure, theta[[free.names.index(k) for k in structure.names]]


# dx/dt = (J - R) grad H + B u with H = 2 a² + b²/2 + a⁴/4.
TERMS, WEIGHTS = ["a**2", "b**2", "a**4", "a*b"], np.array([2, 0.5, 0.25, 0.0])
STRUCTURE = np.array([[0.0, -1.5], [1.5, 0.0]])
RESISTANCE = np.array([[0.0, 0.25], [0.25, 1.0]])
PORT = np.array([[1.0], [0.0]])


def identified(**changes) -> xr.Dataset:
    """A model of a motor; functions g are a, b and a³ in this order."""
    gradient = np.array([[4, 0, 1], [0, 1, 0]])  # of a, b, a³
    of = {
        "structure_estimate": ("row effort", STRUCTURE),
        "structure_std": ("row effort", np.full((2, 2), 0.1)),
        "dissipation_estimate": ("row effort", RESISTANCE),
        "dissipation_std": ("row effort", np.full((2, 2), 0.01)),
        "port_estimate": ("row port", PORT),
        "port_std": ("row port", np.full((2, 1), 0.05)),
        "coefficient_estimate": ("term", WEIGHTS),
        "coefficient_std": ("term", np.full(4, 0.02)),
        "drift_estimate": ("row function", (STRUCTURE - RESISTANCE) @ gradient),
        "gauge_dimension": ("assumption", np.array([2.0, np.nan])),
        "chi_square_ratio": ("", 1.234),
        "form_p_value": ("", 0.25),
        "coefficients": ("", 16.0),
        "equations": ("", 12.0),
        "refusal": ("", ""),
    }
    values = {
        name: (("replicate", *dims.split()), np.array(changes.get(name, value))[None])
        for name, (dims, value) in of.items()
    }
    coords = {"state": ["a", "b"], "term": TERMS, "assumption": ["found", "J known"]}
    return xr.Dataset(values, coords=coords)
