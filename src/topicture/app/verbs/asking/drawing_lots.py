"""Questions that are drawn at random, and what the answers are worth.

An answer that somebody chose to give says little about the others; a sample does. So `review` mixes in questions about
words that tagged photos lack ("did you leave this out?"), drawn in strata of their probability with recorded chances;
and before a bulk acceptance some of what would be accepted can be drawn and asked about.
"""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from topicture.annotations.shift.completeness import SHARES, STRATA
from topicture.app.learning.reports import load_report
from topicture.app.verbs.asking.left_out import Absent, absent_words, has_index, left_out
from topicture.app.verbs.asking.question import Question, photo_by_photo
from topicture.store import Catalog
from topicture.store.questions import Drawn

__all__ = [
    "Audit",
    "audit_verdict",
    "draw_missing",
    "least_probabilities",
    "missing_words",
    "note_drawn",
    "questions_of_strata",
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


def least_probabilities(catalog: Catalog, precision: float) -> dict[str, float]:
    """Word, by its name of today -> the probability from which on its open suggestions reach a precision.

    What was accepted before does not vouch for what is left: evidence above the surest open suggestion of a word does
    not count. Of several words that were merged into one, the most cautious counts, unless that one was known to the
    model itself. It is the same whichever of them are to be accepted: words vouch for each other, too.
    """
    from topicture.annotations.choice.presence import thresholds
    from topicture.app.learning.model_folder import load_judged

    model = catalog.suggestions.newest()
    folder = catalog.model_folder(model)
    words = [tag["word"] for tag in load_report(folder)["tags"]]
    _, pairs = load_judged(folder, len(words))
    means = catalog.decisions.merged_words()
    names = [means.get(word, word) for word in words]
    # Only where something was accepted: elsewhere nothing is missing from the top.
    highest = dict.fromkeys(catalog.decisions.machine_counts(), 0.0)
    for name in highest:
        for surest in islice(catalog.suggestions.surest(model.id, word=name), 1):
            highest[name] = surest.probability
    below = np.array([highest.get(name, np.inf) for name in names])
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
    catalog: Catalog,
    *,
    tag: str | None = None,
    image: int | None = None,
    by_image: bool = False,
    limit: int = 50,
) -> list[Question]:
    """Words that tagged photos have not, the most probably left out first; or all of each photo together."""
    found = list(islice(left_out(catalog, tag, None if image is None else {image}), limit))
    if by_image:
        photos = dict.fromkeys(pair.image for pair in found)
        found = photo_by_photo(left_out(catalog, tag, photos))[:limit]
    paths = catalog.files.first_paths({pair.image for pair in found})
    return [Question(paths[p.image], p.image, p.word, p.probability, left_out=True) for p in found]


def draw_missing(catalog: Catalog, n: int, seed: int | None = None) -> list[Question]:
    """n questions at random about words that tagged photos have not, most from strata in which answers tell most.

    How many of each stratum is a lot as well where n is small: a stratum that rounding left out each time would never
    be asked about.
    All pairs are counted first, word by word; then only the words that were drawn are looked at again. Where there is
    no index yet, there are none.
    """
    if not has_index(catalog):
        return []
    rng = np.random.default_rng(seed)
    words, rows = [], [np.zeros(1 + len(STRATA), np.int64)]
    for absent in absent_words(catalog):
        words.append(absent.word)
        rows.append(np.bincount(_stratum(absent), minlength=1 + len(STRATA)))
    ends = np.cumsum(rows, axis=0)  # of a word, within each stratum
    chosen: dict[str, list[tuple[int, int, float]]] = {}  # word -> stratum, place within it, chance
    expected = questions_of_strata(n, ends[-1])
    up_to = np.concatenate([[0.0], np.cumsum(expected)])
    wanted = np.diff(
        np.floor(up_to + rng.random() + 1e-9).astype(int)
    )  # so many on average, however few are asked
    for stratum in np.flatnonzero(wanted).tolist():
        size = int(ends[-1, stratum])
        for lot in rng.choice(size, min(int(wanted[stratum]), size), replace=False).tolist():
            at = int(np.searchsorted(ends[:, stratum], lot, side="right")) - 1
            place = lot - int(ends[at, stratum])
            chosen.setdefault(words[at], []).append((stratum, place, float(expected[stratum]) / size))
    images, drawn = catalog.index_images(), []
    for absent in absent_words(catalog, frozenset(chosen)) if chosen else ():
        strata = _stratum(absent)
        for stratum, place, chance in chosen[absent.word]:
            at = int(np.flatnonzero(strata == stratum)[place])
            presence = float(np.exp(np.float64(absent.log_p[at])))
            drawn.append((int(images[absent.positions[at]]), absent.word, presence, chance))
    paths = catalog.files.first_paths({image for image, *_ in drawn})
    order = rng.permutation(len(drawn)).tolist()  # not word by word, nor the likely ones last
    return [
        Question(paths[image], image, word, presence, chance, left_out=True)
        for image, word, presence, chance in (drawn[i] for i in order)
    ]


def questions_of_strata(n: int, sizes: np.ndarray) -> np.ndarray:
    """How many of n questions each stratum has on average, (6,), for so many pairs in them: by shares, none twice."""
    expected, full = np.zeros(len(sizes)), sizes == 0
    for _ in sizes:
        shares = np.where(full, 0.0, SHARES)
        left = max(min(n, int(sizes.sum())) - float(expected[full].sum()), 0.0)
        expected = np.where(full, expected, left * shares / max(float(shares.sum()), 1e-300))
        over = expected >= sizes
        if (over == full).all():
            break
        expected, full = np.where(over, sizes, expected), over
    return expected


def _stratum(absent: Absent) -> np.ndarray:
    return np.digitize(absent.log_p, np.log(STRATA).astype(absent.log_p.dtype))


def note_drawn(catalog: Catalog, drawn: Sequence[Question]) -> None:
    """Keep which questions are going to be asked, and with which chance they were drawn; `catalog` is open to write."""
    catalog.questions.note(
        [Drawn(q.image, q.word, q.probability, q.drawn or 0.0) for q in drawn],
        catalog.suggestions.newest().id,
    )


def with_missing(catalog: Catalog, questions: list[Question], seed: int | None = None) -> list[Question]:
    """The questions with one in ten replaced by one that was drawn at random; those are noted as drawn.

    `catalog` is open to write. Where there is no index yet, the questions stay as they are.
    """
    n = round(SHARE_OF_QUESTIONS * len(questions))
    drawn = draw_missing(catalog, n, seed) if n else []
    asked = {(q.image, q.word) for q in questions}
    drawn = [q for q in drawn if (q.image, q.word) not in asked]
    note_drawn(catalog, drawn)
    kept = questions[: len(questions) - len(drawn)]
    step = max(1, len(questions) // max(len(drawn), 1))
    for number, question in enumerate(drawn):
        kept.insert(min(len(kept), (number + 1) * step - 1), question)
    return kept
