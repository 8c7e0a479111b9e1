"""Take the pictures of the page: every page, for desk and phone, light and dark; six of them go into docs/images.

python docs/screenshots.py --work WORK_FOLDER [--out FOLDER] [--only NAME ...]

The sample collection is rendered, learned and annotated once, in the work folder; later runs find it there.
"""

import argparse
import contextlib
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from topicture.app.verbs.library import Library
from topicture.demo.scenes import write_collection

IMAGES = Path(__file__).parent / "images"
SIZES = {"desk": (1280, 800), "phone": (390, 844)}
SCHEMES = ("light", "dark")
LIMIT_BYTES = 250_000
# folder -> seed, photos, width, height: several shapes, so that rows are justified
ALBUMS = {"coast": (11, 96, 720, 480), "town": (12, 84, 640, 480), "walks": (13, 48, 480, 600)}
TAGGED = 0.4
BROWSER = ("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run")


@dataclass(frozen=True)
class Picture:
    """One of the pictures in docs/images: which page, how wide, light or dark."""

    page: str
    size: str
    scheme: str

    @property
    def name(self) -> str:
        return f"page-{self.page}{'-phone' if self.size == 'phone' else ''}.webp"


PICTURES = (
    Picture("photos", "desk", "light"),
    Picture("review-grid", "desk", "light"),
    Picture("photo", "desk", "light"),
    Picture("teach", "desk", "dark"),
    Picture("map", "desk", "light"),
    Picture("review-questions", "phone", "light"),
)


# --- The collection ----------------------------------------------------------------------------------------------


def sample(work: Path) -> Path:
    """The folder of the sample collection, learned and annotated."""
    photos = work / "photos"
    if not (photos / "ready").exists():
        for album, (seed, n, width, height) in ALBUMS.items():
            if not (photos / album / "captions.csv").exists():
                write_collection(
                    photos / album, n, seed, width=width, height=height, workers=2, captioned=TAGGED
                )
        shutil.rmtree(photos / ".topicture", ignore_errors=True)
        library = Library.create(photos)
        library.scan()
        library.learn(budget_seconds=240)
        library.annotate()
        (photos / "ready").touch()
    return photos


if __name__ == "__main__":
    sample(Path(sys.argv[1]))
