"""Every page of the server with something on it: where it is, and when it is there."""

from topicture.app.verbs.mapping.making import make_map
from topicture.app.web.addresses import PAGES

DESK, PHONE = (1280, 800), (390, 844)
WORD, PHOTO = "rose", 60  # a photo without tags, with suggestions
PARAMETERS = {"{id:number}": str(PHOTO), "{word:path}": WORD}
QUERIES = {"search": f"?q={WORD}", "teach": f"?word={WORD}"}
# What a page shows once its data are there; a page without a line here is there with its heading.
READY = {
    "photos": "photo-grid .tile img.there",
    "search": "photo-grid .tile img.there",
    "photo": ".picture img.there",
    "review": ".tag-card",
    "review-grid": ".tile img",
    "review-questions": ".stage img",
    "teach": ".tile img",
    "map": ".map-stage[data-drawn]",
    "words": ".words-table tbody tr",
    "learn": ".learn-report .card",
    "welcome": ".step",
}
NAMES = {name: address for address, (name, _) in PAGES.items()}
STALL = "GPU stall due to ReadPixels"  # of taking a picture of the map


def address_of(name):
    address = NAMES[name]
    for parameter, value in PARAMETERS.items():
        address = address.replace(parameter, value)
    return address + QUERIES.get(name, "")


def resize(page, size):
    """Resize the window, and wait until the page has heard of it: the event comes with the next frame."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def settle(page):
    """Wait for what was opened: as long as it is on its way, a line with an ellipsis stands in for it."""
    page.wait_for_function(
        "() => ![...document.querySelectorAll('main, dialog')].some((each) => each.innerText.includes('…'))",
        timeout=60_000,  # a model may have to be loaded
    )


def visit(page, served, name, size=DESK):
    """Open a page, and wait for what it shows."""
    if name == "map":
        page.expected.append(STALL)
        with served.library.reading() as catalog:
            make_map(catalog)
    resize(page, size)
    page.goto(address_of(name))
    page.locator(READY.get(name, "main h1")).first.wait_for()
    page.wait_for_load_state("networkidle")
