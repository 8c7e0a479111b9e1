"""Which photos have a caption of their owner's: words of files, or what was typed where files have few."""

import pytest
from photo_folder import make_library, words_of

from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.questions import Drawn


@pytest.fixture
def bare(tmp_path):
    """No file has keywords."""
    return make_library(tmp_path, n=16, tagged=0)


def numbers(library):
    return [library.image(f"photo-{n:03d}.jpg") for n in range(0, 16, 2)]


def captioned(library):
    with Catalog.open(library.folder) as catalog:
        images = catalog.decisions.captions.images().tolist()
        everything = [image.image for image in catalog.files.living()]
        query = f"SELECT {catalog.decisions.captions.where(':n')}"
        has = [bool(catalog.database.execute(query, {"n": n}).fetchone()[0]) for n in everything]
    assert has == [n in images for n in everything]
    return images


def test_typed_words_are_captions_where_files_have_none(bare):
    photos = numbers(bare)
    for photo in photos[:3]:
        bare.answer(photo, "boat", "present")
    bare.answer(photos[3], "boat", "rejected")
    assert captioned(bare) == sorted(photos[:3])


def test_what_was_suggested_or_asked_about_is_no_caption(bare):
    photos = numbers(bare)
    bare.answer(photos[0], "boat", "present")
    with Catalog.open(bare.folder, write=True) as catalog:
        catalog.decisions.decide([Decision(photos[1], "boat", "present", 1, 0.8)], "review")
        catalog.decisions.decide([Decision(photos[2], "boat", "present", 1, 0.9)], "bulk")
        catalog.questions.note([Drawn(photos[3], "boat", 0.3, 0.1)], 1)
        catalog.decisions.decide([Decision(photos[3], "boat", "present")], "review")
    assert captioned(bare) == [photos[0]]
    with Catalog.open(bare.folder, write=True) as catalog:  # what was asked about has another name now
        catalog.words.merge(["boat"], "ship", "rename")
    assert captioned(bare) == [photos[0]]


def test_typed_words_are_answers_where_files_have_captions(tmp_path):
    library = make_library(tmp_path, n=16, tagged=8)
    own = captioned(library)
    assert len(own) == 8
    library.answer(library.image("photo-008.jpg"), "boat", "present")
    assert captioned(library) == own


@pytest.mark.parametrize(
    ("in_files", "n_typed", "typed_count"), [(5, 20, False), (5, 21, True), (0, 1, True)]
)
def test_typed_words_need_to_be_far_more_than_those_of_files(tmp_path, in_files, n_typed, typed_count):
    library = make_library(tmp_path, n=32, tagged=in_files)
    own = captioned(library)
    with Catalog.open(library.folder, write=True) as catalog:
        images = [image.image for image in catalog.files.living() if image.image not in own][:n_typed]
        catalog.decisions.decide([Decision(image, "boat", "present") for image in images], "review")
    assert captioned(library) == sorted([*own, *images] if typed_count else own)


def test_a_stray_keyword_does_not_make_the_owners_own_words_answers(tmp_path):
    library = make_library(tmp_path, n=16, tagged=1)
    with Catalog.open(library.folder) as catalog:
        own = catalog.decisions.captions.images().tolist()
        assert len(own) == 1
    typed = [n for n in numbers(library) if n not in own][:6]
    for n, photo in enumerate(typed):
        for word in words_of(n):
            library.answer(photo, word, "present")
    assert captioned(library) == sorted([*own, *typed])
