"""What a terminal shows: progress, tables, lines."""

from topicture.moved import moved

__getattr__ = moved(__name__)  # names of earlier versions
