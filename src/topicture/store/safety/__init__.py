"""What keeps a catalog whole: its lock, its own files, its root, copies, checks."""

from topicture.moved import moved

__getattr__ = moved(__name__)  # names of earlier versions
