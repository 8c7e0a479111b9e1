"""Prune: models that newer ones have replaced, with what they suggested."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from topicture.app.verbs.status import ModelSummary, summary
from topicture.errors import TopictureError
from topicture.store import Catalog

__all__ = ["Pruned", "prune"]


@dataclass(frozen=True)
class Pruned:
    """Models that were removed, or with `dry_run` would be, those that stay, and the room that it makes, in bytes."""

    removed: tuple[ModelSummary, ...]
    kept: tuple[ModelSummary, ...]
    bytes: int
    dry_run: bool


def prune(catalog: Catalog, keep: int = 1, *, dry_run: bool = False) -> Pruned:
    """Remove all models but the newest `keep`, and the newest that has suggested something; decisions stay.

    The catalog forgets them first: a killed run leaves folders that nothing uses, and the next `learn` removes these.
    """
    if keep < 1:
        raise TopictureError(f"at least 1 model must be kept, not {keep}")
    models = catalog.suggestions.models()
    kept = {model.id for model in models[:keep]}
    kept.update([model.id for model in models if model.annotated is not None][:1])
    old = [model for model in models if model.id not in kept]
    folders = [catalog.model_folder(model) for model in old]
    size = sum(map(_size, folders))
    if not dry_run:
        catalog.suggestions.forget(model.id for model in old)
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
    return Pruned(
        tuple(map(summary, old)),
        tuple(summary(model) for model in models if model.id in kept),
        size,
        dry_run,
    )


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
