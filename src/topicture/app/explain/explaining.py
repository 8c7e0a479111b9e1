"""Explain: what a learned model is, what it has learned, and how far it can be trusted; as data, without a page.

explanation = library.explain()
print(explanation.word_table[0].word, explanation.word_table[0].average_precision)
"""

import importlib.metadata
import re
from pathlib import Path
from typing import Any

import numpy as np

from topicture import __version__
from topicture.annotations.choice.quality_curves import (
    Curve,
    gain_of_last_step,
    learning_curve,
    quality_by_topics,
)
from topicture.annotations.choice.refitting import n_topics_of, unfitted_like, with_topics
from topicture.annotations.diagnostics import (
    Confusions,
    WordQuality,
    per_word_table,
    word_confusions,
    word_examples,
)
from topicture.annotations.measures.ranking import rank
from topicture.annotations.topics import TopicModel, Typical, members_of, topics_of
from topicture.app.explain.carrying import with_regions
from topicture.app.explain.evaluating import names_today
from topicture.app.explain.explanation import (
    ExplainedTopic,
    ExplainedTopics,
    ExplainedWord,
    Explanation,
    NamedConfusion,
    PhotoExamples,
    TypicalPhoto,
)
from topicture.app.explain.held_out import SEED, HeldOutAnswers, gather_answers
from topicture.app.explain.trust import trust_told
from topicture.app.learning.annotating import DEFAULT_THRESHOLD
from topicture.app.learning.model_folder import Learned, load_learned
from topicture.app.progress import Report, silent
from topicture.app.promises import promises_told
from topicture.errors import DataNotFound, TopictureError
from topicture.store import Catalog
from topicture.store.suggestions import LearnedModel
from topicture.vision.recipe import Recipe

__all__ = ["explain"]

N_EXAMPLE_WORDS, N_MAP_WORDS, N_CONFUSIONS = 12, 25, 15
N_TOPICS_SHOWN, MANY_MODELS = 12, 2  # of more models with topics, half as many topics each
LEARNING_SHARE = 0.6  # of the time for curves; the rest is for the numbers of topics
_VERSIONED = ("numpy", "jax", "scikit-learn")


def explain(
    catalog: Catalog,
    model: str | None = None,
    *,
    threshold: float | None = None,
    curve_minutes: float | None = None,
    workers: int = 2,
    report: Report = silent,
) -> tuple[Explanation, Recipe]:
    """Explain a learned model on the photos of a collection; the recipe of its features finds regions for pictures.

    Parameters
    ----------
    model : number or name of a model learned here (`topicture models --learned`), or the folder of a saved one; the
        newest by default
    threshold : a word counts as suggested from this probability on; by default that of `annotate`
    curve_minutes : time for learning curves, which take many fits; None leaves them out

    Raises
    ------
    NotFitted, DataNotFound, CorpusError, TopictureError
        Nothing was learned, there is no such model, or too few photos are tagged.
    """
    threshold = DEFAULT_THRESHOLD if threshold is None else threshold
    if not 0 < threshold <= 1:
        raise TopictureError(f"the threshold is a probability above 0 and up to 1, not {threshold:g}")
    folder, row = _find(catalog, model)
    learned = load_learned(folder)
    words = learned.vocabulary.words
    names = names_today(catalog, learned.report.get("tags") or [{"word": word} for word in words])
    answers = gather_answers(catalog, learned, folder, names, workers=workers, report=report)
    table = per_word_table(answers.presence, answers.truth, answers.known, threshold)
    confusions = word_confusions(answers.presence, answers.truth, answers.known, threshold)
    measured = bool(learned.report.get("measured", True))
    # Else answers alone say what a photo lacks.
    by_hidden_tags = measured and learned.calibration.marks is None
    calibration, calibration_error = trust_told(learned.report, answers) if measured else ((), float("nan"))
    common = rank([quality.photos for quality in table])
    shown = [int(w) for w in common if table[w].photos and words[w] in names][:N_MAP_WORDS]
    if not answers.measured:  # no photo is told to be more typical than another
        shown = []
    examples = _examples(answers, shown[:N_EXAMPLE_WORDS], words)
    learning, by_topics = _curves(learned, answers, curve_minutes, report)
    report("Finding typical photos", 0, None)
    explanation = Explanation(
        model=learned.annotator.name,
        folder=folder.resolve().name,
        learned=row.learned if row else (folder / "report.json").stat().st_mtime,
        result=learned.annotator.result_,
        photos=len(answers.corpus),
        judged=len(answers.judged),
        tagged=answers.n_tagged,
        learned_tagged=int(learned.report["tagged"]),
        n_words=len(words),
        versions=_versions(learned),
        trials=_trials(learned) if by_hidden_tags else (),
        tried=_tried(learned),
        members=tuple((member.title, member.share) for member in members_of(learned.annotator)),
        topic_models=_topic_models(learned, answers, names),
        traces=_traces(learned),
        threshold=threshold,
        calibration=calibration,
        calibration_error=calibration_error,
        word_table=tuple(
            _explained(q, names[words[q.word]], by_hidden_tags, answers.measured)
            for q in table
            if words[q.word] in names
        ),
        examples=tuple(
            example._replace(word=names[example.word])
            for example in with_regions(examples, learned, answers.corpus, answers.paths)
        ),
        confusions=_named(confusions, words, names),
        map_words=tuple(names[words[w]] for w in shown),
        map_shares=tuple(tuple(row) for row in confusions.shares(shown).tolist()),
        curve_minutes=curve_minutes,
        learning=learning,
        gain=gain_of_last_step(learning) if learning else None,
        by_topics=by_topics,
        skipped=answers.skipped,
        warning=str(learned.report.get("warning", "")),
        completeness=_completeness(learned, names),
        completeness_overall=(learned.report.get("completeness") or {}).get("overall"),
        measured=measured,
        promises=promises_told(catalog),
    )
    report("Finding typical photos", 1, 1)
    return explanation, learned.features.recipe


