"""Annotate: what the newest model suggests for every photo, and the index that search and `similar` read."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from posixpath import dirname as folder_of

import numpy as np

from topicture.app.learning.annotated.answers_elsewhere import presence_blocks
from topicture.app.learning.annotated.index_files import Earlier, write_index
from topicture.app.learning.annotated.suggesting import (
    DEFAULT_THRESHOLD,
    Chosen,
    Possible,
    Unwanted,
    find_unwanted,
)
from topicture.app.learning.annotated.up_to_date import (
    note_annotated,
    note_others_settings,
    settings_of,
    standing,
    this_moment,
    to_be_tried_again,
    totals,
)
from topicture.app.learning.labelling import UNTOLD
from topicture.app.learning.learning import look_at, note_reasons, unreadable_lines
from topicture.app.learning.model_folder import Learned, load_learned, load_region_annotator
from topicture.app.learning.region_boxes import find_boxes
from topicture.app.learning.region_choice import trust_told
from topicture.app.progress import Report, silent
from topicture.atomic import make_folder, work_folder
from topicture.corpus import Corpus
from topicture.errors import CorpusError, TopictureError
from topicture.store import Catalog
from topicture.store.decisions.decisions import OURS
from topicture.store.files import FileTrouble, LivingImage
from topicture.store.listing import Listing
from topicture.store.regions import Box
from topicture.store.suggestions import LearnedModel

MOST_COMPANIONS = 8  # that are tried where no new photo can be read

__all__ = ["DEFAULT_THRESHOLD", "AnnotateReport", "annotate"]


@dataclass(frozen=True)
class AnnotateReport:
    """What was suggested."""

    model: str
    photos: int  # looked at
    asked_for: int  # those that suggestions were wanted for
    with_suggestions: int
    suggestions: int
    skipped: tuple[str, ...]
    tagged_in_part: int = 0  # of those asked for: with tags, but without a caption of their owner's


def annotate(
    catalog: Catalog,
    *,
    threshold: float | None = None,
    top: int | None = None,
    everything: bool = False,
    rejected_too: bool = False,
    new_only: bool = False,
    again: bool = False,
    workers: int = 2,
    report: Report = silent,
) -> AnnotateReport:
    """Suggest words for the photos without a caption of their owner's, or with `everything` for all.

    Parameters
    ----------
    threshold : suggest words of at least this probability (0.25 where neither is given)
    top : suggest this many words per photo, however probable
    rejected_too : suggest words again that were rejected for the photo
    new_only : look only at photos that came since the last time, or that could not be opened then, and leave all else
        as it is; where this model has not looked at any yet, at all of them
    again : look at every photo, although model, settings and words are as they were the last time; else only at those
        that are new, that could not be opened the last time, or that something was decided about since: the outcome is
        the same

    A photo that can't be opened now keeps what this model suggested for it; where everything is looked at, `search`
    does not find it by those words until it can be opened again. A word that was decided for a photo is not
    suggested for it. Photos that the model has learned from get the answers that were given while their tags were
    hidden. The catalog's lock is held only to read, and to store what was found.
    """
    if threshold is not None and not 0 <= threshold <= 1:
        raise TopictureError(f"the threshold is a probability between 0 and 1, not {threshold:g}")
    if top is not None and top < 1:
        raise TopictureError(f"the number of words to suggest must be at least 1, not {top}")
    model = catalog.suggestions.newest()
    learned = load_learned(catalog.model_folder(model), regions=False)
    every = images = catalog.files.living()
    settings = settings_of(catalog, model, threshold, top, everything=everything, rejected_too=rejected_too)
    now = this_moment(catalog)
    former = None if again else standing(catalog, model, learned, settings, new_only)
    if former is not None:
        known = set(former.images.tolist()) - former.changed
        images = [
            each for each in every if each.image not in known and to_be_tried_again(catalog, each.image)
        ]
        if not images:
            if new_only:
                return AnnotateReport(model.name, 0, 0, 0, 0, ())
            return _whole(catalog, model, learned, everything, rejected_too)
    companion: set[int] = set()  # a photo that is looked at only because no other can be read
    make_folder(catalog.folder / "index")
    with work_folder(catalog.folder / "index") as work:
        with catalog.others_may_write("annotate"):  # reviewing goes on meanwhile
            look = partial(look_at, catalog, vocabulary=learned.vocabulary)
            try:
                description = look(images, learned.features, workers, report)
            except CorpusError:  # none of the new ones can be read; one that can makes it a collection
                if former is None:
                    raise
                for other in _spread([each for each in every if each.image in known]):
                    with suppress(CorpusError):
                        description = look([*images, other], learned.features, workers, report)
                        images, companion = [*images, other], {other.image}
                        break
                else:  # nor any of them: all stays as it is until a photo can be read
                    if new_only:
                        return AnnotateReport(model.name, 0, 0, 0, 0, tuple(map(_unseen, images)))
                    lines = [_unseen(each) for each in images if catalog.files.reason(each.image) is None]
                    whole = _whole(catalog, model, learned, everything, rejected_too)
                    return replace(whole, skipped=(*whole.skipped, *lines))
            numbers = np.array([images[i].image for i in description.positions])
            order = np.argsort(numbers)  # that of the index
            numbers, corpus = numbers[order], description.corpus[order]
            places = [folder_of(images[description.positions[i]].path) for i in order]
            is_new = ~np.isin(numbers, list(former.changed | companion) if former is not None else [])

            def unwanted() -> Unwanted:
                return find_unwanted(catalog, learned.vocabulary, numbers, everything, rejected_too)

            possible = Possible(threshold, top, unwanted())

            def presences() -> Iterator[np.ndarray]:
                for rows, presence in presence_blocks(learned, catalog.model_folder(model), corpus, places):
                    report("Annotating", rows.start, len(numbers))
                    possible.see(rows.start, presence)
                    yield presence[is_new[rows]].astype(np.float32)

            blocks = presences()
            if is_new.any():
                earlier = None if former is None else Earlier(former.words, former.images, catalog.features())
                looks = None if corpus.descriptor is None else corpus.descriptor[is_new]
                write_index(work / "index", learned.vocabulary, numbers[is_new], blocks, looks, earlier)
            for _ in blocks:  # those that the index has already
                pass
            chosen = possible.chosen(unwanted(), numbers, learned.vocabulary)
            paths = {image.content.hex(): image.path for image in images}
            try:
                folder, trouble = catalog.model_folder(model), ""
                boxes = _boxes(catalog, folder, learned, corpus, numbers, paths, chosen)
            except TopictureError as error:  # suggestions are worth having without them
                boxes, trouble = {}, f"regions: {error}"
        if model.id not in {each.id for each in catalog.suggestions.models()}:
            raise TopictureError(
                f"the model {model.folder} ({model.name}) was removed while it was at work, so nothing is stored; "
                "run 'topicture annotate' again, with the newest one"
            )
        note_reasons(catalog, description, images)
        if is_new.any():
            with catalog.new_folder("index") as (name, folder):  # the catalog turns to it once it is whole
                for part in (work / "index").iterdir():
                    part.rename(folder / part.name)
    last = unwanted()  # what was decided meanwhile counts
    rows = [row for row in possible.chosen(last, numbers, learned.vocabulary) if row[0] not in companion]
    with catalog.database.transaction():
        word_ids = {word: catalog.decisions.word_id(word) for word in learned.vocabulary}
        found = [(image, word_ids[word], p) for image, word, p in rows]
        seen = set(numbers.tolist()) - companion
        if former is not None:
            catalog.suggestions.withdraw(model.id, seen)
            catalog.suggestions.add(model.id, found)
        else:
            unseen = (each.image for each in images if each.image not in seen)
            away = [image for image in unseen if to_be_tried_again(catalog, image)]
            catalog.suggestions.replace(model.id, found, keep=away)
        if new_only and former is not None:  # what was decided about others is yet to be looked at
            note_others_settings(catalog, settings)
        else:
            note_annotated(catalog, settings, now)
        if is_new.any():
            catalog.set("index", name)  # with the suggestions, or not at all
        catalog.regions.replace(model.id, boxes)
        catalog.set("regions_trouble", trouble)
    report("Annotating", len(numbers), len(numbers))
    if former is not None and not new_only:
        whole = _whole(catalog, model, learned, everything, rejected_too)
        return replace(whole, skipped=(*whole.skipped, *([trouble] if trouble else [])))
    return AnnotateReport(
        model=model.name,
        photos=len(numbers) - len(companion),
        asked_for=last.n_wanted,
        with_suggestions=len({row[0] for row in rows}),
        suggestions=len(rows),
        skipped=(
            *unreadable_lines(description, images),
            *([trouble] if trouble else []),
        ),
        tagged_in_part=_tagged_in_part(catalog, numbers, everything),
    )


def _spread(photos: list[LivingImage]) -> list[LivingImage]:
    """A few photos from all over the collection."""
    return photos[:: max(1, -(-len(photos) // MOST_COMPANIONS))]


def _unseen(photo: LivingImage) -> str:
    return str(FileTrouble(photo.path, "can't be looked at now, like all others that were tried"))


def _whole(
    catalog: Catalog, model: LearnedModel, learned: Learned, everything: bool, rejected_too: bool
) -> AnnotateReport:
    """What stands for the whole collection after only a part of it was looked at."""
    numbers = np.intersect1d(catalog.index_images(), catalog.files.living_images())
    with_suggestions, suggestions = totals(catalog, model)
    return AnnotateReport(
        model=model.name,
        photos=len(numbers),
        asked_for=find_unwanted(catalog, learned.vocabulary, numbers, everything, rejected_too).n_wanted,
        with_suggestions=with_suggestions,
        suggestions=suggestions,
        skipped=tuple(str(trouble) for trouble in catalog.files.unreadable()),
        tagged_in_part=_tagged_in_part(catalog, numbers, everything),
    )


def _tagged_in_part(catalog: Catalog, numbers: np.ndarray, everything: bool) -> int:
    """How many of the photos have tags, but no caption; 0 where all are asked for anyway."""
    listing = Listing(catalog.database)
    tagged = np.setdiff1d(listing.with_tags(), listing.captioned())
    return 0 if everything else len(np.intersect1d(numbers, tagged))


def _boxes(
    catalog: Catalog,
    folder: Path,
    learned: Learned,
    corpus: Corpus,
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
        corpus,
        [catalog.root / paths[content] for content in corpus.image_ids],
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
