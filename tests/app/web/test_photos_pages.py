"""Photos, Search and Photo as somebody uses them, by mouse and by keyboard alone."""

NO_PICTURE = "<svg xmlns='http://www.w3.org/2000/svg'/>"


def expect(locator):
    from playwright.sync_api import expect

    return expect(locator)


def test_filters_stand_in_the_address(page, served):
    page.goto("/photos")
    number = page.locator("main [role=status]")
    expect(number).to_have_text("64 photos")
    page.get_by_role("button", name="Untagged").click()
    expect(number).to_have_text("16 photos")
    assert page.url.endswith("/photos?tagged=no")
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_role("button", name="Filter", exact=True).click()
    word = page.get_by_role("combobox", name="Tag", exact=True)
    word.fill("ro")
    page.get_by_role("option", name="rose").click()
    total = served.get("photos", word="rose")[1]["total"]
    expect(number).to_have_text(f"{total} photos")
    page.get_by_label("Folder").select_option("trip")
    fewer = served.get("photos", word="rose", folder="trip")[1]["total"]
    assert 0 < fewer < total
    expect(number).to_have_text(f"{fewer} photo{'' if fewer == 1 else 's'}")
    page.reload()
    expect(number).to_have_text(f"{fewer} photo{'' if fewer == 1 else 's'}")
    expect(word).to_have_value("rose")
    page.go_back()
    expect(number).to_have_text(f"{total} photos")
    page.get_by_label("From").fill("2030-01-01")
    page.get_by_label("From").press("Enter")
    expect(page.get_by_role("heading", name="No photo passes these filters")).to_be_visible()
    page.get_by_role("button", name="Show all photos").click()
    expect(number).to_have_text("64 photos")


