"""Words that may be one: plurals, spellings, and words on the same photos. Somebody who says no is not asked again."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from topicture.collection.words import clean_word
from topicture.store import Catalog
from topicture.store.words import Word

__all__ = ["Proposal", "dismiss_proposal", "propose_merges"]

MOST = 50
EXAMPLES = 4  # photos per word
LEAST_TOGETHER, SAME_PHOTOS = 4, 0.8  # photos that have both words; their share of those that have either
SHORTEST = 5  # letters of a word that may be misspelt
SHUFFLES = (np.random.default_rng(0).integers(1 << 62, size=6) * 2 + 1).astype(np.uint64)
RARE = 10  # a misspelling is on this many times fewer photos than the word that was meant


@dataclass(frozen=True)
class Proposal:
    """Words to merge into one; `examples` are photos (ids) of each word, `kind` is plural, spelling or photos."""

    kind: str
    words: tuple[str, ...]
    into: str
    reason: str
    photos: dict[str, int]
    examples: dict[str, tuple[int, ...]]


def propose_merges(catalog: Catalog) -> list[Proposal]:
    """Pairs of words that may be one, the surest kinds and most frequent words first."""
    words = {word.word: word for word in catalog.words.all() if word.present}
    left_alone = catalog.words.unlike()
    found: dict[frozenset[str], tuple[str, str, str, str]] = {}
    for kind, (first, second, reason) in _candidates(catalog, words):
        pair = frozenset((first, second))
        if pair not in left_alone and not _is_nested(words[first], words[second]):
            found.setdefault(pair, (kind, first, second, reason))
    order = ("spelling", "plural", "photos")
    ranked = sorted(
        found.values(),
        key=lambda f: (order.index(f[0]), -words[f[1]].present - words[f[2]].present, f[1], f[2]),
    )
    return [_proposal(catalog, words, *each) for each in ranked[:MOST]]


def dismiss_proposal(catalog: Catalog, first: str, second: str, *, dismissed: bool = True) -> None:
    """Do not propose two words as one again; or, with `dismissed` false, do."""
    catalog.words.set_unlike(clean_word(first), clean_word(second), dismissed)


def _proposal(
    catalog: Catalog, words: dict[str, Word], kind: str, first: str, second: str, reason: str
) -> Proposal:
    into, former = sorted((first, second), key=lambda word: (-words[word].present, word))
    if kind == "plural" and not words[into].present > RARE * words[former].present:
        into, former = sorted((first, second), key=lambda word: (len(word), word))  # the singular
    pair = (former, into)
    examples = {word: tuple(catalog.decisions.images_with([word], "present")[:EXAMPLES]) for word in pair}
    return Proposal(kind, pair, into, reason, {word: words[word].present for word in pair}, examples)


def _candidates(catalog: Catalog, words: dict[str, Word]) -> Iterator[tuple[str, tuple[str, str, str]]]:
    for kind, pairs in (
        ("spelling", _same_letters(words)),
        ("plural", _plurals(words)),
        ("spelling", _misspelt(words)),
        ("photos", _on_same_photos(catalog, words)),
    ):
        for pair in pairs:
            yield kind, pair


def _is_nested(first: Word, second: Word) -> bool:
    """One was put below the other: they are two words to their owner."""
    return first.parent == second.word or second.parent == first.word


# --- Spelling -----------------------------------------------------------------------------------------------------


def _folded(word: str) -> str:
    """Without case, accents, blanks and signs between letters."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))
    return re.sub(r"[\W_]+", "", plain) or plain


def _same_letters(words: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    groups = defaultdict(list)
    for word in words:
        groups[_folded(word)].append(word)
    for group in groups.values():
        for first, second in combinations(sorted(group), 2):
            yield first, second, "written differently"


def _plurals(words: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    known: dict[str, str] = {}
    for word in words:
        known.setdefault(word.casefold(), word)
    for word in words:
        for singular in _singulars(word.casefold()):
            if singular in known and known[singular] != word:
                yield known[singular], word, "singular and plural"


def _singulars(word: str) -> Iterator[str]:
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        yield word[:-1]
        if word.endswith("ies"):
            yield word[:-3] + "y"
        if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
            yield word[:-2]
        if word.endswith("ves"):
            yield word[:-3] + "f"
            yield word[:-3] + "fe"
    if word.endswith("men"):
        yield word[:-3] + "man"
    if word == "children":
        yield "child"


def _misspelt(words: dict[str, Word]) -> Iterator[tuple[str, str, str]]:
    """Rare words that are one letter away from a frequent one. Words that share a word short of a letter meet there."""
    groups: dict[str, set[str]] = defaultdict(set)
    for word in words:
        if len(word) >= SHORTEST:
            folded = word.casefold()
            groups[folded].add(word)
            for i in range(len(folded)):
                groups[folded[:i] + folded[i + 1 :]].add(word)
    seen = set()
    for group in groups.values():
        for first, second in combinations(sorted(group), 2):
            if (first, second) in seen or not _one_letter_apart(first.casefold(), second.casefold()):
                continue
            seen.add((first, second))
            many, few = sorted((words[first].present, words[second].present), reverse=True)
            if many >= RARE * few and first.isalpha() and second.isalpha():
                yield first, second, "one letter apart, and one of them is rare"


def _one_letter_apart(first: str, second: str) -> bool:
    """A letter too many, too few, another one, or two neighbours the wrong way round."""
    if first == second:
        return False
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    a, b = first[start:], second[start:]
    return a[1:] == b[1:] or a == b[1:] or a[1:] == b or (a[:2] == b[1::-1] and a[2:] == b[2:])


# --- Photos -------------------------------------------------------------------------------------------------------


def _on_same_photos(catalog: Catalog, words: dict[str, Word]) -> Iterator[tuple[str, str, str]]:
    """Pairs of words that nearly always come together.

    Two words of this many photos in common nearly surely have the same first photo in one of a few shuffled orders, so
    only those that do are compared.
    """
    images = {word: numbers for word, numbers in catalog.words.images() if len(numbers) >= LEAST_TOGETHER}
    groups = defaultdict(list)
    for word, numbers in images.items():
        for order in SHUFFLES:
            mixed = (numbers.astype(np.uint64) + np.uint64(1)) * order
            groups[int(order), int(np.min(mixed ^ (mixed >> np.uint64(29))))].append(word)
    for pair in {pair for group in groups.values() for pair in combinations(sorted(group), 2)}:
        if not all(word in words for word in pair):
            continue
        both = len(np.intersect1d(images[pair[0]], images[pair[1]], assume_unique=True))
        either = sum(len(images[word]) for word in pair) - both
        if both >= LEAST_TOGETHER and both >= SAME_PHOTOS * either:
            yield *pair, f"on the same photos ({both} of {either})"
