"""SINDy-PI on the cart pendulum: leastaction and pysindy, on the same matrix.

    python benchmarks/sindy_pi.py

The implicit equation of the angle, 20 candidates, 10 100 samples, independent noise on
all channels. Both try the same five left-hand sides: ours by thresholded least squares
with ten thresholds and the choice by data held out, pysindy's `SINDyPI` by one convex
program (CVXPY) each, of the given weight. Its coefficients below 1e-2 of the largest
count as zero, and any of its five equations may be the true one, which is in its
favour; ours gives one equation.
"""

import io
import logging
import warnings
from contextlib import redirect_stdout

import numpy as np
from cpu import Timing, Way, imported, save, side_by_side
from examples import example_of
from sparse_regression import NAME, PAPER, Equation

from leastaction_papers.xl_sindy.sindy_pi import (
    best_equation,
    held_out,
    triangular_factor,
)

NOISES, EVERY, WEIGHT, SMALL = (0.0, 1e-3, 1e-2), 5, 1e-3, 1e-2
PYSINDY = "pysindy, SINDyPI"


def ours(equation: Equation, settings: dict):
    """QR factor of the training trajectories, and the search."""
    acceleration = equation.motion[2]
    trajectories, times, dof = acceleration.shape
    outside = np.isin(np.arange(trajectories), held_out(acceleration))
    motion = [channel[outside].reshape(-1, dof) for channel in equation.motion]
    outside = np.repeat(outside, times)
    slopes = equation.library.slopes(*motion)
    inside = equation.theta[~outside]
    factor = triangular_factor(inside) / np.sqrt(len(inside))
    return best_equation(
        factor,
        equation.left,
        equation.theta[outside],
        slopes[:, 0, equation.members],
        motion[2][:, 0],
        settings,
    )


def by_pysindy(equation: Equation):
    """Fit of all left-hand sides; it prints the number of each."""
    import pysindy

    optimiser = pysindy.SINDyPI(
        reg_weight_lam=WEIGHT,
        regularizer="l1",
        model_subset=equation.left,
        normalize_columns=True,
        max_iter=1000,
    )
    with redirect_stdout(io.StringIO()):
        return optimiser.fit(equation.theta, equation.theta)


def main() -> None:
    """Time both at every noise level, in this process."""
    settings = example_of(PAPER, NAME)["estimators"]["sindy_pi"]["identify"]
    missing = imported("pysindy", "cvxpy")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    tables = []
    for noise in NOISES:
        equation = Equation(noise, EVERY)

        def described(found, equation=equation) -> str:
            return equation.described(np.flatnonzero(found.coefficients))

        def of_peer(fitted, equation=equation) -> str:
            true, sizes = 0, []
            for left, row in zip(
                equation.left, fitted.coef_[equation.left], strict=True
            ):
                relation = row.copy()
                relation[left] = -1.0
                support = np.flatnonzero(np.abs(relation) > SMALL * np.abs(row).max())
                true += equation.is_true(support)
                sizes.append(str(len(support)))
            return f"{true} of {len(sizes)} true, terms {', '.join(sizes)}"

        ways = {
            f"leastaction, SINDy-PI, noise {noise:g}": Way(
                lambda equation=equation: ours(equation, settings),
                3,
                describe=described,
            )
        }
        name = f"{PYSINDY}, noise {noise:g}"
        if not missing:
            ways[name] = Way(
                lambda equation=equation: by_pysindy(equation),
                1,
                cold=True,
                describe=of_peer,
            )
        timings = side_by_side(ways)
        tables.append(timings + [Timing(name, missing=missing)] * bool(missing))
    save("sindy_pi", tables=tables)


if __name__ == "__main__":
    main()
