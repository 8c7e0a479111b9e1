"""Undo takes back what was done in this tab: not what another tab, the command line or another day did."""

from test_review_pages import eventually, shown, verdicts


def answer_one(page, key):
    """Answer the question that is shown, and wait for the next."""
    before = page.inner_text(".question"), page.get_attribute(".stage img", "src")
    with page.expect_response("**/api/decide"):
        page.keyboard.press(key)
    page.wait_for_function(
        "([text, src]) => document.querySelector('.question').textContent !== text "
        "|| document.querySelector('.stage img').getAttribute('src') !== src",
        arg=list(before),
    )


def test_two_tabs_take_back_their_own(page, served):
    one = page
    two = one.context.new_page()
    first, second, third = [(q.image, q.word) for q in served.library.queue("certain", limit=3)]
    one.goto(f"{served.url}/review/questions?order=certain")
    one.wait_for_selector(".stage img")
    answer_one(one, "a")
    two.goto(f"{served.url}/review/questions?order=certain")
    two.wait_for_selector(".stage img")
    answer_one(two, "r")
    served.library.decide(third[0], [third[1]], "present")
    assert verdicts(served.library) == {first: "present", second: "rejected", third: "present"}
    one.keyboard.press("Backspace")
    eventually(lambda: verdicts(served.library) == {second: "rejected", third: "present"})
    two.goto(f"{served.url}/photos")  # another page of the same tab knows what was done in it
    two.wait_for_selector("photo-grid .tile")
    two.keyboard.press("z")
    eventually(lambda: verdicts(served.library) == {third: "present"})
    two.keyboard.press("z")  # nothing of this tab is left: the step of the command line is offered by name
    offer = two.get_by_text("The last step of all: ")
    offer.wait_for()
    assert f"Accepted {third[1]} for 1 photo" in offer.inner_text()
    assert verdicts(served.library) == {third: "present"}
    two.get_by_role("button", name="Take back").click()
    eventually(lambda: verdicts(served.library) == {})


def test_every_photo_has_a_key(page, served):
    word = served.get("review")[1]["tags"][0]["word"]
    page.goto(f"{served.url}/review/tag/{word}")
    page.wait_for_selector(".tile")
    assert not page.locator(".tile-key").count()
    page.keyboard.press("f")
    labels = page.locator(".tile-key").all_inner_texts()
    before = shown(page)
    assert len(set(labels)) == len(labels) == len(before)
    page.keyboard.press(labels[1])
    assert [i for i, (now, then) in enumerate(zip(shown(page), before, strict=True)) if now != then] == [1]
    page.keyboard.press(labels[1])
    assert shown(page) == before
    page.reload()
    page.wait_for_selector(".tile-key")  # they stay until they are turned off
    page.keyboard.press("f")
    assert not page.locator(".tile-key").count()


def test_many_photos_get_keys_that_no_other_begins_with(page, served):
    page.goto("/welcome")
    found = page.evaluate("""async () => {
      const { labels } = await import("/static/js/tile-keys.js");
      return [1, 28, 29, 60, 96].map((n) => labels(Array.from({ length: n }, (_, i) => i / n)));
    }""")
    for labels, n in zip(found, [1, 28, 29, 60, 96], strict=True):
        assert len(set(labels)) == n
        assert not [(a, b) for a in labels for b in labels if a != b and b.startswith(a)]
        doubtful = labels[-20:]  # what will be chosen most probably needs one key
        assert {len(label) for label in doubtful} == {1}
