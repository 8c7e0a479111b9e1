"""Now `topicture.collection.identity`."""

from topicture.moved import moved

__getattr__ = moved(__name__, "topicture.collection.identity")