def _find(catalog: Catalog, wanted: str | None) -> tuple[Path, LearnedModel | None]:
    """The folder of a model and, where it was learned here, its row."""
    newest = catalog.suggestions.newest() if wanted is None else None
    if newest is not None:
        return catalog.model_folder(newest), newest
    assert wanted is not None
    learned_here = catalog.suggestions.models()
    number = f"{int(wanted):04d}" if re.fullmatch(r"[0-9]{1,9}", wanted) else wanted
    for model in learned_here:
        if number == model.folder or wanted == model.name:
            return catalog.model_folder(model), model
    folder = Path(wanted)
    if (folder / "model.safetensors").is_file():
        return folder, None
    there_are = ", ".join(f"{model.folder} ({model.name})" for model in learned_here) or "none yet"
    raise DataNotFound(
        f"no model {wanted!r} was learned here, nor is it a model's folder; there are: {there_are}"
    )


# --- Parts --------------------------------------------------------------------------------------------------------


def _versions(learned: Learned) -> dict[str, str]:
    versions = {"topicture": __version__, learned.annotator.name: str(learned.annotator.version)}
    versions["views"] = ", ".join(learned.features.recipe.views)
    return versions | {name: importlib.metadata.version(name) for name in _VERSIONED}


def _completeness(learned: Learned, names: dict[str, str]) -> tuple[tuple[str, float, float], ...]:
    """Word, completeness and its deviation, where questions told, the least complete first."""
    tags = [tag for tag in learned.report.get("tags", ()) if tag["word"] in names]
    known = [tag for tag in tags if tag.get("completeness") is not None]
    rows = [(names[tag["word"]], tag["completeness"], tag["completeness_deviation"]) for tag in known]
    return tuple(sorted(rows, key=lambda row: (row[1], row[0])))


def _trials(learned: Learned) -> tuple[dict[str, Any], ...]:
    """What was compared when the model was learned, the best first."""
    columns = ("model", "mean", "standard_error", "accuracy")
    return tuple({name: trial.get(name) for name in columns} for trial in learned.report.get("trials", ()))


def _tried(learned: Learned) -> tuple[dict[str, Any], ...]:
    """What a blend was made from, the weightiest first; empty for a single model."""
    rows = list(getattr(learned.annotator, "report_", ()))
    total = sum(row.weight for row in rows) or 1.0
    rows.sort(key=lambda row: (-row.weight, np.inf if row.perplexity is None else row.perplexity))
    return tuple(
        {
            "member": row.member,
            "perplexity": row.perplexity,
            "share": row.weight / total,
            "seconds": row.seconds,
            "note": row.note,
        }
        for row in rows
    )


def _traces(learned: Learned) -> dict[str, list[float]]:
    """Objective traces of the fits that kept one."""
    fits = {learned.annotator.name: learned.annotator}
    fits |= {member.title: member.annotator for member in members_of(learned.annotator)}
    if learned.region_annotator is not None:
        fits[f"{learned.region_annotator.name}, regions"] = learned.region_annotator
    traces = {title: np.asarray(fit.objective_trace_, np.float64) for title, fit in fits.items()}
    return {title: trace.tolist() for title, trace in traces.items() if np.isfinite(trace).sum() > 1}


