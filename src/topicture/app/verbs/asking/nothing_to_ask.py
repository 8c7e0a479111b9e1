"""Why there is nothing to ask about, and what gives more to ask, in a line."""

import numpy as np

from topicture.app.verbs.asking.left_out import has_index, left_out
from topicture.store import Catalog
from topicture.store.listing import Listing

__all__ = ["why_nothing"]


def why_nothing(catalog: Catalog, order: str, tag: str | None = None) -> str:
    """Why an order has no question, about one tag or any, and which other order has some."""
    nothing = "Nothing to review" + ("" if tag is None else f" about {tag}")
    if tag is not None and tag in catalog.decisions.unwanted_words():
        return f"{nothing}: its policy is never to suggest it ('topicture tags --policy' changes that)."
    if order == "missing":
        more = " 'topicture review' asks about suggestions." if _has_suggestions(catalog, tag) else ""
        return f"{nothing}: {_why_nothing_is_missing(catalog)}.{more}"
    if catalog.suggestions.newest().annotated is None:
        return f"{nothing}; run 'topicture annotate' for suggestions."
    missing = has_index(catalog) and next(left_out(catalog, tag), None) is not None
    what = "tags" if tag is None else "it"
    more = f" 'topicture review --order missing' asks whether you left {what} out." if missing else ""
    return f"{nothing}: {_why_nothing_is_open(catalog)}.{more}"


def _why_nothing_is_missing(catalog: Catalog) -> str:
    listing = Listing(catalog.database)
    if not len(np.intersect1d(listing.captioned(), listing.living())):
        return "no photo has a caption of its owner's that a tag could be missing from"
    return "no tag was probably left out"


def _why_nothing_is_open(catalog: Catalog) -> str:
    listing = Listing(catalog.database)
    if not len(np.setdiff1d(listing.living(), listing.captioned())):
        return "'topicture annotate' has suggested nothing, as all photos are tagged already"
    return (
        "no suggestion is without an answer; 'topicture annotate' makes some for new photos, and less probable ones "
        "with a lower --threshold"
    )


def _has_suggestions(catalog: Catalog, tag: str | None) -> bool:
    models = catalog.suggestions.models()
    return bool(models) and next(catalog.suggestions.surest(models[0].id, word=tag), None) is not None
