"""What was decided and is shown but not stored yet: not lost when the page is left, and taken back in its turn."""

import threading

import pytest
from test_review_pages import eventually, verdicts

from topicture.app.web.routes import review

PHOTO = 60
FOUR = ("one", "two", "three", "four")


@pytest.fixture
def gate(monkeypatch):
    """Decisions are stored while it is set."""
    decide, gate = review.deciding.decide, threading.Event()

    def once_it_is_set(*arguments):
        assert gate.wait(30)
        return decide(*arguments)

    monkeypatch.setattr(review.deciding, "decide", once_it_is_set)
    yield gate
    gate.set()


def tag(page, *words):
    for word in words:
        page.get_by_label("Add a tag").fill(word)
        page.keyboard.press("Enter")


def opened_photo(page):
    page.goto(f"/photo/{PHOTO}")
    page.locator("h1").wait_for()


def present(library):
    return {word for (_, word), verdict in verdicts(library).items() if verdict == "present"}


@pytest.mark.parametrize("leaves", [True, False])
def test_who_leaves_before_all_is_stored_is_asked_and_loses_nothing(page, served, gate, leaves):
    asked = []

    def answer(dialog):
        asked.append(dialog.type)
        (dialog.accept if leaves else dialog.dismiss)()

    page.on("dialog", answer)
    opened_photo(page)
    tag(page, *FOUR)
    page.get_by_role("button", name="Remove one").click()  # that is on its way; the last word counts
    page.get_by_role("button", name="Remove two").click()
    page.get_by_role("link", name="Words").click(no_wait_after=True)
    eventually(lambda: page.wait_for_timeout(50) or asked)
    assert present(served.library) == set()
    page.wait_for_timeout(2500)  # longer than anybody waits for the catalog's lock
    gate.set()
    eventually(lambda: present(served.library) == set(FOUR) - {"one", "two"})
    assert asked == ["beforeunload"]
    page.wait_for_url("**/words" if leaves else f"**/photo/{PHOTO}")
    if leaves:
        page.locator("h1").wait_for()
        page.keyboard.press("z")  # takes back nothing but what it names
        page.get_by_text("The last step of all: ").wait_for()
        assert present(served.library) == set(FOUR) - {"one", "two"}
    else:
        page.get_by_text("Took “two” back from 1 photo.").wait_for()
        page.get_by_role("link", name="Words").click()  # all is stored: nobody asks any more
        page.wait_for_url("**/words")
        assert len(asked) == 1


def test_undo_takes_back_what_is_still_on_its_way(page, served, gate):
    opened_photo(page)
    gate.set()
    with page.expect_response("**/api/decide"):
        tag(page, "first")
    gate.clear()
    tag(page, "second")
    page.get_by_role("button", name="Undo", exact=True).first.click()  # of the frame
    gate.set()
    page.get_by_text("Took back").wait_for()
    assert present(served.library) == {"first"}
