"""Data of the page Search."""

from typing import Any

from topicture.app.verbs.browsing.columns import columns_of
from topicture.app.verbs.browsing.listing import MOST_PHOTOS, PhotoFilter, listed
from topicture.app.verbs.searching import search_page
from topicture.app.web.answers import Question, get
from topicture.app.web.routes.photos import photo_filter
from topicture.app.web.site import Site
from topicture.search.query import QueryError, UnknownWords

__all__ = ["ROUTES"]


def search(site: Site, question: Question) -> Any:
    """Hits; or, since half a word is no mistake of somebody who types, `unknown` words or the `problem` of a query."""
    offset = question.number("offset", 0)
    limit = question.number("limit", 100, least=1, most=MOST_PHOTOS)
    nothing = {
        "wanted": [],
        "unwanted": [],
        "any_of": [],
        "terms": [],
        "total": 0,
        "offset": offset,
        "hits": [],
    }
    only = photo_filter(question)
    with site.need_library().reading() as catalog:
        try:
            page = search_page(
                catalog,
                question.text("q") or "",
                offset,
                limit,
                columns_of(catalog).ids,
                None if only == PhotoFilter() else only,
            )
        except UnknownWords as error:
            return {**nothing, "unknown": error.words, "suggestion": error.suggestion}
        except QueryError as error:
            return {**nothing, "problem": str(error)}
        photos = {photo.id: photo for photo in listed(catalog, [hit.image for hit in page.hits])}
    hits = [
        {**vars(photos[hit.image]), "probability": hit.probability, "words": hit.words, "said": hit.said}
        for hit in page.hits
        if hit.image in photos
    ]
    return {
        "wanted": page.wanted,
        "unwanted": page.unwanted,
        "any_of": page.any_of,
        "terms": page.terms,
        "total": page.total,
        "offset": offset,
        "hits": hits,
    }


ROUTES = [get("/search", search)]
