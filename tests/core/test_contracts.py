"""What a dataset must hold: built by its contract, and every harm named."""

import numpy as np
import pytest
import xarray as xr

from leastaction.core import contracts
from leastaction.core.contracts import (
    Contract,
    ContractError,
    check,
    problems,
    time_step,
    variables,
)

TABLE = """
    replicate time dof:
        q [U] position
    replicate:
        n [1] number of runs
        more [1] what may be absent
    replicate time:
        extra [V]
"""
POSITIONS = Contract(
    "simulate",
    variables(
        TABLE, {"U": "m"}, finite=["q"], may_be_empty=["extra"], optional=["more"]
    ),
)


@pytest.fixture(autouse=True)
def known(monkeypatch):
    fixed = Contract("import", POSITIONS.variables, swept=False)
    known = {"positions": POSITIONS, "fixed": fixed}
    monkeypatch.setattr(contracts, "contracts", lambda: known)


def dataset(**attrs):
    values = {"q": np.arange(8.0).reshape(4, 2), "n": 3, "extra": np.zeros((1, 4))}
    coords = {"time": np.arange(4) * 0.5, "dof": ["x", "y"]}
    return POSITIONS.dataset(values, coords, attrs, {"extra": "s"})


def test_a_dataset_has_what_its_table_says():
    result = dataset(a=1)
    assert result["q"].dims == ("replicate", "time", "dof")
    assert result["q"].attrs == {"units": "m", "long_name": "position"}
    assert result["n"].shape == (1,) and result["extra"].attrs["units"] == "s"
    assert result["time"].attrs == {"units": "s", "long_name": "time"}
    assert result.attrs == {"a": 1}
    assert POSITIONS.variables["q"].finite and not POSITIONS.variables["n"].finite
    assert problems(result, "positions") == [] and check(result, "positions") is result
    assert time_step(result) == 0.5


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"p": [1.0]}, r"\['p'\] is not in the contract"),
        (
            {"q": [1.0]},
            r"'q' has 1 dimensions, expected \('replicate', 'time', 'dof'\)",
        ),
        ({"q": np.zeros((1, 1, 1, 1))}, "'q' has 4 dimensions"),
    ],
)
def test_values_that_do_not_fit_are_refused(values, words):
    with pytest.raises(ValueError, match=words):
        POSITIONS.dataset(values)
    further = xr.Variable("z", [1.0])  # as it is
    assert "p" in POSITIONS.dataset({"p": further})


def with_time(*values):
    return lambda d: d.isel(time=slice(len(values))).assign_coords(time=list(values))


HARM = {
    "no q": (lambda d: d.drop_vars("q"), "variable 'q' .* is missing"),
    "turned": (lambda d: d.assign(q=d["q"].T), "'q' has dimensions .* expected"),
    "unit": (lambda d: d.assign(n=("replicate", [1])), "lacks .* units and long_name"),
    "empty": (lambda d: d.isel(dof=[]), "'q' is empty: .*'dof': 0"),
    "nan": (
        lambda d: d.assign(q=d["q"].where(d["q"] != 5)),
        r"'q' has 1 values that are not finite, the first at "
        r"\{'replicate': 0, 'time': 2, 'dof': 1\}",
    ),
    "name": (lambda d: d.assign_coords(dof=["x", "1y"]), "'1y' cannot name a quantity"),
    "attribute": (lambda d: d.assign_attrs(state="x = 0"), "'x = 0' cannot name"),
    "short": (with_time(0.0, 1.0), "'time' has 2 samples; at least 3"),
    "back": (with_time(0.0, 1.0, 0.5), "'time' does not increase at sample 2"),
    "uneven": (with_time(0.0, 1.0, 2.0, 3.1), r"not uniform: steps 1 \.\.\. 1.1 s"),
}


@pytest.mark.parametrize("harm", HARM)
def test_every_harm_is_named(harm):
    change, words = HARM[harm]
    with pytest.raises(ContractError, match=words) as error:
        check(change(dataset()), "positions", "a.nc")
    text = str(error.value)
    assert text.startswith("a.nc is not a valid 'positions' dataset (made by simulate)")
    assert text.count("\n  - ") == 1


def test_what_may_be_is_no_harm():
    one = dataset()
    assert problems(one.isel(time=slice(0, 3)), "positions") == []
    assert problems(with_time(0.0, 1.0, 2.0 + 1e-7)(one), "positions") == []
    nan = one.assign(q=one["q"] * np.nan)
    assert problems(nan, "positions", most_bytes=63) == []
    assert len(problems(nan, "positions", most_bytes=64)) == 1
    swept = one.expand_dims(noise_level=2)
    swept["q"] = swept["q"].transpose("replicate", "noise_level", "time", "dof")
    swept = swept.assign({n: one[n] for n in ("n", "extra")})
    assert problems(swept, "positions") == []
    assert len(problems(swept, "fixed")) == 1


def test_a_dataset_of_another_stage_is_refused():
    other = dataset(contract="fixed")
    with pytest.raises(ContractError, match=r"'fixed' \(made by import\), but 'posi"):
        check(other, "positions")
    with pytest.raises(ContractError, match="was not made by leastaction.*'none'"):
        check(dataset(contract="none"), "positions")


def test_a_contract_that_is_no_name_is_refused():
    numbers = np.array([1, 2])
    with pytest.raises(ContractError, match=r"was not made by leastaction.*'\[1 2\]'"):
        check(dataset(contract=numbers), numbers)
