import pytest

from topicture.errors import TopictureError
from topicture.vision.features.blobs import BLOBS
from topicture.vision.features.colour import COLOUR_LAYOUT
from topicture.vision.features.descriptor import Column, Descriptor
from topicture.vision.features.sift import SIFT


def test_key_changes_with_the_version():
    first = Descriptor("toy", 1, (Column("a", "first"),), "image")
    second = Descriptor("toy", 2, (Column("a", "first"),), "image")
    assert first.key == "toy-v1"
    assert first.key != second.key


def test_index_and_length():
    toy = Descriptor("toy", 1, (Column("a", "first"), Column("b", "second")), "region")
    assert len(toy) == 2
    assert toy.index("b") == 1
    with pytest.raises(TopictureError, match="no column 'c'"):
        toy.index("c")


def test_repeated_columns_are_refused():
    with pytest.raises(TopictureError, match="repeat: a"):
        Descriptor("toy", 1, (Column("a", "one"), Column("a", "two")), "image")


@pytest.mark.parametrize(
    ("descriptor", "width", "scope"),
    [(BLOBS, 46, "region"), (COLOUR_LAYOUT, 648, "image"), (SIFT, 128, "patch")],
)
def test_every_column_is_documented(descriptor, width, scope):
    assert len(descriptor) == width
    assert descriptor.scope == scope
    assert all(column.name and column.meaning for column in descriptor.columns)
