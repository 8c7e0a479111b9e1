"""Data of the page: review; and what every page decides and takes back."""

import math
from typing import Any

from topicture.app.verbs.asking.drawing_lots import draw_missing, note_drawn
from topicture.app.verbs.deciding import decide as deciding
from topicture.app.verbs.deciding.cards import cards
from topicture.app.verbs.deciding.overview import overview, tag_page
from topicture.app.verbs.deciding.questions import as_cards, questions
from topicture.app.verbs.plain import as_plain
from topicture.app.web.answers import BadRequest, Question, get, post
from topicture.app.web.site import Site
from topicture.store.decisions.past_steps import PastSteps

__all__ = ["ROUTES"]

MOST_AT_ONCE = 5000


def decide(site: Site, question: Question) -> Any:
    asked = question.body.get("decisions")
    if not isinstance(asked, list) or len(asked) > MOST_AT_ONCE:
        raise BadRequest(f"decisions must be a list of at most {MOST_AT_ONCE}")
    verdicts = [_verdict(each) for each in asked]
    with site.need_library().writing("review") as catalog:
        return deciding.decide(catalog, verdicts)


def _verdict(value: Any) -> deciding.Verdict:
    if (
        isinstance(value, dict)
        and _is_number(value.get("image"))
        and isinstance(value.get("word"), str)
        and isinstance(value.get("verdict"), str)
    ):
        return deciding.Verdict(value["image"], value["word"], value["verdict"])
    raise BadRequest("a decision is {image: number, word: text, verdict: present, rejected or cleared}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def undo(site: Site, question: Question) -> Any:
    step = question.body.get("step")
    if step is not None and not _is_number(step):
        raise BadRequest("step must be the number of a step, as /api/history lists them")
    with site.need_library().writing("undo") as catalog:
        took_back = deciding.undo(catalog, step)
    return {"undone": None if took_back is None else {**as_plain(took_back.undone), "text": took_back.text}}


def history(site: Site, question: Question) -> Any:
    limit = question.number("limit", 30, least=1, most=500)
    before = question.number("before", 0) or None
    with site.need_library().reading() as catalog:
        return {"steps": deciding.history(catalog, limit, before)}


def history_step(site: Site, question: Question) -> Any:
    """The decisions of one step, each with its photo and the verdict that stands now."""
    limit = question.number("limit", 200, least=1, most=MOST_AT_ONCE)
    with site.need_library().reading() as catalog:
        verdicts = PastSteps(catalog.database).verdicts(int(question.path["step"]), limit)
        known = cards(catalog, (verdict.image for verdict in verdicts))
        return {"decisions": [{**known.get(v.image, {"id": v.image}), **v._asdict()} for v in verdicts]}


def review(site: Site, question: Question) -> Any:
    with site.need_library().reading() as catalog:
        return overview(catalog)


def review_tag(site: Site, question: Question) -> Any:
    word = question.text("word")
    if not word:
        raise BadRequest("word must name a tag")
    offset, limit = question.number("offset", 0), question.number("limit", 48, least=1, most=500)
    with site.need_library().reading() as catalog:
        return tag_page(catalog, word, offset=offset, limit=limit, after=_after(question))


def _after(question: Question) -> tuple[float, int] | None:
    """`after=0.734,17`: the probability and the photo that the page before ended with."""
    text = question.text("after")
    if text is None:
        return None
    probability, _, image = text.partition(",")
    try:
        after = float(probability), int(image)
    except ValueError:
        after = math.nan, 0
    if not (math.isfinite(after[0]) and _is_number(after[1])):
        raise BadRequest("after must be a probability and the number of a photo, as in 0.734,17")
    return after


def review_questions(site: Site, question: Question) -> Any:
    limit = question.number("limit", 30, least=1, most=500)
    with site.need_library().reading() as catalog:
        return questions(
            catalog,
            question.text("order") or "uncertain",
            word=question.text("word") or None,
            limit=limit,
            count=question.text("count") != "no",
        )


def review_sample(site: Site, question: Question) -> Any:
    """Questions drawn at random, to be mixed in; that they were drawn, and with which chance, is noted."""
    n = question.body.get("limit", 3)
    if not _is_number(n) or not 1 <= n <= 100:
        raise BadRequest("limit must be a whole number from 1 to 100")
    library = site.need_library()
    with library.reading() as catalog:  # drawing may take a second: others may write meanwhile
        drawn = draw_missing(catalog, n)
        found = as_cards(catalog, drawn)
    if drawn:
        with library.writing("review") as catalog:
            note_drawn(catalog, drawn)
    return {"questions": found}


ROUTES = [
    get("/review", review),
    get("/review/tag", review_tag),
    get("/review/questions", review_questions),
    post("/review/sample", review_sample),
    post("/decide", decide, in_turn=True),
    post("/undo", undo, in_turn=True),
    get("/history", history),
    get("/history/{step:number}", history_step),
]
