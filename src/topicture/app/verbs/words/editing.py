"""Rename, merge and delete words, put them below others, say what to do with their suggestions; each is one step."""

from collections.abc import Sequence
from dataclasses import dataclass

from topicture.collection.words import clean_word
from topicture.errors import DataNotFound, TopictureError
from topicture.store import Catalog
from topicture.store.words import POLICIES

__all__ = ["WordEdit", "delete_word", "merge_words", "rename_word", "set_parent", "set_policy", "tag_in_use"]


@dataclass(frozen=True)
class WordEdit:
    """What was done: the step in the log, for `undo` (None where nothing changed), and the photos it touched."""

    step: int | None
    photos: int
    text: str


def rename_word(catalog: Catalog, word: str, to: str) -> WordEdit:
    """Give a word another name on all photos; raises TopictureError where that is a word in use already."""
    old, new = tag_in_use(catalog, word), clean_word(to)
    if old == new:
        return WordEdit(None, 0, f"{old} is called that already")
    if catalog.words.in_use(new) is not None:
        raise TopictureError(f"there is a tag {new!r} already; merge {old!r} into it instead")
    _check_meaning(catalog, new, [old])
    done = catalog.words.merge([old], new, "rename")
    return WordEdit(done.step, done.photos, f"{old} is now called {new}")


def merge_words(catalog: Catalog, words: Sequence[str], into: str) -> WordEdit:
    """Make several words one, which may be among them or new: photos that have any of them have it."""
    target = clean_word(into)
    former = [word for word in dict.fromkeys(tag_in_use(catalog, word) for word in words) if word != target]
    if not former:
        raise TopictureError("name at least one tag to merge, and another one to merge it into")
    _check_meaning(catalog, target, former)
    done = catalog.words.merge(former, target)
    return WordEdit(done.step, done.photos, f"{', '.join(former)} merged into {target}")


def delete_word(catalog: Catalog, word: str) -> WordEdit:
    """Take a word away from every photo and stop suggesting it."""
    cleaned = tag_in_use(catalog, word)
    step = catalog.decisions.step("delete")
    n = catalog.decisions.delete_word(cleaned, step)
    return WordEdit(step.made, n, f"{cleaned} deleted")


def set_parent(catalog: Catalog, word: str, parent: str | None) -> WordEdit:
    """Put a word below another one, new or not, or (None) below none; raises TopictureError for a ring."""
    child = tag_in_use(catalog, word)
    if parent is None:
        return WordEdit(catalog.words.set_parent(child, None), 0, f"{child} stands by itself")
    above = clean_word(parent)
    return WordEdit(catalog.words.set_parent(child, above), 0, f"{child} is below {above}")


def set_policy(catalog: Catalog, word: str, policy: str, precision: float | None = None) -> WordEdit:
    """Say what to do with suggestions of a word.

    Parameters
    ----------
    policy : "suggest"; "accept", by itself whatever reaches `precision` on hidden tags; or "never" suggest it
    """
    cleaned = tag_in_use(catalog, word)
    if policy not in POLICIES:
        raise TopictureError(f"a policy is one of {', '.join(POLICIES)}, not {policy!r}")
    if policy == "accept" and (precision is None or not 0.5 <= precision < 1):
        raise TopictureError("to accept by itself needs a precision from 0.5 to below 1, as in 0.95")
    least = precision if policy == "accept" else None
    step = catalog.words.set_policy(cleaned, policy, least)
    said = {"suggest": "is suggested", "never": "is never suggested"}
    return WordEdit(step, 0, f"{cleaned} {said.get(policy) or f'is accepted from {least:.0%} precision on'}")


def tag_in_use(catalog: Catalog, word: str) -> str:
    """The clean form of a word that is in use; raises DataNotFound, with its new name where it was renamed."""
    cleaned = clean_word(word)
    if catalog.words.in_use(cleaned) is None:
        means = catalog.decisions.merged_words().get(cleaned)
        hint = f"it is called {means!r} now" if means else "'topicture tags' lists them"
        raise DataNotFound(f"no tag {word!r} is in use; {hint}")
    return cleaned


def _check_meaning(catalog: Catalog, name: str, taken_by: Sequence[str]) -> None:
    """Raise TopictureError where the newest model means another word by a name that was given up since."""
    means, models = catalog.decisions.merged_words().get(name), catalog.suggestions.models()
    if means is None or means in taken_by or not models:
        return
    if catalog.words.given_up(name) > models[0].learned:
        raise TopictureError(
            f"{name!r} is a former name of {means!r}, and the model still means that by it: run 'topicture learn' "
            "first, or choose another name"
        )
