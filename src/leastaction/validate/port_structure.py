"""How much of a port-Hamiltonian structure identified efforts have kept."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

# Of a difference quotient of H, which is exact to about its fourth power.
STEP = 1e-3


def structure_scores(fits: Sequence, system, points: np.ndarray) -> xr.Dataset:
    """Symmetry, gradient and regularity of every fit.

    Parameters
    ----------
    fits
        Models with `jacobian`, `efforts`, `hamiltonian` and `dae`.
    system
        The truth.
    points
        States at which they are compared, shape (point, state).

    Returns
    -------
    xr.Dataset
        By fit: `asymmetry`, antisymmetric over symmetric part of ∂(Eᵀz)/∂x in rms, with
        a constraint by the differential states alone; zero if Eᵀz is a gradient. `gradient_defect`, largest |Eᵀz − ∇H|
        by central differences of H; infinite without H. `regularity`, the least
        singular value, over the points, of the Jacobian of the algebraic rows by the
        algebraic states (by all states if it is singular in the truth, too).
    """
    true_dae = system.dae
    of_all = _regularity(true_dae, true_dae.algebraic_jacobian(points), False) < 1e-9

    def regularity(dae) -> float:
        return _regularity(dae, dae.algebraic_jacobian(points), of_all)

    inner = true_dae.differential if system.constraint else slice(None)
    scores = {
        "asymmetry": [_asymmetry(fit.dae, points, inner) for fit in fits],
        "gradient_defect": [_gradient_defect(fit.dae, points) for fit in fits],
        "regularity": [regularity(fit.dae) for fit in fits],
    }
    meanings = {
        "asymmetry": "antisymmetric over symmetric part of d(E'z)/dx, rms",
        "gradient_defect": "largest difference of E'z and the gradient of H",
        "regularity": "least singular value of the Jacobian of the algebraic rows",
    }
    found = {
        name: (("fit",), values, {"units": "1", "long_name": meanings[name]})
        for name, values in scores.items()
    }
    found["regularity_true"] = (
        (),
        regularity(true_dae),
        {"units": "1", "long_name": f"{meanings['regularity']}, truth"},
    )
    return xr.Dataset(found)


def _regularity(dae, jacobian: np.ndarray, of_all: bool) -> float:
    columns = slice(None) if of_all else dae.algebraic
    if not dae.algebraic.size:
        return np.inf
    part = jacobian[:, :, columns]
    return float(np.linalg.svd(part, compute_uv=False)[:, -1].min())


def _asymmetry(dae, points: np.ndarray, inner) -> float:
    slopes = np.einsum("rs,prk->psk", dae.flow, dae.jacobian(points))
    slopes = slopes[:, inner][:, :, inner]
    turned = np.swapaxes(slopes, 1, 2)
    odd, even = slopes - turned, slopes + turned
    size = (even**2).sum()
    return float(np.sqrt((odd**2).sum() / size)) if size else np.inf


def _gradient_defect(dae, points: np.ndarray) -> float:
    """Fourth-order differences of H, differential states alone."""
    if dae.hamiltonian is None:
        return np.inf
    through = dae.efforts(points) @ dae.flow
    worst = 0.0
    for i in dae.differential:
        step = STEP * np.maximum(np.abs(points[:, i]), STEP)

        def at(shift, i=i, step=step):
            moved = points.copy()
            moved[:, i] += shift * step
            return dae.hamiltonian(moved)

        slope = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)
        worst = max(worst, float(np.abs(slope - through[:, i]).max()))
    return worst
