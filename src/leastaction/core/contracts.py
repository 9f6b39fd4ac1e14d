"""Contracts: what each dataset between the stages holds, defined once.

A contract lists the variables of a dataset with dimensions, unit and meaning. From that
list it builds the dataset (:meth:`Contract.dataset`) and checks it (:func:`check`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from leastaction.core import families


@dataclass(frozen=True)
class Variable:
    """A variable of a dataset: `dims` in order, `units`, and its meaning.

    `units` are None if they depend on the system. A `finite` one may hold no NaN; one
    that `may_be_empty` has dimensions without entries; a dataset may lack an `optional`
    one.
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
# What is taken as it is.
ARRAYS = (xr.DataArray, xr.Variable)


def variables(
    table: str,
    units: Mapping[str, str] | None = None,
    *,
    finite: Collection[str] = (),
    may_be_empty: Collection[str] = (),
    optional: Collection[str] = (),
) -> dict[str, Variable]:
    """Variables of a table: dimensions, and below them ``name [unit] meaning``.

    A line of dimensions ends with a colon. `units` replaces marks of the table; the
    other arguments name the variables with these properties.

    >>> variables("replicate time:\\n q [m] position", finite=["q"])["q"].dims
    ('replicate', 'time')
    """
    result, dims = {}, ""
    for line in table.splitlines():
        name, bracket, rest = line.strip().partition(" [")
        if not bracket:
            dims = name.removesuffix(":")
            continue
        unit, _, meaning = rest.partition("] ")
        result[name] = Variable(
            dims,
            (units or {}).get(unit, unit),
            meaning.strip(),
            finite=name in finite,
            may_be_empty=name in may_be_empty,
            optional=name in optional,
        )
    return result


@dataclass(frozen=True)
class Contract:
    """What a dataset holds: its `variables` by name, `made_by` a stage.

    In a `swept` one the dimensions of a sweep over noise may stand after `replicate`.
    `model` is the class that it is read into, as ``family.module:Class``; see
    :func:`leastaction.load`.
    """

    made_by: str
    variables: Mapping[str, Variable]
    swept: bool = True
    model: str | None = None

    def dataset(
        self,
        values: Mapping,
        coords: Mapping | None = None,
        attrs: Mapping | None = None,
        units: Mapping[str, str] | None = None,
    ) -> xr.Dataset:
        """Dataset of one replicate from the values of its variables, in their order.

        An array that lacks the dimension `replicate` gets it; an
        :class:`xarray.DataArray` or ``Variable`` is taken as it is, and may be more
        than the contract lists. A coordinate that is an array of a variable, or of the
        time, gets its dimensions, unit and meaning. `units` are those that depend on
        the system.

        ValueError if a variable is not in the contract, or has other dimensions.

        >>> position = Variable("replicate time", "m", "position")
        >>> contract = Contract("simulate", {"q": position})
        >>> dict(contract.dataset({"q": [0.0, 0.1]}).sizes)
        {'replicate': 1, 'time': 2}
        """
        unknown = [k for k in values if k not in self.variables]
        if not all(isinstance(values[k], ARRAYS) for k in unknown):
            raise ValueError(f"{sorted(unknown)} is not in the contract")
        described, units = {"time": TIME, **self.variables}, units or {}
        coords = dict(coords or {})
        for name, value in coords.items():
            if name in described and isinstance(value, np.ndarray):
                coords[name] = self._entry(name, value)
        data = {k: self._entry(k, value, units.get(k)) for k, value in values.items()}
        return xr.Dataset(data, coords, attrs)

    def _entry(self, name: str, value, unit: str | None = None):
        if isinstance(value, ARRAYS):
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


OF_DAMPING = """
    dissipation_term:
        dissipation_status [1] what algebra says about the term of D
        dissipation_equivalent [1] equivalent of a removed candidate of D
    replicate dissipation_term:
        dissipation_coefficient_estimate [mixed] coefficient of the Rayleigh function D
        dissipation_coefficient_std [mixed] its standard error
        dissipation_support [1] whether the term of D is selected
"""
OF_SQUARES = """
    replicate dof volatility_term:
        volatility_coefficient_estimate [mixed] coefficient of S^2
        volatility_coefficient_std [mixed] its standard error
        volatility_root_estimate [mixed] coefficient of S where S^2 is a perfect square
        volatility_root_std [mixed] its standard error
        volatility_support [1] whether the term of S^2 is selected
"""
MODEL = Contract(
    "identify",
    variables(
        f"""
        term:
            status [1] what algebra says about the term
            equivalent [1] equivalent of a removed candidate
        replicate term:
            coefficient_estimate [mixed] coefficient of L
            coefficient_std [mixed] standard error of the coefficient
            support [1] whether the term is selected
        {OF_DAMPING}
        replicate:
            alternatives [1] other subsets that fit as well
        replicate dof:
            volatility_is_constant [1] whether S is a constant
            volatility_estimate [(units of qddot) s^0.5] volatility
            volatility_std [(units of qddot) s^0.5] standard error of the volatility
        replicate dof dof_other:
            noise_covariance [(units of qddot)^2 s] covariance S S^T of the random force
        {OF_SQUARES}
        replicate dof term:
            equation_coefficient_estimate [mixed] coefficient of L as one equation of \
motion gives it
        replicate size:
            criterion [1] selection criterion of the best subset of each size
        """,
        may_be_empty=variables(OF_DAMPING + OF_SQUARES),
        optional=(
            "equivalent",
            "dissipation_status",
            "dissipation_equivalent",
            "volatility_coefficient_std",
            "equation_coefficient_estimate",
            "criterion",
        ),
    ),
    model="leastaction.core.model:IdentifiedModel",
)


