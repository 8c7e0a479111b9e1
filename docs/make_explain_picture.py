"""Draws docs/images/explain.jpg: the page that `topicture explain` writes about the sample collection, shortened.

Run with `python docs/make_explain_picture.py` (some minutes); Chromium takes the picture. The scenes are rendered by
the package. Of each list the page shows the first entries only, so that all of its parts fit into one picture.
"""

import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from topicture.app.explain.explaining import explain
from topicture.app.explain.explanation import Explanation
from topicture.app.explain.page import page_of
from topicture.app.verbs.library import Library
from topicture.demo.scenes import write_collection
from topicture.store import Catalog

N_SCENES, CAPTIONED, CURVE_MINUTES = 240, 0.5, 5.0
WIDTH, TALLEST, SHOWN_WIDTH = 1280, 6000, 1000
TARGET = Path(__file__).parent / "images" / "explain.jpg"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def shortened(explanation: Explanation) -> Explanation:
    """The first entries of every list; of the topics those that belong to regions."""
    topics = [model for model in explanation.topic_models if model.of == "regions"][:1]
    words = sorted(explanation.word_table, key=lambda word: -word.photos)
    n_map = 14
    return replace(
        explanation,
        trials=explanation.trials[:4],
        tried=explanation.tried[:8],
        topic_models=tuple(model._replace(topics=model.topics[:4]) for model in topics),
        examples=explanation.examples[:2],
        word_table=tuple(words[:9]),
        confusions=explanation.confusions[:5],
        map_words=explanation.map_words[:n_map],
        map_shares=tuple(row[:n_map] for row in explanation.map_shares[:n_map]),
        by_topics={},
        traces=dict(list(explanation.traces.items())[:2]),
    )


def page(folder: Path) -> str:
    """The page about a collection that is written, scanned and learned in an empty folder."""
    write_collection(folder, N_SCENES, captioned=CAPTIONED)
    library = Library.create(folder)
    library.scan()
    library.learn(workers=1)
    with Catalog.open(library.folder) as catalog:
        explanation, recipe = explain(catalog, curve_minutes=CURVE_MINUTES, workers=1)
        return page_of(shortened(explanation), catalog.root, recipe)


def photographed(text: str, folder: Path) -> Image.Image:
    """The page as a browser shows it, without the empty rest below."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit(f"none of {', '.join(BROWSERS)} is installed, and one of them takes the picture")
    (folder / "page.html").write_text(text, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    options += [f"--window-size={WIDTH},{TALLEST}", f"--screenshot={folder / 'page.png'}"]
    subprocess.run([browser, *options, (folder / "page.html").as_uri()], check=True, capture_output=True)
    pixels = np.asarray(Image.open(folder / "page.png").convert("RGB"))
    written = np.flatnonzero((pixels != pixels[-1, -1]).any(axis=(1, 2)))
    return Image.fromarray(pixels[: written[-1] + 40])


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "photos").mkdir()
        picture = photographed(page(folder / "photos"), folder)
    picture.thumbnail((SHOWN_WIDTH, TALLEST))
    picture.save(TARGET, quality=75, optimize=True)


if __name__ == "__main__":
    main()
