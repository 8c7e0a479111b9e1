"""Ids of images as arrays of a model file. In its header, a million of them would make a file that can't be opened."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["ids_from", "ids_state"]

_TEXT, _ENDS = "image_ids.text", "image_ids.ends"


def ids_state(ids: np.ndarray) -> dict[str, np.ndarray]:
    """The ids one after the other in UTF-8, and where each ends, in characters."""
    text = "".join(ids.tolist()).encode("utf-8", "surrogatepass")
    return {_TEXT: np.frombuffer(text, np.uint8), _ENDS: np.cumsum(np.strings.str_len(ids), dtype=np.int64)}


def ids_from(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> np.ndarray:
    """What `ids_state` wrote; or the list in the header of a file that an earlier version wrote.

    Raises ValueError for arrays that do not go together.
    """
    if "image_ids" in facts:
        return np.array(facts["image_ids"], dtype=np.str_)
    text, ends = arrays[_TEXT].tobytes().decode("utf-8", "surrogatepass"), arrays[_ENDS].tolist()
    bounds = [0, *ends]
    if sorted(bounds) != bounds or bounds[-1] != len(text):
        raise ValueError("the ids of its images are damaged")
    return np.array([text[a:b] for a, b in pairwise(bounds)], dtype=np.str_)
