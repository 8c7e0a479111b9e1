"""Something to review while the blend is being learned: a quick model goes before it, the first time."""

from topicture.app.learning.annotating import AnnotateReport
from topicture.app.progress import Report, silent
from topicture.app.verbs.library import Library

__all__ = ["FIRST_MODEL", "suggest_first"]

FIRST_MODEL = "knn"
FEWEST_PHOTOS = 1000  # of fewer, the blend is learned before anybody would look


def suggest_first(
    library: Library, *, min_count: int = 3, workers: int = 2, report: Report = silent
) -> AnnotateReport | None:
    """Learn a quick model and suggest with it, where nothing was learned from many photos yet; else nothing."""
    with library.reading() as catalog:
        if catalog.suggestions.models() or len(catalog.files.living_images()) < FEWEST_PHOTOS:
            return None

    def told(stage: str, done: int, total: int | None) -> None:
        report(f"First suggestions: {stage[:1].lower()}{stage[1:]}", done, total)

    library.learn(FIRST_MODEL, min_count=min_count, regions=False, workers=workers, report=told)
    return library.annotate(workers=workers, report=told)
