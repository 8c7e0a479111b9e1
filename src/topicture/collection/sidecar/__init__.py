"""Sidecars, written: merged with what others wrote, atomically, with a record of what is ours."""

from topicture.collection.sidecar.write import ObjectRegion, Tag, write_sidecar

__all__ = ["ObjectRegion", "Tag", "write_sidecar"]
