"""What the kinds of long work do: verbs of the library, with the options that a page may choose."""

import os
from collections.abc import Callable
from typing import Any

from topicture.app.progress import Report, Trace
from topicture.app.verbs.library import Library
from topicture.errors import TopictureError

__all__ = ["WORK", "checked"]

Work = Callable[[Library, dict[str, Any], Report, Trace], Any]
_CORES = os.cpu_count() or 1


def _scan(library: Library, options: dict[str, Any], report: Report, trace: Trace) -> Any:
    return library.scan(report=report, **options)


def _learn(library: Library, options: dict[str, Any], report: Report, trace: Trace) -> Any:
    """Learn, and suggest at once: nobody wants the one without the other here."""
    from topicture.app.verbs.upkeep.first_suggestions import suggest_first

    minutes = options.pop("minutes", 10)
    if options.get("model", "auto") == "auto":
        suggest_first(library, min_count=options.get("min_count", 3), workers=_CORES, report=report)
    learned = library.learn(
        workers=_CORES, report=report, trace=trace, budget_seconds=60.0 * minutes, **options
    )
    return {"learned": learned, **_annotate(library, {}, report, trace)}


def _annotate(library: Library, options: dict[str, Any], report: Report, trace: Trace) -> Any:
    """Suggest, and accept what policies of tags accept by themselves."""
    from topicture.app.verbs.upkeep.configuring import load
    from topicture.app.verbs.words.policies import apply_policies

    settings = load(library.folder).get("annotate", {})  # as the command does
    annotated = library.annotate(workers=_CORES, report=report, **{**settings, **options})
    with library.writing("annotate") as catalog:
        return {"annotated": annotated, "accepted": apply_policies(catalog)}


def _write(library: Library, options: dict[str, Any], report: Report, trace: Trace) -> Any:
    return library.write(report=report, **options)


def _prepare(library: Library, options: dict[str, Any], report: Report, trace: Trace) -> Any:
    from topicture.app.web.pictures.preparing import prepare

    if hasattr(os, "nice"):  # of this process: somebody may be looking at photos meanwhile
        os.nice(10)
    return prepare(library, report)


def _map(library: Library, options: dict[str, Any], report: Report, trace: Trace) -> Any:
    from topicture.app.verbs.mapping.making import make_map

    with library.reading() as catalog:
        return make_map(catalog, report, workers=_CORES)


_NUMBER = (int, float)
# Kind -> what it does, and the options that it takes, with their types.
WORK: dict[str, tuple[Work, dict[str, Any]]] = {
    "scan": (_scan, {"withdraw_many": bool}),
    "learn": (_learn, {"model": str, "min_count": int, "minutes": _NUMBER, "regions": bool}),
    "annotate": (_annotate, {"threshold": _NUMBER, "top": int, "everything": bool, "rejected_too": bool}),
    "write": (_write, {"regions": bool}),
    "prepare": (_prepare, {}),
    "map": (_map, {}),
}


def checked(kind: Any, options: Any) -> dict[str, Any]:
    """The options of a kind of work; raises TopictureError for what it does not know."""
    if not isinstance(kind, str) or kind not in WORK:
        raise TopictureError(f"kind must be one of: {', '.join(WORK)}")
    known = WORK[kind][1]
    if not isinstance(options, dict):
        raise TopictureError("options must be an object")
    for name, value in options.items():
        if name not in known:
            raise TopictureError(f"{kind} has no option {name!r}")
        if not isinstance(value, known[name]) or (isinstance(value, bool) and known[name] is not bool):
            raise TopictureError(f"the option {name!r} of {kind} has another type")
    return dict(options)
