"""Sidecars, written: merged with what others wrote, atomically, with a record of what is ours."""

from topicture.collection.sidecar.write import ObjectRegion, Tag, write_sidecar
from topicture.moved import moved

__all__ = ["ObjectRegion", "Tag", "write_sidecar"]

__getattr__ = moved(__name__)  # names of earlier versions
