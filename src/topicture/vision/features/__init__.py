"""Descriptors of pictures and regions, and the way from them to the numbers of a corpus."""

from topicture.moved import moved

__getattr__ = moved(__name__)  # names of earlier versions
