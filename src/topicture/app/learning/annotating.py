"""Annotate: what the newest model suggests for every photo, and the index that search and `similar` read."""

from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname as folder_of

import numpy as np

from topicture.app.learning.labelling import UNTOLD
from topicture.app.learning.learning import look_at, note_reasons, unreadable_lines
from topicture.app.learning.model_folder import Learned, load_learned, load_region_annotator
from topicture.app.learning.region_boxes import find_boxes
from topicture.app.learning.region_choice import trust_told
from topicture.app.progress import Report, silent
from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.search import WordIndex
from topicture.store import Catalog
from topicture.store.decisions.decisions import CAPTIONING, OURS
from topicture.store.regions import Box
from topicture.store.shards import write_shards
from topicture.store.suggestions import LearnedModel
from topicture.vision.networks.deep import unit_rows
from topicture.vision.pipeline import Description

__all__ = ["DEFAULT_THRESHOLD", "AnnotateReport", "annotate", "chosen_words"]

DEFAULT_THRESHOLD = 0.25
BLOCK = 4096  # photos of the index that are written at a time

Chosen = tuple[int, str, float]  # image, word, probability


@dataclass(frozen=True)
class AnnotateReport:
    """What was suggested."""

    model: str
    photos: int  # looked at
    asked_for: int  # those that suggestions were wanted for
    with_suggestions: int
    suggestions: int
    skipped: tuple[str, ...]


def annotate(
    catalog: Catalog,
    *,
    threshold: float | None = None,
    top: int | None = None,
    everything: bool = False,
    rejected_too: bool = False,
    new_only: bool = False,
    workers: int = 2,
    report: Report = silent,
) -> AnnotateReport:
    """Suggest words for the photos without a caption of their owner's, or with `everything` for all.

    Parameters
    ----------
    threshold : suggest words of at least this probability (0.25 where neither is given)
    top : suggest this many words per photo, however probable
    rejected_too : suggest words again that were rejected for the photo
    new_only : look only at photos that came since the last time, and leave all else as it is; where this model has not
        looked at any yet, at all of them

    A word that was decided for a photo is not suggested for it. Photos that the model has learned from get the answers
    that were given while their tags were hidden. The catalog's lock is held only to read, and to store what was found.
    """
    if threshold is not None and not 0 <= threshold <= 1:
        raise TopictureError(f"the threshold is a probability between 0 and 1, not {threshold:g}")
    if top is not None and top < 1:
        raise TopictureError(f"the number of words to suggest must be at least 1, not {top}")
    model = catalog.suggestions.newest()
    learned = load_learned(catalog.model_folder(model), regions=False)
    images = catalog.files.living()
    former = _index_of(catalog, model, learned) if new_only else None
    if former is not None:
        known = set(catalog.index_images().tolist())
        images = [each for each in images if each.image not in known and not catalog.files.reason(each.image)]
        if not images:
            return AnnotateReport(model.name, 0, 0, 0, 0, ())
    with catalog.others_may_write("annotate"):  # reviewing goes on meanwhile
        description = look_at(
            catalog, images, learned.features, workers, report, vocabulary=learned.vocabulary
        )
        report("Annotating", 0, None)
        places = [folder_of(images[i].path) for i in description.positions]
        presence = learned.presence(description.corpus, places)
        numbers = np.array([images[i].image for i in description.positions])

        def chosen() -> tuple[np.ndarray, list[Chosen]]:
            wanted = _wanted(catalog, learned, numbers, everything, rejected_too)
            masked = np.where(wanted, presence, -1.0)
            return wanted, chosen_words(learned, numbers, masked, threshold, top)

        paths = {image.content.hex(): image.path for image in images}
        try:
            folder, trouble = catalog.model_folder(model), ""
            boxes = _boxes(catalog, folder, learned, description, numbers, paths, chosen()[1])
        except TopictureError as error:  # suggestions are worth having without them
            boxes, trouble = {}, f"regions: {error}"
    note_reasons(catalog, description, images)
    _save_index(catalog, learned, numbers, presence, description.corpus, former)
    wanted, rows = chosen()  # what was decided meanwhile counts
    with catalog.database.transaction():
        ids = {word: catalog.decisions.word_id(word) for word in learned.vocabulary}
        store = catalog.suggestions.replace if former is None else catalog.suggestions.add
        store(model.id, [(image, ids[word], p) for image, word, p in rows])
        catalog.regions.replace(model.id, boxes)
        catalog.set("regions_trouble", trouble)
    report("Annotating", len(numbers), len(numbers))
    return AnnotateReport(
        model=model.name,
        photos=len(numbers),
        asked_for=int(wanted.any(axis=1).sum()),
        with_suggestions=len({row[0] for row in rows}),
        suggestions=len(rows),
        skipped=(
            *unreadable_lines(description, images),
            *([trouble] if trouble else []),
        ),
    )


