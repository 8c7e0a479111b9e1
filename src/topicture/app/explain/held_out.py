"""What a learned model can be judged on: photos as numbers, what people said, the model's answers for hidden tags.

Held-out answers are not part of a model's folder. They are made again here, with the folds and settings of `learn`, and
kept beside the model under a name that tells what they were made from.
"""

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from posixpath import dirname as folder_of

import numpy as np
from numpy.typing import NDArray

from topicture.annotations.choice.presence import cross_fitted
from topicture.annotations.choice.refitting import held_out_again
from topicture.annotations.choice.trials import N_FOLDS, HeldOut
from topicture.app.counting import counted
from topicture.app.learning.learning import unreadable_lines
from topicture.app.learning.model_folder import Learned
from topicture.app.learning.training_tags import TrainingTags, gather
from topicture.app.progress import Report, silent
from topicture.corpus import Corpus, Vocabulary
from topicture.errors import CorpusError, TopictureError
from topicture.models.files import read_model, write_model
from topicture.models.look_alikes import look_alikes
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
    presence : (J, V) honest probabilities: neither model nor calibration had seen the photo's tags
    truth, known : (J, V) bool
    skipped : photos that could not be read, one line each
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


def gather_answers(
    catalog: Catalog, learned: Learned, folder: Path, *, workers: int = 2, report: Report = silent
) -> HeldOutAnswers:
    """Look at the photos as the model does, and ask models just like it about hidden tags.

    Raises CorpusError where too few photos carry one of the model's words.
    """
    training_tags = _in_words_of(gather(catalog, 1), learned.vocabulary)
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
    corpus, positions = description.corpus, description.positions
    n_tagged = int(corpus.tagged.sum())
    if n_tagged < N_FOLDS:
        raise CorpusError(
            f"only {counted(n_tagged, 'photo')} with a word of this model, too few to judge it; tag at least {N_FOLDS}"
        )
    truth, known = training_tags.truth[positions], training_tags.known[positions]
    sample = _sample(corpus)
    own_paths = [training_tags.images[i].path for i in positions]
    groups = look_alikes(corpus, [folder_of(path) for path in own_paths])
    scores = _held_out(learned, folder, corpus, groups, sample, known.any(axis=1), report)
    judged = known.any(axis=1) & scores.p.any(axis=1)
    return HeldOutAnswers(
        corpus,
        own_paths,
        groups,
        sample,
        np.flatnonzero(judged),
        cross_fitted(scores.p[judged], truth[judged], known[judged], scores.fold_of[judged], seed=SEED),
        truth[judged],
        known[judged],
        unreadable_lines(description, training_tags.images),
    )


def _in_words_of(training_tags: TrainingTags, vocabulary: Vocabulary) -> TrainingTags:
    """What people said, in the words of a model: words that are new are left out, words gone are on no photo."""
    present = [w for w in vocabulary if w in training_tags.vocabulary]
    old = [training_tags.vocabulary.index(w) for w in present]
    new = [vocabulary.index(w) for w in present]
    shape = (len(training_tags.images), len(vocabulary))
    truth, rejected, given, asked = (np.zeros(shape, bool) for _ in range(4))
    known = np.repeat(training_tags.captioned[:, None], len(vocabulary), axis=1)
    for table, source in (
        (truth, training_tags.truth),
        (rejected, training_tags.rejected),
        (given, training_tags.given),
        (asked, training_tags.asked),
        (known, training_tags.known),
    ):
        table[:, new] = source[:, old]
    captions = [[word for word in words if word in vocabulary] for words in training_tags.captions]
    return replace(
        training_tags,
        vocabulary=vocabulary,
        captions=captions,
        truth=truth,
        known=known,
        rejected=rejected,
        given=given,
        asked=asked,
    )


def _sample(corpus: Corpus) -> NDArray[np.int64]:
    """Positions of the photos that models are fitted on: as many of a large collection as figures can be drawn from."""
    if len(corpus) <= MOST_PHOTOS:
        return np.arange(len(corpus))
    order = np.random.default_rng(SEED).permutation(len(corpus))
    tagged = order[corpus.tagged[order]][:MOST_TAGGED]
    others = order[~corpus.tagged[order]][: MOST_PHOTOS - len(tagged)]
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
    """Answers for the photos of the sample, zeros for others."""
    path = folder / f"held-out-{_key(folder, corpus, groups, judged)}.safetensors"
    kept = _read(path, corpus)
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
    scores = HeldOut(np.zeros((len(corpus), corpus.n_words)), np.full(len(corpus), -1))
    scores.p[sample], scores.fold_of[sample] = some.p, some.fold_of
    try:
        rows = np.flatnonzero(scores.p.any(axis=1))
        write_model(path, {}, {"rows": rows, "p": scores.p[rows], "fold_of": scores.fold_of})
        for old in folder.glob("held-out-*.safetensors"):
            if old != path:
                old.unlink()
    except OSError:  # a catalog that can't be written: next time they are made again
        pass
    return scores


def _read(path: Path, corpus: Corpus) -> HeldOut | None:
    try:
        _, arrays = read_model(path)
        p = np.zeros((len(corpus), corpus.n_words))
        p[arrays["rows"]] = arrays["p"]
        fold_of = arrays["fold_of"]
    except (
        TopictureError,
        KeyError,
        ValueError,
        IndexError,
    ):  # not there, or not what was written: made again
        return None
    return HeldOut(p, fold_of) if fold_of.shape == (len(corpus),) else None


def _key(folder: Path, corpus: Corpus, groups: NDArray[np.int64], judged: NDArray[np.bool_]) -> str:
    """Changes with the model, the photos, what was said about them, and what is hidden together."""
    digest = hashlib.sha256(f"{N_FOLDS} {SEED} ".encode())
    for name in ("model.safetensors", "features.safetensors"):
        digest.update(hashlib.sha256((folder / name).read_bytes()).digest())
    digest.update("\0".join(corpus.image_ids.tolist()).encode())
    captions = corpus.captions
    for array in (captions.indptr, captions.indices, captions.data, groups, judged):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
