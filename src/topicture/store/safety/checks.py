"""Backup and integrity check of a catalog."""

import os
import shutil
import sqlite3
from pathlib import Path

from topicture.atomic import new_folder
from topicture.collection.words import printable
from topicture.errors import TopictureError
from topicture.models.files import read_model
from topicture.models.registry import load_annotator
from topicture.search import WordIndex
from topicture.store.catalog import Catalog
from topicture.store.database import CatalogError
from topicture.store.safety.damage import damaged_rows

__all__ = ["back_up", "problems"]

# Pairs whose standing tag is not the last word of the log.
_LOG_AND_TAGS_DIFFER = """
WITH last AS (SELECT image, word, verdict, source, max(id) AS id FROM decisions GROUP BY image, word)
SELECT count(*) FROM (
    SELECT image, word, verdict, source, id FROM last WHERE verdict != 'cleared'
    EXCEPT SELECT image, word, verdict, source, decision FROM tags)
"""
_TAGS_WITHOUT_LOG = """
SELECT count(*) FROM tags WHERE NOT EXISTS (SELECT 1 FROM decisions AS d WHERE d.id = tags.decision
    AND d.image = tags.image AND d.word = tags.word AND d.verdict = tags.verdict)
"""


def back_up(catalog: Catalog, folder: Path) -> Path:
    """Copy decisions, models and settings into a new folder, which can serve as a catalog in its turn; the folder.

    Writers may go on meanwhile. Measurements and the search index are left out: they can be made again.

    Raises CatalogError where the folder exists or can't be written; nothing is left of it then.
    """
    if os.path.lexists(folder):
        raise CatalogError(f"{folder}: exists already; a backup needs a new folder")
    if folder.absolute().parent.resolve().is_relative_to(catalog.folder.resolve()):
        raise CatalogError(f"{folder}: inside the catalog itself; a backup needs a folder elsewhere")
    try:
        with new_folder(folder) as new:
            copy = sqlite3.connect(new / "catalog.sqlite")
            try:
                catalog.database.connection.backup(copy)
                copy.execute("DELETE FROM settings WHERE key = 'index'")
                # A backup does not lie inside the collection: it must say where that is.
                copy.execute(
                    "UPDATE settings SET value = json_quote(?) WHERE key = 'root'", (str(catalog.root),)
                )
                copy.commit()
            finally:
                copy.close()
            for model in catalog.suggestions.models():
                shutil.copytree(catalog.model_folder(model), new / "models" / model.folder)
            settings = catalog.folder / "topicture.toml"
            if settings.is_file() and not settings.is_symlink():
                shutil.copyfile(settings, new / settings.name)
    except sqlite3.Error as error:
        raise CatalogError(f"{folder}: the backup failed ({error})") from None
    except OSError as error:
        raise CatalogError(f"{folder}: the backup failed ({error.strerror or error})") from None
    return folder


def problems(catalog: Catalog) -> list[str]:
    """What is wrong with a catalog, one line each; empty where all is well."""
    found = [
        f"database: {row[0]}" for row in catalog.database.execute("PRAGMA integrity_check") if row[0] != "ok"
    ]
    found = found or [f"database: {line}" for line in damaged_rows(catalog.database)]
    if found:  # nothing read from a damaged database is worth reporting
        return found
    n_broken = len(catalog.database.execute("PRAGMA foreign_key_check").fetchall())
    if n_broken:
        found.append(f"database: rows that refer to missing rows: {n_broken}")
    for query, what in (
        (_LOG_AND_TAGS_DIFFER, "tags that are missing or differ from the log of decisions"),
        (_TAGS_WITHOUT_LOG, "tags without a decision behind them"),
    ):
        (n,) = catalog.database.execute(query).fetchone()
        if n:
            found.append(f"database: {what}: {n}")
    if rings := catalog.tree.rings():
        words = ", ".join(map(printable, rings))
        found.append(
            f"database: tags that lie below themselves: {words} (topicture tags --parent TAG puts one below none)"
        )
    return found + _model_problems(catalog) + _index_problems(catalog)


def _model_problems(catalog: Catalog) -> list[str]:
    found = []
    for model in catalog.suggestions.models():
        try:
            folder = catalog.model_folder(model)
            for path in sorted(folder.glob("*.safetensors")) or [folder / "model.safetensors"]:
                load_annotator(path) if path.name in _ANNOTATORS else read_model(path)
        except TopictureError as error:
            found.append(f"{error} (topicture learn makes a new one)")
    return found


_ANNOTATORS = ("model.safetensors", "regions.safetensors")


def _index_problems(catalog: Catalog) -> list[str]:
    try:
        folder = catalog.index_folder()
        if folder is None:
            return []
        index = WordIndex.open(folder)
        index.check()
        if len(index) != len(catalog.index_images()):
            damage = [f"{folder}: words of {len(index)} photos, but a list of {len(catalog.index_images())}"]
        else:
            features = catalog.features()
            damage = [] if features is None else features.damage()
    except TopictureError as error:
        damage = [str(error)]
    except OSError as error:
        return [f"{error.filename}: {error.strerror}"]
    return [f"{line} (topicture annotate makes it again)" for line in damage]