def _explained(quality: WordQuality, name: str, by_hidden_tags: bool, asked: bool) -> ExplainedWord:
    """A row of the table, without what hidden tags can't tell; `asked`: they tell at least what was found of them."""
    if not asked:
        return ExplainedWord(name, quality.photos, None, None, *[float("nan")] * 3)
    row = ExplainedWord(name, *quality[1:])
    return row if by_hidden_tags else row._replace(precision=float("nan"))


def _topic_models(
    learned: Learned, answers: HeldOutAnswers, names: dict[str, str]
) -> tuple[ExplainedTopics, ...]:
    def named(words: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
        return tuple((names[word], value) for word, value in words if word in names)

    def photos(typical: tuple[Typical, ...]) -> tuple[TypicalPhoto, ...]:
        return tuple(TypicalPhoto(answers.paths[t.image], t.region, t.score) for t in typical)

    def explained(model: TopicModel, role: str, limit: int) -> ExplainedTopics:
        topics = tuple(
            ExplainedTopic(
                t.number,
                t.weight,
                named(t.words),
                photos(t.typical),
                named(t.opposite_words),
                photos(t.opposite),
            )
            for t in [t for t in model.topics if model.kind != "words" or named(t.words)][:limit]
        )
        return ExplainedTopics(model.model, role, model.kind, model.of, model.n_topics, topics)

    found = [(model, "words") for model in topics_of(learned.annotator, answers.corpus)]
    if learned.region_annotator is not None:
        of_regions = topics_of(learned.region_annotator, answers.corpus)
        # It may have been learned just like a member of a blend.
        found += [(model, "regions") for model in of_regions if model not in [other for other, _ in found]]
    shown = N_TOPICS_SHOWN if len(found) <= MANY_MODELS else N_TOPICS_SHOWN // 2
    return tuple(
        explained(model, role, shown * 2 // 3 if model.kind == "components" else shown)
        for model, role in found
    )


def _examples(answers: HeldOutAnswers, words: list[int], names: tuple[str, ...]) -> tuple[PhotoExamples, ...]:
    def photos(rows: tuple[int, ...], word: int) -> tuple[TypicalPhoto, ...]:
        return tuple(
            TypicalPhoto(answers.paths[answers.judged[row]], None, float(answers.presence[row, word]))
            for row in rows
        )

    return tuple(
        PhotoExamples(
            names[found.word],
            photos(found.typical, found.word),
            photos(found.untypical, found.word),
            photos(found.missing, found.word),
        )
        for found in word_examples(answers.presence, answers.truth, answers.known, words)
    )


def _named(
    confusions: Confusions, words: tuple[str, ...], names: dict[str, str]
) -> tuple[NamedConfusion, ...]:
    found = [
        NamedConfusion(names[words[each.meant]], names[words[each.suggested]], *each[2:])
        for each in confusions.top(confusions.counts.size)
        if words[each.meant] in names and words[each.suggested] in names
    ]
    return tuple(found[:N_CONFUSIONS])


def _curves(
    learned: Learned, answers: HeldOutAnswers, minutes: float | None, report: Report
) -> tuple[Curve | None, dict[str, Curve]]:
    if minutes is None:
        return None, {}
    corpus, groups = answers.corpus[answers.sample], answers.groups[answers.sample]
    learning = learning_curve(
        unfitted_like(learned.annotator),
        corpus,
        groups=groups,
        seed=SEED,
        seconds=LEARNING_SHARE * 60 * minutes,
        on_fit=lambda done, total: report("Learning curve", done, total),
    )
    with_k = {
        member.title: (with_topics(member.annotator), K)
        for member in members_of(learned.annotator)
        if (K := n_topics_of(member.annotator)) is not None
    }
    by_topics = {}
    for name, (make, K) in with_k.items():
        by_topics[name] = quality_by_topics(
            make,
            corpus,
            sorted({max(2, K // 4), max(2, K // 2), K, 2 * K}),
            groups=groups,
            seed=SEED,
            seconds=(1 - LEARNING_SHARE) * 60 * minutes / len(with_k),
            on_fit=lambda done, total, name=name: report(f"Topics of {name}", done, total),  # type: ignore[misc]
        )
    return learning, by_topics
