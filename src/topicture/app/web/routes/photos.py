"""Data of the pages Photos and Photo."""

from typing import Any

from topicture.app.verbs.browsing import completing, listing, photo, why
from topicture.app.web.answers import BadRequest, Question, get
from topicture.app.web.site import Site

__all__ = ["ROUTES", "photo_filter"]


def photo_filter(question: Question) -> listing.PhotoFilter:
    """Which photos a question is about."""
    return listing.PhotoFilter(
        tagged=_yes_or_no(question, "tagged"),
        suggested=_yes_or_no(question, "suggested"),
        word=question.text("word") or None,
        folder=question.text("folder") or None,
        first_day=question.text("from") or None,
        last_day=question.text("to") or None,
    )


def photos(site: Site, question: Question) -> Any:
    wanted = photo_filter(question)
    with site.need_library().reading() as catalog:
        return listing.photos(
            catalog,
            wanted,
            question.text("order") or "added",
            descending=_yes_or_no(question, "descending") or False,
            offset=question.number("offset", 0),
            limit=question.number("limit", 100, least=1, most=listing.MOST_PHOTOS),
        )


def one_photo(site: Site, question: Question) -> Any:
    with site.need_library().reading() as catalog:
        return photo.photo(catalog, question.path["id"])


def reasons(site: Site, question: Question) -> Any:
    word = question.text("word")
    if not word:
        raise BadRequest("word must be given")
    with site.need_library().reading() as catalog:
        asked = _yes_or_no(question, "members") is not False
        return why.why(catalog, question.path["id"], word, ask_members=asked)


def similar(site: Site, question: Question) -> Any:
    with site.need_library().reading() as catalog:
        limit = question.number("limit", 12, least=1, most=100)
        return {"photos": why.similar_photos(catalog, question.path["id"], limit)}


def folders(site: Site, question: Question) -> Any:
    with site.need_library().reading() as catalog:
        return listing.folders(catalog)


def counts(site: Site, question: Question) -> Any:
    if site.library is None:
        return None
    with site.library.reading() as catalog:
        return listing.counts(catalog)


def complete(site: Site, question: Question) -> Any:
    with site.need_library().reading() as catalog:
        limit = question.number("limit", 8, least=1, most=40)
        return {"words": completing.complete(catalog, question.text("q") or "", limit)}


def _yes_or_no(question: Question, name: str) -> bool | None:
    text = question.text(name) or ""
    if text not in ("", "yes", "no", "1", "0"):
        raise BadRequest(f"{name} must be yes or no, not {text!r}")
    return None if not text else text in ("yes", "1")


ROUTES = [
    get("/photos", photos),
    get("/photos/{id:number}", one_photo),
    get("/photos/{id:number}/why", reasons),
    get("/photos/{id:number}/similar", similar),
    get("/folders", folders),
    get("/counts", counts),
    get("/complete", complete),
]