@families.of_families
def contracts() -> Mapping[str, Contract]:
    """Every contract by its name."""
    result = {"model": MODEL}
    for module in families.modules("contracts"):
        result |= module.CONTRACTS
    return result


class ContractError(ValueError):
    """A dataset that does not hold what its stage promised."""


def problems(dataset: xr.Dataset, name: str, most_bytes: float = np.inf) -> list[str]:
    """Everything that is wrong with `dataset` by the contract `name`.

    Variables of more than `most_bytes` are not looked through for NaN.
    """
    contract = contracts()[name]
    result = []
    for variable, expected in contract.variables.items():
        dims = expected.dims
        if variable not in dataset and expected.optional:
            continue
        if variable not in dataset:
            result.append(f"variable {variable!r} {dims} is missing")
            continue
        array = dataset[variable]
        actual = array.dims
        if contract.swept:
            actual = tuple(d for d in actual if d not in SWEEP)
        if actual != dims:
            result.append(f"{variable!r} has dimensions {array.dims}, expected {dims}")
        missing = [key for key in ("units", "long_name") if key not in array.attrs]
        if missing:
            result.append(f"{variable!r} lacks the attribute {' and '.join(missing)}")
        if 0 in array.shape and not expected.may_be_empty:
            result.append(f"{variable!r} is empty: {dict(array.sizes)}")
        if not expected.finite or array.nbytes > most_bytes:
            continue
        finite = np.isfinite(array.values)
        if not finite.all():  # a tenth of the time of looking for them
            bad = np.argwhere(~finite)
            where = dict(zip(array.dims, map(int, bad[0]), strict=True))
            result.append(
                f"{variable!r} has {len(bad)} values that are not finite, "
                f"the first at {where}"
            )
    result += _name_problems(dataset)
    if "time" in dataset.coords:
        result += _time_problems(dataset["time"])
    return result


def _name_problems(dataset: xr.Dataset) -> list[str]:
    """Names of quantities that are more than a name: they become code."""
    labels = [dataset[k] for k in NAMED if k in dataset.coords]
    labels += [dataset.attrs[k] for k in NAMED if k in dataset.attrs]
    names = [name for label in labels for name in np.ravel(label).tolist()]
    return [
        f"{str(name)[:60]!r} cannot name a quantity: expected ASCII letters, digits "
        "and underscores, a letter first"
        for name in names
        if not families.is_plain(name)
    ][:1]


def _time_problems(time: xr.DataArray) -> list[str]:
    if time.size < 3:
        return [f"'time' has {time.size} samples; at least 3 are needed"]
    steps = np.diff(time.values)
    if not (steps > 0).all():
        return [f"'time' does not increase at sample {int(np.argmin(steps)) + 1}"]
    if np.ptp(steps) > 1e-6 * steps.mean():
        return [f"'time' is not uniform: steps {steps.min():g} ... {steps.max():g} s"]
    return []


def check(
    dataset: xr.Dataset,
    name: str,
    source: str = "dataset",
    most_bytes: float = np.inf,
) -> xr.Dataset:
    """Return `dataset`; ContractError with its :func:`problems`, if there are any."""
    kind = str(dataset.attrs.get("contract", name))
    if not {kind, str(name)} <= set(contracts()):
        families.extend()
    if kind not in contracts():
        raise ContractError(
            f"{source} was not made by leastaction (its attribute 'contract' is "
            f"{kind!r}); known are {', '.join(contracts())}"
        )
    if kind != name:
        raise ContractError(
            f"{source} holds {kind!r} (made by {contracts()[kind].made_by}), but "
            f"{name!r} (made by {contracts()[name].made_by}) is needed here; "
            "choose methods that fit together"
        )
    result = problems(dataset, name, most_bytes)
    if result:
        listing = "\n".join(f"  - {problem}" for problem in result)
        raise ContractError(
            f"{source} is not a valid {name!r} dataset "
            f"(made by {contracts()[name].made_by}):\n{listing}"
        )
    return dataset


def time_step(dataset: xr.Dataset) -> float:
    """Time step, s, of a dataset whose time its contract has found uniform."""
    time = dataset["time"].values
    return float((time[-1] - time[0]) / (time.size - 1))


# Coordinates and attributes that hold names of quantities.
NAMED = ("dof", "state", "port", "effort", "field", "calculus", "rule")
# Dimensions of a sweep over noise.
SWEEP = ("noise_mode", "noise_level")
