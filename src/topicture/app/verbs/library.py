"""The verbs as Python functions, on one collection: what the command line and the web page share.

    library = Library.create("photos")
    library.scan()
    library.learn()
    library.annotate()
    for hit in library.search("tiger grass -water"):
        print(hit.path, hit.probability)

Every call opens the catalog and closes it again, so a long-lived program never stands in the way of another. Calls that
change something hold the catalog's lock meanwhile; a second writer gets a CatalogBusy that names the first.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicture.app.progress import Report, Trace, silent, untold
from topicture.app.verbs.answering import VERDICTS, answer, delete_tag
from topicture.app.verbs.asking.of_library import AskingVerbs
from topicture.app.verbs.finding import find_above, named_catalog, refuse_photos_elsewhere
from topicture.app.verbs.photos import AnyPath, file_of_photo, find_photo, open_conflicts
from topicture.app.verbs.upkeep.of_library import UpkeepVerbs
from topicture.store import Catalog
from topicture.store.decisions.conflicts import Conflict
from topicture.store.decisions.decisions import Tag, Undone

if TYPE_CHECKING:  # a verb imports what it needs when it is called: `status` should not wait for JAX
    from topicture.app.explain.explanation import Explanation
    from topicture.app.learning.annotating import AnnotateReport
    from topicture.app.learning.labelling import Labelled
    from topicture.app.learning.learning import LearnReport
    from topicture.app.verbs.asking.question import Question
    from topicture.app.verbs.exchange import ExportReport, ImportReport
    from topicture.app.verbs.reviewing import BulkReport
    from topicture.app.verbs.scanning import ScanReport
    from topicture.app.verbs.searching import SearchHit, SimilarPhoto
    from topicture.app.verbs.status import ModelSummary, Status
    from topicture.app.verbs.writing import WriteReport
    from topicture.collection.outputs import Outputs

__all__ = ["VERDICTS", "Library"]


class Library(AskingVerbs, UpkeepVerbs):
    """A collection and its catalog, which lies in `folder`."""

    def __init__(self, folder: AnyPath, *, around: Path | None = None):
        self.folder = Path(folder)
        self._around = around  # where somebody stood who did not name the catalog

    @classmethod
    def create(
        cls, photos: AnyPath, catalog: AnyPath | None = None, *, recipe: dict[str, Any] | None = None
    ) -> "Library":
        """A new catalog of photos, inside their folder or in `catalog`, not scanned yet; `recipe` as of `Recipe`."""
        from topicture.app.learning.recipes import DEFAULT_RECIPE
        from topicture.vision.recipe import Recipe

        settings = {"recipe": (Recipe(**recipe) if recipe else DEFAULT_RECIPE).to_json()}
        with Catalog.create(Path(photos), None if catalog is None else Path(catalog), settings) as made:
            return cls(made.folder)

    @classmethod
    def find(cls, start: AnyPath | None = None, catalog: AnyPath | None = None) -> "Library":
        """The catalog in the folder `catalog`, or the one that `start` (the working folder) lies under.

        Only a catalog that belongs to this user is found by itself, and none beyond the file system of `start`: what
        somebody else put further up must be named. Raises CatalogError where there is none.
        """
        if catalog is not None:
            return cls(named_catalog(Path(catalog)))
        here = Path(start or Path.cwd()).resolve()
        return cls(find_above(here), around=here)

    def reading(self) -> Catalog:
        """The open catalog, to read."""
        return refuse_photos_elsewhere(Catalog.open(self.folder), self._around)

    def writing(self, command: str, root: Path | None = None) -> Catalog:
        """The open catalog, to change; others wait for a moment, and are then told `command`."""
        catalog = Catalog.open(self.folder, write=True, command=command, root=root)
        return refuse_photos_elsewhere(catalog, self._around)

    _read, _write = reading, writing

    def moved_from(self) -> Path | None:
        """Where the whole collection was when its catalog was last written, if that was elsewhere."""
        with self._read() as catalog:
            return catalog.moved_from

    # --- Collection ----------------------------------------------------------------------------------------

    def scan(
        self,
        *,
        root: AnyPath | None = None,
        withdraw_many: bool = False,
        exclude: Sequence[str] | None = None,
        report: Report = silent,
    ) -> "ScanReport":
        """Bring the catalog up to date with the folder, or with `root` if the photos are there now; see `scanning`."""
        from topicture.app.verbs.scanning import scan

        with self._write("scan", None if root is None else Path(root)) as catalog:
            return scan(catalog, withdraw_many=withdraw_many, exclude=exclude, report=report)

    def status(self) -> "Status":
        """Where the collection stands."""
        from topicture.app.verbs.status import status

        with self._read() as catalog:
            return status(catalog)

    def image(self, name: AnyPath) -> int:
        """The id of a photo, by a path or a hash as in `photos`; raises DataNotFound."""
        with self._read() as catalog:
            return find_photo(catalog, name)

    def path(self, image: int) -> Path:
        """A file of an image; raises DataNotFound where it is gone."""
        with self._read() as catalog:
            return file_of_photo(catalog, image)

    # --- Learning ------------------------------------------------------------------------------------------

    def learn(
        self,
        model: str = "auto",
        *,
        min_count: int = 3,
        budget_seconds: float = 600.0,
        budget_bytes: float = 4e9,
        regions: bool = True,
        afresh: bool = False,
        workers: int = 2,
        report: Report = silent,
        trace: Trace = untold,
    ) -> "LearnReport":
        """Learn from what people decided; see `learning.learn`."""
        from topicture.app.learning.learning import learn

        settings: dict[str, Any] = {
            "min_count": min_count,
            "budget_seconds": budget_seconds,
            "budget_bytes": budget_bytes,
            "regions": regions,
            "afresh": afresh,
        }
        with self._write("learn") as catalog:
            return learn(catalog, model, **settings, workers=workers, report=report, trace=trace)

    def annotate(
        self,
        *,
        threshold: float | None = None,
        top: int | None = None,
        workers: int = 2,
        report: Report = silent,
        **which: bool,
    ) -> "AnnotateReport":
        """Suggest words; see `annotating.annotate` for `everything`, `rejected_too` and `new_only`."""
        from topicture.app.learning.annotating import annotate

        with self._write("annotate") as catalog:
            return annotate(catalog, threshold=threshold, top=top, workers=workers, report=report, **which)

    def models(self) -> "list[ModelSummary]":
        """What was learned, the newest first."""
        from topicture.app.verbs.status import model_summaries

        with self._read() as catalog:
            return model_summaries(catalog)

    def evaluate(self) -> dict[str, Any]:
        """How far the newest model can be trusted: trials, reliability, precision of each tag; on held-out tags.

        Where nothing was `measured` yet, these are empty. `promises` is what people have answered since to suggestions.
        Tags go by their names of today; those that were deleted since are left out.
        """
        from topicture.app.explain.evaluating import evaluation

        with self._read() as catalog:
            return evaluation(catalog)

    def explain(
        self,
        model: str | None = None,
        out: AnyPath | None = None,
        *,
        threshold: float | None = None,
        curve_minutes: float | None = None,
        force: bool = False,
        workers: int = 2,
        report: Report = silent,
    ) -> "Explanation":
        """Write a page about a model, to the file `out` or inside the catalog; see `explaining.explain`."""
        from topicture.app.explain.page import explain_on_page

        with self._read() as catalog:
            return explain_on_page(
                catalog,
                model,
                None if out is None else Path(out),
                threshold=threshold,
                curve_minutes=curve_minutes,
                force=force,
                workers=workers,
                report=report,
            )

    # --- Finding -------------------------------------------------------------------------------------------

    def search(self, text: str, limit: int = 20) -> "list[SearchHit]":
        """Photos that answer a query; see `searching.search`."""
        from topicture.app.verbs.searching import search

        with self._read() as catalog:
            return search(catalog, text, limit)

    def similar(self, name: AnyPath, limit: int = 12) -> "list[SimilarPhoto]":
        """Photos that look like one."""
        from topicture.app.verbs.searching import similar

        with self._read() as catalog:
            return similar(catalog, find_photo(catalog, name), limit)

    def regions(self, name: AnyPath, *, tags: bool = True) -> "Labelled":
        """Which word belongs to which part of a photo; its tags are looked at, unless told otherwise."""
        from topicture.app.verbs.drawing import label_image

        with self._read() as catalog:
            return label_image(catalog, find_photo(catalog, name), tags=tags)

    def picture(self, path: AnyPath, *, force: bool = False) -> "Outputs":
        """Where a PNG file may be written; raises OutputError for a photo, and for others' files unless forced."""
        from topicture.app.protecting import picture_output

        with self._read() as catalog:
            return picture_output(catalog, Path(path), force=force)

    # --- Deciding ------------------------------------------------------------------------------------------

    def queue(
        self, order: str = "uncertain", *, tag: str | None = None, by_image: bool = False, limit: int = 50
    ) -> "list[Question]":
        """Suggestions to ask about; see `reviewing.queue`."""
        from topicture.app.verbs.reviewing import queue

        with self._read() as catalog:
            return queue(catalog, order, tag=tag, by_image=by_image, limit=limit)

    def tags(self, name: AnyPath) -> list[Tag]:
        """What was decided about a photo."""
        with self._read() as catalog:
            return catalog.decisions.tags_of(find_photo(catalog, name))

    def decide(self, name: AnyPath | int, words: Iterable[str], verdict: str) -> int:
        """Say of words of a photo that they are `present`, `rejected`, or `cleared`; the number that changed."""
        with self._write("review") as catalog:
            image = name if isinstance(name, int) else find_photo(catalog, name)
            return answer(catalog, image, words, verdict).changed

    def answer(self, image: int, word: str, verdict: str) -> int | None:
        """The same about one word; the number of this step, for `undo`, or None where it changed nothing."""
        with self._write("review") as catalog:
            return answer(catalog, image, [word], verdict).step

    def accept_above(
        self, precision: float, *, tag: str | None = None, dry_run: bool = False
    ) -> "BulkReport":
        """Accept all suggestions of tags that reach a precision; see `reviewing.accept_above`."""
        from topicture.app.verbs.reviewing import accept_above

        with self._read() if dry_run else self._write("review") as catalog:
            return accept_above(catalog, precision, tag=tag, dry_run=dry_run)

    def delete_tag(self, word: str) -> int:
        """Take a word away from every photo and suggest it no more; the number of photos that had it."""
        with self._write("tags") as catalog:
            return delete_tag(catalog, word)

    def undo(self, step: int | None = None) -> Undone | None:
        """Take back the last step, or the numbered one, as far as it still stands; None where there is nothing left."""
        with self._write("undo") as catalog:
            return catalog.decisions.undo(step)

    def conflicts(self, names: Iterable[AnyPath] = (), *, tag: str | None = None) -> list[Conflict]:
        """Words that were decided here and that another program took out or put in; of some photos, or one word."""
        with self._read() as catalog:
            return open_conflicts(catalog, names, tag)

    def resolve(self, names: Iterable[AnyPath] = (), *, tag: str | None = None, keep: bool) -> list[Conflict]:
        """Keep what was decided here, or follow the other program, in those conflicts; one undo takes it back."""
        with self._write("conflicts") as catalog:
            found = open_conflicts(catalog, names, tag)
            catalog.decisions.resolve(found, keep=keep)
            return found

    def words(self) -> list[tuple[str, int, int]]:
        """(word, photos that have it, photos it was rejected for), the most frequent first."""
        with self._read() as catalog:
            return catalog.decisions.word_counts()

    # --- Out and in ----------------------------------------------------------------------------------------

    def write(self, *, dry_run: bool = False, report: Report = silent, **options: Any) -> "WriteReport":
        """Write accepted tags into sidecars; see `writing.write` for `regions` and `certainty`."""
        from topicture.app.verbs.writing import write

        with self._read() if dry_run else self._write("write") as catalog:
            return write(catalog, dry_run=dry_run, report=report, **options)

    def export(
        self,
        path: AnyPath,
        format: str | None = None,
        *,
        suggestions: float | None = None,
        force: bool = False,
    ) -> "ExportReport":
        """Write all tags to a file that other tools read; see `exchange.export_tags`."""
        from topicture.app.verbs.exchange import export_tags

        with self._read() as catalog:
            return export_tags(catalog, Path(path), format, suggestions=suggestions, force=force)

    def import_tags(self, path: AnyPath, format: str | None = None) -> "ImportReport":
        """Take tags from a file of another tool; see `exchange.import_tags`."""
        from topicture.app.verbs.exchange import import_tags

        with self._write("import") as catalog:
            return import_tags(catalog, Path(path), format)

    def backup(self, folder: AnyPath) -> Path:
        """Copy decisions and models into a new folder."""
        from topicture.store.safety.checks import back_up

        with self._read() as catalog:
            return back_up(catalog, Path(folder))

    def check(self) -> list[str]:
        """What is wrong with the catalog, one line each."""
        from topicture.app.learning.model_folder import incomplete_models
        from topicture.store.safety.checks import problems

        with self._read() as catalog:
            return problems(catalog) or incomplete_models(catalog)
