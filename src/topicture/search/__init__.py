"""From words to ranked images."""

from topicture.moved import moved
from topicture.search.files import SearchIndexError
from topicture.search.index import Hit, WordIndex
from topicture.search.query import Query, QueryError, UnknownWords

__all__ = [
    "Hit",
    "Query",
    "QueryError",
    "SearchIndexError",
    "UnknownWords",
    "WordIndex",
]

__getattr__ = moved(__name__)  # names of earlier versions
