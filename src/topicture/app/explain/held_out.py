"""What a learned model can be judged on: photos as numbers, what people said, the model's answers for hidden tags.

Held-out answers are not part of a model's folder. They are made again here, with the folds and settings of `learn`, and
kept beside the model under a name that tells what they were made from.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from posixpath import dirname

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.choice.presence import cross_fitted
from topicture.annotations.choice.refitting import held_out_again
from topicture.annotations.choice.trials import N_FOLDS, HeldOut
from topicture.app.counting import counted
from topicture.app.learning.calibrating import with_omissions
from topicture.app.learning.learning import unreadable_lines
from topicture.app.learning.model_folder import Learned
from topicture.app.learning.training_tags import TrainingTags, gather, hidden_together
from topicture.app.progress import Report, silent
from topicture.corpus import Corpus, Vocabulary
from topicture.errors import CorpusError, TopictureError
from topicture.models.files import read_model, write_model
from topicture.store import Catalog
from topicture.vision.pipeline import Photo, describe

__all__ = ["HeldOutAnswers", "gather_answers"]

SEED = 0  # that of `learn`
# A larger collection is judged on a sample of it, or a page would take hours.
MOST_PHOTOS, MOST_TAGGED = 8000, 6000


@dataclass(frozen=True, eq=False)
class HeldOutAnswers:
    """D photos that can be read, V words of the model; J of the photos were judged by people and by the model.

    Attributes
    ----------
    corpus : the photos with their present tags
    paths : (D,) relative to the root
    groups : (D,) photos that are hidden together: near copies
    sample : positions of the photos that models were fitted on for answers: all, or a sample of a large collection
    judged : (J,) positions of the judged photos in the corpus
    presence : (J, V) honest probabilities: neither model nor calibration had seen the photo's tags; NaN where nobody
        ever said that a word is not true, as with a single tag: nothing tells how probable it is
    truth, known : (J, V) bool
    skipped : photos that could not be read, one line each
    n_tagged : photos that have a word of the model, by a caption or by an answer
    """

    corpus: Corpus
    paths: list[str]
    groups: NDArray[np.int64] = field(repr=False)
    sample: NDArray[np.int64] = field(repr=False)
    judged: NDArray[np.int64] = field(repr=False)
    presence: NDArray[np.float64] = field(repr=False)
    truth: NDArray[np.bool_] = field(repr=False)
    known: NDArray[np.bool_] = field(repr=False)
    skipped: tuple[str, ...]
    n_tagged: int

    @property
    def measured(self) -> bool:
        """Whether probabilities could be compared with anything."""
        return not np.isnan(self.presence).any()


def gather_answers(
    catalog: Catalog,
    learned: Learned,
    folder: Path,
    names: Mapping[str, str] | None = None,
    *,
    workers: int = 2,
    report: Report = silent,
) -> HeldOutAnswers:
    """Look at the photos as the model does, and ask models just like it about hidden tags.

    `names` are those that words of the model have today (`evaluating.names_today`), where they have others. Raises
    CorpusError where too few photos carry one of the model's words.
    """
    names = {word: word for word in learned.vocabulary} if names is None else names
    # Of no other words: whether captions suffice is to be decided as `learn` did.
    training_tags = _as_then(gather(catalog, 1, names.values()), names).in_words(learned.vocabulary)
    photos = [Photo(image.content.hex(), catalog.root / image.path) for image in training_tags.images]
    description = describe(
        photos,
        learned.features,
        captions=training_tags.captions,
        vocabulary=learned.vocabulary,
        workers=workers,
        cache=catalog.cache,
        progress=lambda done, total: report("Looking at photos", done, total),
    )
    positions = description.positions
    corpus = training_tags.taught(description.corpus, positions)
    n_tagged = int(corpus.tagged.sum())
    if n_tagged < N_FOLDS:
        raise CorpusError(
            f"only {counted(n_tagged, 'photo')} with a word of this model, too few to judge it; tag at least {N_FOLDS}"
        )
    asked = training_tags.judged[positions]
    sample = _sample(corpus)
    own_images = [training_tags.images[i] for i in positions]
    groups = hidden_together(corpus, own_images)
    places = [dirname(image.path) for image in own_images]
    corpus = with_omissions(corpus, training_tags, positions, places, groups, SEED).corpus
    scores = _held_out(learned, folder, corpus, groups, sample, asked, report)
    inside = asked[scores.rows] & scores.p.any(axis=1)
    judged = sample[inside]
    said = training_tags.at(np.asarray(positions)[judged])
    return HeldOutAnswers(
        corpus,
        [image.path for image in own_images],
        groups,
        sample,
        judged,
        _honest(scores.p[inside], said, scores.fold_of[inside]),
        said.truth,
        said.known,
        unreadable_lines(description, training_tags.images),
        training_tags.with_all_answers(description.corpus, positions).n_with_words,
    )


def _as_then(tags: TrainingTags, names: Mapping[str, str]) -> TrainingTags:
    """The same under the names that words had when the model was learned."""
    then = {now: word for word, now in names.items()}
    captions = [[then[word] for word in words] for words in tags.captions]
    return replace(tags, vocabulary=Vocabulary([then[word] for word in tags.vocabulary]), captions=captions)


def _honest(p: NDArray[np.float64], said: TrainingTags, fold_of: NDArray[np.int64]) -> NDArray[np.float64]:
    try:
        return cross_fitted(p, said.truth, said.known, fold_of, seed=SEED)
    except CorpusError:
        return np.full(p.shape, np.nan)


def _sample(corpus: Corpus) -> NDArray[np.int64]:
    """Positions of the photos that models are fitted on: as many of a large collection as figures can be drawn from."""
    if len(corpus) <= MOST_PHOTOS:
        return np.arange(len(corpus))
    order = np.random.default_rng(SEED).permutation(len(corpus))
    tagged = order[corpus.tagged[order]][:MOST_TAGGED]
    others = order[~corpus.tagged[order]]
    others = others[np.argsort(~corpus.answered[others], kind="stable")][: MOST_PHOTOS - len(tagged)]
    return np.sort(np.concatenate([tagged, others]))


# --- Held-out answers, kept --------------------------------------------------------------------------------------


def _held_out(
    learned: Learned,
    folder: Path,
    corpus: Corpus,
    groups: NDArray[np.int64],
    sample: NDArray[np.int64],
    judged: NDArray[np.bool_],
    report: Report,
) -> HeldOut:
    """Answers for the photos of the sample, zeros for those that nobody judged."""
    path = folder / f"held-out-{_key(folder, corpus, groups, judged)}.safetensors"
    kept = _read(path, sample, corpus.n_words)
    if kept is not None:
        return kept
    report("Hiding tags", 0, None)
    some = held_out_again(
        learned.annotator,
        corpus[sample],
        also=judged[sample],
        groups=groups[sample],
        seed=SEED,
        on_fold=lambda done, total: report("Hiding tags", done, total),
    )
    scores = HeldOut(some.p, some.fold_of, sample)
    try:
        rows = np.flatnonzero(scores.p.any(axis=1))
        write_model(path, {}, {"rows": rows, "p": scores.p[rows], "fold_of": scores.fold_of})
        for old in folder.glob("held-out-*.safetensors"):
            if old != path:
                old.unlink()
    except OSError:  # a catalog that can't be written: next time they are made again
        pass
    return scores


def _read(path: Path, sample: NDArray[np.int64], n_words: int) -> HeldOut | None:
    try:
        _, arrays = read_model(path)
        p = np.zeros((len(sample), n_words))
        p[arrays["rows"]] = arrays["p"]
        fold_of = arrays["fold_of"]
    except (
        TopictureError,
        KeyError,
        ValueError,
        IndexError,
    ):  # not there, or not what was written: made again
        return None
    return HeldOut(p, fold_of, sample) if fold_of.shape == (len(sample),) else None


def _key(folder: Path, corpus: Corpus, groups: NDArray[np.int64], judged: NDArray[np.bool_]) -> str:
    """Changes with the model, the photos, what was said about them, and what is hidden together."""
    digest = hashlib.sha256(f"{N_FOLDS} {SEED} sample ".encode())
    for name in ("model.safetensors", "features.safetensors"):
        digest.update(hashlib.sha256((folder / name).read_bytes()).digest())
    digest.update("\0".join(corpus.image_ids.tolist()).encode())
    said = [table for table in (corpus.captions, corpus.answers) if table is not None]
    parts = [part for table in said for part in (table.indptr, table.indices, table.data)]
    parts += [part for part in (corpus.completeness, corpus.places) if part is not None]
    for array in (*parts, groups, judged):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
