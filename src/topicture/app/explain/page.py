"""The page of an explanation: one file, figures and pictures inside, that loads nothing and needs no network."""

import base64
import hashlib
import io
import math
import time
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicture.app.explain.explaining import explain
from topicture.app.explain.explanation import Explanation
from topicture.app.explain.pictures import Pictures, data_uri
from topicture.app.explain.sentences import sentences
from topicture.app.pages.render import render
from topicture.app.progress import Report, silent
from topicture.app.protecting import never_written
from topicture.atomic import write_atomically
from topicture.collection.outputs import Outputs
from topicture.collection.words import printable
from topicture.errors import UnknownModel
from topicture.extras import has_module
from topicture.models.registry import annotator_class
from topicture.store import Catalog
from topicture.vision.recipe import Recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["explain_on_page", "page_of"]

FIGURE_DPI = 110


def explain_on_page(
    catalog: Catalog,
    model: str | None = None,
    out: Path | None = None,
    *,
    threshold: float | None = None,
    curve_minutes: float | None = None,
    force: bool = False,
    workers: int = 2,
    report: Report = silent,
) -> Explanation:
    """Explain a model (see `explaining.explain`) and write the page to `out`, or into the catalog's folder `pages`.

    A file `out` that Topicture did not write is replaced only with `force`, a photo never. Raises OutputError, before
    the work begins.
    """
    output = None
    if out is not None:
        output = Outputs(out.parent, force=force, never=never_written(catalog))
        output.check([out.name])
    explanation, recipe = explain(
        catalog, model, threshold=threshold, curve_minutes=curve_minutes, workers=workers, report=report
    )
    content = page_of(explanation, catalog.root, recipe, report=report).encode("utf-8")
    if out is not None and output is not None:
        output.write({out.name: content})
        path = out.absolute()
    else:
        path = catalog.folder / "pages" / f"{explanation.folder}-{explanation.model}.html"
        write_atomically(path, content)
    return replace(explanation, page=str(path))


def page_of(explanation: Explanation, root: Path, recipe: Recipe, *, report: Report = silent) -> str:
    """The page as text; photos are read from `root`, regions found by the recipe."""
    script = (
        resources.files("topicture.app.pages").joinpath("templates/explain.js").read_text(encoding="utf-8")
    )
    pictures = Pictures(root, recipe)
    total, done = _n_pictures(explanation), 0

    def picture(path: str, region: int | None = None) -> str:
        nonlocal done
        done += 1
        report("Drawing", done, total)
        return pictures.of(path, region)

    return render(
        "explain.html",
        e=explanation,
        say=sentences(explanation),
        figures=_figures(explanation),
        picture=picture,
        about=_about,
        date=time.strftime("%Y-%m-%d %H:%M", time.localtime(explanation.learned)),
        percent=_percent,
        number=_number,
        printable=printable,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii"),
    )


def _figures(explanation: Explanation) -> dict[str, str]:
    """Name -> address that holds the figure; none where matplotlib is not installed."""
    if not has_module("matplotlib"):
        return {}
    from topicture.annotations.figures.diagnostics import calibration_plot, objective_traces, quality_plot

    figures: dict[str, str] = {}
    if explanation.calibration:
        figures["calibration"] = _png(calibration_plot(explanation.calibration))
    if explanation.traces:
        figures["traces"] = _png(objective_traces(explanation.traces))
    if explanation.learning is not None:
        figures["learning"] = _png(quality_plot(explanation.learning, "tagged photos"))
    for name, curve in explanation.by_topics.items():
        figures[f"topics {name}"] = _png(quality_plot(curve, "number of topics K"))
    return figures


def _png(figure: "Figure") -> str:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=FIGURE_DPI, facecolor="white", metadata={"Software": None})
    return data_uri("image/png", stream.getvalue())


def _n_pictures(explanation: Explanation) -> int:
    topics = [t for model in explanation.topic_models for t in model.topics]
    of_topics = sum(len(t.typical) + len(t.opposite) for t in topics)
    of_words = sum(
        len(w.typical) + len(w.untypical) + len(w.missing) + len(w.carried) for w in explanation.examples
    )
    return of_topics + of_words


def _about(model: str) -> str:
    """What a model is, in a line; nothing where a name stands for a setting of a model."""
    try:
        return (annotator_class(model).__doc__ or "").strip().split("\n")[0]
    except UnknownModel:
        return ""


def _percent(value: Any) -> str:
    if value is None or math.isnan(value):
        return ""
    return "<1%" if 0 < value < 0.005 else f"{value:.0%}"


def _number(value: Any, digits: int = 3) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.{digits}f}"
