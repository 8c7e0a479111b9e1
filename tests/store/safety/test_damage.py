"""Databases that are damaged, half made, old or full: one true line each, and `check` finds what is wrong."""

import sqlite3

import pytest

from topicture.app.verbs.library import Library
from topicture.errors import TopictureError
from topicture.store import Catalog, CatalogError, database
from topicture.store.decisions.decisions import Decision
from topicture.store.migrations import VERSION, migrate
from topicture.store.safety.checks import problems


@pytest.fixture
def library(tmp_path):
    """A catalog with a row in nearly every table."""
    library = Library.create(tmp_path)
    with Catalog.open(library.folder, write=True) as catalog:
        with catalog.database.transaction():
            image = catalog.files.put("a.jpg", b"a" * 32, 10, 20, "")
            word = catalog.decisions.word_id("grass")
        catalog.decisions.decide([Decision(image, "tiger", "present", 1, 0.5)], "review")
        model = catalog.suggestions.add_model("0001", "lsa", 1, {"photos": 1})
        catalog.suggestions.replace(model, [(image, word, 0.7)])
        catalog.sidecar_record.plan(catalog.sidecar_record.due())
        catalog.sidecar_record.fail("a.jpg", "a reason")
        catalog.files.set_reasons({image: "unreadable"})
    return library


def spoil(library, *statements):
    """Change the database as no version of ours would."""
    connection = sqlite3.connect(library.folder / "catalog.sqlite")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute("PRAGMA writable_schema = ON")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


