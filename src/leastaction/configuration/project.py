"""The project: what config/config.yaml, and a file of your own beside it, may say."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from leastaction.core import families
from leastaction.core.families import unknown
from leastaction.core.settings import (
    Count,
    Integer,
    Names,
    Number,
    Settings,
    Style,
    Text,
    absent,
)


def _known(kind: str, names: Callable[[], Iterable[str]]):
    """Type of a name that some family has."""

    def check(name: str) -> str:
        if name in names():
            return name
        reason = unknown(kind, name, names())
        raise PydanticCustomError(kind, "{reason}", {"reason": reason})

    return Annotated[Text, AfterValidator(check)]


Figure = _known("figure", families.figures)
Table = _known("table", families.tables)
Listed = Annotated[Names, Field(min_length=1)]
SOME_EXAMPLES = "Examples in their order; all of the paper if absent."


class PaperFigure(Settings):
    """A figure of a paper."""

    shows: Figure = Field(description="What it shows, a name of a figure.")
    examples: Listed | None = absent(SOME_EXAMPLES)
    claim: Text = Field(
        "", description="What the paper shows with it; stands beside it."
    )


class PaperTable(Settings):
    """A table of a paper."""

    shows: Table = Field(description="What it shows, a name of a table.")
    examples: Listed | None = absent(SOME_EXAMPLES)


class Paper(Settings):
    """A paper: its figures and tables by their number."""

    title: Text = Field(description="Authors and title.")
    summary: Text = Field(
        "",
        description="What the paper does, in plain words, for the page of papers.",
    )
    figures: dict[str, PaperFigure] = Field(
        description="Figures by their number in the paper."
    )
    tables: dict[str, PaperTable] = Field(
        description="Tables by their number in the paper."
    )


class Study(Settings):
    """One figure of several examples and variants."""

    figure: Figure = Field(description="What it shows, a name of a figure.")
    caption: Text = Field(description="Text below the figure in the report.")
    examples: dict[str, Listed] = Field(
        min_length=1, description="What it compares, by paper."
    )


class Matrix(Settings):
    """The comparison of methods and systems."""

    noise_level: Number = Field(
        0.02, description="Noise at which sweeps over sensor noise are compared."
    )
    examples: dict[str, Listed] = Field({}, description="Its rows, by paper.")


class Project(Settings):
    """config/config.yaml."""

    seed: Integer = Field(ge=0, description="Root of all random numbers.")
    replicates: Count | None = absent(
        "Independent ensembles per example; overrides simulate.replicates of every "
        "example, as in `snakemake --config replicates=40`."
    )
    chunks: Count = Field(
        1,
        description="Jobs that each stage of an example is split into, by its "
        "replicates; results are the same. One suits a workstation.",
    )
    examples: dict[str, dict[str, dict[str, Any] | None]] = Field(
        {},
        description="Overrides of examples, by paper and example, merged deeply; write "
        "them into a file of your own and pass it with --configfile. An example that "
        "is null is left out.",
    )
    recordings: dict[str, dict[str, Any]] = Field(
        {},
        description="Recordings of your own by name (workflow/schemas/recording.json); "
        "write them into a file of your own and pass it with --configfile.",
    )
    papers: dict[str, Paper] = Field(
        {}, description="Figures and tables of each paper, by their number in it."
    )
    studies: dict[str, Study] = Field(
        {},
        description="Our own studies, each one figure of several examples.",
    )
    matrix: Matrix = Field(
        default_factory=Matrix,
        description="Which examples the matrix of methods and systems compares.",
    )
    gallery: dict[str, Text] = Field(
        {},
        description="Pictures of the README by name, each a figure under results/ "
        "without its suffix; made by `snakemake gallery`.",
    )
    figures: Style = Field(default_factory=Style, description="Style of every figure.")
