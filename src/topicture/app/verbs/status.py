"""Where a collection stands, and what was learned: numbers that the catalog already has."""

from dataclasses import dataclass
from typing import Any

from topicture.store import Catalog
from topicture.store.suggestions import LearnedModel

__all__ = ["ModelSummary", "Status", "model_summaries", "status", "summary"]


@dataclass(frozen=True)
class ModelSummary:
    """A learned model in short."""

    name: str
    folder: str
    learned: float
    annotated: float | None
    facts: dict[str, Any]


@dataclass(frozen=True)
class Status:
    """Counts of a collection; `troubles` and `unreadable` are lines: a file and the reason."""

    root: str
    catalog: str
    files: int
    photos: int
    gone: int
    tagged: int
    words: int
    present: int
    rejected: int
    accepted_here: int
    open_suggestions: int
    photos_with_suggestions: int
    pending_writes: int
    conflicts: int
    missing_sidecars: int
    scanned: float | None
    model: ModelSummary | None
    troubles: tuple[str, ...]
    unreadable: tuple[str, ...]


def status(catalog: Catalog) -> Status:
    """Count everything."""
    files = catalog.files.counts()
    by_source = catalog.decisions.counts_by_source()
    models = catalog.suggestions.models()
    n_open, n_open_photos = catalog.suggestions.count_open(models[0].id) if models else (0, 0)
    return Status(
        root=str(catalog.root),
        catalog=str(catalog.folder),
        files=files.files,
        photos=files.images,
        gone=files.gone,
        tagged=catalog.decisions.n_tagged(),
        words=sum(1 for _, present, _ in catalog.decisions.word_counts() if present),
        present=sum(n for (verdict, _), n in by_source.items() if verdict == "present"),
        rejected=sum(n for (verdict, _), n in by_source.items() if verdict == "rejected"),
        accepted_here=sum(
            n for (verdict, source), n in by_source.items() if verdict == "present" and source != "file"
        ),
        open_suggestions=n_open,
        photos_with_suggestions=n_open_photos,
        pending_writes=catalog.sidecar_record.count_due(),
        conflicts=catalog.decisions.conflicts.count(),
        missing_sidecars=catalog.file_words.missing_sidecars(),
        scanned=catalog.get("scanned"),
        model=summary(models[0]) if models else None,
        troubles=tuple(map(str, catalog.sidecar_record.troubles())),
        unreadable=tuple(map(str, catalog.files.unreadable())),
    )


def model_summaries(catalog: Catalog) -> list[ModelSummary]:
    """Everything that was learned, the newest first."""
    return [summary(model) for model in catalog.suggestions.models()]


def summary(model: LearnedModel) -> ModelSummary:
    return ModelSummary(model.name, model.folder, model.learned, model.annotated, model.facts)
