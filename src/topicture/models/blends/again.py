"""A fit that goes on from an earlier one: answers for hidden captions are taken over as far as they are honest.

An answer stays honest whatever was decided since: it was given by members that had not seen the image's caption or
answers about it, nor those of its group. Images that something was said about since are answered by the earlier blend's
own members, which had not seen it either; unless something was said about an image of their group, which leaves them
without an answer, and without a fold.

When a fifth of what was said differs from what it was at the trials, trials are made again: the answers tell of members
that learned from what was said in the past.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from topicture.corpus import Corpus
from topicture.models.base import Annotator
from topicture.models.blends.hidden_answers import (
    HiddenAnswers,
    KnownAnswers,
    by_image,
    said_in,
    told_in_words,
)
from topicture.models.blends.members import FormerRow, Member, members_again, out_of_time

__all__ = ["MOST_CHANGE", "Again", "TakenOver", "honest_answers", "taken_over"]

MOST_CHANGE = 0.2  # of the words that were said, since the trials
MOST_NEW_WORDS = 0.1  # for each word of the trials; nobody was asked about them
LEAST_HONEST = 0.8  # of the answers that there were
MOST_NEW = 0.25  # images tagged since, for each answer that there was


class Again(NamedTuple):
    """An earlier fit to go on from.

    Attributes
    ----------
    members : those that its blend used, by their titles, learned from everything
    known : the answers that it left
    same : whether images and captions are the very same; what was learned from them is then taken as it is
    """

    members: Mapping[str, Annotator]
    known: KnownAnswers
    same: bool = False


class TakenOver(NamedTuple):
    """Members to choose from, their answers, and why others are not tried, by title."""

    members: list[Member]
    answers: HiddenAnswers
    not_again: dict[str, str]


def taken_over(
    again: Again,
    members: Sequence[Member],
    former: Sequence[FormerRow] | None,
    corpus: Corpus,
    groups: ArrayLike,
) -> TakenOver | None:
    """What a fit can go on from; None where trials must be made."""
    known, rows = again.known, {row.member: row for row in former or ()}
    said = by_image(corpus.image_ids.tolist(), corpus.vocabulary.words, said_in(corpus))
    new_words = set(corpus.vocabulary.words) - set(known.near.words)
    if len(new_words) > MOST_NEW_WORDS * len(known.near.words) or known.change(said) > MOST_CHANGE:
        return None
    chosen, not_again = [], members_again(members, former)[1]
    for member in members:
        row = rows.get(member.title)
        if row is None or out_of_time(row):  # a model that is new, or that now there may be time for
            return None
        if not member.takes(row.settings):
            return None
        if row.weight > 0:
            chosen.append(member._replace(settings=(row.settings,)))
        else:
            not_again.setdefault(member.title, row.again)
    if not chosen or any(member.title not in known.near.members for member in chosen):
        return None
    answers = honest_answers(known.near, again, [member.title for member in chosen], corpus, groups)
    return None if answers is None else TakenOver(chosen, answers, not_again)


def honest_answers(
    earlier: HiddenAnswers, again: Again, titles: Sequence[str], corpus: Corpus, groups: ArrayLike
) -> HiddenAnswers | None:
    """Answers of some members for the tagged images, as far as they are honest; None where too few are.

    `groups` (D,) are the images that are hidden together today.
    """
    order = np.argsort(corpus.image_ids, kind="stable")
    row_of = np.where(corpus.taught, earlier.rows_of(corpus.image_ids), -1)
    fold_of = np.where(row_of >= 0, earlier.fold_of[row_of], -1)
    group = np.unique(np.asarray(groups), return_inverse=True)[1]
    fold_of[_split(group, fold_of)[group]] = -1
    n_kept = int((fold_of >= 0).sum())
    n_folds = len(np.unique(earlier.fold_of))
    if n_kept < LEAST_HONEST * len(earlier.image_ids) or len(np.unique(fold_of[fold_of >= 0])) < n_folds:
        return None
    new = order[_unseen(again.known, corpus, group)[order]][: int(MOST_NEW * n_kept)]
    if len(new) and not all(title in again.members for title in titles):
        return None
    fold_of[new] = _dealt(group[new], np.bincount(fold_of[fold_of >= 0], minlength=n_folds))
    inside = order[fold_of[order] >= 0]
    p = np.zeros((len(titles), len(inside), len(earlier.words)), np.float16)
    old, since = row_of[inside] >= 0, row_of[inside] < 0
    for m, title in enumerate(titles):
        p[m, old] = earlier.p[earlier.members.index(title)][row_of[inside[old]]]
        if len(new):
            p[m, since] = _asked(again.members[title], corpus[inside[since]], earlier.words)
    return HiddenAnswers(tuple(titles), earlier.words, corpus.image_ids[inside], fold_of[inside], p)


def _split(group: NDArray[np.int64], fold_of: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Groups whose images were in several folds, when they were not yet known to be alike."""
    inside = fold_of >= 0
    lowest, highest = np.full(group.max() + 1, np.iinfo(np.int64).max), np.full(group.max() + 1, -1)
    np.minimum.at(lowest, group[inside], fold_of[inside])
    np.maximum.at(highest, group[inside], fold_of[inside])
    return highest > lowest


def _unseen(known: KnownAnswers, corpus: Corpus, group: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Images (D,) tagged since of whose groups the earlier blend had seen no caption."""
    seen = np.isin(corpus.image_ids, known.learned_from)
    # Whom an image was like that is tagged no more, or gone, is not known.
    if (seen & corpus.taught).sum() < len(known.learned_from):
        return np.zeros(len(corpus), bool)
    return corpus.taught & (np.bincount(group, seen) == 0)[group]


def _dealt(group: NDArray[np.int64], loads: NDArray[np.int64]) -> NDArray[np.int64]:
    """Folds (n,) for images of new groups: each group to the smallest."""
    loads, fold_of = loads.copy(), np.zeros(len(group), np.int64)
    for one in dict.fromkeys(group.tolist()):
        fold = int(np.argmin(loads))
        fold_of[group == one] = fold
        loads[fold] += (group == one).sum()
    return fold_of


def _asked(member: Annotator, images: Corpus, words: Sequence[str]) -> NDArray[np.float16]:
    own = member.vocabulary_
    blank = sparse.csr_array((len(images), len(own)), dtype=images.captions.dtype)
    asked = replace(
        images, vocabulary=own, captions=blank, word_vectors=None, answers=None, completeness=None
    )
    return told_in_words(member.annotate(asked), own.words, words)
