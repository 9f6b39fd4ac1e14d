"""Templates of the pages, one Jinja file each, and the pictures in them."""

from base64 import encodebytes
from collections.abc import Mapping
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from markupsafe import Markup

from leastaction.report.readable import duration, number_text, typeset
from leastaction.report.verdict import ERRATA

if TYPE_CHECKING:
    import jinja2

COLOURS = (256, 128, 64, 32, 16)
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
    filters = {"duration": duration, "number": number_text, "linked": _linked}
    filters |= {"embedded": _embedded, "yaml": _yaml, "typeset": _typeset}
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


def _yaml(settings: Mapping) -> str:
    style = {"sort_keys": False, "allow_unicode": True, "default_flow_style": None}
    return yaml.dump(dict(settings), Dumper=_InFull, width=88, **style).strip()


class _InFull(yaml.SafeDumper):
    """Without anchors: what is given twice is written twice."""

    def ignore_aliases(self, data) -> bool:
        """Write everything in full."""
        return True


def thumbnail(png: bytes, width: int, limit: int) -> bytes:
    """PNG of at most `width` pixels across and at most `limit` bytes.

    A palette of 256 colours is halved until the picture is small enough. It covers the
    colours of the picture, however few pixels have them: a thin red line stays red.

    ValueError if 16 colours are still too large.
    """
    from PIL import Image
    from PIL.PngImagePlugin import PngImageFile

    with PngImageFile(BytesIO(png)) as picture:
        rgba = picture.convert("RGBA")
    white = Image.new("RGBA", rgba.size, "white")
    picture = Image.alpha_composite(white, rgba).convert("RGB")
    height = round(picture.height * width / picture.width)
    if width < picture.width:
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    for colours in COLOURS:
        small = picture.quantize(
            colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
        buffer = BytesIO()
        small.save(buffer, format="PNG", optimize=True)
        if buffer.tell() <= limit:
            return buffer.getvalue()
    raise ValueError(
        f"a picture of {width} x {height} pixels in {COLOURS[-1]} colours takes "
        f"{buffer.tell()} bytes, more than {limit}; make it narrower"
    )
