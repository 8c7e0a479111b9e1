"""Rows fill the width, and every photo of any number can be scrolled to: the arithmetic of the grid, in a browser."""

import pytest

from topicture.errors import TopictureError
from topicture.search.query import format_terms, split_query


@pytest.fixture(scope="module")
def served(shared):
    return shared


@pytest.fixture(autouse=True)
def somewhere(page):
    """Modules are imported into a page of the server; which one does not matter."""
    page.goto("/welcome")


# The same numbers in every run.
RANDOM = """
  let seed = 12345;
  const random = () => ((seed = (1103515245 * seed + 12345) % 2147483648) / 2147483648);
"""


def test_rows_fill_the_width_and_keep_the_order(page):
    problems = page.evaluate(
        """async () => {
  const { justify } = await import("/static/js/justify.js");
  const problems = [];
  const check = (holds, ...what) => holds || problems.push(what.join(" "));"""
        + RANDOM
        + """
  for (let round = 0; round < 400; round++) {
    const n = Math.floor(1 + 120 * random()), width = Math.floor(100 + 2000 * random());
    const target = Math.floor(60 + 400 * random()), gap = Math.floor(12 * random()), whole = random() < 0.5;
    const ratios = Array.from({ length: n }, () => Math.exp(3 * random() - 1.5));
    const rows = justify(ratios, width, target, gap, whole);
    let next = 0, top = 0;
    for (const [i, row] of rows.entries()) {
      check(row.first === next && row.top === top, "order", round);
      check(row.boxes[0].left === 0, "left edge", round);
      row.boxes.forEach((box, j) => {
        check(Number.isInteger(box.left) && Number.isInteger(box.width) && box.width >= 1, "pixels", round);
        if (j) check(box.left === row.boxes[j - 1].left + row.boxes[j - 1].width + gap, "gap", round);
      });
      const last = row.boxes.at(-1), right = last.left + last.width;
      const open = i === rows.length - 1 && !whole;
      check(open ? right <= width + 1 : right === width, "right edge", round, right, width);
      if (open) check(row.height <= target + 1 || right >= width - 1, "last row", round, row.height, target);
      next += row.boxes.length;
      top += row.height + gap;
    }
    check(next === n, "every photo", round);
  }
  const even = justify(new Array(100).fill(1.5), 1200, 200, 6, true);
  check(even.every((row) => row.height > 140 && row.height < 280), "heights");
  check(JSON.stringify(justify([], 100, 100, 4)) === "[]", "nothing");
  return problems;
}"""
    )
    assert problems == []


def test_scrolling_reaches_both_ends_and_everything_between(page):
    problems = page.evaluate(
        """async () => {
  const { Track } = await import("/static/js/track.js");
  const problems = [];
  const check = (holds, ...what) => holds || problems.push(what.join(" "));"""
        + RANDOM
        + """
  for (const blocks of [1, 3, 40, 10000]) for (const tallest of [50000, 8000000]) {
    const track = new Track(blocks, 3700, 800, tallest);
    const settle = () => { if (track.drifted) track.at = track.place; };
    check(track.height <= tallest, "a browser can't scroll that far");
    // By the thumb: both ends, and a place for every fraction.
    track.scrolled(track.height - 800);
    check(track.offset === track.end, "end by thumb", blocks, tallest);
    track.scrolled(0);
    check(track.offset === 0, "begin by thumb", blocks, tallest);
    for (let i = 0; i < 50; i++) {
      const fraction = random(), before = track.offset;
      track.scrolled(Math.round(fraction * (track.height - 800)));
      settle();
      check(track.offset >= 0 && track.offset <= track.end, "inside", blocks, tallest);
      const wanted = fraction * track.end, far = Math.abs(before - wanted) > 4000 * track.scale;
      check(!far || Math.abs(track.offset - wanted) <= 800 * track.scale + 1, "fraction", blocks, tallest, fraction);
      // Blocks become known, and what is seen stays where it is for whoever keeps it.
      const block = Math.floor(random() * blocks), top = track.tops[track.blockAt(track.offset)];
      track.setHeight(block, 3000 + Math.floor(1500 * random()));
      track.moveTo(track.offset + track.tops[track.blockAt(track.offset)] - top);
      settle();
      const found = track.blockAt(track.offset), below = track.tops[found + 1];
      check(track.tops[found] <= track.offset, "block above", blocks, tallest);
      check(track.offset < below || track.offset === track.end, "block below", blocks, tallest);
    }
    // By the wheel, from anywhere: steps are pixels, and the way never ends early.
    track.moveTo(Math.max(0, track.end - 60000));
    settle();
    for (let i = 0; i < 2000 && track.offset < track.end; i++) {
      const before = track.offset;
      track.scrolled(Math.min(track.height - 800, track.at + 100));
      const near = track.end - track.offset < 101 * track.scale;
      check(near || Math.abs(track.offset - before - 100) < 1e-6, "wheel", blocks, tallest, track.offset - before);
      settle();
    }
    check(track.offset === track.end, "end by wheel", blocks, tallest);
    track.moveTo(Math.min(track.end, 60000));
    settle();
    for (let i = 0; i < 2000 && track.offset > 0; i++) {
      track.scrolled(Math.max(0, track.at - 100));
      settle();
    }
    check(track.offset === 0, "begin by wheel", blocks, tallest);
  }
  return [...new Set(problems)].slice(0, 20);
}"""
    )
    assert problems == []


QUERIES = [
    *("tiger grass -water", '"golden gate" -"polar bear"', "a,b, -c", "„größe“ −x", '"a \\" b" c-d', ""),
    *('"open', "- a", '""', "-", 'x"y', "日本 -犬"),
    *("a OR b -c", 'a | "x y" OR', '"OR" a'),
]


def test_the_page_takes_queries_apart_as_the_library_does(page):
    """The page leaves out what is not finished; the library refuses it."""
    answers = page.evaluate(
        """async (queries) => {
  const { terms, queryOf } = await import("/static/js/query.js");
  const values = ({ text, wanted, joined }) => [text, wanted, joined];
  return queries.map((query) => [terms(query).map(values), queryOf(terms(query))]);
}""",
        QUERIES,
    )
    compared = 0
    for query, (found, again) in zip(QUERIES, answers, strict=True):
        try:
            expected = split_query(query)
        except TopictureError:
            continue
        assert [tuple(term) for term in found] == [tuple(term) for term in expected]
        assert split_query(again) == expected
        assert again == format_terms(expected)
        compared += 1
    assert compared == 10


def test_a_word_is_put_in_the_place_of_what_was_typed(page):
    def picked(text, word):
        return page.evaluate(
            """async ([text, word]) => {
  const { termAt } = await import("/static/js/query.js");
  const part = termAt(text, text.length);
  return [part.typed, part.replace(word)];
}""",
            [text, word],
        )

    assert picked("sea ro", "rose") == ["ro", "sea rose "]
    assert picked("sea -ro", "rose") == ["ro", "sea -rose "]
    assert picked('sea -"po', "polar bear") == ["po", 'sea -"polar bear" ']
    assert picked('sea "polar b', "polar bear") == ["polar b", 'sea "polar bear" ']
