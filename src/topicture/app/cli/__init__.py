"""The command line: parse, call a verb, print."""

from topicture.moved import moved

__getattr__ = moved(__name__)  # names of earlier versions
