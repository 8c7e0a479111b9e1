"""Data of the page: words."""

from typing import Any

from starlette.routing import Route

from topicture.app.verbs.words.confusions import confusions
from topicture.app.verbs.words.editing import (
    WordEdit,
    delete_word,
    merge_words,
    rename_word,
    set_parent,
    set_policy,
)
from topicture.app.verbs.words.listing import list_words
from topicture.app.verbs.words.proposals import dismiss_proposal, propose_merges
from topicture.app.web.answers import BadRequest, Question, get, post
from topicture.app.web.site import Site

__all__ = ["ROUTES"]


def words(site: Site, question: Question) -> Any:
    with site.need_library().reading() as catalog:
        return {"words": list_words(catalog, question.text("q") or "")}


def proposals(site: Site, question: Question) -> Any:
    with site.need_library().reading() as catalog:
        return {"proposals": propose_merges(catalog)}


def word_confusions(site: Site, question: Question) -> Any:
    word = question.text("word")
    if word is None:
        raise BadRequest("word is missing")
    with site.need_library().reading() as catalog:
        return confusions(catalog, word)


def rename(site: Site, question: Question) -> WordEdit:
    word, to = _text(question, "word"), _text(question, "to")
    with site.need_library().writing("words") as catalog:
        return rename_word(catalog, word, to)


def merge(site: Site, question: Question) -> WordEdit:
    former, into = _texts(question, "words"), _text(question, "into")
    with site.need_library().writing("words") as catalog:
        return merge_words(catalog, former, into)


def delete(site: Site, question: Question) -> WordEdit:
    word = _text(question, "word")
    with site.need_library().writing("words") as catalog:
        return delete_word(catalog, word)


def parent(site: Site, question: Question) -> WordEdit:
    word = _text(question, "word")
    above = None if question.body.get("parent") is None else _text(question, "parent")
    with site.need_library().writing("words") as catalog:
        return set_parent(catalog, word, above)


def policy(site: Site, question: Question) -> WordEdit:
    word, wanted = _text(question, "word"), _text(question, "policy")
    precision = question.body.get("precision")
    if precision is not None and (isinstance(precision, bool) or not isinstance(precision, int | float)):
        raise BadRequest("precision must be a number")
    with site.need_library().writing("words") as catalog:
        return set_policy(catalog, word, wanted, precision)


def dismiss(site: Site, question: Question) -> Any:
    pair = _texts(question, "words")
    if len(pair) != 2:
        raise BadRequest("words must be two words")
    dismissed = question.body.get("dismissed", True) is not False
    with site.need_library().writing("words") as catalog:
        dismiss_proposal(catalog, *pair, dismissed=dismissed)
    return {"dismissed": dismissed}


def _text(question: Question, name: str) -> str:
    value = question.body.get(name)
    if not isinstance(value, str):
        raise BadRequest(f"{name} must be a text")
    return value


def _texts(question: Question, name: str) -> list[str]:
    value = question.body.get(name)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise BadRequest(f"{name} must be a list of texts")
    return value


ROUTES: list[Route] = [
    get("/words", words),
    get("/words/proposals", proposals),
    get("/words/confusions", word_confusions),
    post("/words/rename", rename),
    post("/words/merge", merge),
    post("/words/delete", delete),
    post("/words/parent", parent),
    post("/words/policy", policy),
    post("/words/proposals/dismiss", dismiss),
]
