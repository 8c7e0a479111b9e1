"""What tests of the page share: a collection that is learned once, a server for each test, and a browser."""

import os
import shutil
from pathlib import Path

import pytest
from photo_folder import copy_library, learn, make_library
from serving import let_in, opened, serving

from topicture.app.verbs.library import Library
from topicture.app.web.site import Site
from topicture.vision.thumbnails import ThumbnailCache, make_thumbnails
from topicture.vision.thumbnails.making import Wanted

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)
# Nothing of the browser's own asks anybody anything; WebGL is drawn by the processor.
QUIET = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    "--enable-unsafe-swiftshader",
)


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """A collection of 64 small photos, 48 of them tagged; learned and annotated. Copy it, never change it.

    Its small pictures are made already: a server of a copy starts no worker for them.
    """
    root = tmp_path_factory.mktemp("sample") / "photos"
    library = make_library(root)
    learn(library)
    with library.reading() as catalog, ThumbnailCache(catalog.cache) as cache:
        for photo in catalog.files.living():
            cache.put(photo.content, make_thumbnails(Wanted(str(root / photo.path), ("small", "large"))))
    return root


@pytest.fixture
def photos(sample, tmp_path):
    """The folder of a copy of the sample."""
    return copy_library(sample, tmp_path / "photos")


@pytest.fixture
def served(photos):
    """A server of a copy of the sample."""
    with serving(Site(photos, Library(photos / ".topicture"))) as served:
        yield served


@pytest.fixture(scope="module")
def shared(sample, tmp_path_factory):
    """A server for all tests of a file, which only look: `served` of such a file is this one."""
    photos = copy_library(sample, tmp_path_factory.mktemp("shared") / "photos")
    with serving(Site(photos, Library(photos / ".topicture"))) as served:
        yield served


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests of a process."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (Debian: apt install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def page(browser, served):
    """A page of a browser that was let in. Whatever it says on its console, and whatever it asks of anybody but the
    server, fails the test; `page.expected` takes parts of messages that a test wants."""
    with opened(browser, served.url) as page:
        let_in(page, served)
        yield page


@pytest.fixture
def shot(request):
    """Save a picture of a page where TOPICTURE_SHOTS names a folder; for people who look at it."""
    folder = os.environ.get("TOPICTURE_SHOTS")

    def take(page, name):
        if folder:
            page.screenshot(path=str(Path(folder) / f"{name}.png"))

    return take