DAMAGE = {
    "a number that is text": "UPDATE places SET size = 'large'",
    "a time that is text": "UPDATE places SET modified = 'yesterday'",
    "a time beyond all times": "UPDATE models SET learned = 9e999",
    "a time that is bytes": "UPDATE models SET learned = x'00ff'",
    "a path that is text": "UPDATE places SET path = 'a.jpg'",
    "a path out of the collection": "UPDATE places SET path = CAST('../a.jpg' AS BLOB)",
    "a content that is text": "UPDATE images SET content = 'a'",
    "a word that is bytes": "UPDATE words SET word = x'ff00' WHERE word = 'tiger'",
    "a word that is no UTF-8": "UPDATE words SET word = CAST(x'ff41' AS TEXT) WHERE word = 'tiger'",
    "a verdict that is a number": "UPDATE tags SET verdict = 3",
    "a probability that is text": "UPDATE suggestions SET probability = 'high'",
    "a probability above 1": "UPDATE suggestions SET probability = 7.5",
    "an infinite probability": "UPDATE decisions SET probability = 9e999",
    "facts that are no JSON": "UPDATE models SET facts = '{'",
    "facts that are a list": "UPDATE models SET facts = '[1]'",
    "facts that are bytes": "UPDATE models SET facts = x'ff'",
    "a folder elsewhere": "UPDATE models SET folder = '../../elsewhere'",
    "a setting that is no JSON": "UPDATE settings SET value = '{' WHERE key = 'recipe'",
    "a root that is a number": "UPDATE settings SET value = '7' WHERE key = 'root'",
    "a foreign trigger": "CREATE TRIGGER evil AFTER INSERT ON words BEGIN DELETE FROM decisions; END",
    "a lost table": "DROP TABLE troubles",
    "a lost table of tags": "DROP TABLE tags",
    "a reason that is bytes": "UPDATE troubles SET reason = x'00'",
    "a place of no image": "UPDATE places SET image = 'none'",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_check_finds_damage_and_every_verb_says_one_line(library, damage, tmp_path):
    spoil(library, DAMAGE[damage])
    try:
        found = library.check()
    except CatalogError as error:
        found = [str(error)]
    assert found
    assert "no such model file" not in found[0]  # which is true as well, but not what was damaged
    told = []
    for verb in (
        library.status,
        library.models,
        library.words,
        library.queue,
        lambda: library.tags("a.jpg"),
        lambda: library.search("tiger"),
        lambda: library.search("grass"),
        lambda: library.write(),
        lambda: library.write(dry_run=True),
        lambda: library.export(tmp_path / "tags.csv"),
        library.learn,
        library.annotate,
        library.undo,
        lambda: library.backup(tmp_path / "backup"),
        library.scan,
    ):
        try:
            verb()
        except TopictureError as error:
            told.append(str(error))
    assert not [line for line in told if "\n" in line]


def test_nulls_where_none_can_be_are_found(library):
    declared = "UPDATE sqlite_master SET sql = replace(sql, '{}', '{}') WHERE name = 'suggestions'"
    spoil(library, declared.format("probability REAL NOT NULL", "probability REAL"))
    spoil(library, "UPDATE suggestions SET probability = NULL")
    spoil(library, declared.format("probability REAL,", "probability REAL NOT NULL,"))
    assert any("suggestions" in line for line in library.check())
    with pytest.raises(CatalogError, match="damaged"):
        library.queue()


def test_a_whole_catalog_has_no_damage(tmp_path):
    library = Library.create(tmp_path)
    library.scan()
    assert library.check() == []


def test_a_mistake_of_ours_is_not_called_damage(library):
    with pytest.raises(ZeroDivisionError), Catalog.open(library.folder):
        1 / 0  # noqa: B018


# --- True messages ------------------------------------------------------------------------------------------------


def test_a_full_disk_does_not_claim_that_nothing_was_changed(library):
    with Catalog.open(library.folder, write=True) as catalog:
        catalog.database.execute("INSERT INTO words (word) VALUES ('committed')")
        (pages,) = catalog.database.execute("PRAGMA page_count").fetchone()
        catalog.database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(CatalogError, match="the disk is full; what was finished before is kept"):
            catalog.database.execute_many(
                "INSERT INTO words (word) VALUES (?)", [("x" * 500 + str(i),) for i in range(99)]
            )
        assert catalog.decisions.find_word("committed") is not None


def test_a_catalog_that_was_never_made_is_not_called_old(tmp_path):
    """What `init` leaves where the disk is full: an empty database."""
    folder = tmp_path / ".topicture"
    folder.mkdir()
    (folder / "catalog.sqlite").touch()
    with pytest.raises(CatalogError, match="never finished; run 'topicture init' again"):
        Catalog.open(folder)
    Catalog.create(tmp_path).close()


def test_a_migration_on_a_full_disk_says_so(tmp_path):
    folder = tmp_path / ".topicture"
    folder.mkdir()
    small = sqlite3.connect(folder / "catalog.sqlite", isolation_level=None)
    small.execute("PRAGMA max_page_count = 2")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        migrate(small)
    small.close()


def test_an_older_catalog_is_told_how_to_become_new(library, monkeypatch):
    monkeypatch.setattr(database, "VERSION", VERSION + 1)
    with pytest.raises(CatalogError, match="made by an older Topicture; run 'topicture scan' once"):
        Catalog.open(library.folder)
    Catalog.open(library.folder, write=True).close()


def test_a_failing_disk_is_not_called_read_only(tmp_path):
    """Errors are told by their code, not by a word in their text."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    with pytest.raises(CatalogError, match="the disk failed"), database.in_plain_words(tmp_path):
        raise error


def test_check_and_problems_agree_on_a_lost_path(library):
    spoil(library, "UPDATE places SET path = CAST('/etc/passwd' AS BLOB)")
    with Catalog.open(library.folder) as catalog:
        assert problems(catalog) == [
            "database: a path in 'places' that leads out of the collection ('/etc/passwd')"
        ]


def test_what_no_longer_fits_is_not_called_damage(library):
    with (
        Catalog.open(library.folder, write=True) as catalog,
        pytest.raises(CatalogError, match=r"changed meanwhile \(FOREIGN KEY") as told,
    ):
        catalog.suggestions.add(99, [(1, 1, 0.5)])  # of a model that was removed
    assert "backup" not in str(told.value)
