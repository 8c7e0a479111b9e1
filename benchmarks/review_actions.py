"""What a review costs: clicks and keys per decision, on suggestions of which 90% are right.

A person who makes no mistakes reviews the same suggestions in the page's grid by mouse, in the grid by keyboard alone,
by single questions in the page, and by `review` in the terminal. Actions are counted, not timed: a click, or a key. The
goal is 0.15 per decision in the grid. `paint ms` is the time from the key press until the next page or question was
painted.
"""

import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import uvicorn
from PIL import Image

from topicture.app.cli.deciding.review_loop import ask_in_terminal
from topicture.app.verbs.library import Library
from topicture.app.web.application import build
from topicture.app.web.site import Site

N_PHOTOS, N_WORDS = 240, 4
MOST_ACTIONS, MOST_MS = 0.15, 50.0
SINGLE = 100  # questions asked one by one
CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]


def run(quick: bool = True) -> list[dict]:
    """Rows {"name", "decisions", "actions", "per decision", "paint ms", ...}, or none without a browser."""
    if CHROMIUM is None:
        print("no Chromium is installed (Debian: apt install chromium)")
        return []
    from playwright.sync_api import sync_playwright

    ways: dict[str, Callable] = {
        "grid, by mouse": _by_mouse,
        "grid, by keyboard alone": _by_keyboard,
        "single questions": _one_by_one,
    }
    rows = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for number, (name, way) in enumerate(ways.items()):
            library, truth = _collection(Path(folder) / str(number))
            with _serving(library) as address:
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                actions, paint = way(page, address, library, truth)
            rows.append({"name": name, **_judged(library, truth, actions), **_times(paint)})
        browser.close()
        library, truth = _collection(Path(folder) / "terminal")
        rows.append(
            {"name": "review in the terminal", **_judged(library, truth, _in_terminal(library, truth))}
        )
    return rows


# --- A collection, and what is true of it ---------------------------------------------------------------------------


def _collection(root: Path) -> tuple[Library, dict[tuple[int, str], bool]]:
    """Photos with suggestions of which nine in ten are right, as often as their probabilities say; and which are."""
    rng = np.random.default_rng(7)
    root.mkdir()
    for i in range(N_PHOTOS):
        colour = tuple(int(c) for c in rng.integers(40, 220, 3))
        Image.new("RGB", (240, 160), colour).save(root / f"photo-{i:03d}.jpg")
    library = Library.create(root)
    library.scan()
    truth: dict[tuple[int, str], bool] = {}
    with library.writing("learn") as catalog:
        model = catalog.suggestions.add_model("0001", "trial", 1, {})
        rows = []
        for photo in catalog.files.living():
            for number in range(N_WORDS):
                probability = 1 - 0.5 * rng.beta(0.5, 2.0)  # 0.9 on average, none below even odds
                word = f"word {number}"
                truth[photo.image, word] = bool(rng.random() < probability)
                rows.append((photo.image, catalog.decisions.word_id(word), probability))
        catalog.suggestions.replace(model, rows)
    return library, truth


def _judged(library: Library, truth: dict[tuple[int, str], bool], actions: int) -> dict[str, Any]:
    """How many were decided with so many actions; all of them must be right."""
    with library.reading() as catalog:
        decided = {
            (image, word): verdict == "present" for image, word, verdict, _ in catalog.decisions.all_tags()
        }
    wrong = sum(truth[pair] != verdict for pair, verdict in decided.items())
    assert not wrong, f"{wrong} decisions are not what was answered"
    right = sum(decided.values()) / len(decided)
    return {
        "decisions": len(decided),
        "suggestions right": right,
        "actions": actions,
        "per decision": actions / len(decided),
        "most": MOST_ACTIONS,
    }


# --- Ways to review -------------------------------------------------------------------------------------------------


class _Hands:
    """Clicks and keys, counted."""

    def __init__(self, page: Any):
        self.page, self.actions = page, 0

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.actions += 1

    def click(self, tile: int) -> None:
        self.page.locator(".tile").nth(tile).click()
        self.actions += 1


def _grid(
    page: Any, address: str, truth: dict, untick: Callable[[_Hands, list[int]], None]
) -> tuple[int, list]:
    hands = _Hands(page)
    page.goto(f"{address}/review")
    page.wait_for_selector(".tag-card")
    hands.press("Enter")
    page.wait_for_selector(".tile")
    while True:
        page.wait_for_timeout(1000)  # nobody looks at a page of photos more quickly
        word = page.locator("h1").inner_text()
        photos = page.eval_on_selector_all(".tile", "tiles => tiles.map(tile => tile.photo.id)")
        assert set(page.eval_on_selector_all(".tile", "tiles => tiles.map(t => t.dataset.state)")) == {"yes"}
        untick(hands, [i for i, image in enumerate(photos) if not truth[image, word]])
        hands.press("Enter")
        page.wait_for_function(
            "([word, id]) => document.querySelector('.empty') || document.querySelector('h1').textContent !== word "
            "|| document.querySelector('.tile').photo.id !== id",
            arg=[word, photos[0]],
        )
        if page.locator(".empty").count():
            page.wait_for_timeout(1000)  # the last decisions are on their way
            return hands.actions, _paint(page, "next-page")


def _by_mouse(page: Any, address: str, library: Library, truth: dict) -> tuple[int, list]:
    def untick(hands: _Hands, wrong: list[int]) -> None:
        for tile in wrong:
            hands.click(tile)

    return _grid(page, address, truth, untick)


def _by_keyboard(page: Any, address: str, library: Library, truth: dict) -> tuple[int, list]:
    """With a key on every photo, which one key turns on for good; each key of a label counts."""

    def untick(hands: _Hands, wrong: list[int]) -> None:
        if not hands.page.locator(".tile-key").count():
            hands.press("f")
        labels = hands.page.eval_on_selector_all(
            ".tile", "tiles => tiles.map(t => t.querySelector('kbd').textContent)"
        )
        for tile in wrong:
            for key in labels[tile]:
                hands.press(key)

    return _grid(page, address, truth, untick)


def _one_by_one(page: Any, address: str, library: Library, truth: dict) -> tuple[int, list]:
    hands = _Hands(page)
    page.goto(f"{address}/review/questions?order=certain")
    page.wait_for_function("document.querySelector('.question')?.textContent")
    for question in library.queue("certain", limit=SINGLE):
        shown = "([word, id]) => document.querySelector('.question').textContent === word + '?' "
        shown += "&& document.querySelector('.stage img').src.includes(`/${id}?`)"
        page.wait_for_function(shown, arg=[question.word, question.image])
        hands.press("a" if truth[question.image, question.word] else "r")
        page.wait_for_timeout(120)  # nobody answers more quickly
    page.wait_for_timeout(1000)
    return hands.actions, _paint(page, "next-question")


def _in_terminal(library: Library, truth: dict) -> int:
    questions, pressed = library.queue("certain", limit=SINGLE), count()
    keys = iter(["y" if truth[question.image, question.word] else "n" for question in questions])

    def read_key() -> str:
        next(pressed)
        return next(keys)

    ask_in_terminal(library, questions, read_key=read_key, say=lambda line: None)
    return next(pressed)


def _paint(page: Any, name: str) -> list[float]:
    return page.evaluate(f"performance.getEntriesByName('{name}').map(entry => entry.duration)")


def _times(paint: list[float]) -> dict[str, Any]:
    return {"paint ms": median(paint), "paint ms, longest": max(paint), "most ms": MOST_MS}


@contextmanager
def _serving(library: Library) -> Iterator[str]:
    site = Site(None, library)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(build(site), log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
        site.close()
