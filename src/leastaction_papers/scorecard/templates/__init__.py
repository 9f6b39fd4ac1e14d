"""Templates of the pages, one Jinja file each, and the pictures in them."""

from base64 import encodebytes
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from leastaction_papers.scorecard.readable import number_text, typeset
from leastaction_papers.scorecard.verdict import ERRATA

if TYPE_CHECKING:
    import jinja2

COLOURS = (256, 128, 64, 32)
NARROWEST = 200  # pixels
# From results/, where the pages lie.
ERRATA_PAGE = "../docs/errata.md"


def page(template: str, **content) -> str:
    """Text of a page from the file `template`; texts in `content` are escaped."""
    return _environment().get_template(template).render(**content)


@cache
def _environment() -> "jinja2.Environment":
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    filters = {"number": number_text, "linked": _linked}
    filters |= {"embedded": _embedded, "typeset": _typeset}
    environment.filters |= filters
    return environment


def _typeset(text: str) -> Markup:
    return Markup(typeset(text))


def _linked(note: str) -> Markup:
    """A note, typeset, whose reference to the errata is a link."""
    link = rf'<a href="{ERRATA_PAGE}">\g<0></a>'
    return Markup(ERRATA.sub(link, typeset(note)))


def _embedded(png: bytes) -> str:
    # In lines, because reStructuredText, which a report is made of, refuses long ones.
    return "data:image/png;base64," + encodebytes(png).decode().strip()


def thumbnail(png: bytes, width: int, limit: int) -> bytes:
    """PNG of at most `width` pixels across and at most `limit` bytes.

    A palette of 256 colours is halved down to 32, then the width by a
    quarter, until the picture is small enough. The palette covers the colours of the
    picture, however few pixels have them: a thin red line stays red.

    ValueError if a picture of `NARROWEST` pixels is still too large.
    """
    from PIL import Image
    from PIL.PngImagePlugin import PngImageFile

    with PngImageFile(BytesIO(png)) as picture:
        rgba = picture.convert("RGBA")
    white = Image.new("RGBA", rgba.size, "white")
    opaque = Image.alpha_composite(white, rgba).convert("RGB")
    width = min(width, opaque.width)
    while width >= min(NARROWEST, opaque.width):
        size = width, max(1, round(opaque.height * width / opaque.width))
        picture = opaque.resize(size, Image.Resampling.LANCZOS)
        for colours in COLOURS:
            buffer = BytesIO()
            method = Image.Quantize.MAXCOVERAGE
            small = picture.quantize(colours, method, dither=Image.Dither.NONE)
            small.save(buffer, format="PNG", optimize=True)
            if buffer.tell() <= limit:
                return buffer.getvalue()
        width = width * 3 // 4
    raise ValueError(
        f"a picture of {size[0]} x {size[1]} pixels in {COLOURS[-1]} colours takes "
        f"{buffer.tell()} bytes, more than {limit}; make it simpler"
    )
