"""What people decided: a log that only grows, its outcome, undo, conflicts with files."""

from topicture.moved import moved

__getattr__ = moved(__name__)  # names of earlier versions
