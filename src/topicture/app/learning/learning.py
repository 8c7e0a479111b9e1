"""Learn: photos and tags to a model with calibrated probabilities."""

from collections.abc import Iterable
from dataclasses import dataclass
from posixpath import dirname as folder_of
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.choice.trials import N_FOLDS, HeldOut, Trial
from topicture.annotations.shift.marks import are_marks
from topicture.annotations.shift.worlds import TAGS, FarWorld, find_worlds
from topicture.app.learning.calibrating import (
    Trusted,
    some_untagged,
    trust,
    warning_of,
    with_omissions,
    without_promises,
)
from topicture.app.learning.choosing import choose_and_fit
from topicture.app.learning.model_folder import Learned, earlier_model, save_learned
from topicture.app.learning.region_boxes import asking_about_marks
from topicture.app.learning.region_choice import (
    REGION_MODELS,
    choose_region_model,
    region_model_again,
    told_of,
)
from topicture.app.learning.reports import former_choice, learning_told, race_told
from topicture.app.learning.training_tags import MOST_PAIRS, TrainingTags, gather, hidden_together, moments
from topicture.app.learning.unseen_answers import UnseenAnswers
from topicture.app.progress import Report, Trace, silent, untold
from topicture.app.promises import promises_told
from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.base import Annotator, columns_of
from topicture.models.blends.again import Again
from topicture.models.blends.auto import Auto
from topicture.models.blends.kept_trials import KeptTrials
from topicture.models.registry import annotator_class
from topicture.store import Catalog
from topicture.store.decisions.promises import Promises
from topicture.store.files import FileTrouble, LivingImage
from topicture.threads import one_thread_products
from topicture.vision.features.transform import Features
from topicture.vision.pipeline import Description, Photo, describe
from topicture.vision.recipe import REGION_PARTS, Recipe

__all__ = ["LearnReport", "learn", "look_at", "note_reasons", "unreadable_lines"]

BUDGET_SECONDS = 600.0
BUDGET_BYTES = 4e9
# Below this presence no suggestion is ever made at a precision worth having; the pairs need not be kept.
LEAST_PRESENCE = 0.02


@dataclass(frozen=True)
class LearnReport:
    """What was learned."""

    model: str
    folder: str
    photos: int
    tagged: int
    words: int
    too_rare: tuple[str, ...]
    trials: tuple[Trial, ...]  # on hidden tags: the model itself, then what `auto` tried
    choice: str  # what `auto` chose and why; empty for a model that was named
    budget_seconds: float
    region_model: str | None
    calibration_error: float  # NaN where nothing was measured
    skipped: tuple[str, ...]
    warning: str = ""  # where tagged and untagged photos differ
    completeness: float | None = None  # share of the true tags that were given, once questions told
    promises: Promises | None = None  # what people have answered to suggestions, once there are some
    measured: bool = True  # else hidden tags tell nothing, and the figures of `trials` mean nothing
    by_answers: bool = False  # measured by answers alone: hidden tags tell nothing here, either


