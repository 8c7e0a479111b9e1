"""A catalog that an earlier version stored opens, with all its decisions and its log.

The archive was made by the version whose schema had one step: answers, a bulk acceptance, an import, a deletion and an
undo, written into sidecars; and a scan that met a sidecar cut off in the middle, and withdrew what had been accepted.
"""

import sqlite3
import zipfile
from pathlib import Path

import pytest

from topicture.app.verbs.library import Library
from topicture.store import Catalog, CatalogError
from topicture.store.migrations import STEPS, VERSION
from topicture.store.safety.checks import problems

ARCHIVE = Path(__file__).parent / "data" / "catalog-version-1.zip"


@pytest.fixture
def root(tmp_path):
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(tmp_path / "photos")
    (tmp_path / "photos" / ".topicture").mkdir()
    (tmp_path / "photos" / "catalog.sqlite").rename(tmp_path / "photos" / ".topicture" / "catalog.sqlite")
    return tmp_path / "photos"


@pytest.fixture
def catalog(root):
    with Catalog.open(root / ".topicture", write=True, root=root) as catalog:
        yield catalog


def tags(catalog, path):
    return {
        tag.word: (tag.verdict, tag.source) for tag in catalog.decisions.tags_of(catalog.files.at(path).image)
    }


def test_it_is_of_the_first_version_and_readers_say_so(root):
    database = sqlite3.connect(root / ".topicture" / "catalog.sqlite")
    assert database.execute("PRAGMA user_version").fetchone() == (1,)
    database.close()
    with pytest.raises(CatalogError, match="topicture scan"):
        Catalog.open(root / ".topicture")


def test_all_decisions_and_the_log_are_there(catalog):
    assert catalog.database.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert tags(catalog, "photo-000.jpg") == {"night": ("present", "review"), "rose": ("rejected", "review")}
    assert tags(catalog, "photo-002.jpg") == {"dusk": ("present", "file"), "sea": ("present", "file")}
    assert tags(catalog, "trip/photo-003.jpg") == {
        "dusk": ("present", "import"),
        "lion": ("rejected", "delete"),
        "tiger": ("present", "bulk"),
    }
    assert catalog.decisions.deleted_words() == {"lion"}
    assert catalog.database.execute("SELECT count(*), max(batch) FROM decisions").fetchone() == (16, 13)
    assert problems(catalog) == []


def test_its_steps_can_be_undone_one_by_one(catalog):
    undone = catalog.decisions.undo()
    assert (undone.source, undone.words) == ("delete", ("lion",))
    assert tags(catalog, "trip/photo-003.jpg")["lion"] == ("present", "bulk")
    assert [decision.word for decision in catalog.decisions.undo().decisions] == [
        "night"
    ]  # not what was undone
    assert [catalog.decisions.undo().source for _ in range(3)] == ["review", "import", "bulk"]
    assert (
        catalog.decisions.undo() is None
    )  # the answers on photo-004 were withdrawn by a scan: nothing stands
    assert catalog.decisions.deleted_words() == set()
    assert problems(catalog) == []


def test_what_a_scan_had_withdrawn_returns_with_the_sidecar(root):
    Catalog.open(
        root / ".topicture", write=True, root=root
    ).close()  # most of its photos are not in the archive
    library = Library(root / ".topicture")
    before = (root / "photo-004.jpg.xmp").read_bytes()
    library.write(regions=False)
    assert (root / "photo-004.jpg.xmp").read_bytes() == before  # words that were withdrawn are not erased
    library.scan()
    assert {tag.word: (tag.verdict, tag.source) for tag in library.tags(root / "photo-004.jpg")} == {
        "night": ("present", "review"),
        "tiger": ("present", "review"),
    }
    assert library.check() == []


def test_a_word_is_not_taken_for_removed_before_all_its_places_were_read(root, catalog):
    from topicture.collection.metadata.word_sources import PHOTO, WordSource

    image = catalog.files.at("photo-002.jpg").image
    news = catalog.file_words.news("photo-002.jpg", image, [WordSource(PHOTO)])  # the sidecar is not there
    assert news.withdrawn == ()
    news = catalog.file_words.news(
        "photo-002.jpg", image, [WordSource(PHOTO), WordSource("photo-002.jpg.xmp")]
    )
    assert news.withdrawn == ("dusk", "sea")


def test_a_precision_noted_without_its_policy_goes_with_it(tmp_path):
    """As earlier versions did where a step changed the precision alone."""
    with Catalog.create(tmp_path) as catalog:
        first = catalog.words.set_policy("cat", "accept", 0.9)
        second = catalog.words.set_policy("cat", "accept", 0.75)
        folder, database = catalog.folder, catalog.database
        database.execute("DELETE FROM word_edits WHERE batch = ? AND field = 'policy'", (second,))
        names = [statement.split()[2] for statement in STEPS[-1] if statement.startswith("CREATE INDEX")]
        for name in names:
            database.execute(f"DROP INDEX {name}")
        database.execute(f"PRAGMA user_version = {VERSION - 1}")
    with Catalog.open(folder, write=True) as catalog:
        catalog.decisions.undo(first)
        catalog.decisions.undo(second)
        query = "SELECT policy, precision FROM words WHERE word = 'cat'"
        assert catalog.database.execute(query).fetchone() == ("suggest", None)
