"""The data behind Review: what is open, many decisions as one step, and undo without limit."""

import subprocess
import sys
import threading
from collections import Counter

import pytest

from topicture.store import Catalog

TOPICTURE = [sys.executable, "-c", "from topicture.app.cli.main import main; main()"]


def told(served):
    """Every verdict that stands."""
    with Catalog.open(served.library.folder) as catalog:
        return sorted(catalog.decisions.all_tags())


def open_pairs(served):
    return [(q.image, q.word, q.probability) for q in served.library.queue("certain", limit=10_000)]


def decisions(pairs, verdict="present"):
    return {"decisions": [{"image": image, "word": word, "verdict": verdict} for image, word, *_ in pairs]}


# --- Deciding and taking back -------------------------------------------------------------------------------------


def test_many_decisions_are_one_step_and_are_taken_back_as_one(served):
    before, pairs = told(served), open_pairs(served)[:5]
    body = decisions(pairs[:3])["decisions"] + decisions(pairs[3:], "rejected")["decisions"]
    status, answer = served.post("decide", {"decisions": body})
    assert status == 200
    assert answer["changed"] == 5
    assert len(told(served)) == len(before) + 5
    _, history = served.get("history")
    (step,) = [step for step in history["steps"] if step["step"] == answer["step"]]
    assert step["decisions"] == 5
    assert not step["undone"]
    assert step["text"].startswith("Accepted ")
    _, undone = served.post("undo")
    assert undone["undone"]["text"].startswith("Took back: ")
    assert len(undone["undone"]["decisions"]) == 5
    assert told(served) == before
    assert served.get("history")[1]["steps"][0]["undone"]


def test_undo_has_no_limit(served):
    before, pairs = told(served), open_pairs(served)[:8]
    for pair in pairs:
        served.post("decide", decisions([pair]))
    texts = [served.post("undo")[1]["undone"]["text"] for _ in pairs]
    assert texts == [f"Took back: {word} for 1 photo" for _, word, _ in reversed(pairs)]
    assert served.post("undo") == (200, {"undone": None})
    assert told(served) == before


def test_a_step_of_the_past_is_taken_back_and_what_was_changed_since_stays(served):
    first, second = open_pairs(served)[:2]
    _, old = served.post("decide", decisions([first, second]))
    served.post("decide", decisions([first], "rejected"))
    status, inside = served.get(f"history/{old['step']}")
    assert status == 200
    assert [(d["verdict"], d["now"]) for d in inside["decisions"]] == [
        ("present", "rejected"),
        ("present", "present"),
    ]
    _, undone = served.post("undo", {"step": old["step"]})
    assert [d["image"] for d in undone["undone"]["decisions"]] == [second[0]]
    assert undone["undone"]["decided_anew"] == 1
    verdicts = {(image, word): verdict for image, word, verdict, _ in told(served)}
    assert verdicts[first[0], first[1]] == "rejected"
    assert (second[0], second[1]) not in verdicts


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"decisions": "all"},
        {"decisions": [1]},
        {"decisions": [{"image": 1, "word": "sea"}]},
        {"decisions": [{"image": "1", "word": "sea", "verdict": "present"}]},
        {"decisions": [{"image": True, "word": "sea", "verdict": "present"}]},
        {"decisions": [{"image": 1, "word": "sea", "verdict": "perhaps"}]},
        {"decisions": [{"image": 1, "word": "a\nb", "verdict": "present"}]},
        {"decisions": [{"image": 10**9, "word": "sea", "verdict": "present"}]},
        {"decisions": [{"image": 10**30, "word": "sea", "verdict": "present"}]},
    ],
)
def test_a_bad_decision_changes_nothing(served, body):
    pair, before = open_pairs(served)[0], told(served)
    if body.get("decisions") and isinstance(body["decisions"], list):
        body = {"decisions": [*decisions([pair])["decisions"], *body["decisions"]]}
    status, answer = served.post("decide", body)
    assert 400 <= status < 500
    assert answer["error"]["message"]
    assert told(served) == before


