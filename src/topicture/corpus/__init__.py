"""The corpus: the one input of every model."""

from topicture.corpus.corpus import Corpus
from topicture.corpus.vocabulary import Vocabulary

__all__ = ["Corpus", "Vocabulary"]
