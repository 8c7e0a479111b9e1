"""What a hostile reader of the page found: each fault once, so that it does not come back."""

import urllib.request
from urllib.error import HTTPError
from urllib.parse import quote

import pytest
from test_review_pages import eventually

from topicture.app.web.access import Access
from topicture.app.web.failures import BadRequest, described
from topicture.errors import DataNotFound

LONG = "9" * 5000


@pytest.mark.parametrize("number", ["9" * 19, "9" * 25, LONG])
@pytest.mark.parametrize("path", ["photos/{}", "photos/{}/similar", "thumbnails/{}", "history/{}", "jobs/{}"])
def test_a_number_beyond_all_photos_is_the_address_of_nothing(shared, path, number):
    status, value = shared.get(path.format(number))
    assert (status, value["error"]["code"]) == (404, "no-such-page")


def test_a_job_of_many_digits_is_not_cancelled(shared):
    assert shared.post(f"jobs/{LONG}/cancel")[0] == 404


@pytest.mark.parametrize("after", ["nan,1", "inf,1", "0.5,-1", "0.5," + "9" * 30, f"0.5,{LONG}", "x", ""])
def test_a_page_after_nowhere_is_refused(shared, after):
    status, value = shared.get("review/tag", word="rose", after=after)
    assert (status, value["error"]["code"]) == (400, "bad-request")


def test_teaching_shows_at_least_one_photo(shared):
    status, value = shared.post("teach", {"word": "rose", "yes": [1], "no": [2], "limit": 0})
    assert (status, value["error"]["code"]) == (400, "bad-request")


@pytest.mark.parametrize(
    "theirs", ['a={"b":1}', "no pair", 'a="x', "=", "\u00e9=1", "expires=1", "a[b]=1", "a=b c"]
)
def test_cookies_of_other_servers_do_not_lock_anybody_out(theirs):
    access = Access("127.0.0.1", 8237)
    ours = access.cookie().partition(";")[0]
    assert access.has_cookie(f"{theirs}; {ours}")
    assert access.has_cookie(f"{ours}; {theirs}")
    assert not access.has_cookie(theirs)
    assert not access.has_cookie(f"x{ours}")
    assert not access.has_cookie(ours[:-1])
    assert not access.has_cookie("")


def test_who_mistypes_an_address_sees_a_page(shared):
    request = urllib.request.Request(
        f"{shared.url}/nope", headers={"Cookie": shared.cookie, "Sec-Fetch-Mode": "navigate"}
    )
    with pytest.raises(HTTPError) as raised:
        urllib.request.urlopen(request, timeout=60)
    with raised.value as answer:
        assert answer.code == 404
        assert answer.headers["content-type"].startswith("text/html")
        assert b"There is no such page." in answer.read()
    assert shared.get("nope") == (
        404,
        {"error": {"code": "no-such-page", "message": "There is no such page.", "hint": ""}},
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no photo 7, or it is gone; 'topicture scan' looks for it", "no photo 7, or it is gone"),
        ("no tag 'x' is in use; 'topicture tags' lists them", "no tag 'x' is in use"),
        ("'topicture learn' has been writing", "'topicture learn' has been writing"),
    ],
)
def test_errors_name_no_command(text, told):
    assert described(DataNotFound(text))[1]["message"] == told
    assert described(BadRequest(text))[1]["message"] == told


def test_undo_in_a_sentence_takes_back_what_the_sentence_says(page, served):
    from playwright.sync_api import expect

    page.goto("/photo/60")
    expect(page.locator(".panel h1")).not_to_be_empty()
    field = page.locator("main input").first
    for word in ("first/1", "second#2"):
        field.fill(word)
        field.press("Enter")
        expect(page.locator(".toast", has_text=word)).to_be_visible()
    page.locator(".toast", has_text="Tagged 1 photo “first/1”").get_by_role("button", name="Undo").click()
    expect(page.locator(".toast", has_text="Took back: first/1")).to_be_visible()
    assert [tag["word"] for tag in served.get("photos/60")[1]["tags"]] == ["second#2"]
    # What was so already is no step, and there is nothing to take back.
    served.post("decide", {"decisions": [{"image": 61, "word": "third", "verdict": "present"}]})
    page.goto("/photo/60")
    expect(page.get_by_role("region", name="Tags")).to_contain_text("second#2")
    field.fill("second#2")
    field.press("Enter")
    said = page.locator(".toast", has_text="second#2")
    expect(said).to_be_visible()
    expect(said.get_by_role("button")).to_have_count(0)


@pytest.mark.parametrize("word", ["..", ".", "a/../b", "a\\..\\b", "100%", "#?&=", "a/b", "\U0001f600"])
def test_every_tag_has_an_address_to_review_it_at(page, served, word):
    from playwright.sync_api import expect

    page.goto("/review")
    address = page.evaluate("async (word) => (await import('/static/js/dom.js')).reviewAddress(word)", word)
    page.goto(address)
    expect(page.locator("main h2")).to_have_text(f"Nothing is left to decide for {word}")


def test_an_address_with_a_lone_percent_sign_is_told_about(page):
    from playwright.sync_api import expect

    page.goto("/review/tag/100%")
    expect(page.locator("main h2")).to_have_text("Nothing is left to decide for 100%")


