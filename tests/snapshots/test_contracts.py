"""Datasets of what is learned from snapshots: which variables they must have."""

import numpy as np
import pytest

from leastaction.core.contracts import problems
from leastaction.snapshots.contracts import CONTRACTS, mixed_variables, nothing

TABLE = """
    replicate time:
        a [-] one
        b [q] another
        c [m] a third
"""


def test_variables_are_optional_unless_they_are_finite_or_required():
    made = mixed_variables(TABLE, finite=("a",), required=("b",))
    assert [made[name].optional for name in "abc"] == [False, False, True]
    assert [made[name].finite for name in "abc"] == [True, False, False]
    units = [made[name].units for name in "abc"]
    assert units == ["mixed", "see coordinate_unit", "m"]


@pytest.mark.parametrize(
    ("contract", "needed"),
    [
        ("learned_lagrangian", {"coefficient": np.ones(3)}),
        (
            "shadow_equations",
            {
                "theta": np.ones((4, 3)),
                "condition": np.ones((2, 3)),
                "condition_value": np.ones(2),
            },
        ),
    ],
)
def test_a_result_has_its_coefficients_and_the_rest_may_be_absent(contract, needed):
    made = CONTRACTS[contract].dataset(needed, {"replicate": [0]})
    made = made.assign_attrs(contract=contract)
    assert problems(made, contract) == []
    for name in needed:
        (text,) = problems(made.drop_vars(name), contract)
        assert text.startswith(f"variable {name!r}") and text.endswith("is missing")
    assert nothing(made).replicate.values.tolist() == [0] and not nothing(made)
