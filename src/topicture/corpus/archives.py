"""Where the benchmark data lies, and how its files are read: one clear error for what is missing or damaged."""

import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from topicture.errors import CorpusError, DataNotFound

__all__ = ["DAMAGED", "data_folder", "existing", "one_line", "read_members", "read_npz"]

ENVIRONMENT = "TOPICTURE_DATA"
HOW = f"set {ENVIRONMENT}, or pass data=, to the folder that holds corel16k/, corel5k/ and msrc_v2/"

# What a damaged or foreign file makes NumPy, zipfile, json and Pillow raise.
DAMAGED = (
    AttributeError,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


def data_folder(data: str | Path | None = None) -> Path:
    """The folder of the benchmark data: `data`, or what TOPICTURE_DATA names; raises DataNotFound."""
    named = data if data is not None else os.environ.get(ENVIRONMENT)
    if not named:
        raise DataNotFound(f"no benchmark data: {HOW}")
    folder = Path(named)
    if not folder.is_dir():
        raise DataNotFound(f"{folder}: no such folder; {HOW}")
    return folder


def existing(path: Path) -> Path:
    """The path of a file of the data; raises DataNotFound if it is not there."""
    if not path.is_file():
        raise DataNotFound(f"{path}: no such file; {HOW}")
    return path


def read_npz(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """The named arrays of an .npz file; never unpickles."""
    try:
        # Opened here, because np.load leaves a damaged file open.
        with open(existing(path), "rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {name: file[name] for name in names}
    except DataNotFound:  # which is an OSError too
        raise
    except DAMAGED as error:
        raise CorpusError(f"{path}: can't be read ({one_line(error)})") from None


def read_members(path: Path, members: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    """(key, bytes) of members {key: name} of a zip archive, which is opened once."""
    try:
        with zipfile.ZipFile(existing(path)) as archive:
            known = set(archive.namelist())
            for key, name in members.items():
                if name not in known:
                    raise DataNotFound(f"{path}: there is no {name}")
                yield key, archive.read(name)
    except DataNotFound:  # which is an OSError too
        raise
    except DAMAGED as error:
        raise CorpusError(f"{path}: can't be read ({one_line(error)})") from None


def one_line(error: BaseException) -> str:
    """What an exception says, or else its name, without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__
