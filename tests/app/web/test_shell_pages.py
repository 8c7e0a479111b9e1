"""Welcome and Learn, as people use them."""

import json
import re
from pathlib import Path

import pytest
from photo_folder import RECIPE, make_photos
from serving import opened, serving

import topicture.app.web
from topicture.app.explain.evaluating import trust_in_words
from topicture.app.learning import recipes
from topicture.app.learning.reports import not_measured
from topicture.app.verbs.library import Library
from topicture.app.web.jobs.board import GRACE_SECONDS
from topicture.app.web.jobs.job import Job
from topicture.app.web.site import Site
from topicture.store.decisions.promises import Promises
from topicture.vision.recipe import Recipe

CODE_FROM_TEXT = r"\.(innerHTML|outerHTML|insertAdjacentHTML|srcdoc)|document\.write|eval\("
STATIC = Path(topicture.app.web.__file__).parent / "static"


@pytest.fixture
def quick(monkeypatch):
    """A catalog that is made by the page measures what tests measure."""
    monkeypatch.setattr(recipes, "DEFAULT_RECIPE", Recipe(**RECIPE))


def with_a_quick_model(route):
    """Trying all models takes a minute."""
    if route.request.method == "POST":
        route.continue_(
            post_data=json.dumps({"kind": "learn", "options": {"model": "lsa", "regions": False}})
        )
    else:
        route.continue_()


@pytest.mark.slow  # learns
def test_from_a_folder_to_the_first_suggestions(browser, tmp_path, quick, shot):
    photos = make_photos(tmp_path / "photos")
    with serving(Site(photos, None)) as served, opened(browser, served.url) as page:
        page.goto(served.first_address)
        assert page.url == f"{served.url}/welcome"
        assert page.input_value("#folder") == str(photos)
        page.get_by_role("button", name="Begin").press("Enter")
        page.get_by_text("64 photos, 48 of them with keywords already (4 words).").wait_for()
        shot(page, "welcome-found")
        page.route("**/api/jobs", with_a_quick_model)
        page.get_by_role("button", name="Learn now").press("Enter")
        page.get_by_role("link", name="Review", exact=True).first.wait_for()
        page.get_by_text(re.compile(r"\d+ suggestions? for \d+ photos?\.")).wait_for(timeout=90_000)
        shot(page, "welcome-done")
        assert served.site.library.status().open_suggestions > 0


def test_a_folder_that_is_none_is_told(browser, tmp_path):
    with serving(Site(None, None)) as served, opened(browser, served.url) as page:
        page.expected.append("400 (Bad Request)")
        page.goto(served.first_address)
        for folder in (str(tmp_path / "nowhere"), "~nobodyhere/photos"):
            page.fill("#folder", folder)
            page.get_by_role("button", name="Begin").click()
            page.get_by_text(f"{folder}: not a folder on this computer").wait_for()
        page.goto("/learn")  # without a collection, every page still opens
        page.expected.append("409 (Conflict)")


