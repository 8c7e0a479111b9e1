"""Review in a browser, by keyboard alone: the grid, single questions, undo, history, a server that dies."""

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from topicture.store import Catalog


def verdicts(library, source="review"):
    with Catalog.open(library.folder) as catalog:
        return {
            (image, word): verdict
            for image, word, verdict, origin in catalog.decisions.all_tags()
            if origin == source
        }


def eventually(what, seconds=10):
    """Wait until something is so, and return it."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def shown(page):
    """(photo, state) of every tile."""
    return page.eval_on_selector_all(".tile", "tiles => tiles.map(t => [t.photo.id, t.dataset.state])")


def is_measured(page, name):
    """The time from key press to paint, whatever it is on this machine: the benchmark of the page reads it."""
    page.wait_for_function("(name) => performance.getEntriesByName(name)[0]?.duration > 0", arg=name)


def test_a_tag_is_reviewed_by_keyboard_alone_and_taken_back(page, served):
    page.goto(f"{served.url}/review")
    page.wait_for_selector(".tag-card")
    word = page.inner_text(".tag-name >> nth=0")
    page.keyboard.press("Enter")
    page.wait_for_selector(".tile")
    page.wait_for_load_state("networkidle")
    before = shown(page)
    assert [state for _, state in before].count("yes") > 2
    page.keyboard.press("ArrowRight")
    page.keyboard.press("x")  # the second is wrong
    assert shown(page)[1][1] == "no"
    page.keyboard.press("[")  # one less above the line
    page.keyboard.press("Enter")
    page.wait_for_function("id => document.querySelector('.tile')?.photo.id !== id", arg=before[0][0])
    ticked = [image for image, state in before if state == "yes"]
    expected = {(image, word): "present" for image in ticked[:-1]} | {(ticked[1], word): "rejected"}
    assert eventually(lambda: verdicts(served.library)) == expected
    is_measured(page, "next-page")
    page.keyboard.press("z")
    page.wait_for_function("id => document.querySelector('.tile')?.photo.id === id", arg=before[0][0])
    assert shown(page)[1][1] == "no"  # as it was decided
    assert verdicts(served.library) == {}
    page.keyboard.press("x")
    page.keyboard.press("r")  # everything that is not ticked is rejected
    eventually(lambda: len(verdicts(served.library)) == len(before))


def test_what_stays_below_the_line_stays_open(page, served):
    word = served.get("review")[1]["tags"][0]["word"]
    page.goto(f"{served.url}/review/tag/{word}")
    page.wait_for_selector(".tile")
    for _ in shown(page):
        page.keyboard.press("[")
    assert {state for _, state in shown(page)} == {"open"}
    page.keyboard.press("Enter")
    page.get_by_text("Nothing is ticked.").wait_for()
    first = shown(page)[0][0]
    page.keyboard.press("Space")  # tick the first by itself
    page.keyboard.press("a")
    eventually(lambda: verdicts(served.library) == {(first, word): "present"})


def test_single_questions_by_keyboard_alone(page, served):
    page.goto(f"{served.url}/review/questions?order=certain")
    questions = [(q.image, q.word) for q in served.library.queue("certain", limit=10)]
    asked = page.locator(".question")
    for (_, word), key in zip(questions, "ar ", strict=False):
        page.wait_for_function(
            "word => document.querySelector('.question').textContent === word", arg=f"{word}?"
        )
        page.keyboard.press("Space" if key == " " else key)
    assert eventually(lambda: len(verdicts(served.library)) == 2)
    assert verdicts(served.library) == {questions[0]: "present", questions[1]: "rejected"}
    is_measured(page, "next-question")
    page.keyboard.press("Backspace")  # the skipped one again
    assert asked.inner_text() == f"{questions[2][1]}?"
    page.keyboard.press("Backspace")  # and the answer before it
    page.get_by_text("Took back: ").wait_for()
    assert asked.inner_text() == f"{questions[1][1]}?"
    assert verdicts(served.library) == {questions[0]: "present"}
    page.keyboard.press("z")
    eventually(lambda: verdicts(served.library) == {})


def test_words_that_tagged_photos_lack_are_asked_about_as_left_out(page, served):
    served.library.annotate(everything=True, threshold=0.05, workers=0)
    questions = served.library.queue("certain", limit=9)  # the tenth may be drawn by lot
    assert any(q.left_out for q in questions)
    page.goto(f"{served.url}/review/questions?order=certain")
    for q in questions:
        asked = f"Did you leave out {q.word}?" if q.left_out else f"{q.word}?"
        page.get_by_role("heading", name=asked, exact=True).wait_for()
        page.keyboard.press(" ")


def test_questions_that_could_not_be_fetched_are_asked_for_again(page, served):
    page.expected.append("Failed to load resource")
    trouble = {"error": {"code": "x", "message": "The catalog can't be read.", "hint": "Wait."}}
    page.route("**/api/review/questions*", lambda route: route.fulfill(status=500, json=trouble))
    page.goto(f"{served.url}/review/questions")
    page.get_by_text("The catalog can't be read. Wait.").wait_for()
    assert page.inner_text("h1") == "The questions could not be fetched"
    page.unroute("**/api/review/questions*")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector(".stage img")


def test_the_history_can_be_changed(page, served):
    pairs = [(q.image, q.word) for q in served.library.queue("certain", limit=2)]
    body = [{"image": image, "word": word, "verdict": "present"} for image, word in pairs]
    served.post("decide", {"decisions": body})
    page.goto(f"{served.url}/review")
    page.wait_for_selector(".tag-card")
    page.keyboard.press("h")
    dialog = page.get_by_role("dialog", name="History")
    dialog.locator("summary").click()
    dialog.locator("select").nth(0).select_option("rejected")
    eventually(lambda: verdicts(served.library)[pairs[0]] == "rejected")
    dialog.get_by_role("button", name="Take back").click()
    eventually(lambda: verdicts(served.library) == {pairs[0]: "rejected"})


def test_a_decision_that_fails_is_put_back(page, served):
    page.expected.append("Failed to load resource")
    word = served.get("review")[1]["tags"][0]["word"]
    page.goto(f"{served.url}/review/tag/{word}")
    page.wait_for_selector(".tile")
    before = shown(page)
    page.route("**/api/decide", lambda route: route.abort())
    page.keyboard.press("Enter")
    page.get_by_text("The server does not answer.").wait_for()
    assert shown(page) == before
    page.unroute("**/api/decide")
    page.keyboard.press("Enter")
    eventually(lambda: len(verdicts(served.library)) == [state for _, state in before].count("yes"))


SERVER = """
import sys, uvicorn
from topicture.app.verbs.library import Library
from topicture.app.web.application import build
from topicture.app.web.site import Site
uvicorn.run(build(Site(None, Library(sys.argv[1]))), port=int(sys.argv[2]), log_level="critical")
"""


def start(folder, port):
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(folder), str(port)])

    def answers():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/review", timeout=5) as answer:
                return json.loads(answer.read())
        except OSError:
            return None

    eventually(answers, seconds=60)
    return process


def test_a_server_that_is_killed_in_mid_review_loses_nothing(browser, served, unused_port):
    """The answers given before stay, the page says what is wrong, and the review goes on with the next server."""
    library, url = served.library, f"http://127.0.0.1:{unused_port}"
    process = start(library.folder, unused_port)
    try:
        page = browser.new_context().new_page()
        page.goto(f"{url}/review/questions?order=certain")
        first, second = [(q.image, q.word) for q in library.queue("certain", limit=2)]
        page.wait_for_function("document.querySelector('.question').textContent")
        with page.expect_response("**/api/decide") as answered:
            page.keyboard.press("a")
        answered.value.finished()
        assert verdicts(library) == {first: "present"}
        process.send_signal(signal.SIGKILL)
        process.wait()
        page.keyboard.press("r")
        page.get_by_text("The server does not answer.").wait_for()
        assert page.inner_text(".question") == f"{second[1]}?"  # asked again
        page.keyboard.press("r")
        page.wait_for_function(f"performance.getEntriesByName('{url}/api/decide').length > 2")
        page.wait_for_timeout(100)
        assert page.get_by_text("The server does not answer.").count() == 1  # told once, not stacked
        process = start(library.folder, unused_port)
        page.keyboard.press("r")
        eventually(lambda: verdicts(library) == {first: "present", second: "rejected"})
        page.reload()
        page.wait_for_function("document.querySelector('.question').textContent")
        with urllib.request.urlopen(f"{url}/api/review") as answer:
            assert json.loads(answer.read())["decided"] == 2
        page.context.close()
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def unused_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@pytest.mark.parametrize("word", ["<img src=x onerror=alert(1)>", "either/or? #1 100%", "‮drow"])
def test_a_hostile_word_is_text_and_an_address(page, served, word):
    with served.library.writing("learn") as catalog:
        model = catalog.suggestions.newest().id
        catalog.suggestions.replace(
            model, [(image, catalog.decisions.word_id(word), 0.9) for image in (1, 2, 3)]
        )
    page.goto(f"{served.url}/review")
    page.locator(".tag-card").click()
    page.wait_for_selector(".tile")
    assert page.inner_text("h1") == word
    page.reload()
    page.wait_for_selector(".tile")
    assert page.inner_text("h1") == word
    page.keyboard.press("Enter")
    eventually(lambda: verdicts(served.library) == {(image, word): "present" for image in (1, 2, 3)})
    page.goto(f"{served.url}/review")
    page.get_by_text("All suggestions are answered").wait_for()
    page.keyboard.press("h")
    page.get_by_text(f"Accepted {word} for 3 photos").wait_for()
