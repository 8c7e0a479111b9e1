"""What the cache of small pictures remembers of photos that can't be read, and for how long."""

import time

import pytest

from topicture.vision import read
from topicture.vision.thumbnails import Made, ThumbnailCache, cache

PHOTO = b"\1" * 32


@pytest.fixture
def reason_in(tmp_path):
    """The reason why a photo can't be read, as a cache that is opened now knows it; and what it calls missing."""
    with ThumbnailCache(tmp_path) as made:
        made.put_reason(PHOTO, "a package is missing")

    def look():
        with ThumbnailCache(tmp_path) as made:
            return made.reason(PHOTO), made.missing([PHOTO])

    return look


def test_a_reason_ends_with_the_decoders_that_had_it(reason_in, monkeypatch):
    assert reason_in() == ("a package is missing", [])
    before = read.reads_heic()
    monkeypatch.setattr(read, "reads_heic", lambda: not before)
    assert reason_in() == (None, [PHOTO])


def test_a_photo_that_took_too_long_is_tried_again_some_time(reason_in, monkeypatch):
    later = time.time() + 2 * cache.REASON_SECONDS
    monkeypatch.setattr(cache.time, "time", lambda: later)
    assert reason_in() == (None, [])  # when somebody looks at it, not whenever pictures are prepared


def test_a_picture_that_could_be_made_has_no_reason(reason_in, tmp_path):
    with ThumbnailCache(tmp_path) as made:
        made.put(PHOTO, Made(PHOTO, 3, 2, None, {}))
    assert reason_in() == (None, [])
