"""Settings of YAML files and recipes: their defaults, and bounds inside and outside.

The table is what users' files rely on: a change of it belongs into CHANGELOG.md.
"""

import re

import pytest
from pydantic import ValidationError

from leastaction.core import families
from leastaction.core.settings import Settings

# Class: key, default, allowed values (all if none are named); the next key.
TABLE = """
SensorNoises: levels [0.0]
Polynomial: degree required [0,12]; lowest 0 [0,12]
Every: points required [2,inf)
Style: width 180.0 [160,inf); font_size 8.0 [4,inf); dpi 300 [50,inf)
Simulate: time_step required (0,inf); duration required (0,inf); replicates 20 [1,inf)
Ensemble: trajectories required [1,inf)
StationaryPath: burn_in 50.0 [0,inf); batches 16 [2,inf)
StrongTaylor: legacy_seed none [0,inf)
Spectral: integration_step 0.02 (0,inf); refinement 2 [1,inf)
RungeKutta: integration_step 0.001 (0,inf)
MinimalCoordinates: replicates 5 [1,inf); flow_noise 0.0 [0,inf)
DrivenMotions: replicates 10 [1,inf); trajectories 4 [1,inf)
BumpFunctions: bins none [5,inf); centres 5 [2,inf); half_width 0.6 (0,1]
MonomialFunctions: degree 4 [2,inf)
ModalProjection: resolved 0.1 (0,0.5]; dispersive 0.3 (0,1]
BandwidthSpline: inflation 1.2 [1,inf); points 4 [2,inf); trim 2 [0,inf)
JointSpline: knot_spacing 1 [1,inf); knot_spacing_positions 2 [2,inf);
    inflation 1.2 [1,inf); trim 5 [0,inf); trim_positions 25 [0,inf)
MartingaleMoments: instrument_degree 5 [1,8]; most_instruments 40 [1,inf);
    largest_turn 0.05 [0,inf)
ModalMoments: decimate 10 [1,inf)
DiscreteEulerLagrange: volume 1.0; whiten True
WeakPortForm: outputs True; window 60 [12,inf)
WeightedGram: samples 1000 [1,inf)
Gram: samples 1000 [1,inf)
SquaredIncrements: max_terms 3 [1,6]
ModalLongRunVariance: max_terms 3 [1,6]; decimate 20 [1,inf)
ItoGmm: ridge 0.0001 [0,inf); select False
MomentGmm: max_terms 4 [1,8]
InnovationsLikelihood: search True
ModalGmm: max_terms 3 [1,8]; dispersion_error 0.05 (0,inf)
MinimumNorm: cut none [0,inf)
EvidenceMaximisation: damping evidence [0,inf)
NoetherSymmetries: impose False; resolution 0.005 [0,inf)
DiscreteDensity: width none [1,8]; length_scale none (0,inf)
FieldLikelihood: search True
HamiltonianGradient: seed 0
FromMotions: window 100 [10,inf)
PortStructure: seed 0
NullVector: largest 9 [1,20]; ranked 40 [1,inf); halving 2.0 (1,inf)
Histogram: bins 50 [5,inf)
StateMoments: degree 8 [4,12]; every 10 [1,inf)
SensorStd: q 0 [0,inf); qdot 0 [0,inf); qddot 0 [0,inf)
Sensor: correlation 1 [1,1000]; every 1 [1,inf)
Interval: length required (0,inf); nodes required [4,inf)
Taylor: degree none [2,24]; length_scale none (0,inf)
Radial: length_scale required (0,inf)
Early: size required [2,inf)
Training: sizes [2,4,8,16,32,64,128]; test 500 [1,inf)
Levels: levels [0.0]
Column: per_turn none (0,inf); offset 0.0; reverse False
Input: offset 0.0; time_constant none (0,inf)
Clock: rate none (0,inf)
Import: skip_lines 0 [0,inf); gap 5.0 (1,inf); length none (0,inf)
Prediction: start none (0,inf)
PublishedNumber: error none (0,inf); factor 1.0
Workflow: seed required [0,inf)
"""
ROWS = [
    (f"{name}.{row.split()[0]}", *row.split()[1:])
    for name, rows in re.findall(r"^(\w+):((?:.|\n )*)", TABLE, re.MULTILINE)
    for row in rows.split(";")
]


def declared(above=Settings):
    """Classes of settings of the package by name."""
    for part in ("recipes", "configuration"):
        list(families.modules(part))
    for each in above.__subclasses__():
        if each.__module__.startswith("leastaction."):
            yield each.__name__, each
        yield from declared(each)


CLASSES = dict(declared())


def number(value: float) -> float:
    """An integer if it is one."""
    return int(value) if value == int(value) else value


def refused(section: type[Settings], key: str, value) -> bool:
    """Whether a value of a key is out of its bounds."""
    try:
        section(**{section.model_fields[key].alias or key: value})
    except ValidationError as error:
        kinds = {each["type"] for each in error.errors() if each["loc"][0] == key}
        assert all("than" in kind for kind in kinds), kinds
        return bool(kinds)
    return False


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_setting_has_its_default_and_its_bounds(row):
    name, default, *bounds = row
    section, key = CLASSES[name.partition(".")[0]], name.partition(".")[2]
    field = section.model_fields[key]
    assert field.is_required() == (default == "required")
    if default != "required":
        value = field.default
        assert ("none" if value is None else str(value).replace(" ", "")) == default
    for text in bounds:
        low, high = text[1:-1].split(",")
        ends = [float(low), min(float(high), 10**6)]  # none are refused beyond it
        inside = sum(ends) / 2 if ends[1] <= 1 else sum(ends) // 2
        assert not refused(section, key, number(inside))
        for end, outwards, bracket in zip(
            ends, (-1, 1), (text[0], text[-1]), strict=True
        ):
            if end == 10**6:
                assert not refused(section, key, 10**6)
                continue
            assert refused(section, key, number(end)) == (bracket in "()")
            assert refused(section, key, number(end + outwards))
