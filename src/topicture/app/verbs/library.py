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

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topicture.app.progress import Report, silent
from topicture.app.verbs.finding import find_above
from topicture.collection.words import clean_word
from topicture.errors import DataNotFound, TopictureError
from topicture.store import Catalog, CatalogError
from topicture.store.catalog import FOLDER_NAME
from topicture.store.decisions.conflicts import Conflict
from topicture.store.decisions.decisions import Decision, Tag, Undone

if TYPE_CHECKING:  # a verb imports what it needs when it is called: `status` should not wait for JAX
    from topicture.app.explain.explanation import Explanation
    from topicture.app.learning.annotating import AnnotateReport
    from topicture.app.learning.labelling import Labelled
    from topicture.app.learning.learning import LearnReport
    from topicture.app.verbs.exchange import ExportReport, ImportReport
    from topicture.app.verbs.reviewing import BulkReport, Question
    from topicture.app.verbs.scanning import ScanReport
    from topicture.app.verbs.searching import SearchHit, SimilarPhoto
    from topicture.app.verbs.status import ModelSummary, Status
    from topicture.app.verbs.writing import WriteReport
    from topicture.collection.outputs import Outputs

__all__ = ["VERDICTS", "Library"]

VERDICTS = ("present", "rejected", "cleared")


