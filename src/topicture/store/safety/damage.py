"""Rows that Topicture can't have written: of another type, out of range, no JSON, no path.

SQLite takes any type into any column, and its own check of integrity looks at pages, not at meaning. A disk that loses
bytes, a program that 'repairs' the file or a stranger who made it may leave such rows; they are looked for by
`topicture check`, and where something has failed that relies on them.
"""

import os
import sqlite3
from functools import cache

from topicture.store.database import CatalogError, Database
from topicture.store.files import stored_path
from topicture.store.migrations import migrate

__all__ = ["damaged_rows"]

_FAR = 1e11  # seconds: no time stamp lies that far from 1970
_TYPES = {
    "INTEGER": "typeof({0}) = 'integer'",
    "REAL": f"typeof({{0}}) IN ('real', 'integer') AND {{0}} BETWEEN -{_FAR} AND {_FAR}",
    "TEXT": "typeof({0}) = 'text'",
    "BLOB": "typeof({0}) = 'blob'",
}
_MEANINGS = {
    ("settings", "value"): "json_valid({0})",
    ("models", "facts"): "json_valid({0}) AND json_type({0}) = 'object'",
    ("suggestions", "probability"): "{0} BETWEEN 0 AND 1",
    ("decisions", "probability"): "{0} BETWEEN 0 AND 1",
}


def damaged_rows(database: Database) -> list[str]:
    """What is wrong with the tables and their rows, one line each; reads all of them."""
    objects, columns = _made_by_us()
    there = {row[0] for row in database.execute(_OBJECTS)}
    if there != objects:
        first = sorted(there ^ objects)[0].split("(")[0].strip()
        return [f"tables are missing, changed or foreign ({first!r})"]
    found = []
    for table, column, kind, may_lack in columns:
        right = _TYPES[kind].format(column)
        if (table, column) in _MEANINGS:
            # In the order written: what follows is only asked of values of the right type.
            right = f"CASE WHEN {right} THEN {_MEANINGS[table, column].format(column)} ELSE 0 END"
        null = "1" if may_lack else "0"
        query = f"SELECT count(*) FROM {table} WHERE NOT (CASE WHEN {column} IS NULL THEN {null} ELSE {right} END)"
        (n,) = database.execute(query).fetchone()
        if n:
            found.append(f"{n} {'row' if n == 1 else 'rows'} of '{table}' with a wrong '{column}'")
        elif kind == "TEXT" and not _is_text(database, table, column):
            found.append(f"rows of '{table}' with a '{column}' that is not UTF-8")
    return found or _bad_places(database)


_OBJECTS = "SELECT coalesce(sql, name) FROM sqlite_master WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'"


@cache
def _made_by_us() -> tuple[frozenset[str], list[tuple[str, str, str, bool]]]:
    """The definitions of a new catalog, and (table, column, type, may be NULL) of all its columns."""
    new = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(new)
        objects = frozenset(row[0] for row in new.execute(_OBJECTS))
        columns = new.execute(
            'SELECT m.name, c.name, c.type, NOT (c."notnull" OR c.pk) FROM sqlite_master AS m, '
            "pragma_table_info(m.name) AS c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite^_%' ESCAPE '^'"
        ).fetchall()
    finally:
        new.close()
    return objects, [(table, column, kind, bool(may_lack)) for table, column, kind, may_lack in columns]


def _is_text(database: Database, table: str, column: str) -> bool:
    try:
        for _ in database.execute(f"SELECT {column} FROM {table}"):
            pass
    except sqlite3.OperationalError:
        return False
    except CatalogError:  # the first row
        return False
    return True


def _bad_places(database: Database) -> list[str]:
    for table in ("places", "file_words", "written", "troubles"):
        for (path,) in database.execute(f"SELECT DISTINCT path FROM {table}"):
            try:
                stored_path(path)
            except CatalogError:
                return [f"a path in '{table}' that leads out of the collection ({os.fsdecode(path)!r})"]
    return []