def test_the_grid_says_how_many_are_left(page, served):
    from playwright.sync_api import expect

    word = served.get("review")[1]["tags"][0]["word"]
    before = served.get("review/tag", word=word)[1]["total"]
    page.set_viewport_size({"width": 700, "height": 420})
    page.goto(f"/review/tag/{quote(word, safe='')}")
    expect(page.locator("main [role=status]")).to_have_text(f"{before} to decide")
    n = page.locator(".tile").count()
    if n >= before:
        pytest.skip("one page holds them all")
    with page.expect_response("**/api/decide"):
        page.keyboard.press("r")
    expect(page.locator("main [role=status]")).to_have_text(f"{before - n} to decide")
    assert served.get("review/tag", word=word)[1]["total"] == before - n
    page.keyboard.press("z")
    expect(page.locator("main [role=status]")).to_have_text(f"{before} to decide")


def test_a_decision_is_about_the_photo_that_is_shown(page, served):
    from playwright.sync_api import expect

    listed = served.get("photos", suggested="yes", limit=3)[1]["photos"]
    first, second = listed[0]["id"], listed[1]["id"]
    before = {image: served.get(f"photos/{image}")[1] for image in (first, second)}
    word = before[first]["suggestions"][0]["word"]
    page.goto(f"/photo/{first}?list=photos&at=0&suggested=yes")
    expect(page.get_by_role("button", name="Next photo")).to_be_visible()
    held = []
    page.route(f"**/api/photos/{second}", lambda route: held.append(route))
    with page.expect_request(f"**/api/photos/{second}"):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("a")  # the first one is still shown
    expect(page.locator(".toast", has_text=word)).to_be_visible()
    eventually(lambda: page.wait_for_timeout(20) or held)
    held[0].continue_()
    expect(page.locator(".panel h1")).to_have_text(before[second]["name"])
    assert word in [tag["word"] for tag in served.get(f"photos/{first}")[1]["tags"]]
    assert served.get(f"photos/{second}")[1]["tags"] == before[second]["tags"]
    shown = [photo["name"] for photo in served.get(f"photos/{second}/similar", limit=9)[1]["photos"]]
    similar = page.get_by_role("region", name="Similar photos").locator("img")
    expect(similar.first).to_have_attribute("alt", shown[0])


def test_what_could_not_be_stored_is_not_shown_as_if_it_were(page, served):
    from playwright.sync_api import expect

    page.expected += ["ERR_INTERNET_DISCONNECTED"]
    page.goto("/photo/60")
    expect(page.locator(".panel h1")).not_to_be_empty()
    page.context.set_offline(True)
    for word in ("lost", "lost too"):
        with page.expect_event("requestfailed", lambda request: request.url.endswith("/api/decide")):
            page.get_by_label("Add a tag").fill(word)
            page.get_by_label("Add a tag").press("Enter")
    expect(page.locator(".toast.trouble")).to_have_count(1)  # the same news is told once
    expect(page.get_by_role("region", name="Tags")).not_to_contain_text("lost")
    expect(page.locator("main")).not_to_contain_text("This photo is not here")
    page.context.set_offline(False)
    page.get_by_label("Add a tag").fill("kept")
    page.get_by_label("Add a tag").press("Enter")
    expect(page.locator(".toast", has_text="Tagged 1 photo “kept”")).to_be_visible()
    assert [tag["word"] for tag in served.get("photos/60")[1]["tags"]] == ["kept"]


def test_a_word_typed_before_the_photo_is_there_waits(page):
    from playwright.sync_api import expect

    held = []
    page.route("**/api/photos/60", lambda route: held.append(route))
    page.goto("/photo/60")
    page.get_by_label("Add a tag").fill("early")
    page.get_by_label("Add a tag").press("Enter")
    expect(page.get_by_label("Add a tag")).to_have_value("early")
    eventually(lambda: page.wait_for_timeout(20) or held)
    held[0].continue_()
    page.unroute("**/api/photos/60")
    expect(page.locator(".panel h1")).not_to_be_empty()
    page.get_by_label("Add a tag").press("Enter")
    expect(page.get_by_role("region", name="Tags")).to_contain_text("early")


def test_a_word_that_was_marked_stays_marked_when_the_list_comes_late(page, served):
    from playwright.sync_api import expect

    image = served.get("photos", tagged="no", limit=1)[1]["photos"][0]["id"]
    late = []
    page.route("**/api/complete?q=*", lambda route: late.append(route))
    page.goto(f"/photo/{image}")
    page.get_by_role("region", name="Tags").wait_for()
    page.keyboard.press("t")
    page.get_by_role("option", name="grass").wait_for()  # of all words: nothing is typed yet
    page.keyboard.type("gra")
    asked = eventually(
        lambda: page.wait_for_timeout(20) or [route for route in late if "q=gra" in route.request.url]
    )
    page.keyboard.press("ArrowDown")
    page.get_by_role("option", name="grass").evaluate("(option) => (option.dataset.before = '')")
    asked[0].continue_()
    expect(page.locator("[role=option][aria-selected=true]:not([data-before])")).to_contain_text("grass")
    with page.expect_response("**/api/decide"):
        page.keyboard.press("Enter")
    assert [tag["word"] for tag in served.get(f"photos/{image}")[1]["tags"]] == ["grass"]
