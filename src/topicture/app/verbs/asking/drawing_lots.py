"""Questions that are drawn at random, and what the answers are worth.

An answer that somebody chose to give says little about the others; a sample does. So `review` mixes in questions about
words that tagged photos lack ("did you leave this out?"), drawn in strata of their probability with recorded chances;
and before a bulk acceptance some of what would be accepted can be drawn and asked about.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topicture.annotations.shift.completeness import STRATA
from topicture.app.learning.reports import load_report
from topicture.app.verbs.asking.question import Question
from topicture.errors import DataNotFound
from topicture.search import WordIndex
from topicture.store import Catalog
from topicture.store.decisions.decisions import CAPTIONING
from topicture.store.questions import Drawn
from topicture.store.suggestions import Open

__all__ = [
    "Audit",
    "audit_verdict",
    "draw_missing",
    "least_probabilities",
    "missing_words",
    "strata_order",
    "with_missing",
]

SHARE_OF_QUESTIONS = 0.1
AUDITED = 30


class Audit(NamedTuple):
    """Answers about a random sample of what would be accepted."""

    asked: int
    right: int

    @property
    def precision(self) -> float:
        """What the sample says by itself."""
        return self.right / self.asked if self.asked else float("nan")


def audit_verdict(audit: Audit, precision: float) -> float:
    """Probability that at least that share of all is right, given the sample alone; 0 where nothing was asked.

    Beta(1, 1) before the sample.
    """
    from scipy.stats import beta

    return float(beta.sf(precision, 1 + audit.right, 1 + audit.asked - audit.right)) if audit.asked else 0.0


def least_probabilities(catalog: Catalog, open_: Sequence[Open], precision: float) -> dict[str, float]:
    """Word, by its name of today -> the probability from which on its open suggestions reach a precision.

    What was accepted before does not vouch for what is left: evidence above the surest open suggestion of a word does
    not count. Of several words that were merged into one, the most cautious counts, unless that one was known to the
    model itself.
    """
    from topicture.annotations.choice.presence import thresholds
    from topicture.app.learning.model_folder import load_judged

    folder = catalog.model_folder(catalog.suggestions.newest())
    words = [tag["word"] for tag in load_report(folder)["tags"]]
    _, pairs = load_judged(folder, len(words))
    means = catalog.decisions.merged_words()
    names = [means.get(word, word) for word in words]
    highest: dict[str, float] = {}
    for suggestion in open_:
        highest[suggestion.word] = max(highest.get(suggestion.word, 0.0), suggestion.probability)
    accepted = {
        word
        for _, word, verdict, source in catalog.decisions.all_tags()
        if verdict == "present" and source == "bulk"
    }
    # Only where something was accepted: elsewhere nothing is missing from the top.
    below = np.array([highest.get(name, 0.0) if name in accepted else np.inf for name in names])
    least = thresholds(pairs, len(words), precision, below=below).tolist()
    found: dict[str, float] = {}
    for word, name, reached in zip(words, names, least, strict=True):
        if word == name:
            found[name] = reached
        elif name not in words:
            found[name] = max(found.get(name, 0.0), reached)
    return found


def strata_order(probabilities: Sequence[float], seed: int = 0) -> np.ndarray:
    """A random order, (n,) ranks, in which every tenth of the range of probability takes its turn."""
    p = np.asarray(probabilities, np.float64)
    stratum = np.minimum((10 * p).astype(int), 9)
    rank = np.empty(len(p))
    lot = np.random.default_rng(seed).random(len(p))
    for one in np.unique(stratum):
        inside = np.flatnonzero(stratum == one)
        rank[inside[np.argsort(lot[inside])]] = np.arange(len(inside))
    return rank + lot  # equal turns in a random order


def missing_words(
    catalog: Catalog, *, tag: str | None = None, image: int | None = None, limit: int = 50
) -> list[Question]:
    """Words that tagged photos have not, the most probably left out first."""
    images, words, p = _absent(catalog)
    order = np.argsort(-p, kind="stable")
    found = []
    for at in order.tolist():
        if (tag is None or words[at] == tag) and (image is None or images[at] == image):
            found.append(at)
            if len(found) == limit:
                break
    paths = catalog.files.first_paths({int(images[at]) for at in found})
    return [Question(paths[int(images[at])], int(images[at]), words[at], float(p[at])) for at in found]


def draw_missing(catalog: Catalog, n: int, seed: int | None = None) -> list[Question]:
    """n questions at random about words that tagged photos have not, as many from each stratum of probability."""
    images, words, p = _absent(catalog)
    rng = np.random.default_rng(seed)
    stratum = np.digitize(p, STRATA)
    chosen: list[tuple[int, float]] = []
    kinds = np.unique(stratum)
    for number, one in enumerate(kinds):
        inside = np.flatnonzero(stratum == one)
        wanted = min(len(inside), (n - len(chosen)) // (len(kinds) - number))
        drawn = rng.choice(inside, wanted, replace=False)
        chosen += [(int(at), wanted / len(inside)) for at in drawn]
    paths = catalog.files.first_paths({int(images[at]) for at, _ in chosen})
    return [
        Question(paths[int(images[at])], int(images[at]), words[at], float(p[at]), chance)
        for at, chance in chosen
    ]


def with_missing(catalog: Catalog, questions: list[Question], seed: int | None = None) -> list[Question]:
    """The questions with one in ten replaced by one that was drawn at random; those are noted as drawn.

    `catalog` is open to write. Where there is no index yet, the questions stay as they are.
    """
    n = round(SHARE_OF_QUESTIONS * len(questions))
    try:
        drawn = draw_missing(catalog, n, seed) if n else []
    except DataNotFound:
        return questions
    asked = {(q.image, q.word) for q in questions}
    drawn = [q for q in drawn if (q.image, q.word) not in asked]
    catalog.questions.note(
        [Drawn(q.image, q.word, q.probability, q.drawn or 0.0) for q in drawn],
        catalog.suggestions.newest().id,
    )
    kept = questions[: len(questions) - len(drawn)]
    step = max(1, len(questions) // max(len(drawn), 1))
    for number, question in enumerate(drawn):
        kept.insert(min(len(kept), (number + 1) * step - 1), question)
    return kept


def _absent(catalog: Catalog) -> tuple[np.ndarray, list[str], np.ndarray]:
    """Image, word and probability of all pairs that nobody has decided, of photos with captions of their owner's."""
    folder = catalog.index_folder()
    if folder is None or not folder.exists():
        raise DataNotFound("there is no index yet; run 'topicture annotate'")
    index = WordIndex.open(folder)
    images = catalog.index_images()
    row = {int(image): i for i, image in enumerate(images)}
    open_ = np.zeros((len(images), len(index.vocabulary)), bool)
    decided = []
    for image, word, verdict, source in catalog.decisions.all_tags():
        if image not in row:
            continue
        open_[row[image]] |= verdict == "present" and source in CAPTIONING
        if word in index.vocabulary:
            decided.append((row[image], index.vocabulary.index(word)))
    if decided:
        open_[tuple(np.array(decided).T)] = False
    for word in catalog.decisions.deleted_words():
        if word in index.vocabulary:
            open_[:, index.vocabulary.index(word)] = False
    living = {image.image for image in catalog.files.living()}
    open_[[i for i, image in enumerate(images) if int(image) not in living]] = False
    rows, words = np.nonzero(open_)
    p = np.zeros(len(rows))
    for word in np.unique(words):
        mine = words == word
        p[mine] = np.exp(np.asarray(index.log_presence([int(word)]))[rows[mine]])
    return images[rows], [index.vocabulary[int(word)] for word in words], p
