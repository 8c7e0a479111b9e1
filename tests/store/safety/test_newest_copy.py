"""Reading a catalog where nothing can be written: the newest committed state or a refusal, never an older one."""

import shutil
import sqlite3
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from privileges import give_away, without_privileges

from topicture.store import Catalog, CatalogError
from topicture.store.decisions.decisions import Decision
from topicture.store.safety import newest_copy
from topicture.store.safety.checks import back_up, problems


@contextmanager
def left_by_a_killed_writer(*, journal="-wal"):
    """A read-only catalog whose last decision stands only in a journal, as after a kill; (its folder, a free one)."""
    with tempfile.TemporaryDirectory(prefix="topicture-test-") as name:
        top = Path(name)
        (top / "photos").mkdir()
        (top / "free").mkdir()
        (top / "killed").mkdir()
        with Catalog.create(top / "photos", top / "catalog") as catalog:
            path = catalog.folder / "catalog.sqlite"
            with catalog.database.transaction():
                image = catalog.files.put("a.jpg", b"a" * 32, 10, 20, "")
            if journal == "-wal":
                catalog.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
                copy(path, top / "killed", journal)
            else:
                catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
                catalog.database.execute("PRAGMA journal_mode = DELETE")
                catalog.database.execute("PRAGMA cache_size = 1")
                catalog.database.execute("PRAGMA cache_spill = 1")
                catalog.database.execute("BEGIN IMMEDIATE")
                for number in range(3000):
                    catalog.database.execute("UPDATE tags SET source = 'torn'")
                    catalog.database.execute("INSERT INTO words (word) VALUES (?)", (f"word {number}" * 10,))
                copy(path, top / "killed", journal)
                catalog.database.execute("ROLLBACK")
        give_away(top, *top.rglob("*"))
        for path in (top / "killed").iterdir():
            path.chmod(0o444)
        (top / "killed").chmod(0o555)
        try:
            with without_privileges():
                yield top / "killed", top / "free"
        finally:
            (top / "killed").chmod(0o755)


def copy(path, folder, journal):
    for part in ("", journal):
        shutil.copy(f"{path}{part}", folder)


def tags(catalog):
    return [(word, verdict, source) for _, word, verdict, source in catalog.decisions.all_tags()]


@pytest.mark.parametrize("journal", ["-wal", "-journal"])
def test_what_was_committed_last_is_read(journal):
    with left_by_a_killed_writer(journal=journal) as (folder, _), Catalog.open(folder) as catalog:
        assert tags(catalog) == [("tiger", "present", "review")]
        assert problems(catalog) == []


def test_what_was_committed_last_is_in_the_backup():
    with left_by_a_killed_writer() as (folder, free):
        with Catalog.open(folder) as catalog:
            back_up(catalog, free / "backup")
        with Catalog.open(free / "backup") as catalog:
            assert tags(catalog) == [("tiger", "present", "review")]


def test_the_temporary_copy_is_removed(monkeypatch):
    with left_by_a_killed_writer() as (folder, free):
        monkeypatch.setattr(tempfile, "tempdir", str(free))
        with Catalog.open(folder):
            assert len(list(free.iterdir())) == 1
        assert list(free.iterdir()) == []


def test_a_copy_without_room_is_refused(monkeypatch):
    with left_by_a_killed_writer() as (folder, free):
        monkeypatch.setattr(tempfile, "tempdir", str(free))
        monkeypatch.setattr(newest_copy, "MOST_BYTES", 1000)
        with pytest.raises(CatalogError, match="has no room; copy the catalog") as refused:
            Catalog.open(folder)
        assert "\n" not in str(refused.value)
        assert list(free.iterdir()) == []


def test_a_database_that_changes_meanwhile_is_not_taken_half(tmp_path, monkeypatch):
    path = tmp_path / "catalog.sqlite"
    sqlite3.connect(path).close()
    path.write_bytes(b"x")
    monkeypatch.setattr(shutil, "copyfile", lambda *_: path.write_bytes(path.read_bytes() + b"x"))
    with pytest.raises(CatalogError, match="somebody writes to it"):
        newest_copy.newest_copy(path)
