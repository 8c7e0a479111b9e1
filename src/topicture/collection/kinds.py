"""Kinds of files by the ends of their names, and which of them can be read on this machine."""

import importlib.util

__all__ = ["PHOTOS", "RAW", "VIDEOS", "reads_heic", "reads_raw"]


def _suffixes(kinds: str) -> frozenset[str]:
    return frozenset(f".{kind}" for kind in kinds.split())


PHOTOS = _suffixes("jpg jpeg jpe jfif mpo png webp tif tiff gif bmp avif heic heif")
"""What Topicture takes for photos; all of these sets are in lower case."""

RAW = _suffixes(
    "3fr arw cr2 cr3 crw dcr dng erf fff gpr iiq k25 kdc mef mos mrw nef nrw orf pef raf raw rw2 rwl sr2 srf srw x3f"
)
"""What cameras write before it is developed: looked at by the preview inside, where `rawpy` is installed."""

VIDEOS = _suffixes(
    "3g2 3gp asf avi flv insv lrv m2t m2ts m4v mkv mod mov mp4 mpe mpeg mpg mts ogv qt ts vob webm wmv"
)


def reads_heic() -> bool:
    """Whether the package of the extra `heic` is installed."""
    return importlib.util.find_spec("pi_heif") is not None


def reads_raw() -> bool:
    """Whether the package of the extra `raw` is installed."""
    return importlib.util.find_spec("rawpy") is not None
