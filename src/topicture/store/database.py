"""Opening the catalog's database: journal, version, and errors in plain words."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topicture.errors import TopictureError
from topicture.store.migrations import APPLICATION_ID, VERSION, migrate

__all__ = ["CatalogError", "Database", "open_database"]


class CatalogError(TopictureError):
    """The catalog can't be opened or written; says which file, why and what to do."""


class Database:
    """A connection that speaks in CatalogErrors, and whose changes come in whole transactions."""

    def __init__(self, connection: sqlite3.Connection, path: Path):
        self.path = path
        self.connection = connection
        self._depth = 0

    def execute(self, statement: str, values: tuple | dict = ()) -> sqlite3.Cursor:
        """Run one statement."""
        with _plainly(self.path):
            return self.connection.execute(statement, values)

    def execute_many(self, statement: str, rows: list[tuple]) -> None:
        """Run one statement for many rows."""
        with _plainly(self.path):
            self.connection.executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes inside happen, or none; a transaction within another is part of it."""
        if self._depth:
            yield
            return
        self.execute("BEGIN IMMEDIATE")
        self._depth += 1
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise
        finally:
            self._depth -= 1

    def close(self) -> None:
        self.connection.close()


@contextmanager
def _plainly(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise CatalogError(f"{path}: {_advice(error)}") from error


def _advice(error: sqlite3.DatabaseError) -> str:
    text = str(error)
    if "disk is full" in text:
        return "the disk is full; nothing was changed, make room and run it again"
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return "can't be written (read-only); copy the catalog to another folder and name it with --catalog"
    if "locked" in text:
        return "another program holds it; wait for it to end, or close it"
    if "malformed" in text or "not a database" in text:
        return f"damaged ({text}); restore a backup, or see what is left with 'topicture check'"
    return text


def open_database(path: Path, *, write: bool, create: bool = False) -> Database:
    """Open a catalog's database, bring it to this version where it may be written.

    WAL lets readers go on while one process writes; a file system without shared memory (some network mounts) gets a
    rollback journal instead. Either way a transaction is on disk before it counts as done.

    Raises
    ------
    CatalogError
        There is no catalog, it is damaged, foreign, from a newer Topicture, or can't be written.
    """
    if not create and not path.exists():
        raise CatalogError(f"{path.parent}: no catalog here; make one with 'topicture init PHOTOS'")
    with _plainly(path):
        database = _connect(path, write)
        try:
            _check_kind(database.connection, path)
            if write:
                _set_journal(database.connection)
                migrate(database.connection)
            elif _version(database.connection) < VERSION:
                raise CatalogError(
                    f"{path}: made by an older Topicture; run 'topicture scan' once to bring it up to date"
                )
        except BaseException:
            database.close()
            raise
    return database


def _connect(path: Path, write: bool) -> Database:
    if write:
        return Database(_connection(path.as_posix(), uri=False), path)
    uri = path.absolute().as_uri()
    try:
        connection = _connection(f"{uri}?mode=ro", uri=True)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        # A read-only folder has no room for WAL's shared memory; nobody can be writing there either.
        connection = _connection(f"{uri}?immutable=1", uri=True)
    return Database(connection, path)


def _connection(name: str, *, uri: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(name, uri=uri, timeout=30, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _set_journal(connection: sqlite3.Connection) -> None:
    try:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    except sqlite3.OperationalError:
        mode = ""
    if mode != "wal":
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA synchronous = FULL")


def _check_kind(connection: sqlite3.Connection, path: Path) -> None:
    (kind,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if kind != APPLICATION_ID and tables:
        raise CatalogError(f"{path}: a database of another program, not a Topicture catalog")
    if _version(connection) > VERSION:
        raise CatalogError(f"{path}: made by a newer Topicture; this one can't read it")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
