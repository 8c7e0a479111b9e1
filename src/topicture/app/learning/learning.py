"""Learn: photos and tags to a model with calibrated probabilities."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from posixpath import dirname as folder_of
from typing import Any

import numpy as np

from topicture.annotations.choice.presence import JudgedPairs, calibration_error, reliability, thresholds
from topicture.annotations.choice.trials import N_FOLDS, HeldOut, Trial
from topicture.annotations.shift.completeness import Completeness
from topicture.annotations.shift.marks import are_marks
from topicture.annotations.shift.worlds import TAGS, FarWorld, find_worlds
from topicture.app.learning.calibrating import Trusted, differing, some_untagged, trust
from topicture.app.learning.choosing import choose_and_fit
from topicture.app.learning.model_folder import Learned, save_learned
from topicture.app.learning.region_boxes import asking_about_marks
from topicture.app.learning.region_choice import REGION_MODELS, choose_region_model, told_of
from topicture.app.learning.reports import former_choice, race_told
from topicture.app.learning.training_tags import MOST_PAIRS, TrainingTags, gather, hidden_together, moments
from topicture.app.learning.unseen_answers import UnseenAnswers
from topicture.app.progress import Report, Trace, silent, untold
from topicture.corpus import Corpus
from topicture.errors import CorpusError
from topicture.models.base import Annotator, columns_of
from topicture.models.blends.kept_trials import KeptTrials
from topicture.models.registry import annotator_class
from topicture.store import Catalog
from topicture.store.files import FileTrouble, LivingImage
from topicture.vision.features.transform import Features
from topicture.vision.pipeline import Description, Photo, describe
from topicture.vision.recipe import REGION_PARTS, Recipe

__all__ = ["LearnReport", "learn", "look_at", "note_reasons", "unreadable_lines"]

TOLD_PRECISION = 0.95
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
    calibration_error: float
    skipped: tuple[str, ...]
    warning: str = ""  # where tagged and untagged photos differ
    completeness: float | None = None  # share of the true tags that were given, once questions told


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
    """Learn from everything that people have decided; the same photos and decisions give the same model.

    While the collection is much as it was when "auto" last tried everything, it tries only what helped then. Trials
    that were finished are kept until a model was learned: one that was interrupted goes on from there.

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
    with catalog.others_may_write("learn"):  # reviewing goes on meanwhile
        description = look_at(
            catalog,
            training_tags.images,
            recipe,
            workers,
            report,
            training_tags=training_tags,
        )
        kept = description.positions
        corpus = training_tags.taught(description.corpus, kept)
        n_tagged = corpus.n_with_words
        looked_at = [training_tags.images[i] for i in kept]
        places = [folder_of(image.path) for image in looked_at]
        report("Comparing photos", 0, None)
        former = former_choice(catalog, corpus, afresh=afresh)
        trials_kept = KeptTrials(catalog.cache / "trials")
        if afresh:
            trials_kept.forget_others()
        world = find_worlds(corpus, places, seconds=moments(looked_at), seed=seed)
        groups = hidden_together(corpus, looked_at)
        report("Comparing photos", 1, 1)
        annotator, trial, members, scores, far_scores = choose_and_fit(
            corpus,
            model,
            training_tags.judged[kept],
            groups=groups,
            far_groups=None if world is None or world.kind == TAGS else world.groups,
            budget_seconds=budget_seconds,
            budget_bytes=budget_bytes,
            seed=seed,
            report=report,
            trace=trace,
            kept=trials_kept,
            former=former.rows,
        )
        report("Weighing the answers", 0, None)
        trusted = _trusted(corpus, training_tags, kept, scores, far_scores, world, places, annotator, seed)
        report("Weighing the answers", 1, 1)
        pairs, warning = trusted.pairs, differing(world, trusted.calibration)
        region_annotator, of_regions = None, None
        regions = regions and columns_of(corpus, "regions") is not None
        captioned = corpus.answers_as_captions()  # all that models of regions know
        overlaps = asking_about_marks(catalog, looked_at, captioned, recipe, seed) if regions else None
        if regions and not annotator.labels_regions:
            candidates = (former.region_model,) if former.region_model in REGION_MODELS else REGION_MODELS
            region_annotator, of_regions = choose_region_model(
                captioned, candidates, groups, seed, report, overlaps
            )
        elif regions and annotator.needs == ("regions",) and annotator.labels_regions:
            of_regions = told_of(annotator, captioned, groups, seed, overlaps)
        by_region = next(
            (a for a in (annotator, region_annotator) if a is not None and a.labels_regions), None
        )
        told = _told(trial, members, trusted.judged, corpus, min_count, n_tagged, trusted.completeness)
        told |= {
            "warning": warning,
            "far_share": 0.0 if world is None else world.share,
            "regions": of_regions,
            "race": race_told(annotator, former, corpus),
        }
        learned = Learned(
            annotator,
            region_annotator,
            description.features,
            trusted.calibration,
            pairs.above(LEAST_PRESENCE),
            told,
            UnseenAnswers.of(corpus, scores),
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
        calibration_error=told["calibration_error"],
        skipped=unreadable_lines(description, training_tags.images),
        warning=warning,
        completeness=None if trusted.completeness is None else trusted.completeness.overall,
    )


