"""The Words page in a browser: rename in place, merge, policies, the tree, keyboard, undo; and its data."""

import pytest

HOSTILE = "<img src=x onerror=alert(1)>"


def words(served):
    return {each["word"]: each for each in served.get("words")[1]["words"]}


def tag(served, word, n=3, offset=0):
    with served.library.reading() as catalog:
        images = catalog.index_images()[offset : offset + n].tolist()
    for image in images:
        served.library.decide(image, [word], "present")


@pytest.fixture
def table(page, served):
    page.goto(f"{served.url}/words")
    page.get_by_role("button", name="rose", exact=True).wait_for()
    return page


# --- Data -----------------------------------------------------------------------------------------------------


def test_words_are_listed_with_counts(shared):
    assert set(words(shared)) == {"rose", "grass", "sea", "sand"}
    rose = words(shared)["rose"]
    assert rose["photos"] == rose["by_people"] + rose["by_machine"] > 0
    assert set(rose) >= {"rejected", "suggestions", "precision", "policy", "parent"}
    assert [each["word"] for each in shared.get("words", q="SA")[1]["words"]] == ["sand"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("rename", {"word": "rose"}),
        ("rename", {"word": 1, "to": "x"}),
        ("rename", {"word": "rose", "to": "\n"}),
        ("rename", {"word": "unicorn", "to": "horse"}),
        ("merge", {"words": "rose", "into": "sea"}),
        ("merge", {"words": [], "into": "sea"}),
        ("parent", {"word": "rose", "parent": "rose"}),
        ("policy", {"word": "rose", "policy": "accept"}),
        ("policy", {"word": "rose", "policy": "accept", "precision": "0.9"}),
        ("policy", {"word": "rose", "policy": "accept", "precision": True}),
        ("delete", {"word": "unicorn"}),
        ("proposals/dismiss", {"words": ["rose"]}),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(shared, path, body):
    before = words(shared)
    status, answer = shared.post(f"words/{path}", body)
    assert 400 <= status < 500
    assert answer["error"]["message"]
    assert words(shared) == before


def test_confusions_need_a_word(shared):
    assert shared.get("words/confusions")[0] == 400
    found = shared.get("words/confusions", word="rose")[1]
    assert found["judged"] == 48


# --- Flows ----------------------------------------------------------------------------------------------------


def test_a_word_is_renamed_in_place_and_back(table, served, shot):
    before = words(served)
    table.get_by_role("button", name="Rename rose").click()
    field = table.get_by_label("New name of rose")
    field.fill("roses")
    field.press("Enter")
    table.get_by_role("button", name="roses", exact=True).wait_for()
    assert words(served)["roses"]["photos"] == before["rose"]["photos"]
    shot(table, "words-renamed")
    table.locator(".toast").get_by_role("button", name="Undo").click()
    table.get_by_role("button", name="rose", exact=True).wait_for()
    assert words(served) == before


def test_escape_leaves_a_name_as_it_is(table, served):
    table.get_by_role("button", name="Rename rose").click()
    table.get_by_label("New name of rose").fill("x")
    table.keyboard.press("Escape")
    table.get_by_role("button", name="rose", exact=True).wait_for()
    assert "x" not in words(served)


def test_a_name_that_is_taken_offers_to_merge(table, served):
    table.get_by_role("button", name="Rename rose").click()
    table.get_by_label("New name of rose").fill("sea")
    table.keyboard.press("Enter")
    table.get_by_role("button", name="Merge rose into it").click()
    table.get_by_role("button", name="rose", exact=True).wait_for(state="detached")
    assert "rose" not in words(served)


def test_a_proposal_is_merged_and_another_dismissed(page, served, shot):
    tag(served, "seas")
    tag(served, "roses", offset=4)
    page.goto(f"{served.url}/words")
    page.get_by_role("button", name="Merge seas into sea").click()
    page.get_by_role("button", name="seas", exact=True).wait_for(state="detached")
    assert "seas" not in words(served)
    shot(page, "words-proposal")
    page.get_by_role("button", name="roses and rose are not the same").click()
    page.get_by_role("button", name="Merge roses into rose").wait_for(state="detached")
    page.reload()
    page.get_by_role("button", name="roses", exact=True).wait_for()
    assert page.locator(".proposal").count() == 0
    assert served.post("undo")[1]["undone"]["source"] == "merge"
    assert "seas" in words(served)


def test_several_words_are_merged_by_keyboard_alone(table, served):
    table.get_by_role("button", name="rose", exact=True).focus()
    table.keyboard.press("x")
    for _ in range(3):
        table.keyboard.press("ArrowUp")
    first = table.evaluate("document.activeElement.closest('tr').dataset.word")
    table.keyboard.press("x")
    assert first != "rose"
    table.get_by_text("2 words", exact=True).wait_for()
    table.keyboard.press("m")
    table.locator(".toast", has_text="merged into").wait_for()
    assert len(words(served)) == 3
    table.keyboard.press("z")
    table.locator(".toast", has_text="Took back").wait_for()
    table.get_by_role("button", name="rose", exact=True).wait_for()
    assert len(words(served)) == 4


def test_a_policy_is_chosen_and_kept(table, served):
    field = table.get_by_label("Suggestions of rose").first
    field.select_option("never")
    table.locator(".toast", has_text="never suggested").wait_for()
    rose = words(served)["rose"]
    assert (rose["policy"], rose["suggestions"]) == ("never", 0)
    table.get_by_label("Suggestions of rose").first.select_option("accept 0.9")
    table.locator(".toast", has_text="accepted from 90%").wait_for()
    assert words(served)["rose"]["accept_from"] == 0.9
    table.reload()
    table.get_by_label("Suggestions of rose").first.wait_for()
    assert table.get_by_label("Suggestions of rose").first.input_value() == "accept 0.9"


def test_a_word_is_deleted_and_brought_back(table, served):
    before = words(served)
    table.get_by_role("button", name="rose", exact=True).click()
    table.locator(".word-detail").get_by_role("button", name="Delete").click()
    table.get_by_role("button", name="rose", exact=True).wait_for(state="detached")
    table.locator(".toast").get_by_role("button", name="Undo").click()
    table.get_by_role("button", name="rose", exact=True).wait_for()
    assert words(served) == before


def test_details_show_confusions_and_the_place_in_the_tree(table, served, shot):
    from playwright.sync_api import expect

    table.get_by_role("button", name="rose", exact=True).click()
    detail = table.locator(".word-detail")
    detail.get_by_text("48 photos whose tags were hidden").wait_for()
    detail.get_by_label("Below").fill("plants")
    table.keyboard.press("Enter")
    table.locator(".toast", has_text="rose is below plants").wait_for()
    table.keyboard.press("Escape")
    table.get_by_role("button", name="Tree").click()
    row = table.locator('tr[data-word="rose"]')
    expect(row).to_have_attribute("aria-level", "2")
    shot(table, "words-tree")
    table.get_by_role("button", name="Fold plants").click()
    row.wait_for(state="detached")


def test_a_hostile_word_is_text(page, served):
    tag(served, HOSTILE)
    page.goto(f"{served.url}/words")
    page.get_by_role("button", name=HOSTILE, exact=True).click()
    page.locator(".word-detail h2", has_text=HOSTILE).wait_for()
    assert page.locator("img[src='x']").count() == 0


def test_the_table_is_sorted_by_its_heads_and_filtered(table):
    table.get_by_role("button", name="Word", exact=False).first.click()
    heads = table.locator("th[aria-sort]")
    assert heads.count() == 1
    names = table.locator(".word-name").all_inner_texts()
    assert names == sorted(names)
    table.get_by_label("Filter words").fill("se")
    assert set(table.locator(".word-name").all_inner_texts()) == {"rose", "sea"}
