"""A stationary probability density."""

# All parts of the library: the structure is known, and every coefficient estimated.
EVERY_PART = (
    "reference",
    "inertia",
    "lagrangian",
    "dissipation",
    "volatility",
    "calculus",
    "known",
)
# Kind of data by `simulate.method`.
KIND_OF_DATA = {"gill_histogram": "density", "gill_moments": "density moments"}