def learn(
    catalog: Catalog,
    model: str = "auto",
    *,
    min_count: int = N_FOLDS,
    budget_seconds: float = BUDGET_SECONDS,
    budget_bytes: float = BUDGET_BYTES,
    regions: bool = True,
    afresh: bool = False,
    workers: int = 2,
    seed: int = 0,
    report: Report = silent,
    trace: Trace = untold,
) -> LearnReport:
    """Learn from everything that people have decided; learned twice from the same, it is the same model.

    While the collection is much as it was when "auto" last tried everything, it tries only what helped then. While
    nearly all that was said is as it was at the last trials, none are made: answers that models gave while tags were
    hidden are taken over, photos tagged since are answered by the last model, which had not seen their tags, and what
    is used learns once more. Trials that were finished are kept until a model was learned: one that was interrupted
    goes on from there.

    The catalog's lock is held only while decisions are read, and while the model is stored.

    Parameters
    ----------
    model : a registry name, or "auto": a blend of those that find hidden tags best
    min_count : words on fewer photos are left out
    budget_seconds : time that "auto" may take to try, choose and learn, after the photos were looked at
    budget_bytes : memory that "auto" may take for it; models that need more learn from a part of the photos
    regions : learn a model for regions as well, where the chosen one has none and regions are measured
    afresh : try every model, whatever helped the last time, and whatever was tried before

    Raises
    ------
    CorpusError
        Too few photos or tags to learn from.
    """
    if model != "auto":
        annotator_class(model)  # an unknown name is told before the work
    training_tags = gather(catalog, min_count)
    recipe = Recipe(**catalog.get("recipe"))
    earlier = None
    if model == "auto" and not afresh:
        earlier = earlier_model(catalog, recipe, training_tags.by_content, len(training_tags.images))
    with catalog.others_may_write("learn"):  # reviewing goes on meanwhile
        description = look_at(
            catalog,
            training_tags.images,
            recipe if earlier is None else earlier.features,
            workers,
            report,
            training_tags=training_tags,
        )
        kept = description.positions
        corpus = training_tags.taught(description.corpus, kept)
        all_said = training_tags.with_all_answers(description.corpus, kept)
        n_tagged = all_said.n_with_words
        looked_at = [training_tags.images[i] for i in kept]
        places = [folder_of(image.path) for image in looked_at]
        report("Comparing photos", 0, None)
        groups = hidden_together(corpus, looked_at)
        with one_thread_products():
            corpus, first = with_omissions(corpus, training_tags, kept, places, groups, seed)
        all_said = all_said.with_omissions(corpus.completeness, places)
        former = former_choice(catalog, all_said, afresh=afresh)
        trials_kept = KeptTrials(catalog.cache / "trials")
        if afresh:
            trials_kept.forget_others()
        world = find_worlds(corpus, places, seconds=moments(looked_at), seed=seed)
        marks = are_marks(training_tags.shown[kept], training_tags.captioned[kept])
        report("Comparing photos", 1, 1)
        again = None
        if earlier is not None and former.may_go_on:
            again = Again(earlier.annotator.used(), earlier.known, former.same)
        annotator, trial, members, scores, far_scores, known = choose_and_fit(
            corpus,
            model,
            training_tags.judged[kept],
            groups=groups,
            far_groups=None if world is None or marks or world.kind == TAGS else world.groups,
            budget_seconds=budget_seconds,
            budget_bytes=budget_bytes,
            seed=seed,
            report=report,
            trace=trace,
            kept=trials_kept,
            former=former.rows,
            again=again,
        )
        report("Weighing the answers", 0, None)
        with one_thread_products():  # many small ones
            trusted = _trusted(
                corpus, training_tags, kept, scores, far_scores, world, places, groups, annotator, first, seed
            )
        trusted = without_promises(trusted, _not_asked_about(corpus, annotator))
        report("Weighing the answers", 1, 1)
        measured, warning = trusted.measured, warning_of(trusted, training_tags, kept, world)
        region_annotator, of_regions = None, None
        regions = regions and columns_of(corpus, "regions") is not None
        # All that models of regions know; they promise nothing of photos.
        captioned = all_said.with_omissions(None).answers_as_captions()
        overlaps = asking_about_marks(catalog, looked_at, captioned, recipe, seed) if regions else None
        if regions and not annotator.labels_regions:
            went_on = isinstance(annotator, Auto) and annotator.went_on_ and overlaps is None
            if went_on and earlier is not None and earlier.region_annotator and earlier.regions:
                region_annotator, of_regions = region_model_again(
                    earlier.region_annotator, earlier.regions, captioned, former.same, report
                )
            else:
                candidates = (former.region_model,) if former.region_model in REGION_MODELS else REGION_MODELS
                region_annotator, of_regions = choose_region_model(
                    captioned, candidates, groups, seed, report, overlaps
                )
        elif regions and annotator.needs == ("regions",) and annotator.labels_regions:
            of_regions = told_of(annotator, captioned, groups, seed, overlaps)
        by_region = next(
            (a for a in (annotator, region_annotator) if a is not None and a.labels_regions), None
        )
        told = learning_told(
            trial,
            members,
            trusted.judged,
            corpus,
            min_count,
            n_tagged,
            trusted.completeness,
            np.asarray(training_tags.truth[kept].sum(axis=0)).ravel(),
            measured=measured,
            by_answers=trusted.by_answers,
        )
        told |= {
            "warning": warning,
            "far_share": 0.0 if world is None else world.share,
            "regions": of_regions,
            "race": race_told(
                annotator, former, all_said, len(corpus) if earlier is None else earlier.photos
            ),
        }
        learned = Learned(
            annotator,
            region_annotator,
            description.features,
            trusted.calibration,
            trusted.pairs.above(LEAST_PRESENCE),
            told,
            UnseenAnswers.of(corpus, scores),
            known,
        )
    note_reasons(catalog, description, training_tags.images)
    with catalog.new_folder("models") as (name, folder):
        save_learned(folder, learned)
    trials_kept.forget_others()
    facts = {
        "photos": len(corpus),
        "tagged": n_tagged,
        "words": corpus.n_words,
        "labels_regions": by_region is not None,
        "regions_proven": bool(of_regions and of_regions["beats_whole_photo"]),
        "map": trial.mean,
    }
    catalog.suggestions.add_model(name, annotator.name, annotator.version, facts)
    return LearnReport(
        model=annotator.name,
        folder=name,
        photos=len(corpus),
        tagged=n_tagged,
        words=corpus.n_words,
        too_rare=training_tags.too_rare,
        trials=(trial, *members),
        choice=annotator.result_ if members else "",
        budget_seconds=budget_seconds,
        region_model=by_region.name if by_region else None,
        calibration_error=told["calibration_error"] if measured else float("nan"),
        skipped=unreadable_lines(description, training_tags.images),
        warning=warning,
        completeness=None if trusted.completeness is None else trusted.completeness.overall,
        promises=promises_told(catalog),
        measured=measured,
        by_answers=trusted.by_answers,
    )


