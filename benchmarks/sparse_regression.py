"""Sparse regression of one library: leastaction and pysindy, on the same matrix.

    python benchmarks/sparse_regression.py

The angular acceleration of the cart pendulum of Purnomo and Hayashibe on the other 19
candidates of its implicit equation, 50 100 samples with noise of 1e-3 on all channels.
Thresholded least squares has the same threshold in both packages, and pysindy's ridge
is off. A true equation has exactly the terms of the equation of motion.
"""

import warnings

import numpy as np
from cpu import Timing, Way, imported, save, side_by_side
from examples import example_of, observations_of

from leastaction.core.families import system_from_config
from leastaction.core.noise_sweep import recorded
from leastaction.core.sparse_regression import best_subset, stlsq
from leastaction_papers.scorecard.implicit_library import ImplicitLibrary, true_relation

PAPER, NAME, SEED = "xl_sindy", "cart", 1
NOISE, THRESHOLD, LARGEST = 1e-3, 0.1, 6


class Equation:
    """Candidates of the first coordinate's equation along noisy motions.

    Attributes
    ----------
    motion
        q, q̇ and q̈, shape (trajectory, time, dof).
    theta
        Shape (sample, member).
    left
        Members that hold the acceleration; the first is the acceleration itself.
    """

    def __init__(self, noise: float, every: int = 1):
        example = example_of(PAPER, NAME)
        system = system_from_config(example["system"])
        data = observations_of(example, key=f"{PAPER}/{NAME}", seed=SEED)
        motion = recorded(data, "independent", noise)
        self.library = ImplicitLibrary.from_config(
            example["library"], list(system.coordinates)
        )
        self.motion = [
            motion[name].values[0][:, ::every] for name in ("q", "qdot", "qddot")
        ]
        flat = [channel.reshape(-1, system.dof) for channel in self.motion]
        self.members = list(self.library.members[0])
        self.theta = self.library.evaluate(*flat)[:, self.members]
        self.left = [self.members.index(k) for k in self.library.left_hand_sides(0)]
        self.truth = self.library.truth(system, 0)

    def is_true(self, support) -> bool:
        """Whether these members are exactly those of an equation of motion."""
        support = [int(k) for k in support]
        return true_relation(support, self.truth, self.left) is not None

    def described(self, support) -> str:
        """In words."""
        verdict = "true equation" if self.is_true(support) else "not a true equation"
        return f"{len(support)} terms, {verdict}"


def main() -> None:
    """Time all methods in this process."""
    equation = Equation(NOISE)
    left = equation.left[0]
    others = np.delete(np.arange(equation.theta.shape[1]), left)
    theta, target = equation.theta[:, others], equation.theta[:, left]

    def described(coefficients) -> str:
        return equation.described([left, *others[np.flatnonzero(coefficients)]])

    def sizes(path) -> str:
        """The smallest true equation on a path of supports."""
        for support in path:
            if equation.is_true([left, *others[list(support)]]):
                return f"true equation at size {len(support) + 1}"
        return f"no true equation up to size {len(path)}"

    ways = {
        "leastaction, STLSQ": Way(
            lambda: stlsq(theta, target, THRESHOLD), 9, describe=described
        ),
    }
    subsets = {
        "leastaction, best subset": Way(
            lambda: best_subset(theta[None], target[None], LARGEST - 1).supports,
            5,
            describe=sizes,
        ),
    }
    missing = imported("pysindy")
    if missing:
        peers = ["pysindy, STLSQ"], ["pysindy, SSR", "pysindy, FROLS"]
        timings = [
            side_by_side(some) + [Timing(name, missing=missing) for name in names]
            for some, names in zip((ways, subsets), peers, strict=True)
        ]
    else:
        import pysindy

        warnings.simplefilter("ignore")

        def fitted(optimiser):
            return lambda: optimiser.fit(theta, target[:, None])

        def path(optimiser):
            history = [np.flatnonzero(c) for c in np.array(optimiser.history_)]
            return sizes(sorted(history, key=len)[:LARGEST])

        def found(optimiser):
            return described(optimiser.coef_[0])

        make = pysindy.STLSQ(threshold=THRESHOLD, alpha=0.0, unbias=False)
        ways["pysindy, STLSQ"] = Way(fitted(make), 9, describe=found)
        make = pysindy.SR3(reg_weight_lam=THRESHOLD**2 / 2, regularizer="l0")
        ways["pysindy, SR3"] = Way(fitted(make), 5, describe=found)
        for name, repeats, make in (
            ("SSR", 5, pysindy.SSR(alpha=0.0)),
            ("FROLS", 2, pysindy.FROLS(alpha=0.0, max_iter=LARGEST)),
        ):
            subsets[f"pysindy, {name}"] = Way(fitted(make), repeats, describe=path)
        timings = [side_by_side(ways), side_by_side(subsets)]
    save("sparse_regression", tables=timings)


if __name__ == "__main__":
    main()
