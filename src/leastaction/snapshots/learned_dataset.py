"""What methods that learn a Lagrangian without candidates return."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

BASIS = (
    "degree",
    "length_scale",
    "inputs",
    "centre",
    "centres",
    "weights",
    "offsets",
)


def learned_model(
    equations: xr.Dataset,
    coefficients: np.ndarray,
    diagnostics: Mapping[str, tuple[float, str, str]],
    factor: np.ndarray | None = None,
) -> xr.Dataset:
    """Contract ``learned_lagrangian`` of one case.

    Parameters
    ----------
    equations
        Contract ``shadow_equations``; its basis and attributes are kept.
    coefficients
        Shape (function,).
    diagnostics
        Name to (value, unit, meaning).
    factor
        Factor of the posterior covariance, shape (direction, function).
    """
    variables = {name: equations[name] for name in BASIS if name in equations}
    meaning = "coefficient of the learned Lagrangian"
    variables["coefficient"] = (
        ("replicate", "function"),
        coefficients[None],
        {"units": "mixed", "long_name": meaning},
    )
    if factor is not None:
        variables["factor"] = (
            ("replicate", "direction", "function"),
            factor[None],
            {"units": "mixed", "long_name": "factor of the posterior covariance"},
        )
    for name, (value, unit, text) in diagnostics.items():
        attributes = {"units": unit, "long_name": text}
        variables[name] = (("replicate",), [float(value)], attributes)
    attributes = {k: v for k, v in equations.attrs.items() if k != "contract"}
    coords = {"replicate": equations["replicate"].values}
    return xr.Dataset(variables, coords=coords, attrs=attributes)
