"""Edited copies, known by their names."""

import pytest

from topicture.collection.edited_copies import NamedPhoto, edited_copies


def numbered(*paths, taken=None):
    return [NamedPhoto(path, n, (taken or {}).get(path)) for n, path in enumerate(paths)]


@pytest.mark.parametrize(
    "edited",
    [
        "IMG_1234-edited.jpg",
        "IMG_E1234.HEIC",
        "IMG_1234 (edited).jpg",
        "IMG_1234(Edited).jpg",
        "IMG_1234~2.jpg",
        "IMG_1234-Edit.tif",
        "IMG_1234-Edit-2.tif",
        "IMG_1234-bearbeitet.jpg",
        "img_1234_edited.JPG",
        "IMG_1234-edited~3.jpg",
    ],
)
def test_the_names_of_many_programs(edited):
    assert edited_copies(numbered("a/IMG_1234.jpg", f"a/{edited}")) == {1: 0}
    assert edited_copies(numbered("b/IMG_1234.jpg", f"a/{edited}")) == {}  # another folder
    assert edited_copies(numbered("a/IMG_1235.jpg", f"a/{edited}")) == {}


@pytest.mark.parametrize(
    "other", ["IMG_1234 (1).jpg", "IMG_1234-2.jpg", "IMG_12345.jpg", "edited.jpg", "IMG_E123.jpg"]
)
def test_other_names_are_photos_of_their_own(other):
    assert edited_copies(numbered("IMG_1234.jpg", "IMG_123.jpg", ".jpg", other)) == {}


def test_the_copy_of_a_copy_and_the_original_of_the_same_kind():
    paths = ("a-edited.jpg", "a-edited~2.jpg", "a.heic", "a.jpg")
    assert edited_copies(numbered(*paths)) == {0: 3, 1: 3}
    assert edited_copies(numbered("a-edited.jpg", "a-edited~2.jpg")) == {1: 0}


def test_a_photo_of_another_day_is_another_photo():
    paths, noon = ("IMG_1234.jpg", "IMG_E1234.jpg"), 1_500_000_000
    assert edited_copies(numbered(*paths, taken={paths[0]: noon, paths[1]: noon + 7200})) == {1: 0}
    assert edited_copies(numbered(*paths, taken={paths[0]: noon, paths[1]: noon + 200_000})) == {}


def test_the_same_picture_under_both_names_is_one_anyway():
    assert edited_copies([NamedPhoto("a.jpg", 1, None), NamedPhoto("a~2.jpg", 1, None)]) == {}
