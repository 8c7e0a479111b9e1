"""Errors as the page tells them."""

import importlib
import pkgutil
import re

import pytest

import topicture
from topicture.app.web.failures import BadRequest, NoCatalog, described
from topicture.errors import BadWord, CorpusError, DataNotFound, NotFitted, TopictureError
from topicture.store import CatalogBusy


def all_errors():
    for module in pkgutil.walk_packages(topicture.__path__, "topicture."):
        if module.name.startswith(("topicture.app", "topicture.store", "topicture.errors")):
            importlib.import_module(module.name)

    def below(kind):
        return {kind, *(found for child in kind.__subclasses__() for found in below(child))}

    return sorted(below(TopictureError), key=lambda kind: kind.__name__)


def test_every_error_has_a_code_a_status_and_a_sentence():
    errors = all_errors()
    assert {BadWord, CatalogBusy, NoCatalog} <= set(errors)
    for kind in errors:
        error = kind.__new__(kind)
        error.args = ("something is wrong; run 'topicture scan' first",)
        status, values = described(error)
        assert 400 <= status < 600
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", values["code"]), kind
        assert values["message"] in ("something is wrong", "Nothing was learned yet."), kind
        assert "topicture " not in values["hint"]


@pytest.mark.parametrize(
    ("error", "status", "code", "message"),
    [
        (NotFitted("nothing yet: run 'topicture learn'"), 409, "nothing-learned", "Nothing was learned yet."),
        (CorpusError("there are no photos; run 'topicture scan'"), 422, "too-little-to-learn", "there are no photos"),
        (DataNotFound("x.json: missing; learn again"), 404, "not-found", "x.json: missing; learn again"),
        (BadRequest("limit must be a whole number"), 400, "bad-request", "limit must be a whole number"),
        (CatalogBusy("/p: 'topicture scan' has been writing; wait for it to end"), 409, "catalog-busy",
         "/p: 'topicture scan' has been writing; wait for it to end"),
        (OSError(28, "No space left on device"), 507, "disk-full", "The disk is full."),
        (BadWord("line\nbreak"), 422, "bad-word", "line\\nbreak"),
    ],
)  # fmt: skip
def test_what_is_told(error, status, code, message):
    told, values = described(error)
    assert (told, values["code"], values["message"]) == (status, code, message)


def test_an_error_may_carry_more():
    error = DataNotFound("no such word")
    error.code, error.more = "unknown-words", {"words": [{"word": "rosse", "nearest": ["rose"]}]}
    assert described(error)[1]["code"] == "unknown-words"
    assert described(error)[1]["words"] == [{"word": "rosse", "nearest": ["rose"]}]
