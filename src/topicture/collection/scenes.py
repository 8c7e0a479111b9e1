"""Now `topicture.demo.scenes`."""

from topicture.moved import moved

__getattr__ = moved(__name__, "topicture.demo.scenes")
