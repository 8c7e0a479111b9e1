"""Data of the page: teach."""

from typing import Any

from topicture.app.verbs.teaching.teach import teach as teach_word
from topicture.app.web.answers import BadRequest, Question, post
from topicture.app.web.site import Site

__all__ = ["ROUTES"]

MOST = 5000


def teach(site: Site, question: Question) -> Any:
    body = question.body
    word, query = body.get("word"), body.get("query", "")
    if not isinstance(word, str) or not word.strip():
        raise BadRequest("word must name the tag to teach")
    if not isinstance(query, str):
        raise BadRequest("query must be a text")
    with site.need_library().reading() as catalog:
        return teach_word(
            catalog,
            word,
            _numbers(body, "yes"),
            _numbers(body, "no"),
            offset=_number(body, "offset", 0, 1 << 31),
            limit=_number(body, "limit", 48, 500, least=1),
            query=query,
            seed=_number(body, "seed", 0, 1 << 31),
        )


def _number(body: dict[str, Any], name: str, default: int, most: int, *, least: int = 0) -> int:
    value = body.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadRequest(f"{name} must be a whole number between {least} and {most}")
    return value


def _numbers(body: dict[str, Any], name: str) -> list[int]:
    value = body.get(name, [])
    if not isinstance(value, list) or len(value) > MOST:
        raise BadRequest(f"{name} must be a list of at most {MOST} photos")
    return [_number({name: each}, name, 0, 1 << 53) for each in value]


ROUTES = [post("/teach", teach)]