def _boxes(
    catalog: Catalog,
    folder: Path,
    learned: Learned,
    description: Description,
    numbers: np.ndarray,
    paths: dict[str, str],
    rows: list[Chosen],
) -> dict[int, list[Box]]:
    """Where the words are of the photos that `write` may be asked to write: suggested for, or tagged here."""
    annotator = learned.annotator if learned.annotator.labels_regions else load_region_annotator(folder)
    if annotator is None:
        return {}
    likely: dict[int, dict[str, float]] = {}
    asked = set()
    for image, word, presence in rows:
        likely.setdefault(image, {})[word] = presence
        asked.add(image)
    for image, word, verdict, source in catalog.decisions.all_tags():
        if verdict == "present":
            likely.setdefault(image, {})[word] = 1.0
            if source in OURS:
                asked.add(image)
    trust = trust_told(learned.report)
    found = find_boxes(
        annotator,
        description.corpus,
        [catalog.root / paths[content] for content in description.corpus.image_ids],
        {
            i: {word: how for word, how in sorted(likely[image].items()) if word in learned.vocabulary}
            for i, image in enumerate(numbers.tolist())
            if image in asked
        },
        learned.features.recipe,
        catalog.cache,
        trust.calibration if trust else UNTOLD,
    )
    return {int(numbers[i]): [Box(*box) for box in boxes] for i, boxes in found.items()}


def _wanted(
    catalog: Catalog, learned: Learned, numbers: np.ndarray, everything: bool, rejected_too: bool
) -> np.ndarray:
    """(D, V): suggestions are wanted for these pairs."""
    wanted = np.ones((len(numbers), len(learned.vocabulary)), bool)
    row = {int(image): i for i, image in enumerate(numbers)}
    means = catalog.decisions.merged_words()
    columns: dict[
        str, list[int]
    ] = {}  # by the names of today: of what was merged since the model was learned, several
    for column, word in enumerate(learned.vocabulary):
        columns.setdefault(means.get(word, word), []).append(column)
    for image, word, verdict, source in catalog.tree.with_implied(catalog.decisions.all_tags()):
        if image not in row:
            continue
        if verdict == "present" and source in CAPTIONING and not everything:
            wanted[row[image]] = False
        if not (verdict == "rejected" and rejected_too):
            wanted[row[image], columns.get(word, [])] = False
    for word in catalog.decisions.unwanted_words():
        wanted[:, columns.get(word, [])] = False
    return wanted


def chosen_words(
    learned: Learned, numbers: np.ndarray, presence: np.ndarray, threshold: float | None, top: int | None
) -> list[Chosen]:
    """What is suggested; a presence of -1 stands for a pair that is not wanted."""
    if threshold is None:
        threshold = DEFAULT_THRESHOLD if top is None else 0.0
    chosen = presence >= threshold
    if top is not None and top < presence.shape[1]:
        order = np.argsort(-presence, axis=1, kind="stable")[:, :top]
        best = np.zeros_like(chosen)
        np.put_along_axis(best, order, True, axis=1)
        chosen &= best
    rows, columns = np.nonzero(chosen)
    return [
        (int(numbers[r]), learned.vocabulary[c], float(presence[r, c]))
        for r, c in zip(rows.tolist(), columns.tolist(), strict=True)
    ]


def _index_of(catalog: Catalog, model: LearnedModel, learned: Learned) -> WordIndex | None:
    """The index that this model has filled, if it has."""
    folder = catalog.index_folder()
    if model.annotated is None or folder is None or not folder.exists():
        return None
    index = WordIndex.open(folder)
    fits = list(index.vocabulary) == list(learned.vocabulary) and len(index) == len(catalog.index_images())
    return index if fits else None


def _save_index(
    catalog: Catalog,
    learned: Learned,
    numbers: np.ndarray,
    presence: np.ndarray,
    corpus: Corpus,
    former: WordIndex | None = None,
) -> None:
    """A new index beside the old one, with all of a `former` one; the catalog turns to it once it is whole."""
    looks = None
    if corpus.descriptor is not None:
        looks = unit_rows(np.asarray(corpus.descriptor, np.float32)).astype(np.float16)
    n_former = 0
    if former is not None:
        numbers = np.concatenate([catalog.index_images(), numbers])
        n_former, shards = len(former), catalog.features()
        if looks is not None and shards is not None:
            looks = np.concatenate([shards[:], looks])
    order = np.argsort(numbers)

    def block(at: np.ndarray) -> np.ndarray:
        rows = np.empty((len(at), len(learned.vocabulary)))
        known = at < n_former
        if former is not None:
            rows[known] = np.exp(former.log_p[:, at[known]].T)
        rows[~known] = presence[at[~known] - n_former]
        return rows

    with catalog.new_folder("index") as (name, folder):
        blocks = (block(order[start : start + BLOCK]) for start in range(0, len(order), BLOCK))
        WordIndex.build(folder, learned.vocabulary, [str(n) for n in numbers[order]], blocks)
        np.save(folder / "images.npy", numbers[order].astype(np.int64), allow_pickle=False)
        if looks is not None:
            write_shards(folder / "features", looks[order])
    catalog.set("index", name)
