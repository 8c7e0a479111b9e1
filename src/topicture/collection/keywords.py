"""Now `topicture.collection.metadata.keywords`."""

from topicture.moved import moved

__getattr__ = moved(__name__, "topicture.collection.metadata.keywords")