class Library:
    """A collection and its catalog.

    Attributes
    ----------
    folder : Path
        The catalog's folder.
    """

    def __init__(self, folder: str | os.PathLike, *, around: Path | None = None):
        self.folder = Path(folder)
        self._around = around  # where somebody stood who did not name the catalog

    # --- Finding one ---------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        photos: str | os.PathLike,
        catalog: str | os.PathLike | None = None,
        *,
        recipe: dict[str, Any] | None = None,
    ) -> "Library":
        """A new catalog of a folder of photos, inside it or in the folder `catalog`; nothing is scanned yet.

        `recipe` says what to measure on the photos (the arguments of topicture.vision.recipe.Recipe).
        """
        from topicture.app.learning.recipes import DEFAULT_RECIPE
        from topicture.vision.recipe import Recipe

        settings = {"recipe": (Recipe(**recipe) if recipe else DEFAULT_RECIPE).to_json()}
        with Catalog.create(Path(photos), None if catalog is None else Path(catalog), settings) as made:
            return cls(made.folder)

    @classmethod
    def find(
        cls, start: str | os.PathLike | None = None, catalog: str | os.PathLike | None = None
    ) -> "Library":
        """The catalog in the folder `catalog`, or the one that `start` (the working folder) lies under.

        Only a catalog that belongs to this user is found by itself, and none beyond the file system of `start`: what
        somebody else put further up must be named.

        Raises CatalogError where there is none.
        """
        if catalog is not None:
            folder = Path(catalog)
            nested = folder / FOLDER_NAME
            return cls(nested if os.path.lexists(nested / "catalog.sqlite") else folder)
        here = Path(start or Path.cwd()).resolve()
        return cls(find_above(here), around=here)

    def _read(self) -> Catalog:
        return self._checked(Catalog.open(self.folder))

    def _write(self, command: str, root: Path | None = None) -> Catalog:
        return self._checked(Catalog.open(self.folder, write=True, command=command, root=root))

    def _checked(self, catalog: Catalog) -> Catalog:
        """Close a catalog again that was found here and is about photos elsewhere: nobody has asked for those."""
        root = catalog.root
        if self._around is not None and not self._around.is_relative_to(root.resolve()):
            catalog.close()
            raise CatalogError(
                f"{self.folder}: a catalog of the photos in {root}, not of those here; name it with --catalog"
            )
        return catalog

    def moved_from(self) -> Path | None:
        """Where the whole collection was when its catalog was last written, if that was elsewhere."""
        with self._read() as catalog:
            return catalog.moved_from

    # --- Collection ----------------------------------------------------------------------------------------

    def scan(
        self,
        *,
        root: str | os.PathLike | None = None,
        withdraw_many: bool = False,
        report: Report = silent,
    ) -> "ScanReport":
        """Bring the catalog up to date with the folder; see `scanning.scan`.

        `root` says where the photos are now, for a catalog that was copied, or that they moved away from.
        """
        from topicture.app.verbs.scanning import scan

        with self._write("scan", None if root is None else Path(root)) as catalog:
            return scan(catalog, withdraw_many=withdraw_many, report=report)

    def status(self) -> "Status":
        """Where the collection stands."""
        from topicture.app.verbs.status import status

        with self._read() as catalog:
            return status(catalog)

    def image(self, name: str | os.PathLike) -> int:
        """The id of a photo: by its path, from here or from the root, or by eight or more digits of its content hash.

        Raises DataNotFound.
        """
        with self._read() as catalog:
            return _image(catalog, os.fspath(name))

    def path(self, image: int) -> Path:
        """A file of an image; raises DataNotFound where it is gone."""
        with self._read() as catalog:
            paths = catalog.places.paths_of(image)
            if not paths:
                raise DataNotFound(f"image {image}: its file is gone")
            return catalog.file_of(paths[0])

    # --- Learning ------------------------------------------------------------------------------------------

    def learn(
        self,
        model: str = "auto",
        *,
        min_count: int = 3,
        budget_seconds: float = 600.0,
        regions: bool = True,
        workers: int = 2,
        report: Report = silent,
    ) -> "LearnReport":
        """Learn from what people decided; see `learning.learn`."""
        from topicture.app.learning.learning import learn

        with self._write("learn") as catalog:
            return learn(
                catalog,
                model,
                min_count=min_count,
                budget_seconds=budget_seconds,
                regions=regions,
                workers=workers,
                report=report,
            )

    def annotate(
        self,
        *,
        threshold: float | None = None,
        top: int | None = None,
        everything: bool = False,
        rejected_too: bool = False,
        workers: int = 2,
        report: Report = silent,
    ) -> "AnnotateReport":
        """Suggest words; see `annotating.annotate`."""
        from topicture.app.learning.annotating import annotate

        with self._write("annotate") as catalog:
            return annotate(
                catalog,
                threshold=threshold,
                top=top,
                everything=everything,
                rejected_too=rejected_too,
                workers=workers,
                report=report,
            )

    def models(self) -> "list[ModelSummary]":
        """What was learned, the newest first."""
        from topicture.app.verbs.status import model_summaries

        with self._read() as catalog:
            return model_summaries(catalog)

    def evaluate(self) -> dict[str, Any]:
        """How far the newest model can be trusted: trials, reliability, precision of each tag; on held-out tags."""
        from topicture.app.learning.reports import load_report

        with self._read() as catalog:
            return load_report(catalog.model_folder(catalog.suggestions.newest()))

    def explain(
        self,
        model: str | None = None,
        out: str | os.PathLike | None = None,
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

    def similar(self, name: str | os.PathLike, limit: int = 12) -> "list[SimilarPhoto]":
        """Photos that look like one."""
        from topicture.app.verbs.searching import similar

        with self._read() as catalog:
            return similar(catalog, _image(catalog, os.fspath(name)), limit)

    def regions(self, name: str | os.PathLike, *, only_tags: bool = False) -> "Labelled":
        """Which word belongs to which part of a photo; with `only_tags`, among the words that it has."""
        from topicture.app.learning.labelling import label_photo, region_model

        with self._read() as catalog:
            image = _image(catalog, os.fspath(name))
            paths = catalog.places.paths_of(image)
            if not paths:
                raise DataNotFound(f"{os.fspath(name)}: the file is gone")
            words = [tag.word for tag in catalog.decisions.tags_of(image) if tag.verdict == "present"]
            learned = region_model(catalog)
            return label_photo(catalog, learned, catalog.file_of(paths[0]), words if only_tags else None)

    def picture(self, path: str | os.PathLike, *, force: bool = False) -> "Outputs":
        """The place of a PNG file that may be written: never a photo, never a file of someone else's unless forced.

        Raises OutputError.
        """
        from topicture.app.protecting import never_written
        from topicture.collection.outputs import Outputs

        with self._read() as catalog:
            place = Outputs(Path(path).parent, force=force, pictures=True, never=never_written(catalog))
        place.check([Path(path).name])
        return place

    # --- Deciding ------------------------------------------------------------------------------------------

    def queue(
        self,
        order: str = "uncertain",
        *,
        tag: str | None = None,
        by_image: bool = False,
        limit: int = 50,
    ) -> "list[Question]":
        """Suggestions to ask about; see `reviewing.queue`."""
        from topicture.app.verbs.reviewing import queue

        with self._read() as catalog:
            return queue(catalog, order, tag=tag, by_image=by_image, limit=limit)

    def tags(self, name: str | os.PathLike) -> list[Tag]:
        """What was decided about a photo."""
        with self._read() as catalog:
            return catalog.decisions.tags_of(_image(catalog, os.fspath(name)))

    def decide(self, name: str | os.PathLike | int, words: Iterable[str], verdict: str) -> int:
        """Say of words of a photo that they are `present`, `rejected`, or `cleared`; the number that changed.

        Raises BadWord for a text that can't be a tag.
        """
        return self._decide(name, words, verdict)[0]

    def answer(self, image: int, word: str, verdict: str) -> int | None:
        """The same about one word; the number of this step, for `undo`, or None where it changed nothing."""
        return self._decide(image, [word], verdict)[1]

    def _decide(
        self, name: str | os.PathLike | int, words: Iterable[str], verdict: str
    ) -> tuple[int, int | None]:
        if verdict not in VERDICTS:
            raise TopictureError(f"a verdict is one of {', '.join(VERDICTS)}, not {verdict!r}")
        cleaned = [clean_word(word) for word in words]
        with self._write("review") as catalog:
            image = name if isinstance(name, int) else _image(catalog, os.fspath(name))
            models = catalog.suggestions.models()
            model = models[0].id if models else None
            decisions = [
                Decision(
                    image,
                    word,
                    verdict,
                    model,
                    catalog.suggestions.probability(model, image, word) if model is not None else None,
                )
                for word in cleaned
            ]
            step = catalog.decisions.step("review")
            return catalog.decisions.decide(decisions, "review", step), step.made

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
            if catalog.decisions.find_word(clean_word(word)) is None:
                raise DataNotFound(f"no photo has or had the tag {word!r}")
            return catalog.decisions.delete_word(clean_word(word))

    def undo(self, step: int | None = None) -> Undone | None:
        """Take back the last answer, bulk acceptance, import, deletion or scan, as far as it still stands.

        With the number of a step, that one. None where there is nothing left.
        """
        with self._write("undo") as catalog:
            return catalog.decisions.undo(step)

    def conflicts(self, names: Iterable[str | os.PathLike] = (), *, tag: str | None = None) -> list[Conflict]:
        """Words that were decided here and that another program took out or put in; of some photos, or one word."""
        with self._read() as catalog:
            return _conflicts(catalog, names, tag)

    def resolve(
        self, names: Iterable[str | os.PathLike] = (), *, tag: str | None = None, keep: bool
    ) -> list[Conflict]:
        """Keep what was decided here, or follow the other program, in those conflicts; one undo takes it back."""
        with self._write("conflicts") as catalog:
            found = _conflicts(catalog, names, tag)
            catalog.decisions.resolve(found, keep=keep)
            return found

    def words(self) -> list[tuple[str, int, int]]:
        """(word, photos that have it, photos it was rejected for), the most frequent first."""
        with self._read() as catalog:
            return catalog.decisions.word_counts()

    # --- Out and in ----------------------------------------------------------------------------------------

    def write(self, *, dry_run: bool = False, regions: bool = True, report: Report = silent) -> "WriteReport":
        """Write accepted tags into sidecars; see `writing.write`."""
        from topicture.app.verbs.writing import write

        with self._read() if dry_run else self._write("write") as catalog:
            return write(catalog, dry_run=dry_run, regions=regions, report=report)

    def export(
        self,
        path: str | os.PathLike,
        format: str | None = None,
        *,
        suggestions: float | None = None,
        force: bool = False,
    ) -> "ExportReport":
        """Write all tags to a file that other tools read; see `exchange.export_tags`."""
        from topicture.app.verbs.exchange import export_tags

        with self._read() as catalog:
            return export_tags(catalog, Path(path), format, suggestions=suggestions, force=force)

    def import_tags(self, path: str | os.PathLike, format: str | None = None) -> "ImportReport":
        """Take tags from a file of another tool; see `exchange.import_tags`."""
        from topicture.app.verbs.exchange import import_tags

        with self._write("import") as catalog:
            return import_tags(catalog, Path(path), format)

    def backup(self, folder: str | os.PathLike) -> Path:
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


def _conflicts(catalog: Catalog, names: Iterable[str | os.PathLike], tag: str | None) -> list[Conflict]:
    images = {_image(catalog, os.fspath(name)) for name in names}
    word = None if tag is None else clean_word(tag)
    return [
        conflict
        for conflict in catalog.decisions.conflicts.open()
        if (not images or conflict.image in images) and word in (None, conflict.word)
    ]


def _image(catalog: Catalog, name: str) -> int:
    root = catalog.root
    for candidate in (Path(name), root / name):
        # The folder is resolved, not the file: a link is not followed to a photo elsewhere.
        absolute = candidate.parent.resolve() / candidate.name
        if absolute.is_relative_to(root):
            place = catalog.places.at(absolute.relative_to(root).as_posix())
            if place is not None:
                return place.image
    digits = name.lower()
    if len(digits) >= 8 and set(digits) <= set("0123456789abcdef"):
        found = catalog.places.by_content(digits)
        if len(found) == 1:
            return found[0]
    raise DataNotFound(f"{name}: not a photo of the catalog at {root}; run 'topicture scan' if it is new")
