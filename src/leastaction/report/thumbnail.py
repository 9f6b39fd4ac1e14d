"""A small picture of a figure."""

from io import BytesIO

from PIL import Image
from PIL.PngImagePlugin import PngImageFile

COLOURS = (256, 128, 64, 32, 16)


def thumbnail(png: bytes, width: int, limit: int) -> bytes:
    """PNG of at most `width` pixels across and at most `limit` bytes.

    A palette of 256 colours is halved until the picture is small enough. It covers the
    colours of the picture, however few pixels have them: a thin red line stays red.

    ValueError if 16 colours are still too large.
    """
    with PngImageFile(BytesIO(png)) as picture:
        picture = _on_white(picture)
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


def _on_white(picture: Image.Image) -> Image.Image:
    rgba = picture.convert("RGBA")
    white = Image.new("RGBA", rgba.size, "white")
    return Image.alpha_composite(white, rgba).convert("RGB")
