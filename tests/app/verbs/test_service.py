"""The verbs on a small collection: learn, annotate, search, review, calibrated and repeatable."""

import struct
import zlib
from itertools import pairwise

import numpy as np
import pytest
from photo_folder import (
    N_TAGGED,
    RECIPE,
    N,
    copy_library,
    jpeg,
    learn,
    make_library,
    make_photos,
    put,
    words_of,
)

from topicture.app.learning.annotating import annotate
from topicture.app.learning.training_tags import gather
from topicture.app.verbs.library import Library
from topicture.app.verbs.reviewing import ORDERS
from topicture.errors import BadWord, CorpusError, DataNotFound, ModelFileError, NotFitted, TopictureError
from topicture.search import UnknownWords
from topicture.store import Catalog, CatalogError
from topicture.store.decisions.decisions import Decision


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    library = make_library(tmp_path_factory.mktemp("photos"))
    learn(library)
    return library


@pytest.fixture
def library(learned, tmp_path):
    """A copy that a test may change."""
    copy_library(learned.folder.parent, tmp_path / "photos")
    return Library.find(tmp_path / "photos")


def number(path):
    return int(path.split("photo-")[1][:3])


def bomb(width, height):
    """A small PNG file whose header promises many pixels."""

    def chunk(kind, content):
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(100_000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def open_pairs(library):
    return {(question.path, question.word) for question in library.queue(limit=10_000)}


# --- Learn and annotate -------------------------------------------------------------------------------------------


def test_suggestions_are_right_where_they_are_sure(learned):
    """Few are sure: the photos are near copies of one another, and tags of copies are hidden together."""
    sure = [q for q in learned.queue("certain", limit=1000) if q.probability > 0.8]
    assert len(sure) >= 4
    assert np.mean([q.word in words_of(number(q.path)) for q in sure]) > 0.9


def test_only_photos_without_tags_are_asked_about(learned):
    assert {number(path) for path, _ in open_pairs(learned)} <= set(range(N_TAGGED, N))


def test_probabilities_are_presences_not_shares(learned):
    """Two words are true of most photos: their probabilities are near 1 each, not 1 together."""
    totals = {}
    for question in learned.queue(limit=1000):
        totals[question.path] = totals.get(question.path, 0) + question.probability
    assert max(totals.values()) > 1.2


def test_learning_twice_gives_the_same(library):
    before = library.queue("certain", limit=1000)
    learn(library)
    assert library.queue("certain", limit=1000) == before
    assert [model.folder for model in library.models()] == ["0002", "0001"]


def test_top_and_threshold(library):
    library.annotate(top=2, workers=0)
    counts = {}
    for question in library.queue(limit=1000):
        counts[question.path] = counts.get(question.path, 0) + 1
    assert set(counts.values()) == {2}
    library.annotate(threshold=0.9, workers=0)
    assert all(question.probability >= 0.9 for question in library.queue(limit=1000))
    with pytest.raises(TopictureError, match="between 0 and 1"):
        library.annotate(threshold=2)
    with pytest.raises(TopictureError, match="at least 1"):
        library.annotate(top=0)


@pytest.mark.slow  # much work, all of it real
def test_auto_tries_the_models_that_the_views_allow(library):
    report = library.learn("auto", regions=False, workers=0)
    assert report.model == "auto"
    assert report.choice
    learned, *members = report.trials
    assert {"knn on descriptor", "logistic on descriptor"} <= {member.model for member in members}
    assert learned.mean > max(member.mean for member in members) - 0.05
    used = [member for member in members if member.weight > 0]
    assert used
    assert all("used" in member.note for member in used)
    assert library.annotate(workers=0).model == "auto"


def test_auto_leaves_out_what_the_time_does_not_suffice_for(library):
    report = library.learn("auto", budget_seconds=1e-3, regions=False, workers=0)
    learned, first, *others = report.trials
    assert learned.mean == pytest.approx(first.mean)
    assert others
    assert all("time" in member.note and member.weight == 0 for member in others)


def test_unreadable_photos_are_skipped_with_their_reason(library):
    root = library.folder.parent
    put(root / "empty.jpg", b"")
    put(root / "text.jpg", b"not a photo")
    put(root / "cut.jpg", jpeg(70)[:200])
    put(root / "document.jpg", b"%PDF-1.4 and so on")
    put(root / "bomb.png", bomb(20_000, 20_000))
    assert "empty.jpg: can't be read (an empty file)" in library.scan().skipped
    report = library.learn("lsa", regions=False, workers=0)
    assert len(report.skipped) == 4
    assert any("bomb.png: " in line and "limit" in line for line in report.skipped)
    assert any("document.jpg: not a photo format that is read (it is PDF)" in line for line in report.skipped)
    assert len(library.status().unreadable) == 4
    assert library.annotate(workers=0).photos == N


def test_only_judged_pairs_calibrate(library):
    """A reviewed photo tells what was asked about it, and what was accepted in bulk tells nothing."""
    asked, bulk = library.queue("certain", limit=1)[0], library.queue("uncertain", limit=1)[0]
    library.decide(asked.image, [asked.word], "rejected")
    with Catalog.open(library.folder, write=True) as catalog:
        catalog.decisions.decide([Decision(bulk.image, bulk.word, "present")], "bulk")
        taggings = gather(catalog, 3)
    rows = {image.image: i for i, image in enumerate(taggings.images)}
    assert taggings.known[taggings.captioned].all()
    assert taggings.known[rows[asked.image]].sum() == 1
    assert taggings.rejected.sum() == 1
    assert not taggings.known[rows[bulk.image], taggings.vocabulary.index(bulk.word)]
    assert taggings.truth[rows[bulk.image]].sum() == 0  # the machine's own opinion teaches nothing
    assert taggings.captions[rows[bulk.image]] == []


def test_nothing_learned_yet(tmp_path):
    library = make_library(tmp_path / "photos", n=3, tagged=0)
    with pytest.raises(NotFitted, match="topicture learn"):
        library.annotate()
    with pytest.raises(CorpusError, match="no photo carries a tag"):
        library.learn()
    library.decide("photo-000.jpg", ["rose"], "present")
    with pytest.raises(CorpusError, match="at least 3 photos"):
        library.learn()


def test_an_empty_folder_is_no_error_until_something_must_be_learned(tmp_path):
    (tmp_path / "photos").mkdir()
    library = Library.create(tmp_path / "photos", recipe=RECIPE)
    assert library.scan().files == 0
    assert library.status().photos == 0
    with pytest.raises(CorpusError):
        library.learn()


@pytest.mark.parametrize("name", ["model", "features", "presence"])
@pytest.mark.parametrize("content", [b"", b"\x80\x04pickle", b"x" * 1000])
def test_damaged_model_files_are_refused(library, name, content):
    path = library.folder / "models" / "0001" / f"{name}.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelFileError):
        library.annotate(workers=0)
    assert any(f"{name}.safetensors" in problem for problem in library.check())


# --- Search ---------------------------------------------------------------------------------------------------------


def test_search_ranks_tagged_and_untagged_photos(learned):
    hits = learned.search("rose -sea", limit=100)
    found = [number(hit.path) for hit in hits if hit.probability > 0.5]
    truth = {n for n in range(N) if "rose" in words_of(n) and "sea" not in words_of(n)}
    assert len(truth & set(found)) / len(truth) > 0.7
    assert np.all(np.diff([hit.probability for hit in hits]) <= 0)
    assert hits[0].said  # what people said comes first


def test_what_people_say_overrules_the_model_at_once(library):
    sure = library.queue("certain", tag="rose", limit=1)[0]
    assert sure.path in {hit.path for hit in library.search("rose", 100)}
    library.decide(sure.image, ["rose"], "rejected")
    assert sure.path not in {hit.path for hit in library.search("rose", 100)}
    library.decide(sure.image, ["unicorn"], "present")
    assert [hit.path for hit in library.search("Unicorn rose", 5)] == []
    assert [hit.path for hit in library.search("unicorn", 5)] == [sure.path]


def test_photos_that_are_gone_are_no_hits(library):
    (library.folder.parent / "photo-000.jpg").unlink()
    library.scan()
    assert "photo-000.jpg" not in {hit.path for hit in library.search("rose", 100)}


def test_unknown_words_are_told_with_the_nearest(learned):
    with pytest.raises(UnknownWords, match="nearest: rose"):
        learned.search("rsoe")


def test_search_without_a_model_finds_what_people_said(tmp_path):
    library = make_library(tmp_path / "photos", n=4, tagged=4)
    assert {number(hit.path) for hit in library.search("rose")} == {
        n for n in range(4) if "rose" in words_of(n)
    }


def test_check_reads_the_features(library):
    assert library.check() == []
    (shard,) = library.folder.glob("index/*/features/00000.npy")
    content = bytearray(shard.read_bytes())
    content[-1] ^= 1
    shard.write_bytes(content)
    (line,) = library.check()
    assert "00000.npy" in line
    assert "annotate" in line


def test_similar_photos_share_their_colours(learned):
    similar = learned.similar("photo-000.jpg", 3)
    assert len(similar) == 3
    assert any(words_of(number(photo.path)) == words_of(0) for photo in similar)


# --- Decisions ------------------------------------------------------------------------------------------------------


def test_a_rejected_tag_never_comes_back(library):
    question = library.queue("certain", limit=1)[0]
    library.decide(question.image, [question.word], "rejected")
    library.annotate(threshold=0.0, workers=0)
    assert (question.path, question.word) not in open_pairs(library)
    library.scan()
    learn(library)
    library.annotate(threshold=0.0, workers=0)
    assert (question.path, question.word) not in open_pairs(library)
    root = library.folder.parent
    (root / question.path).rename(root / "moved.jpg")
    library.scan()
    library.annotate(threshold=0.0, again=True, workers=0)
    assert ("moved.jpg", question.word) not in open_pairs(library)


def test_a_rejected_tag_comes_back_when_asked_for(library):
    question = library.queue("certain", limit=1)[0]
    library.decide(question.image, [question.word], "rejected")
    with Catalog.open(library.folder, write=True) as catalog:
        report = annotate(catalog, threshold=0.0, rejected_too=True, workers=0)
    assert report.suggestions > 0
    with Catalog.open(library.folder) as catalog:
        assert catalog.suggestions.probability(1, question.image, question.word) is not None


def test_decisions_enter_the_next_learn(library):
    before = library.models()[0].facts["tagged"]
    for question in library.queue("certain", limit=3):
        library.decide(question.image, [question.word], "present")
    library.learn("lsa", regions=False, workers=0)
    assert library.models()[0].facts["tagged"] > before


def test_a_deleted_tag_is_not_suggested_any_more(library):
    assert library.delete_tag("rose") == sum("rose" in words_of(n) for n in range(N_TAGGED))
    assert "rose" not in {word for _, word in open_pairs(library)}
    library.scan()
    library.annotate(threshold=0.0, workers=0)
    assert "rose" not in {word for _, word in open_pairs(library)}
    assert library.search("rose") == [] or all(hit.probability < 1 for hit in library.search("rose"))


def test_bulk_acceptance_keeps_its_promise_and_can_be_undone(library):
    promised = library.accept_above(0.8, dry_run=True)
    assert library.status().accepted_here == 0
    report = library.accept_above(0.8)
    assert report.accepted == promised.accepted == library.status().accepted_here > 0
    right = [
        tag.word in words_of(n)
        for n in range(N_TAGGED, N)
        for tag in library.tags(("trip/" if n % 2 else "") + f"photo-{n:03d}.jpg")
    ]
    assert np.mean(right) >= 0.8
    assert len(library.undo().decisions) == report.accepted
    assert library.status().accepted_here == 0


@pytest.mark.parametrize("order", ORDERS)
def test_orders_of_the_queue(learned, order):
    questions = learned.queue(order, limit=10)
    assert len(questions) == 10
    if order == "certain":
        assert np.all(np.diff([question.probability for question in questions]) <= 0)
    if order == "uncertain":
        assert np.all(np.diff([abs(question.probability - 0.5) for question in questions]) >= 0)
    if order == "teaching":  # photo by photo
        photos = [question.path for question in questions]
        assert len(set(photos)) == 1 + sum(a != b for a, b in pairwise(photos))


def test_queue_of_one_tag_or_by_image(learned):
    assert {question.word for question in learned.queue(tag="sea")} == {"sea"}
    photos = [question.path for question in learned.queue(by_image=True, limit=1000)]
    assert len(set(photos)) == 1 + sum(a != b for a, b in pairwise(photos))
    with pytest.raises(TopictureError, match="there is no order"):
        learned.queue("sideways")


# --- Odds and ends --------------------------------------------------------------------------------------------------


def test_evaluation_is_of_held_out_tags(learned):
    report = learned.evaluate()
    assert report["model"] == "lsa"
    assert sum(row["n"] for row in report["reliability"]) == N_TAGGED * 4
    for row in report["reliability"]:
        assert row["low"] <= row["promised"] <= row["high"] + 1e-9
    assert {tag["word"] for tag in report["tags"]} == {"rose", "grass", "sea", "sand"}


def test_photos_are_named_by_path_or_hash(learned):
    root = learned.folder.parent
    image = learned.image("trip/photo-001.jpg")
    assert learned.image(root / "trip" / "photo-001.jpg") == image
    assert learned.path(image) == root / "trip" / "photo-001.jpg"
    with Catalog.open(learned.folder) as catalog:
        assert learned.image(catalog.files.content_of(image).hex()[:12]) == image
    for bad in ("nowhere.jpg", "../../etc/passwd", "/etc/passwd", ""):
        with pytest.raises(DataNotFound):
            learned.image(bad)


def test_words_that_cannot_be_tags_are_refused(library):
    with pytest.raises(BadWord):
        library.decide("photo-000.jpg", ["two\nlines"], "present")
    with pytest.raises(TopictureError, match="a verdict is one of"):
        library.decide("photo-000.jpg", ["rose"], "maybe")


def test_find_looks_upwards(learned, tmp_path):
    assert Library.find(learned.folder.parent / "trip").folder == learned.folder
    assert Library.find(catalog=learned.folder.parent).folder == learned.folder
    with pytest.raises(CatalogError, match="no catalog here or above"):
        Library.find(tmp_path)


def test_catalog_elsewhere(tmp_path):
    make_photos(tmp_path / "photos", n=2, tagged=1)
    library = Library.create(tmp_path / "photos", tmp_path / "catalog", recipe=RECIPE)
    library.scan()
    assert not (tmp_path / "photos" / ".topicture").exists()
    assert Library.find(catalog=tmp_path / "catalog").status().files == 2