def test_a_word_that_no_model_knows_can_be_decided(served):
    status, answer = served.post("decide", decisions([(1, "ferry")]))
    assert (status, answer["changed"]) == (200, 1)
    assert (1, "ferry", "present", "review") in told(served)


def test_two_tabs_and_the_command_line_at_once_lose_nothing(served):
    pairs = open_pairs(served)
    tabs, by_command = [pairs[0:12:2], pairs[1:12:2]], pairs[12:15]
    path = {image: served.library.path(image) for image, _, _ in by_command}
    failed = []

    def tab(mine):
        for pair in mine:
            status, answer = served.post("decide", decisions([pair]))
            if status != 200:
                failed.append(answer)

    threads = [threading.Thread(target=tab, args=(mine,)) for mine in tabs]
    for thread in threads:
        thread.start()
    for image, word, _ in by_command:
        subprocess.run(
            [*TOPICTURE, "tag", str(path[image]), word, "--catalog", str(served.library.folder)],
            check=True,
            capture_output=True,
        )
    for thread in threads:
        thread.join()
    assert failed == []
    present = {(image, word) for image, word, verdict, _ in told(served) if verdict == "present"}
    assert {(image, word) for image, word, _ in pairs[:15]} <= present


# --- What is open -------------------------------------------------------------------------------------------------


def test_the_overview_counts_every_open_suggestion(served):
    pairs = open_pairs(served)
    _, overview = served.get("review")
    assert overview["left"] == len(pairs)
    assert overview["decided"] == 0
    assert overview["pace"] is None
    assert {tag["word"]: tag["open"] for tag in overview["tags"]} == Counter(word for _, word, _ in pairs)
    likely = Counter(word for _, word, p in pairs if p >= 0.5)
    assert {tag["word"]: tag["likely"] for tag in overview["tags"] if tag["likely"]} == likely
    gains = [tag["right"] for tag in overview["tags"]]
    assert gains == sorted(gains, reverse=True)
    for tag in overview["tags"]:
        best = sorted((-p, image) for image, word, p in pairs if word == tag["word"])
        assert tag["photos"] == [image for _, image in best[:3]]


def test_the_overview_knows_what_was_answered_and_how_fast(served):
    for pair in open_pairs(served)[:6]:
        served.post("decide", decisions([pair]))
    _, overview = served.get("review")
    assert overview["decided"] == 6
    assert overview["pace"] > 6  # a minute; a test is quick
    served.post("undo")
    assert served.get("review")[1]["decided"] == 5


def test_pages_of_a_tag_follow_one_another_whatever_is_decided_meanwhile(served):
    word = served.get("review")[1]["tags"][0]["word"]
    expected = sorted((-p, image) for image, w, p in open_pairs(served) if w == word)
    seen, after = [], {}
    while True:
        _, page = served.get("review/tag", word=word, limit=4, **after)
        if not page["photos"]:
            break
        seen += [(-photo["probability"], photo["id"]) for photo in page["photos"]]
        served.post("decide", decisions([(photo["id"], word) for photo in page["photos"][:2]]))
        after = {"after": f"{page['photos'][-1]['probability']},{page['photos'][-1]['id']}"}
    assert seen == expected


def test_a_page_of_a_tag_says_how_many_are_expected_to_be_right(served):
    word = served.get("review")[1]["tags"][0]["word"]
    of_word = [p for _, w, p in open_pairs(served) if w == word]
    _, page = served.get("review/tag", word=word, limit=3, offset=2)
    assert page["total"] == len(of_word)
    assert page["expected"] == pytest.approx(sum(of_word))
    assert [photo["probability"] for photo in page["photos"]] == sorted(of_word, reverse=True)[2:5]


@pytest.mark.parametrize("query", [{}, {"word": "sea", "after": "x"}, {"word": "sea", "limit": "0"}])
def test_a_bad_question_is_told(served, query):
    status, answer = served.get("review/tag", **query)
    assert status == 400
    assert answer["error"]["message"]