def _not_asked_about(corpus: Corpus, annotator: Annotator) -> NDArray[np.int64]:
    """Words that came since the trials whose answers a blend has taken over."""
    if not isinstance(annotator, Auto):
        return np.zeros(0, np.int64)
    return np.flatnonzero(~np.isin(corpus.vocabulary.words, annotator.hidden_.words))


def _trusted(
    corpus: Corpus,
    tags: TrainingTags,
    kept: Any,
    near: HeldOut,
    far: HeldOut | None,
    world: FarWorld | None,
    places: list[str],
    groups: np.ndarray,
    annotator: Annotator,
    first: HeldOut | None,
    seed: int,
) -> Trusted:
    """How far the model is to be trusted, found on the photos that there are answers for where all are too many."""
    untagged = None
    # Of all photos: those that there are answers for are tagged.
    if world is not None or are_marks(tags.shown[kept], tags.captioned[kept]):
        untagged = some_untagged(corpus, tags.judged[kept], places, annotator.annotate, seed)
    whole = len(corpus) * corpus.n_words <= MOST_PAIRS
    if whole:
        near, far = near.for_all(len(corpus)), None if far is None else far.for_all(len(corpus))
    else:
        rows = np.arange(len(corpus)) if near.rows is None else near.rows
        world = None if world is None else world.at(rows)
        first = None if first is None else HeldOut(first.p[rows], first.fold_of[rows])
        corpus, tags, kept = near.of(corpus), tags.at(np.asarray(kept)[rows]), np.arange(len(rows))
        places, groups = [places[row] for row in rows], groups[rows]
    also: Any = {"places": places, "untagged": untagged, "first": first, "groups": groups, "seed": seed}
    return trust(corpus, tags, kept, near, far, world, whole=whole, **also)


def look_at(
    catalog: Catalog,
    images: list[LivingImage],
    views: Recipe | Features,
    workers: int,
    report: Report,
    *,
    training_tags: TrainingTags | None = None,
    vocabulary: Any = None,
) -> Description:
    """Describe photos by numbers, through the catalog's cache; changes nothing in the catalog itself."""
    if not images:
        raise CorpusError("there are no photos; run 'topicture scan'")

    def progress(done: int, total: int | None) -> None:
        report("Looking at photos", done, total)
        if done == total:  # what was seen is yet to be put into words and numbers
            report("Describing photos", 0, None)

    photos = [Photo(image.content.hex(), catalog.root / image.path) for image in images]
    recipe = views if isinstance(views, Recipe) else views.recipe
    return describe(
        photos,
        views,
        captions=training_tags.captions if training_tags else None,
        vocabulary=training_tags.vocabulary if training_tags else vocabulary,
        workers=workers,
        cache=catalog.cache,
        extra=REGION_PARTS if recipe.has_regions else (),
        progress=progress,
    )


def note_reasons(catalog: Catalog, description: Description, images: list[LivingImage]) -> None:
    """Note which photos could not be read, and why."""
    reasons: dict[int, str | None] = {image.image: None for image in images}
    by_content = {image.content.hex(): image.image for image in images}
    reasons.update({by_content[bad.source]: bad.reason for bad in description.unreadable})
    with catalog.database.transaction():
        catalog.files.set_reasons(reasons)


def unreadable_lines(description: Description, images: Iterable[LivingImage]) -> tuple[str, ...]:
    """The photos that could not be read, one line each: the path and the reason."""
    paths = {image.content.hex(): image.path for image in images}
    return tuple(str(FileTrouble(paths[bad.source], bad.reason)) for bad in description.unreadable)
