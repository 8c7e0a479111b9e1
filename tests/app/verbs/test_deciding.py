"""The pace of a review, and steps in plain words."""

import pytest

from topicture.app.verbs.deciding.pace import decisions_per_minute
from topicture.app.verbs.deciding.wording import step_text, undone_text
from topicture.store.decisions.past_steps import Said
from topicture.store.decisions.undoing import TakenBack, Undone


def test_the_pace_counts_what_each_gap_brought():
    times = [(130.0, 30), (120.0, 10), (110.0, 10), (100.0, 10)]  # newest first
    assert decisions_per_minute(times) == pytest.approx(60 * 50 / 30)


def test_a_pause_is_no_part_of_the_pace():
    steady = [(1000.0 + 2 * i, 1) for i in range(10, 0, -1)]
    before_lunch = [(steady[-1][0] - 3600 - 2 * i, 1) for i in range(5)]
    assert decisions_per_minute(steady + before_lunch) == pytest.approx(30)


@pytest.mark.parametrize("times", [[], [(1.0, 5)], [(3.0, 1), (2.0, 1), (1.0, 1)], [(1.0, 1)] * 5])
def test_too_little_makes_no_pace(times):
    assert decisions_per_minute(times) is None


@pytest.mark.parametrize(
    ("source", "said", "n", "text"),
    [
        ("review", [("tiger", "present", 12)], 12, "Accepted tiger for 12 photos"),
        ("review", [("tiger", "rejected", 1)], 1, "Rejected tiger for 1 photo"),
        (
            "review",
            [("tiger", "present", 12), ("tiger", "rejected", 2)],
            14,
            "Accepted tiger for 12 photos; rejected tiger for 2 photos",
        ),
        (
            "review",
            [("a", "present", 3), ("b", "cleared", 2), ("c", "present", 1)],
            6,
            "Accepted a for 3 photos; took away the verdict on b for 2 photos; and 1 more decision",
        ),
        (
            "bulk",  # of all its words only the most frequent are told
            [("a", "present", 3), ("b", "present", 2), ("c", "present", 1)],
            50,
            "Accepted in bulk: a for 3 photos, b for 2 photos; and 45 more decisions",
        ),
        ("delete", [], 0, "Deleted"),
    ],
)
def test_steps_in_plain_words(source, said, n, text):
    assert step_text(source, [Said(*each) for each in said], n) == text


def taken(word, n):
    return tuple(TakenBack(i, word, "present") for i in range(n))


@pytest.mark.parametrize(
    ("undone", "text"),
    [
        (Undone("review", 0.0, taken("tiger", 12)), "Took back: tiger for 12 photos"),
        (
            Undone("review", 0.0, taken("a", 1) + taken("b", 3) + taken("c", 2)),
            "Took back: b for 3 photos, c for 2 photos, and 1 more",
        ),
        (Undone("delete", 0.0, taken("tiger", 2), ("tiger",)), "Took back: the deletion of tiger"),
        (Undone("scan", 0.0, (), ("tiger",)), "Took back: the place of tiger"),
        (Undone("conflict", 0.0, (), (), 2), "Took back: the answer to 2 conflicts"),
        (Undone("review", 0.0, ()), "Nothing of that step was left to take back."),
    ],
)
def test_what_was_taken_back_in_plain_words(undone, text):
    assert undone_text(undone) == text
