"""Take the pictures of the page: every page, for desk and phone, light and dark; some of them go into docs/images.

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
from topicture.app.verbs.mapping.making import make_map
from topicture.demo.scenes import write_collection
from topicture.store import Catalog

IMAGES = Path(__file__).parent / "images"
SIZES = {"desk": (1280, 800), "phone": (390, 844)}
SCHEMES = ("light", "dark")
LIMIT_BYTES = 250_000
# folder -> seed, photos, width, height: several shapes, so that rows are justified
ALBUMS = {"coast": (11, 96, 720, 480), "town": (12, 84, 640, 480), "walks": (13, 48, 480, 600)}
TAGGED = 0.4
SHOWN_PHOTO = "coast/scene-00071.jpg"
BROWSER = ("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run")


@dataclass(frozen=True)
class Picture:
    """A picture of a page: how wide, light or dark."""

    page: str
    size: str
    scheme: str

    @property
    def name(self) -> str:
        return f"page-{self.page}{'-phone' if self.size == 'phone' else ''}.webp"


IN_README = (
    Picture("photos", "desk", "light"),
    Picture("review-grid", "desk", "light"),
    Picture("photo", "desk", "light"),
    Picture("teach", "desk", "dark"),
    Picture("map", "desk", "light"),
    Picture("review-questions", "phone", "light"),
)
PICTURES = (
    *IN_README,
    Picture("search", "desk", "dark"),
    Picture("words", "desk", "light"),
    Picture("learn", "desk", "light"),
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
        with library.reading() as catalog:
            make_map(catalog)
        (photos / "ready").touch()
    return photos


def copy_of(photos: Path, copy: Path) -> Path:
    """A copy that may be changed: what is clicked for one run's pictures is not in the next run's."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(photos, copy)
    Catalog.open(copy / ".topicture", write=True, root=copy).close()
    return copy


# --- The pages -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving(photos: Path) -> Iterator[str]:
    """The address that lets a browser in, of a server of the collection."""
    start = "from topicture.app.cli.main import main; main()"
    command = [sys.executable, "-P", "-c", start, "serve", "--catalog", str(photos / ".topicture")]
    server = subprocess.Popen(
        [*command, "--port", "0", "--no-browser"], stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    try:
        assert server.stdout is not None
        found = re.search(r"http\S+", server.stdout.readline())
        if found is None:
            raise SystemExit("the server did not start")
        yield found.group()
    finally:
        server.terminate()
        server.wait(20)


def photos_page(page: Any) -> None:
    page.goto("/photos")
    page.locator("photo-grid .tile img.there").nth(8).wait_for()


def search_page(page: Any) -> None:
    page.goto("/search?q=flower")
    page.locator("photo-grid .tile img.there").nth(4).wait_for()


def photo_page(page: Any) -> None:
    """A photo on which several suggestions have a place of their own, with all of these shown."""
    page.goto("/photos")
    page.goto(f"/photo/{page.evaluate(FIND, SHOWN_PHOTO)}")
    page.locator(".picture img.there").wait_for()
    page.keyboard.press("o")


def review_page(page: Any) -> None:
    page.goto("/review")
    page.locator(".tag-card img").nth(4).wait_for()


def review_grid_page(page: Any) -> None:
    page.goto("/review/tag/house")
    page.locator(".tile img").nth(4).wait_for()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("x")


def review_questions_page(page: Any) -> None:
    page.goto("/review/questions?order=certain&word=boat")
    page.locator(".stage img").wait_for()


def teach_page(page: Any) -> None:
    """A word that nobody used yet, begun with a search: five photos that have it, and one that has not."""
    page.goto("/teach?word=harbour")
    page.locator(".tile img").nth(4).wait_for()
    search = page.get_by_placeholder("Begin with a search")
    if not search.is_visible():
        return  # it was taught before
    search.fill("boat house")
    page.keyboard.press("Enter")
    page.wait_for_load_state("networkidle")
    for key, number in (("y", 0), ("y", 0), ("y", 0), ("x", 9), ("y", 0), ("y", 0)):
        page.locator(".tile").nth(number).focus()
        page.keyboard.press(key)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(500)


def map_page(page: Any) -> None:
    page.goto("/map")
    page.locator(".map-stage[data-drawn]").wait_for()


def words_page(page: Any) -> None:
    page.goto("/words")
    page.locator(".words-table tbody tr").nth(4).wait_for()


def learn_page(page: Any) -> None:
    page.goto("/learn")
    page.locator(".next-photos img").first.wait_for(timeout=60_000)


def welcome_page(page: Any) -> None:
    page.goto("/welcome")
    page.locator(".step").first.wait_for()


FIND = """async (path) => {
  const { photos } = await (await fetch("/api/photos?limit=500")).json();
  return photos.find((photo) => photo.path.endsWith(path)).id;
}"""
VISITS: dict[str, Callable[[Any], None]] = {
    "photos": photos_page,
    "search": search_page,
    "photo": photo_page,
    "review": review_page,
    "review-grid": review_grid_page,
    "review-questions": review_questions_page,
    "teach": teach_page,
    "map": map_page,
    "words": words_page,
    "learn": learn_page,
    "welcome": welcome_page,
}


def shots(first_address: str, only: list[str]) -> Iterator[tuple[Picture, bytes]]:
    """Every page in every size and theme, as PNG."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(BROWSER))
        cookies = None
        for size, (width, height) in SIZES.items():
            context = browser.new_context(
                base_url=first_address,
                viewport={"width": width, "height": height},
                is_mobile=size == "phone",
                has_touch=size == "phone",
                reduced_motion="reduce",
                storage_state=cookies,
            )
            page = context.new_page()
            page.goto("/photos" if cookies else first_address)
            cookies = context.storage_state()
            page.wait_for_timeout(2000)
            page.locator(".job-pill").wait_for(state="hidden", timeout=180_000)  # all thumbnails are made
            for name in only or VISITS:
                VISITS[name](page)
                page.wait_for_load_state("networkidle")
                for scheme in SCHEMES:
                    page.emulate_media(color_scheme=scheme)
                    page.wait_for_timeout(600)  # thumbnails fade in
                    yield Picture(name, size, scheme), page.screenshot()
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="where the sample collection is, or will be")
    parser.add_argument("--out", type=Path, help="a folder for the pictures of every page")
    parser.add_argument("--only", nargs="*", default=[], choices=VISITS, help="these pages")
    arguments = parser.parse_args()
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
    with serving(copy_of(sample(arguments.work), arguments.work / "served")) as first_address:
        for picture, content in shots(first_address, arguments.only):
            image = Image.open(io.BytesIO(content)).convert("RGB")
            if arguments.out is not None:
                image.save(arguments.out / f"{picture.page}-{picture.size}-{picture.scheme}.png")
            if picture in PICTURES:
                image.save(IMAGES / picture.name, quality=86, method=6)
                print(picture.name, (IMAGES / picture.name).stat().st_size)


if __name__ == "__main__":
    main()
