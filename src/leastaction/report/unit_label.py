"""Units as the labels of figures write them."""

import re

import pint


def unit_label(value: pint.Unit, keep_radian: bool = False) -> str:
    """Mathtext of a unit, negative exponents instead of a solidus; 1 if dimensionless.

    Radians are written only where an angle itself is meant: in a stiffness they would
    be noise.
    """
    shown = []
    for sign, name, power in re.findall(
        r"([*/]?)([^\W\d]+)(?:\*\*([\d.]+))?", f"{value:~C}"
    ):
        if name == "rad" and not keep_radian:
            continue
        exponent = float(power or 1) * (-1 if sign == "/" else 1)
        raised = "" if exponent == 1 else f"^{{{exponent:g}}}"
        shown.append(rf"\mathrm{{{name}}}{raised}")
    return "$" + r"\,".join(shown) + "$" if shown else "1"
