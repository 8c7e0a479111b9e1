"""How many suggestions are open, tag by tag: counted once, then only for the words that were decided on since."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topicture.store import Catalog
from topicture.store.decisions.past_steps import PastSteps
from topicture.store.suggestions import OpenOfWord, in_gain_order

__all__ = ["open_tags"]

MANY = 30  # words decided on since: counting all of them anew is as quick


@dataclass
class _Counted:
    """What was found last time, and of what: `about` names scan and model, `log` the ends of the log of decisions."""

    about: Any
    log: tuple[int, int]
    gone: list[int]
    tags: list[OpenOfWord] | None = None


_counted: dict[Path, _Counted] = {}


def open_tags(catalog: Catalog, word: str | None = None) -> list[OpenOfWord]:
    """The open suggestions of the newest model, of each word or of one; where one stroke settles most, first."""
    models = catalog.suggestions.models()
    if not models:
        return []
    past = PastSteps(catalog.database)
    about = catalog.get("id"), catalog.get("scanned"), models[0].id, models[0].annotated
    log = past.ends()
    known = _counted.get(catalog.folder)
    if known is None or known.about != about:  # only a scan finds out that a file is gone
        known = _counted[catalog.folder] = _Counted(about, log, catalog.files.gone_images())

    def count(text: str | None = None) -> list[OpenOfWord]:
        return catalog.suggestions.open_by_word(models[0].id, text, gone=known.gone)

    if word is not None:
        return count(word)
    changed = None if known.tags is None else past.words_since(known.log)
    if known.tags is None or changed is None or len(changed) > MANY:
        tags = count()
    else:
        rest = [tag for tag in known.tags if tag.word not in changed]
        tags = in_gain_order(rest + [tag for text in changed for tag in count(text)])
    _counted[catalog.folder] = _Counted(about, log, known.gone, tags)
    return tags
