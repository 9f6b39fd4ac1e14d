"""Methods of randomly excited fields along a line, and recipes.

They read contract ``field_observations``: displacement and velocity of the nodes.
Published is the recipe of Tripura et al., node by node.

Examples
--------
>>> import leastaction as la
>>> string = la.system(
...     {
...         "field": {"name": "u", "unit": "m"},
...         "domain": {"length": 0.51, "nodes": 50, "left": "fixed", "right": "fixed"},
...         "parameters": {"c": {"value": 2.0, "unit": "m/s"}},
...         "lagrangian": "u_t**2/2 - c**2*u_x**2/2",
...         "volatility": "8",
...     }
... )
>>> data = la.simulate(
...     string,
...     method="modal",
...     duration=0.1,
...     time_step=1e-4,
...     trajectories=20,
...     initial_state={"u": 0, "u_t": 0},
... )
>>> library = {
...     "reference": "u_t**2/2",
...     "lagrangian": [{"pooled": ["u_t**2", "u_x**2", "u**2", "u_xx**2"]}],
...     "volatility": [{"pooled": [1]}],
... }
>>> la.recipes.fields.recommended().fit(data, library).support
['u_t**2', 'u_x**2']
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from leastaction.core.method import (
    AnyOf,
    Assemble,
    Differentiate,
    Ensemble,
    Identify,
    Volatility,
    part,
)
from leastaction.core.settings import (
    Count,
    Expression,
    Integer,
    Label,
    Number,
    Positive,
    SensorNoises,
    Settings,
    System,
    Text,
)


class FieldName(Settings):
    """A field along x."""

    name: Text = Field(description='Name, such as "u".')
    unit: Text = Field(description='Unit, such as "m".')
    label: Label = Field("", description="LaTeX in figures.")


End = Literal["fixed", "clamped", "free", "periodic"]
AN_END = Field(
    description="fixed (u = 0), clamped (u = u_x = 0) or free; or both periodic."
)


class Interval(Settings):
    """Interval with uniformly spaced nodes; only those that can move count."""

    length: Positive = Field(description="Length, m.")
    nodes: Integer = Field(ge=4, description="Number of nodes.")
    left: End = AN_END
    right: End = AN_END


class FieldSection(System):
    """A system that is a field along a line."""

    key = "field"
    field: FieldName = Field(
        description="A field along x. The derivatives of u are u_t, u_x and u_xx."
    )
    domain: Interval = Field(
        description="Interval with uniformly spaced nodes; only those that can move "
        "count."
    )
    lagrangian: Expression = Field(
        description="Density of L in u, u_t, u_x and u_xx, J/m."
    )
    volatility: Expression = Field(
        "0",
        description="Intensity of the random force density, its unit times s^0.5; "
        "independent at every node.",
    )


class FieldEnsemble(Ensemble):
    """A time scheme of a field."""

    makes = "field_observations"
    simulates = "a field"


class Modal(FieldEnsemble):
    """Exact simulation of a linear field in its modes."""

    run = ".schemes:modal"


class Leapfrog(FieldEnsemble):
    """Leapfrog for a field with additive noise: Störmer–Verlet, kicked by the noise."""

    run = ".schemes:leapfrog"


class Newmark(FieldEnsemble):
    """Newmark's method with constant average acceleration (β = ¼, γ = ½)."""

    run = ".schemes:newmark"


class Spectral(FieldEnsemble):
    """Motion on a periodic line without a random force, spectral in space."""

    run = ".spectral:simulate"
    makes = "recordings"

    integration_step: Positive = Field(
        0.02, description="Longest step of the integration between two samples, s."
    )
    refinement: Count = Field(
        2, description="Points of the simulation for each node that is recorded."
    )
    noise: SensorNoises = Field(
        default_factory=SensorNoises,
        description="Noise of the sensors; every mode at every level.",
    )


class ModalProjection(Differentiate):
    """Test functions in space, and how fast the field moves along each of them."""

    run = ".modal_moments:differentiate"
    reads = ("field_observations",)
    makes = "modal_basis"
    uses = ("reference", "lagrangian")

    resolved: Number = Field(
        0.1,
        gt=0,
        le=0.5,
        description="Largest angle per sample, rad, of the modes that select the "
        "terms.",
    )
    dispersive: Number = Field(
        0.3,
        gt=0,
        le=1.0,
        description="Largest angle per sample, rad, of the modes that tell the time "
        "scheme.",
    )


class ModalMoments(Assemble):
    """Moments of a field from displacements alone, whatever time scheme made them."""

    run = ".modal_moments:assemble"
    reads = ("modal_basis",)
    makes = "modal_moments"
    uses = ("reference", "lagrangian")

    decimate: Count = Field(
        10, description="Second moments take every so-many-th sample."
    )


class ModalLongRunVariance(Volatility):
    """Volatility of a field from the long-run variance of modal second differences."""

    run = ".modal_gmm:volatility"
    after = ("modal_gmm",)

    max_terms: Integer = Field(
        3, ge=1, le=6, description="Most terms of the squared volatility."
    )
    decimate: Count = Field(
        20, description="The regression of its form takes every so-many-th sample."
    )


AnyVolatility = Annotated[Volatility, AnyOf("volatility")]


class ModalGmm(Identify):
    """Generalised method of moments for fields, whatever time scheme made the data."""

    run = ".modal_gmm:identify"
    reads = ("modal_moments",)

    max_terms: Integer = Field(
        3, ge=1, le=8, description="Most terms beside the reference."
    )
    dispersion_error: Positive = Field(
        0.05,
        description="Largest standard error of the dispersion at which it is "
        "estimated.",
    )
    volatility: AnyVolatility = Field(default_factory=ModalLongRunVariance)


RECOMMENDED = {
    "field": (ModalProjection, ModalMoments, ModalGmm, ModalLongRunVariance),
}


def kind_of_data(example: Mapping) -> str | None:
    """Key of `RECOMMENDED` for an example of a field; else None."""
    return "field" if "field" in part(example, "system") else None
