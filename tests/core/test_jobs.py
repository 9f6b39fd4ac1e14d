"""Which stages an estimator does itself, and which it reads of another."""

import pytest

from leastaction.core.jobs import jobs_of, maker, shown

RECIPE = {"differentiate": 1, "assemble": 2, "identify": 3}
OF = {"setting": {"of": "first"}}
ESTIMATORS = {
    "first": RECIPE,
    "other": RECIPE | {"identify": 4},
    "last": RECIPE | OF | {"identify": 5},
    "middle": RECIPE | OF | {"assemble": 6},
    "same": RECIPE | OF,
    "alone": RECIPE | {"setting": {"of": "none"}},
}


@pytest.mark.parametrize(
    ("name", "makers"),
    [
        ("first", ["first"] * 3),
        ("other", ["other"] * 3),
        ("last", ["first", "first", "last"]),
        ("middle", ["first", "middle", "middle"]),
        ("same", ["first"] * 3),
        ("alone", ["alone"] * 3),
    ],
)
def test_a_reading_reads_what_does_not_differ(name, makers):
    assert [maker(ESTIMATORS, name, stage) for stage in RECIPE] == makers
    done = tuple(s for s, one in zip(RECIPE, makers, strict=True) if one == name)
    jobs = jobs_of(ESTIMATORS)
    assert jobs[makers[0]][name] == done


def test_readings_are_not_shown_and_have_no_job_of_their_own():
    assert shown(ESTIMATORS) == ["first", "other"]
    assert list(jobs_of(ESTIMATORS)) == ["first", "other", "alone"]
