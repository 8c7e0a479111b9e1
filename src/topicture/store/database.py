"""Opening the catalog's database: journal, version, and errors in plain words."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from topicture.store.migrations import APPLICATION_ID, VERSION, migrate
from topicture.store.safety.newest_copy import has_journal, newest_copy
from topicture.store.safety.own_files import CatalogError, OldCatalog

__all__ = ["CatalogError", "Database", "in_plain_words", "open_database"]


class Database:
    """A connection that speaks in CatalogErrors, and whose changes come in whole transactions."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, temporary: TemporaryDirectory | None = None
    ):
        self.path = path
        self.connection = connection
        self._temporary = temporary  # where the database was copied to be read
        self._depth = 0

    def execute(self, statement: str, values: tuple | dict = ()) -> sqlite3.Cursor:
        """Run one statement."""
        with in_plain_words(self.path):
            return self.connection.execute(statement, values)

    def execute_many(self, statement: str, rows: list[tuple]) -> None:
        """Run one statement for many rows."""
        with in_plain_words(self.path):
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
        if self._temporary is not None:
            self._temporary.cleanup()


@contextmanager
def in_plain_words(path: Path) -> Iterator[None]:
    """Errors of SQLite as CatalogErrors."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise CatalogError(f"{path}: {_advice(error)}") from error


_DAMAGE = "restore a backup, or see what is left with 'topicture check'"
_ADVICE = {
    sqlite3.SQLITE_FULL: "the disk is full; what was finished before is kept, make room and run it again",
    sqlite3.SQLITE_READONLY: "can't be written (read-only); copy the catalog to another folder and name it with "
    "--catalog",
    sqlite3.SQLITE_CANTOPEN: "can't be opened here (no permission, read-only, or no room beside it); copy the catalog "
    "to another folder and name it with --catalog",
    sqlite3.SQLITE_BUSY: "another program holds it; wait for it to end, or close it",
    sqlite3.SQLITE_LOCKED: "another program holds it; wait for it to end, or close it",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write it, or is full; see that it is well, and run it again",
}


def _advice(error: sqlite3.DatabaseError) -> str:
    # Errors of the Python module itself carry no code: a text that is not UTF-8, a number out of range.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code == sqlite3.SQLITE_CONSTRAINT:  # what a process read before it let others write may be gone
        return (
            f"something that this relied on was changed meanwhile ({error}); nothing of it was stored, run it again; "
            "should that not help, see 'topicture check'"
        )
    return _ADVICE.get(code, f"damaged ({error}); {_DAMAGE}")


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
    with in_plain_words(path):
        database = _connect(path, write)
        try:
            _check_kind(database.connection, path)
            if write:
                _set_journal(database.connection)
                migrate(database.connection)
            elif _version(database.connection) == 0:
                raise CatalogError(
                    f"{path.parent}: the catalog was never finished; run 'topicture init' again"
                )
            elif _version(database.connection) < VERSION:
                raise OldCatalog(
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
        return Database(_connection(f"{uri}?mode=ro", uri=True), path)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in _NO_ROOM_BESIDE:
            raise
    # A read-only folder has no room for what WAL shares between processes.
    if has_journal(path):
        folder = newest_copy(path)
        try:
            return Database(_connection(f"{folder.name}/{path.name}", uri=False), path, folder)
        except BaseException:
            folder.cleanup()
            raise
    return Database(_connection(f"{uri}?immutable=1", uri=True), path)


_NO_ROOM_BESIDE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
}


def _connection(name: str, *, uri: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(name, uri=uri, timeout=30, isolation_level=None)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA trusted_schema = OFF")  # what a stranger's database defines does nothing
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
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
