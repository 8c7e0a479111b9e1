"""Now `topicture.app.verbs.library`."""

from topicture.moved import moved

__getattr__ = moved(__name__, "topicture.app.verbs.library")
