"""How much of a port-Hamiltonian structure identified efforts have kept."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

# Lines along which H is compared with the integral of the efforts, and Gauss–Legendre
# nodes on each.
LINES, NODES = 50, 24


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
        a constraint by the differential states alone; zero if Eᵀz is a gradient.
        `gradient_defect`, largest |H(b) − H(a) − ∫Eᵀz dx| along lines between
        neighbouring points, J; infinite without H. A difference quotient of H would
        show nothing but its round-off. `regularity`, the least
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
        "gradient_defect": "largest difference of H and the integral of E'z, J",
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
    """Along lines between points whose algebraic states are kept."""
    if dae.hamiltonian is None:
        return np.inf
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    order = np.argsort(points[:, dae.differential[0]])[:: max(1, len(points) // LINES)]
    first = points[order[:-1]]
    last = first.copy()
    last[:, dae.differential] = points[order[1:]][:, dae.differential]
    way = last - first
    along = np.zeros(len(first))
    for node, weight in zip(nodes, weights, strict=True):
        z = dae.efforts(first + 0.5 * (1 + node) * way)
        along += 0.5 * weight * ((z @ dae.flow) * way).sum(axis=1)
    gained = dae.hamiltonian(last) - dae.hamiltonian(first)
    return float(np.abs(gained - along).max())
