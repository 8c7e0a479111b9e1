"""What a word is confused with, by the answers that the newest model gave while the tags were hidden.

Taken are the photos that were tagged when it was learned, and the tags they have now. A word counts as suggested where
its calibrated probability reached even odds; a photo lacks it where it was captioned without it, or rejected it.
"""

from dataclasses import dataclass

import numpy as np

from topicture.app.learning.reports import load_report
from topicture.collection.words import clean_word
from topicture.store import Catalog

__all__ = ["Confusion", "Confusions", "confusions"]

BLOCK = 2048  # photos whose answers are unfolded at a time
EVEN_ODDS = 0.5
MOST, LEAST, EXAMPLES = 8, 2, 6  # words to name, photos that show one, and photos to show of it


@dataclass(frozen=True)
class Confusion:
    """Another word: on how many of the photos in question, which share of them that is, and which share of all."""

    word: str
    photos: int
    share: float
    usual: float
    examples: tuple[int, ...]


@dataclass(frozen=True)
class Confusions:
    """A word against hidden tags.

    Attributes
    ----------
    judged : photos whose answers are known; None where the model kept none
    right, wrong, missed : suggested and true; suggested and not; true and not suggested
    instead : true words where this one was suggested wrongly
    taken_for : words wrongly suggested where this one was true and was missed
    """

    word: str
    judged: int | None
    right: int = 0
    wrong: int = 0
    missed: int = 0
    instead: tuple[Confusion, ...] = ()
    taken_for: tuple[Confusion, ...] = ()


def confusions(catalog: Catalog, word: str) -> Confusions:
    """What a word is confused with; raises NotFitted where nothing was learned."""
    from topicture.app.learning.model_folder import load_answers, load_judged

    word = clean_word(word)
    folder = catalog.model_folder(catalog.suggestions.newest())
    means = catalog.decisions.merged_words()
    names = [means.get(tag["word"], tag["word"]) for tag in load_report(folder)["tags"]]
    answers = load_answers(folder, len(names))
    if answers is None or word not in names:
        return Confusions(word, None)
    calibration, _ = load_judged(folder, len(names))
    images = [catalog.files.image_of(content.tobytes()) for content in answers.content]
    suggested = np.zeros((len(images), len(names)), bool)
    for start in range(0, len(images), BLOCK):
        rows = slice(start, start + BLOCK)
        suggested[rows] = calibration.near(answers.p[rows].toarray().astype(np.float64)) >= EVEN_ODDS
    truth, known = _verdicts(catalog, images, names)
    mine = [i for i, name in enumerate(names) if name == word]
    is_suggested, is_true, is_known = (np.any(table[:, mine], axis=1) for table in (suggested, truth, known))
    wrong, missed = is_suggested & ~is_true & is_known, is_true & ~is_suggested
    return Confusions(
        word,
        int(is_known.sum()),
        int((is_suggested & is_true).sum()),
        int(wrong.sum()),
        int(missed.sum()),
        _others(wrong, truth, names, mine, images),
        _others(missed, suggested & known & ~truth, names, mine, images),
    )


def _verdicts(catalog: Catalog, images: list[int | None], names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """(photos, words): people say it is there; people have judged it."""
    row = {image: i for i, image in enumerate(images) if image is not None}
    columns: dict[str, list[int]] = {}
    for column, name in enumerate(names):
        columns.setdefault(name, []).append(column)
    truth = np.zeros((len(images), len(names)), bool)
    known = np.zeros_like(truth)
    own = set(catalog.decisions.captions.images().tolist())
    captioned = np.array([image in own for image in images], bool)
    for image, word, verdict, source in catalog.decisions.all_tags():
        if image not in row or source == "bulk":
            continue
        for column in columns.get(word, ()):
            truth[row[image], column] = verdict == "present"
            known[row[image], column] = True
    known[captioned] = True
    return truth, known


def _others(
    rows: np.ndarray, table: np.ndarray, names: list[str], mine: list[int], images: list[int | None]
) -> tuple[Confusion, ...]:
    """The other words of some photos that are there more often than usual, the most telling first."""
    if not rows.any():
        return ()
    counts, usual = table[rows].sum(axis=0), table.mean(axis=0)
    share = counts / rows.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        telling = np.where(counts >= LEAST, counts * np.log(share / usual), -np.inf)
    telling[mine] = -np.inf
    found = []
    for column in np.argsort(-telling, kind="stable")[:MOST].tolist():
        if telling[column] <= 0:
            break
        there = np.flatnonzero(rows & table[:, column])[:EXAMPLES]
        examples = tuple(image for i in there.tolist() if (image := images[i]) is not None)
        found.append(
            Confusion(
                names[column], int(counts[column]), float(share[column]), float(usual[column]), examples
            )
        )
    return tuple(found)