def test_photos_are_selected_tagged_and_undone_by_keyboard(page, served):
    page.goto("/photos?tagged=no")
    expect(page.locator(".tile[aria-label^=photo]").first).to_be_visible()
    for key in ("ArrowDown", "x", "ArrowRight", "Space", "Shift+ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator(".selection-bar strong")).to_have_text("3 selected")
    assert page.locator(".tile[aria-selected=true]").count() == 3
    page.keyboard.press("t")
    page.keyboard.type("meadow at dawn")
    page.keyboard.press("Enter")
    expect(page.locator("main [role=status]").first).to_have_text("13 photos")
    assert served.get("photos", word="meadow at dawn")[1]["total"] == 3
    page.keyboard.press("Escape")
    expect(page.locator(".selection-bar")).to_be_hidden()
    page.keyboard.press("z")
    expect(page.locator("main [role=status]").first).to_have_text("16 photos")
    assert served.get("photos", word="meadow at dawn")[1]["total"] == 0


def test_a_range_and_its_rejection_by_mouse(page, served):
    page.goto("/photos")
    tiles = page.locator(".tile[aria-label^=photo]")
    expect(tiles.nth(7)).to_be_visible()
    tiles.nth(1).click(modifiers=["Control"])
    tiles.nth(5).click(modifiers=["Shift"])
    tiles.nth(3).click()
    expect(page.locator(".selection-bar strong")).to_have_text("4 selected")
    page.get_by_label("Tag for the selected photos").fill("fog")
    page.get_by_role("button", name="Reject").click()
    expect(page.get_by_text("without “fog”")).to_be_visible()
    images = [photo["id"] for photo in served.get("photos", limit=6)[1]["photos"]]
    for image in (images[1], images[2], images[4], images[5]):
        assert "fog" in {tag["word"] for tag in served.get(f"photos/{image}")[1]["rejected"]}
    assert served.get(f"photos/{images[3]}")[1]["rejected"] == []


IN_VIEW = """() => {
  const box = document.querySelector("photo-grid").getBoundingClientRect();
  return [...document.querySelectorAll(".tile:not([hidden])")].filter((tile) => {
    const { top, bottom } = tile.getBoundingClientRect();
    return top < box.bottom && bottom > box.top;
  }).map((tile) => tile.index).sort((a, b) => a - b);
}"""


def test_the_last_of_a_million_photos_is_reached(page):
    """The list is made up in the browser: what counts is that the grid gets there, and stays small."""
    page.route(
        "**/api/thumbnails/*", lambda route: route.fulfill(content_type="image/svg+xml", body=NO_PICTURE)
    )
    page.goto("/photos")
    page.evaluate(
        """async () => {
  const grid = document.querySelector("photo-grid");
  const photo = (id) => ({ id, name: `photo ${id}`, width: 300 + (id * 7919) % 400, height: 300, tags: 0 });
  await grid.show(async (offset, limit) => {
    const length = Math.min(limit, 1000000 - offset);
    return { total: 1000000, photos: Array.from({ length }, (_, i) => photo(offset + i)) };
  });
}"""
    )
    grid = page.locator("photo-grid")

    def in_view():
        return page.evaluate(IN_VIEW)

    assert in_view()[0] == 0
    grid.evaluate("grid => (grid.scrollTop = grid.scrollHeight)")
    expect(page.locator(".tile[aria-posinset='1000000']")).to_be_visible()
    assert in_view()[-1] == 999_999
    grid.evaluate("grid => (grid.scrollTop = grid.scrollHeight / 2)")
    expect(page.locator(".tile[aria-label='photo 500040, 0 tags']")).to_be_attached()
    assert abs(in_view()[0] - 500_000) < 100
    grid.focus()
    page.keyboard.press("Home")
    expect(page.locator(".tile[aria-posinset='1']")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator(".tile.active[aria-posinset='1000000']")).to_be_visible()
    # Up by wheel, a screenful at a time: nothing is left out, and the order stays.
    seen = set(in_view())
    for _ in range(12):
        first = in_view()[0]
        page.mouse.move(600, 500)
        page.mouse.wheel(0, -500)
        page.wait_for_function(f"first => ({IN_VIEW})()[0] < first", arg=first)
        seen |= set(in_view())
    assert sorted(seen) == list(range(min(seen), 1_000_000))
    assert page.locator(".tile").count() < 400


def test_nothing_jumps_when_sizes_arrive(page):
    page.route(
        "**/api/thumbnails/*", lambda route: route.fulfill(content_type="image/svg+xml", body=NO_PICTURE)
    )
    page.goto("/photos")
    moved = page.evaluate(
        """async () => {
  const grid = document.querySelector("photo-grid");
  const photo = (id) => ({ id, name: `photo ${id}`, width: 300 + (id * 7919) % 900, height: 400, tags: 0 });
  const late = [];
  const page = (offset, length) => ({ total: 5000, photos: Array.from({ length }, (_, i) => photo(offset + i)) });
  const source = (offset, limit) => offset === 2000 ? page(offset, limit)
    : new Promise((resolve) => late.push(() => resolve(page(offset, limit))));
  await grid.show(source, { index: 2040 });
  const pause = () => new Promise((resolve) => setTimeout(resolve, 150));
  await pause();
  const tile = document.querySelector(".tile[aria-posinset='2041']");
  const before = tile.getBoundingClientRect().top;
  while (late.length) late.pop()();
  await pause();
  return [before, tile.getBoundingClientRect().top, tile.index];
}"""
    )
    assert moved[2] == 2040
    assert abs(moved[0] - moved[1]) < 1


MANY = """(broken) => {
  const photo = (id) => ({ id, name: `photo ${id}`, width: 3, height: 2, tags: 0 });
  const source = (total) => (offset, limit, { signal }) => new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    if (offset === broken) reject(new Error("The photos from 300 on are gone."));
    const length = Math.min(limit, total - offset);
    setTimeout(() => resolve({ total, photos: Array.from({ length }, (_, i) => photo(offset + i)) }), 40);
  });
  window.grid = document.querySelector("photo-grid");
  window.source = source;
  return grid.show(source(650));
}"""


def test_all_photos_are_selected_however_slowly_they_come_or_none(page):
    page.route(
        "**/api/thumbnails/*", lambda route: route.fulfill(content_type="image/svg+xml", body=NO_PICTURE)
    )
    page.goto("/photos")
    page.evaluate(MANY, -1)
    page.locator("photo-grid").focus()
    page.keyboard.press("Control+a")
    chosen = page.locator(".selection-bar strong")
    expect(chosen).to_have_text("650 selected")
    page.keyboard.press("Escape")
    expect(chosen).to_be_hidden()
    page.evaluate(MANY, 300)
    page.keyboard.press("Control+a")
    expect(page.get_by_text("The photos from 300 on are gone.")).to_be_visible()
    expect(chosen).to_be_hidden()


def test_a_new_list_begins_at_its_beginning(page):
    page.route(
        "**/api/thumbnails/*", lambda route: route.fulfill(content_type="image/svg+xml", body=NO_PICTURE)
    )
    page.goto("/photos")
    page.evaluate(MANY, -1)
    for total in (600, 0, 600):
        page.evaluate("grid.scrollTop = 6000")
        expect(page.locator(".tile[aria-posinset='1']")).not_to_be_attached()
        page.evaluate("total => grid.show(source(total)).then(() => grid.hidden = false)", total)
        assert page.evaluate("[grid.scrollTop, grid.track.offset]") == [0, 0]
        if not total:
            page.evaluate("grid.show(source(650))")
        expect(page.locator(".tile[aria-posinset='1']")).to_be_visible()


def test_search_answers_as_one_types(page, served):
    page.goto("/photos")
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Search the photos")
    field.fill("rose")
    field.press("Enter")
    page.wait_for_url("**/search?q=rose")
    number = page.locator("main [role=status]").first

    def total(query):
        n = served.get("search", q=query)[1]["total"]
        return f"{n} photo{'' if n == 1 else 's'}"

    expect(number).to_have_text(total("rose"))
    field.press("End")
    field.press_sequentially(" -se")
    page.get_by_role("option", name="sea").click()
    expect(number).to_have_text(total("rose -sea"))
    assert page.url.endswith("q=rose+-sea+")
    chips = page.get_by_role("list", name="Words of the search")
    expect(chips).to_contain_text("not sea")
    chips.get_by_role("button", name="not sea").click()
    expect(number).to_have_text(total("rose sea"))
    chips.get_by_role("button", name="Remove rose").click()
    expect(number).to_have_text(total("sea"))
    first = served.get("search", q="sea", limit=1)[1]["hits"][0]
    shown = "✓" if first["said"] else f"{round(100 * first['probability'])}%"
    expect(page.locator(".tile[aria-posinset='1'] .badge")).to_have_text(shown)
    field.fill("rosse sand")
    page.get_by_role("link", name="rose sand").click()
    expect(number).to_have_text(total("rose sand"))
    field.fill("sand, rose OR sea")
    expect(number).to_have_text(total("sand, rose OR sea"))
    expect(chips).to_contain_text("or sea")
    chips.get_by_role("button", name="Remove rose").click()
    expect(number).to_have_text(total("sand sea"))
    field.fill("")
    expect(page.get_by_role("heading", name="What are you looking for?")).to_be_visible()


def test_suggestions_are_answered_on_the_photo(page, served):
    listed = served.get("photos", suggested="yes", tagged="no")[1]["photos"]
    image = listed[0]["id"]
    words = [each["word"] for each in served.get(f"photos/{image}")[1]["suggestions"]]
    page.goto("/photos?suggested=yes&tagged=no")
    page.locator(".tile[aria-posinset='1'] img.there").click()
    page.wait_for_url(f"**/photo/{image}?*")
    suggestions = page.get_by_role("region", name="Suggestions")
    expect(suggestions.get_by_role("button", name=f"Accept {words[0]}")).to_be_visible()
    with page.expect_response("**/api/decide"):
        page.keyboard.press("a")
    tags = page.get_by_role("region", name="Tags")
    expect(tags.get_by_role("link", name=words[0])).to_be_visible()
    expect(tags).to_contain_text("by you")
    assert [tag["word"] for tag in served.get(f"photos/{image}")[1]["tags"]] == [words[0]]
    page.keyboard.press("z")
    expect(suggestions.get_by_role("button", name=f"Accept {words[0]}")).to_be_visible()
    suggestions.get_by_role("button", name=f"Reject {words[0]}").click()
    expect(page.get_by_text("1 word rejected")).to_be_visible()
    assert served.get(f"photos/{image}")[1]["tags"] == []
    page.keyboard.press("t")
    page.keyboard.type("gra")
    expect(page.get_by_role("option", name="grass")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(tags.get_by_role("link", name="grass")).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/photo/*at=*")
    expect(page.locator(".panel h1")).not_to_have_text(listed[0]["name"])
    page.keyboard.press("Escape")
    page.wait_for_url("**/photos?*")


def test_why_is_told(page, served):
    image = served.get("photos", suggested="yes", tagged="no", limit=1)[1]["photos"][0]["id"]
    page.goto(f"/photo/{image}")
    page.get_by_role("button", name="Why?").first.click()
    expect(page.get_by_text("of the 8 tagged photos most like it")).to_be_visible()
    page.set_default_timeout(60_000)
    expect(page.get_by_role("cell", name="lsa")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("heading", name="Similar")).to_be_visible()


def test_an_edited_copy_is_called_one(page, served):
    photo = served.get("photos/1")[1] | {"edit_of": "trip/IMG_1.jpg", "taken": "2019-07-21T18:03:59"}
    page.route("**/api/photos/1", lambda route: route.fulfill(json=photo))
    page.goto("/photo/1")
    expect(page.locator(".facts")).to_contain_text("edited copy of trip/IMG_1.jpg · July 21, 2019")
