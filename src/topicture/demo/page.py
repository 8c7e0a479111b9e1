"""The page of the demonstration: one file, pictures included."""

import base64
import io
from typing import Any

import numpy as np
from PIL import Image

from topicture.app.pages.render import render
from topicture.demo.run import NO_CHANCE, SHOWN, TITLES, DemoReport, Example
from topicture.extras import has_module

__all__ = ["page_of"]

N_REGION_PICTURES = 6


def page_of(report: DemoReport) -> str:
    """The report as one self-contained page."""
    with_regions = [example for example in report.examples if example.regions is not None]
    return render(
        "demo.html",
        report=report,
        shown=[name for name in SHOWN if any(_applies(score.measures[name]) for score in report.scores)],
        titles=TITLES,
        no_chance=NO_CHANCE if report.has_infinite else "",
        number=_number,
        photos={example.image_id: _photo(example.pixels) for example in report.examples},
        regions=[
            _labelled(example) for example in with_regions[:N_REGION_PICTURES] if has_module("matplotlib")
        ],
    )


def _applies(value: float) -> bool:
    return not np.isnan(value)


def _number(value: float) -> str:
    """Shares with three digits, lengths and perplexities with one, nothing where a measure does not apply."""
    if np.isnan(value):
        return ""
    if np.isinf(value):
        return "∞"
    return f"{value:.3f}" if value < 2 else f"{value:.1f}"


def _photo(pixels: np.ndarray) -> str:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=85)
    return _data_uri("image/jpeg", stream.getvalue())


def _labelled(example: Example) -> dict[str, Any]:
    from topicture.annotations.figures.plots import labelled_regions

    assert example.regions is not None
    figure = labelled_regions(example.pixels, example.regions.labels, example.regions.words)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110)
    return {"image_id": example.image_id, "picture": _data_uri("image/png", stream.getvalue())}


def _data_uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
