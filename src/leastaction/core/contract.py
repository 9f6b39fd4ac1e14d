"""A contract: the variables of a dataset, each with dimensions, unit and meaning."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

# Dimensions of a sweep over noise.
SWEEP = ("noise_mode", "noise_level")


@dataclass(frozen=True)
class Variable:
    """A variable of a dataset.

    Attributes
    ----------
    dims
        Dimensions, in order; a text with blanks between them, or a tuple.
    units
        Unit, ``1`` for a number or a text; None if it depends on the system.
    long_name
        Meaning.
    finite
        Whether a NaN or an infinity is an error.
    may_be_empty
        Whether a dimension may have no entries.
    optional
        Whether a dataset may lack it.
    """

    dims: tuple[str, ...]
    units: str | None = None
    long_name: str = ""
    finite: bool = False
    may_be_empty: bool = False
    optional: bool = False

    def __post_init__(self):
        if isinstance(self.dims, str):
            object.__setattr__(self, "dims", tuple(self.dims.split()))


TIME = Variable("time", "s", "time")


def variables(
    table: str,
    units: Mapping[str, str] | None = None,
    *,
    finite: Collection[str] = (),
    may_be_empty: Collection[str] = (),
    optional: Collection[str] = (),
) -> dict[str, Variable]:
    """Variables of a table: dimensions, and below them ``name [unit] meaning``.

    Parameters
    ----------
    table
        A line of dimensions ends with a colon.
    units
        Units by their mark in the table; the others stand for themselves.
    finite, may_be_empty, optional
        Names of variables with these properties.

    Examples
    --------
    >>> variables("replicate time:\\n q [m] position", finite=["q"])["q"].dims
    ('replicate', 'time')
    """
    found, dims = {}, ""
    for line in table.splitlines():
        name, bracket, rest = line.strip().partition(" [")
        if not bracket:
            dims = name.removesuffix(":")
            continue
        unit, _, meaning = rest.partition("] ")
        found[name] = Variable(
            dims,
            (units or {}).get(unit, unit),
            meaning.strip(),
            finite=name in finite,
            may_be_empty=name in may_be_empty,
            optional=name in optional,
        )
    return found


@dataclass(frozen=True)
class Contract:
    """What a dataset holds.

    Attributes
    ----------
    made_by
        Stage (and method) whose output it is, named in error messages.
    variables
        By name. Dimensions alone stand for a variable that is only checked.
    finite, may_be_empty
        Names of variables with these properties, where `variables` has dimensions only.
    swept
        Whether the dimensions of a sweep over noise may stand after `replicate`.
    model
        Class of models that such a dataset is read into, as ``family.module:Class``;
        see :func:`leastaction.load_model`.
    """

    made_by: str
    variables: Mapping[str, Variable | tuple[str, ...]]
    finite: tuple[str, ...] = ()
    may_be_empty: tuple[str, ...] = ()
    swept: bool = True
    model: str | None = None

    def __post_init__(self):
        complete = {
            name: variable
            if isinstance(variable, Variable)
            else Variable(
                variable,
                finite=name in self.finite,
                may_be_empty=name in self.may_be_empty,
            )
            for name, variable in self.variables.items()
        }
        object.__setattr__(self, "variables", complete)

    def dataset(
        self,
        values: Mapping,
        coords: Mapping | None = None,
        attrs: Mapping | None = None,
        units: Mapping[str, str] | None = None,
    ) -> xr.Dataset:
        """Dataset of one replicate from the values of its variables.

        Parameters
        ----------
        values
            Arrays by name, in the order of the file. An array that lacks the dimension
            `replicate` gets it; an :class:`xarray.DataArray` or ``Variable`` is taken
            as it is, and may be more than the contract lists.
        coords
            As for a dataset. An array of a variable of the contract, or of the time,
            gets its dimensions, unit and meaning.
        attrs
            Of the dataset.
        units
            Units of variables whose unit depends on the system.

        Raises
        ------
        ValueError
            If a variable is not in the contract, or has other dimensions.

        Examples
        --------
        >>> position = Variable("replicate time", "m", "position")
        >>> contract = Contract("simulate", {"q": position})
        >>> dict(contract.dataset({"q": [0.0, 0.1]}).sizes)
        {'replicate': 1, 'time': 2}
        """
        units = units or {}
        whole = (xr.DataArray, xr.Variable)
        unknown = [k for k in values if k not in self.variables]
        if any(not isinstance(values[name], whole) for name in unknown):
            raise ValueError(f"{sorted(unknown)} is not in the contract")
        described = {"time": TIME, **self.variables}
        return xr.Dataset(
            {
                name: self._entry(name, value, units.get(name))
                for name, value in values.items()
            },
            {
                name: self._entry(name, value)
                if name in described and isinstance(value, np.ndarray)
                else value
                for name, value in (coords or {}).items()
            },
            attrs,
        )

    def _entry(self, name: str, value, unit: str | None = None):
        if isinstance(value, (xr.DataArray, xr.Variable)):
            return value
        variable = self.variables.get(name, TIME)
        array = np.asarray(value)
        if array.dtype.kind == "U":
            array = array.astype(object)
        if array.ndim == len(variable.dims) - 1 and variable.dims[0] == "replicate":
            array = array[None]
        if array.ndim != len(variable.dims):
            raise ValueError(
                f"{name!r} has {array.ndim} dimensions, expected {variable.dims}"
            )
        attrs = {"units": unit or variable.units, "long_name": variable.long_name}
        # An array of text is looked through, slowly, unless it is taken as it is.
        return xr.Variable(variable.dims, array, attrs, fastpath=True)
