"""Writers of single formats; today `write_annotations` writes them all, and says what a format can't hold."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from topicture.atomic import write_atomically
from topicture.collection.formats import arff, coco, csv_long, csv_wide, cvat, jsonl, labelme, voc
from topicture.collection.formats.cells import table_bytes
from topicture.collection.formats.items import Item

__all__ = [
    "write_arff",
    "write_arff_dense",
    "write_coco",
    "write_csv_long",
    "write_csv_wide",
    "write_cvat",
    "write_jsonl",
    "write_labelme",
    "write_rows",
    "write_voc",
]

Writer = Callable[[Path, Sequence[Item]], None]


def _writer(encode: Callable[[Path, Sequence[Item]], dict[str, bytes]], per_photo: bool = False) -> Writer:
    def write(path: Path, items: Sequence[Item]) -> None:
        """Write the items; files of the same names are replaced."""
        for name, content in encode(path, items).items():
            write_atomically((path if per_photo else path.parent) / name, content)

    return write


write_arff, write_arff_dense = _writer(arff.encode), _writer(arff.encode_dense)
write_coco, write_cvat, write_jsonl = _writer(coco.encode), _writer(cvat.encode), _writer(jsonl.encode)
write_csv_long, write_csv_wide = _writer(csv_long.encode), _writer(csv_wide.encode)
write_labelme, write_voc = _writer(labelme.encode, per_photo=True), _writer(voc.encode, per_photo=True)


def write_rows(path: Path, rows: Iterable[Iterable[object]]) -> None:
    """Write a table; texts are made neutral, numbers stay numbers."""
    write_atomically(path, table_bytes(rows))
