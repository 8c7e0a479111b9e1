"""Errors as scripts tell them apart: a code that stays, whatever the sentence says."""

import errno
import sqlite3

from topicture.errors import (
    BadWord,
    CorpusError,
    DataNotFound,
    ImageError,
    ModelFileError,
    NotFitted,
    TopictureError,
    UnknownModel,
)
from topicture.search.query import QueryError, UnknownWords
from topicture.store import CatalogBusy, CatalogError
from topicture.store.shards import ShardError

__all__ = ["code_of"]

_CODES: dict[type[BaseException], str] = {
    BadWord: "bad-word",
    CatalogBusy: "catalog-busy",
    CatalogError: "catalog-error",
    CorpusError: "too-little-to-learn",
    DataNotFound: "not-found",
    ImageError: "unreadable-picture",
    ModelFileError: "damaged-model",
    NotFitted: "nothing-learned",
    QueryError: "bad-query",
    ShardError: "damaged-index",
    UnknownModel: "unknown-model",
    UnknownWords: "unknown-words",
    TopictureError: "refused",
    MemoryError: "out-of-memory",
    sqlite3.Error: "catalog-error",
    OSError: "system",
}
_FULL = {errno.ENOSPC, errno.EDQUOT}


def code_of(error: BaseException) -> str:
    """A code in kebab case; an error may carry a `code` of its own."""
    own = getattr(error, "code", None)
    if isinstance(error, TopictureError) and isinstance(own, str):
        return own
    if isinstance(error, OSError) and error.errno in _FULL:
        return "disk-full"
    return next((_CODES[each] for each in type(error).__mro__ if each in _CODES), "internal-error")
