"""Which format a file has, and reading and writing by its name."""

import os
import posixpath
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from topicture.collection.formats import arff, coco, csv_long, csv_wide, cvat, jsonl, labelme, voc
from topicture.collection.formats.cells import read_rows
from topicture.collection.formats.files import files_below, json_value, load_bytes, load_xml, xml_problem
from topicture.collection.formats.items import Collector, FormatError, Imported, Item, Refused
from topicture.collection.outputs import LONGEST_NAME, Outputs
from topicture.collection.words import printable
from topicture.errors import DataNotFound

__all__ = ["FORMATS", "guess_format", "read_annotations", "write_annotations"]


class _Format(NamedTuple):
    read: Callable[[Path, Collector], None]
    encode: Callable[[Path, Sequence[Item]], dict[str, bytes]]  # name -> content
    problems: tuple[Callable[[Item], str | None], ...] = ()  # why an item can't be written
    per_photo: bool = False  # many files in a folder


_FORMATS = {
    "coco": _Format(coco.read, coco.encode),
    "labelme": _Format(labelme.read, labelme.encode, per_photo=True),
    "voc": _Format(voc.read, voc.encode, (xml_problem, voc.problem), per_photo=True),
    "cvat": _Format(cvat.read, cvat.encode, (xml_problem,)),
    "csv-long": _Format(csv_long.read, csv_long.encode),
    "csv-wide": _Format(csv_wide.read, csv_wide.encode),
    "jsonl": _Format(jsonl.read, jsonl.encode),
    "arff": _Format(arff.read, arff.encode),
    "arff-dense": _Format(arff.read, arff.encode_dense),
}

FORMATS = tuple(_FORMATS)
"""Names of the formats."""


def read_annotations(
    path: str | os.PathLike, format: str | None = None, root: str | os.PathLike | None = None
) -> Imported:
    """The annotations of a file, or (`labelme`, `voc`, `jsonl`) of a folder.

    Entries that can't be used are refused one by one, each with its line or place and the reason; the rest is imported.
    Nothing that a file says makes this function raise.

    Parameters
    ----------
    format : str, optional
        One of `FORMATS`; by default it is seen from the name and the first look at the content.
    root : path, optional
        The collection. If given, items whose photo is not a file in it are refused.

    Raises
    ------
    DataNotFound
        There is no such file or folder.
    FormatError
        The format is not known, or can't be seen.
    """
    source = Path(path)
    if not source.exists():
        raise DataNotFound(f"{printable(str(source))}: no such file or folder")
    chosen = _format(format or guess_format(source))
    collect = Collector()
    chosen.read(source, collect)
    return collect.imported(root)


def write_annotations(
    path: str | os.PathLike,
    items: Iterable[Item],
    format: str,
    *,
    force: bool = False,
    never: Callable[[Path], str | None] = lambda path: None,
) -> tuple[Refused, ...]:
    """Write annotations, each file whole or not at all, and return what the format could not hold.

    `labelme` and `voc` write a file for each photo into the folder `path`; `arff` writes the table and, beside it, the
    label file. Words are kept by every format, boxes and sizes by all but `csv-wide`, `arff` and `arff-dense`. A second
    item of the same path is refused, and a photo whose file would have a name that is too long.

    `force` and `never` are those of `outputs.Outputs`: files that Topicture did not write stay unless forced. Raises
    FormatError for an unknown format, and OutputError before anything is written.
    """
    chosen = _format(format)
    target = Path(path)
    kept: dict[str, Item] = {}
    refused = []
    for item in items:
        reason = next(filter(None, (problem(item) for problem in chosen.problems)), None)
        if item.path in kept:
            reason = "this photo was there before"
        if reason is None:
            kept[item.path] = item
        else:
            refused.append(Refused(target.name, item.path, reason))
    files = chosen.encode(target, list(kept.values()))
    if chosen.per_photo:
        for name in [name for name in files if len(os.fsencode(posixpath.basename(name))) > LONGEST_NAME]:
            refused.append(Refused(target.name, name, f"a name of over {LONGEST_NAME} bytes"))
            del files[name]
    folder = target if chosen.per_photo else target.parent
    Outputs(folder, force=force, never=never).write(files)
    return tuple(refused)


def guess_format(path: Path) -> str:
    """The format of a file or folder; raises FormatError where it can't be seen."""
    if path.is_dir():
        if (path / "metadata.jsonl").is_file():
            return "jsonl"
        for suffix, name in ((".json", "labelme"), (".xml", "voc")):
            if next(files_below(path, suffix), None) is not None:
                return name
    guess = _BY_SUFFIX.get(path.suffix.lower())
    if guess is not None:
        return guess(path)
    raise FormatError(f"{printable(path.name)}: the format can't be seen; name one of {', '.join(FORMATS)}")


def _format(name: str) -> _Format:
    if name not in _FORMATS:
        raise FormatError(f"format '{printable(name)}' is not known; there are {', '.join(FORMATS)}")
    return _FORMATS[name]


def _guess_json(path: Path) -> str:
    try:
        content = json_value(load_bytes(path))
    except FormatError:
        return "coco"  # reading it tells what is wrong
    return "labelme" if isinstance(content, dict) and "shapes" in content else "coco"


def _guess_xml(path: Path) -> str:
    try:
        return "cvat" if load_xml(path).tag == "annotations" else "voc"
    except FormatError:
        return "voc"


def _guess_csv(path: Path) -> str:
    try:
        header = next(read_rows(path, Collector()))[1]
    except (FormatError, StopIteration):
        return "csv-long"
    names = {name.strip().lower() for name in header}
    is_long = names.intersection(csv_long.WORD_NAMES) and names.intersection(csv_long.FILE_NAMES)
    return "csv-long" if is_long else "csv-wide"


_BY_SUFFIX: dict[str, Callable[[Path], str]] = {
    ".json": _guess_json,
    ".xml": _guess_xml,
    ".csv": _guess_csv,
    ".tsv": _guess_csv,
    ".jsonl": lambda path: "jsonl",
    ".arff": lambda path: "arff",
}
