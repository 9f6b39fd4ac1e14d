"""Wave and beam of Tripura et al. (2024) at some of their nodes, with losses.

    python benchmarks/machines/lines.py [--seed 1] [NAME ...]

Lengths, nodes, c², E I/(ρ A) and forces are those of the paper, whose fields have no
losses and so no stationary motion; ours have an outer and an inner one. Motions are
exact in 60 modes, stationary, and independent of the tool. The strength S = σ √dx of
the random force is that of independent forces at all nodes of the paper.
"""

import sys
from typing import NamedTuple

import numpy as np
from blind_machines import Machine, main
from scipy.linalg import expm

MODES, NODE = 60, 0.01  # of the motion; distance of two nodes of the paper, m
# Places along a beam that is stiff somewhere: what one sensor does not tell.
STIFF_SOMEWHERE = ("-u_xx**2/2", "-u_x**2/2", "-x*u_xx**2/2", "-x**2*u_xx**2/2")


class Line(NamedTuple):
    """A line of the paper: ends, the truth by term, sampling, noise over the rms."""

    name: str
    ends: str
    length: float
    truth: dict
    step: float
    count: int
    noise: float

    def modes(self, x: np.ndarray):
        """Shapes (place, mode), squared frequencies and losses of the modes."""
        stiffness, outer, inner, _ = self.truth.values()
        number = np.arange(1, MODES + 1)
        if self.name == "wave":
            k = np.pi / self.length * number
            shapes = np.sqrt(2 / self.length) * np.sin(np.outer(x, k))
            return shapes, stiffness * k**2, outer + inner * k**2
        k = np.pi * (number - 0.5)
        k[:3] = 1.875104068711961, 4.694091132974174, 7.854757438237613
        # cosh z - cos z - r (sinh z - sin z), with 1 - r, which is tiny, by itself.
        small = (np.sin(k) - np.cos(k) - np.exp(-k)) / (np.sinh(k) + np.sin(k))
        z = np.outer(x, k)
        shapes = small / 2 * np.exp(z) + (1 - small / 2) * np.exp(-z)
        shapes += (1 - small) * np.sin(z) - np.cos(z)
        return shapes, stiffness * k**4, outer + inner * k**4

    def readings(self, rng, x: np.ndarray, order: int) -> np.ndarray:
        """At places x, (time, place); an acceleration is the mean over one sample."""
        seen, force = np.zeros((self.count, len(x))), self.truth["1"]
        for shape, w, c in zip(*(a.T for a in self.modes(x)), strict=True):
            moved = expm(self.step * np.array([[0.0, 1.0], [-w, -c]]))
            settled = force**2 * np.diag([1 / (2 * c * w), 1 / (2 * c)])
            root = np.linalg.cholesky(settled - moved @ settled @ moved.T)
            kicks = rng.standard_normal((self.count + 1, 2)) @ root.T
            path = [np.sqrt(np.diag(settled)) * rng.standard_normal(2)]
            for kick in kicks:
                path.append(moved @ path[-1] + kick)
            q, v = np.array(path).T
            one = q[1:-1] if order == 0 else np.diff(v)[:-1] / self.step
            seen += np.outer(one, shape)
        return seen + self.noise * seen.std(axis=0) * rng.standard_normal(seen.shape)


WAVE = Line(
    "wave", "fixed", 0.51,
    {"-u_x**2/2": 4.0, "u_t**2/2": 0.8, "u_xt**2/2": 0.005, "1": 8 * NODE**0.5},
    0.01, 5000, 0.05,
)  # fmt: skip
BEAM = Line(
    "beam", "clamped,free", 1.0,
    {"-u_xx**2/2": 0.20703933747412, "u_t**2/2": 0.3, "u_xxt**2/2": 5e-4,
     "1": 20 * NODE**0.5},
    0.02, 4000, 0.01,
)  # fmt: skip


def nodes(line: Line, count: int) -> np.ndarray:
    """Places of so many nodes, evenly spread; one is at a free end."""
    parts = count + line.ends.endswith("fixed")
    share = np.arange(1, count + 1) / parts
    return NODE * np.round(line.length / NODE * share)


def sensed(line: Line, count: int, about: str, order: int = 0, library=None):
    """Generator of a line at so many nodes; without a truth if `library` is listed."""
    name, unit = {0: ("u", "m"), 2: ("u_tt", "m/s^2")}[order]
    x = nodes(line, count)

    def make(rng) -> Machine:
        seen = line.readings(rng, x, order)
        how = {
            "kind": "field",
            "time": line.step,
            "sensors": {
                f"{name}({at:.2f})": f"s{j} [{unit}]" for j, at in enumerate(x)
            },
            "length": line.length,
            "ends": line.ends,
        }
        if library:
            how["library"] = {"lagrangian": list(library)}
        data = {f"s{j}": values for j, values in enumerate(seen.T)}
        return Machine(data, how, None if library else line.truth)

    suffix = {0: "", 2: "_accelerations"}[order] + ("_stiff_somewhere" * bool(library))
    quiet = "_quiet" if line.noise < 0.05 and line.name == "wave" else ""
    make.__name__ = f"{line.name}_{count}{suffix}{quiet}"
    make.__doc__ = about
    return make


MAKERS = (
    *(sensed(WAVE, n, f"Wave at {n} of its 50 nodes, noise 5 %") for n in (5, 10, 20)),
    sensed(WAVE._replace(noise=0.01), 5, "Wave at 5 of its 50 nodes, noise 1 %"),
    *(sensed(BEAM, n, f"Beam at {n} of its 100 nodes, noise 1 %") for n in (5, 10, 20)),
    sensed(BEAM, 5, "Beam at 5 of its 100 nodes, accelerations, noise 1 %", 2),
    sensed(
        BEAM, 1, "Tip of the beam alone, E I(x) with three coefficients",
        library=STIFF_SOMEWHERE,
    ),
)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(MAKERS))
