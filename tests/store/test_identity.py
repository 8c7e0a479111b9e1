"""A picture is known by its picture data: metadata may change, pixels may not."""

import io

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from topicture.store.identity import picture_id


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return write


def picture(seed=0):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (24, 32, 3), dtype=np.uint8))


def encoded(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def test_keywords_written_into_a_jpeg_leave_it_the_same_picture(write):
    plain = write("a.jpg", encoded(picture(), "JPEG"))
    tagged = write("b.jpg", encoded(picture(), "JPEG", xmp=b"<x:xmpmeta/>", comment=b"hello"))
    other = write("c.jpg", encoded(picture(1), "JPEG"))
    assert plain.read_bytes() != tagged.read_bytes()
    assert picture_id(plain) == picture_id(tagged)
    assert picture_id(plain) != picture_id(other)


def test_text_in_a_png_leaves_it_the_same_picture(write):
    text = PngImagePlugin.PngInfo()
    text.add_text("Title", "tiger")
    plain, titled = encoded(picture(), "PNG"), encoded(picture(), "PNG", pnginfo=text)
    assert plain != titled
    assert picture_id(write("a.png", plain)) == picture_id(write("b.png", titled))


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
@pytest.mark.parametrize("cut", [1, 3, 9, 40, 200])
def test_cut_files_have_an_identity_of_their_own(write, kind, cut):
    content = encoded(picture(), kind)
    assert picture_id(write("whole", content)) != picture_id(write("cut", content[:cut]))


def test_empty_and_foreign_files_have_one_too(write):
    assert picture_id(write("empty.jpg", b"")) != picture_id(write("text.jpg", b"no photo"))


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(OSError, match="not a regular file"):
        picture_id(tmp_path)