@pytest.mark.parametrize("order", ["uncertain", "certain", "teaching", "random"])
def test_single_questions_are_those_of_the_command_line(served, order):
    _, answer = served.get("review/questions", order=order, limit=7)
    asked = [(q["id"], q["word"], q["probability"]) for q in answer["questions"]]
    assert asked == [(q.image, q.word, q.probability) for q in served.library.queue(order, limit=7)]
    assert answer["left"] == len(open_pairs(served))
    assert served.get("review/questions", order=order, limit=7, count="no")[1]["left"] is None
    word = asked[0][1]
    _, of_word = served.get("review/questions", order=order, word=word, limit=7)
    assert {q["word"] for q in of_word["questions"]} == {word}


def test_an_unknown_order_is_told(served):
    status, answer = served.get("review/questions", order="alphabetical")
    assert status == 400
    assert "missing" in answer["error"]["message"]


def test_what_an_owner_left_out_is_asked(served):
    tags = [(image, word) for image, word, verdict, source in told(served) if source == "file"]
    forgotten, asked = None, []
    for image, word in tags:  # take one tag away that the index finds likely
        served.post("decide", decisions([(image, word)], "cleared"))
        _, answer = served.get("review/questions", order="missing", limit=500)
        asked = [(q["id"], q["word"]) for q in answer["questions"]]
        if (image, word) in asked:
            forgotten = (image, word)
            break
        served.post("undo")
    assert forgotten is not None
    assert answer["left"] == len(asked)
    assert not answer["at_least"]
    served.post("decide", decisions([forgotten]))
    _, answer = served.get("review/questions", order="missing", limit=500)
    assert forgotten not in [(q["id"], q["word"]) for q in answer["questions"]]


def test_questions_drawn_for_the_page_are_noted_with_their_chances(served):
    status, answer = served.post("review/sample", {"limit": 10})
    drawn = {(q["id"], q["word"]): q["drawn"] for q in answer["questions"]}
    assert (status, len(drawn)) == (200, 10)
    assert all(q["left_out"] for q in answer["questions"])
    with served.library.reading() as catalog:
        assert catalog.questions.pairs() == pytest.approx(drawn)
    tags = {(image, word) for image, word, _, _ in told(served)}
    assert not tags & drawn.keys()
    for wrong in (0, 101, "3", True, None):
        assert served.post("review/sample", {"limit": wrong})[0] == 400


def test_the_page_and_the_terminal_ask_the_same_about_what_was_left_out(served):
    _, answer = served.get("review/questions", order="missing", limit=20)
    asked = [(q["id"], q["word"], q["probability"]) for q in answer["questions"]]
    assert asked == [(q.image, q.word, q.probability) for q in served.library.queue("missing", limit=20)]
    assert asked
    image, word, _ = asked[0]
    other = next(tag["word"] for tag in served.get(f"photos/{image}")[1]["tags"])
    served.post(
        "words/parent", {"word": other, "parent": word}
    )  # what is said by a word below is not left out
    _, answer = served.get("review/questions", order="missing", limit=20)
    assert (image, word) not in [(q["id"], q["word"]) for q in answer["questions"]]


def test_counts_stay_right_whatever_happens(served):
    """They are kept between questions, and mended for what was decided since."""

    def check():
        _, overview = served.get("review")
        assert {tag["word"]: tag["open"] for tag in overview["tags"]} == Counter(
            word for _, word, _ in open_pairs(served)
        )

    check()
    pairs = open_pairs(served)
    served.post("decide", decisions(pairs[:3]))
    check()
    served.post("decide", decisions(pairs[3:5], "rejected"))
    served.post("undo")
    check()
    served.library.delete_tag(pairs[0][1])
    check()
    served.post("undo")
    check()
    served.library.path(pairs[5][0]).unlink()
    served.library.scan()
    check()
    served.library.annotate(threshold=0.4)
    check()
    served.post("decide", decisions([(pairs[0][0], "ferry")]))
    check()
