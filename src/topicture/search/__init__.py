"""From words to ranked images."""

from topicture.search.files import SearchIndexError
from topicture.search.index import Hit, WordIndex, annotated_blocks
from topicture.search.query import Query, QueryError, UnknownWords, relevant

__all__ = [
    "Hit",
    "Query",
    "QueryError",
    "SearchIndexError",
    "UnknownWords",
    "WordIndex",
    "annotated_blocks",
    "relevant",
]
