"""Teach: a word by a few clicks, its data and its page by keyboard alone."""

import time

import numpy as np
import pytest
from photo_folder import words_of
from test_review_pages import is_measured

from topicture.app.learning.training_tags import gather
from topicture.store import Catalog


def number(path):
    return int(path.split("photo-")[1][:3])


def with_word(served, word):
    """Ids of the photos that truly have a word, and of those that have not."""
    with Catalog.open(served.library.folder) as catalog:
        paths = catalog.files.first_paths(catalog.index_images().tolist())
    has = [image for image, path in paths.items() if word in words_of(number(path))]
    return has, [image for image in paths if image not in set(has)]


def test_clicks_rank_the_rest_of_the_collection(served):
    has, lacks = with_word(served, "sea")
    status, taught = served.post("teach", {"word": "ocean", "yes": has[:5], "no": lacks[:2], "limit": 64})
    assert status == 200
    assert (taught["yes"], taught["no"]) == (5, 2)
    ranked = [photo["id"] for photo in taught["photos"]]
    assert set(ranked) == {*has, *lacks} - {*has[:5], *lacks[:2]}
    assert np.mean([image in has for image in ranked[: len(has) - 5]]) > 0.8
    falling = [photo["probability"] for photo in taught["photos"]]
    assert falling == sorted(falling, reverse=True)
    assert 0 < falling[-1] <= falling[0] < 1
    assert taught["likely"] == sum(p >= 0.5 for p in falling)
    assert taught["seconds"] > 0
    with Catalog.open(served.library.folder) as catalog:  # nothing is decided by looking
        assert catalog.decisions.find_word("ocean") is None


def test_what_was_decided_teaches_too_and_a_click_overrules_it(served):
    has, lacks = with_word(served, "sea")
    decided = [
        *({"image": image, "word": "ocean", "verdict": "present"} for image in has[:3]),
        {"image": lacks[0], "word": "ocean", "verdict": "rejected"},
    ]
    served.post("decide", {"decisions": decided})
    _, taught = served.post("teach", {"word": "ocean"})
    assert (taught["yes"], taught["no"]) == (3, 1)
    assert sorted(taught["examples"]["yes"]) == sorted(has[:3])
    assert taught["examples"]["no"] == [lacks[0]]
    _, taught = served.post("teach", {"word": "ocean", "no": [has[0]]})
    assert (taught["yes"], taught["no"]) == (2, 2)


def test_pages_of_a_ranking_follow_one_another(served):
    has, _ = with_word(served, "sea")
    body = {"word": "ocean", "yes": has[:5]}
    _, whole = served.post("teach", {**body, "limit": 30})
    _, first = served.post("teach", {**body, "limit": 10})
    _, second = served.post("teach", {**body, "limit": 20, "offset": 10})
    assert [p["id"] for p in first["photos"] + second["photos"]] == [p["id"] for p in whole["photos"]]


def test_a_beginning_without_examples(shared):
    _, known = shared.post("teach", {"word": "sea", "limit": 5})
    assert known["yes"] > 0  # its owner's tags are examples
    _, some = shared.post("teach", {"word": "ferry", "limit": 8})
    _, others = shared.post("teach", {"word": "ferry", "limit": 8, "seed": 1})
    ids = [[photo["id"] for photo in each["photos"]] for each in (some, others)]
    assert len(ids[0]) == len(ids[1]) == 8
    assert ids[0] != ids[1]
    assert "probability" not in some["photos"][0]
    _, found = shared.post("teach", {"word": "ferry", "limit": 8, "query": "sea"})
    has, _ = with_word(shared, "sea")
    assert np.mean([photo["id"] in has for photo in found["photos"]]) > 0.8


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"word": " "},
        {"word": 3},
        {"word": "a\nb"},
        {"word": "x", "yes": "1"},
        {"word": "x", "yes": ["1"]},
        {"word": "x", "no": [-1]},
        {"word": "x", "limit": 10**9},
        {"word": "x", "query": 1},
    ],
)
def test_a_bad_request_is_told(shared, body):
    status, answer = shared.post("teach", body)
    assert 400 <= status < 500
    assert answer["error"]["message"]


def test_photos_that_there_are_none_of_teach_nothing(served):
    status, taught = served.post("teach", {"word": "ferry", "yes": [10**6], "limit": 3})
    assert status == 200
    assert len(taught["photos"]) == 3


def test_a_word_is_taught_by_keyboard_alone_and_learned_afterwards(page, served):
    has, _ = with_word(served, "sea")
    page.goto(f"{served.url}/teach")
    page.keyboard.type("ocean")
    page.keyboard.press("Enter")
    page.wait_for_selector(".tile")
    chosen = []
    for _ in range(5):
        ids = page.eval_on_selector_all(".tile", "tiles => tiles.map(t => t.photo.id)")
        target = next(i for i, image in enumerate(ids) if image in has)
        page.keyboard.press("Home")
        for _ in range(target):
            page.keyboard.press("ArrowRight")
        chosen.append(ids[target])
        page.keyboard.press("Space")
        page.wait_for_function(
            "id => ![...document.querySelectorAll('.tile')].some(t => t.photo.id === id)", arg=ids[target]
        )
    is_measured(page, "ranked")
    wrong = page.eval_on_selector_all(".tile", "tiles => tiles.map(t => t.photo.id)")
    target = max(i for i, image in enumerate(wrong) if image not in has)
    page.keyboard.press("End")
    for _ in range(len(wrong) - 1 - target):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("x")
    page.get_by_text("5 examples, 1 without it").wait_for()
    ranked = page.eval_on_selector_all(".tile", "tiles => tiles.map(t => t.photo.id)")
    page.keyboard.press("Home")
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("l")  # the line after the sixth
    page.get_by_text("Accept 6 photos").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("11 examples, 1 without it").wait_for()

    def present():
        with Catalog.open(served.library.folder) as catalog:
            return set(catalog.decisions.images_with(["ocean"], "present"))

    end = time.monotonic() + 10
    while present() != {*chosen, *ranked[:6]}:
        assert time.monotonic() < end
        time.sleep(0.05)
    page.keyboard.press("z")
    page.get_by_text("5 examples, 1 without it").wait_for()
    assert present() == set(chosen)
    with Catalog.open(served.library.folder) as catalog:
        assert "ocean" in gather(catalog, min_count=3).vocabulary