def _trusted(
    corpus: Corpus,
    tags: TrainingTags,
    kept: Any,
    near: HeldOut,
    far: HeldOut | None,
    world: FarWorld | None,
    places: list[str],
    annotator: Annotator,
    seed: int,
) -> Trusted:
    """How far the model is to be trusted, found on the photos that there are answers for where all are too many."""
    untagged = None
    if world is not None or are_marks(
        corpus.captions
    ):  # of all photos: those that there are answers for are tagged
        untagged = some_untagged(corpus, tags.judged[kept], places, annotator.annotate, seed)
    if len(corpus) * corpus.n_words <= MOST_PAIRS:
        near, far = near.for_all(len(corpus)), None if far is None else far.for_all(len(corpus))
        return trust(corpus, tags, kept, near, far, world, places=places, untagged=untagged, seed=seed)
    rows = np.arange(len(corpus)) if near.rows is None else near.rows
    if world is not None:
        world = world._replace(groups=world.groups[rows], near=world.near[rows], hidden=world.hidden[rows])
    some, tags, own = near.of(corpus), tags.at(np.asarray(kept)[rows]), [places[i] for i in rows]
    return trust(some, tags, np.arange(len(rows)), near, far, world, places=own, untagged=untagged, seed=seed)


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


def _told(
    trial: Trial,
    members: list[Any],
    pairs: JudgedPairs,
    corpus: Corpus,
    min_count: int,
    n_tagged: int,
    completeness: Completeness | None,
) -> dict[str, Any]:
    """The report that goes into the model's folder."""
    bins = reliability(pairs)
    enough = thresholds(pairs, corpus.n_words, TOLD_PRECISION)
    return {
        "model": trial.model,
        "tagged": n_tagged,
        "min_count": min_count,
        "trials": [asdict(trial)],
        "members": [_finite(asdict(member)) for member in members],
        "reliability": [b._asdict() for b in bins],
        "calibration_error": calibration_error(bins),
        "target_precision": TOLD_PRECISION,
        "completeness": None if completeness is None else _completeness(completeness),
        "tags": [
            {
                **_tag(word, corpus.vocabulary[word], pairs, float(enough[word])),
                "completeness": None if completeness is None else float(completeness.words[word]),
                "completeness_deviation": None
                if completeness is None
                else float(completeness.deviation[word]),
            }
            for word in range(corpus.n_words)
        ],
    }


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """None in place of what was not measured: JSON has no NaN."""
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in values.items()}


def _completeness(found: Completeness) -> dict[str, Any]:
    return {
        "overall": found.overall,
        "deviation": found.overall_deviation,
        "questions": found.n_questions,
    }


def _tag(number: int, word: str, pairs: JudgedPairs, threshold: float) -> dict[str, Any]:
    mine = pairs.word == number
    weights = pairs.weights
    suggested = mine & (pairs.presence >= 0.5) & (weights > 0)
    above = mine & (pairs.presence >= threshold)
    return {
        "word": word,
        "photos": round(float(weights[mine] @ pairs.truth[mine])),
        "suggested": round(float(weights[suggested].sum())),
        "precision": float(np.average(pairs.truth[suggested], weights=weights[suggested]))
        if suggested.any()
        else None,
        "threshold": threshold if np.isfinite(threshold) else None,
        "accepted": round(float(weights[above].sum())),
    }