def test_learning_is_started_watched_and_cancelled(page, served):
    page.goto("/learn")
    page.get_by_role("button", name="Learn", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    # Compiled code may not listen at once: then the process is ended after a while.
    page.get_by_text(re.compile("Learning was cancelled just now")).wait_for(timeout=6e3 * GRACE_SECONDS)
    assert len(served.library.models()) == 1
    assert page.get_by_role("button", name="Learn", exact=True).is_enabled()


def test_learn_tells_how_far_it_can_be_trusted(page, served, shot):
    result = {
        "annotated": {"suggestions": 3, "with_suggestions": 2, "skipped": ["a: bad"], "skipped_count": 2000}
    }
    job = {**vars(Job(1, "annotate", {}, "done", ended=2.0)), "result": result}
    page.route("**/api/jobs", lambda route: route.fulfill(json={"jobs": [job]}))
    page.goto("/learn")
    page.get_by_text("2,000 photos were skipped").wait_for()
    page.get_by_role("heading", name="Does 80% mean 80%?").wait_for()
    assert "came true" in page.get_by_role("img", name=re.compile("^Calibration")).get_attribute("aria-label")
    table = page.get_by_role("region", name="Precision of each word")
    assert table.get_by_role("row").count() == 5
    assert page.get_by_role("region", name="What was learned before").get_by_role("row").count() == 2
    page.locator(".next-photos img").first.wait_for()
    assert page.get_by_role("region", name="Models compared on hidden tags").count() == 1
    shot(page, "learn")


def test_learn_says_what_it_was_measured_on(page, served):
    """Where answers alone measured it, nothing that hidden tags would say is told."""
    models = served.get("models")[1]
    assert models["report"]["said"][0].startswith(
        "Measured on tags that were hidden: a probability is off by "
    )
    assert "of a perfect ranking (mean average precision, ± " in models["report"]["said"][1]
    models["report"]["by_answers"] = True
    (by_answers,) = trust_in_words(models["report"])
    assert by_answers.startswith("Measured on answers about untagged photos: a probability is off by ")
    assert "ranking" not in by_answers
    models["report"]["said"] = [by_answers]
    page.route("**/api/models", lambda route: route.fulfill(json=models))
    page.goto("/learn")
    trust = page.get_by_role("region", name="Does 80% mean 80%?")
    trust.get_by_text(by_answers).wait_for()
    assert "hidden" not in trust.inner_text()
    assert page.get_by_role("region", name="Models compared on hidden tags").count() == 0


def test_learn_tells_where_nothing_was_measured(page, served):
    models = served.get("models")[1]
    for tag in models["report"]["tags"]:
        tag |= dict.fromkeys(("suggested", "precision", "threshold", "accepted"))
    models["report"] |= {
        "measured": False,
        "reliability": [],
        "calibration_error": None,
        "warning": not_measured(46, 100),
        "promises": Promises(answers=54, promised=0.59, came_true=0.07),
    }
    models["report"] |= {"said": trust_in_words(models["report"]), "promises": None}
    page.route("**/api/models", lambda route: route.fulfill(json=models))
    page.goto("/learn")
    trust = page.get_by_role("region", name="Does 80% mean 80%?")
    trust.get_by_text("Nothing was measured yet: no two tags occur together").wait_for()
    trust.get_by_text("Answer 54 more questions about untagged photos").wait_for()
    trust.get_by_text("Of 54 answers about suggestions, 59% were promised and 7% came true.").wait_for()
    assert trust.get_by_role("img").count() == 0
    assert "off by" not in trust.inner_text()
    table = page.get_by_role("region", name="Photos with each word")
    assert table.get_by_role("columnheader").all_inner_texts() == ["Word", "Photos"]
    trust.get_by_role("link", name="Answer questions").click()
    page.locator(".stage img").wait_for()
    assert page.get_by_label("Order").input_value() == "random"


def test_what_runs_is_shown_on_every_page_and_goes_on(page, served):
    page.goto("/words")
    served.post("jobs", {"kind": "scan"})
    page.evaluate(
        "void document.dispatchEvent(new Event('visibilitychange'))"
    )  # as when one comes back to the tab
    page.get_by_text("Looking for photos: done.").wait_for()


def test_hostile_words_and_names_are_text(browser, tmp_path):
    word = "<img src=x onerror=alert(1)>"
    photos = make_photos(tmp_path / "<b>photos", n=12, tagged=9)
    library = Library.create(photos, recipe=RECIPE)
    library.scan()
    library.decide(1, [word], "present")
    library.learn("knn", regions=False, workers=0)
    library.annotate(workers=0)
    with serving(Site(photos, library)) as served, opened(browser, served.url) as page:
        page.goto(served.first_address)
        page.goto("/learn")
        page.get_by_text(word).wait_for()
        page.goto("/welcome")
        page.get_by_text("<b>photos").wait_for()
        assert page.locator("img[src=x], main b").count() == 0


def test_pages_have_no_inline_code_and_ask_nobody_else():
    for path in STATIC.parent.rglob("*"):
        if path.suffix in (".js", ".css", ".html"):
            text = path.read_text()
            assert not re.search(
                r"\.(innerHTML|outerHTML|insertAdjacentHTML|srcdoc)|document\.write|eval\(", text
            ), path
            outside = set(re.findall(r"https?://[^\s\"'`)]+", text)) - {"http://www.w3.org/2000/svg"}
            assert outside == set(), path
        if path.suffix == ".html":
            # The door may load nothing: its style is within it, and allowed by its digest alone.
            text = path.read_text().replace("<style>{{ style }}</style>", "")
            assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=|<style", text), path
