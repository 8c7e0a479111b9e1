"""What the terminal shows of a result."""

import pytest

from topicture.annotations.choice.learning import MemberTrial
from topicture.app.console.photos import print_regions
from topicture.app.console.tables import print_bulk, print_learned
from topicture.app.counting import counted
from topicture.app.learning.labelling import RegionLabel
from topicture.app.learning.learning import LearnReport
from topicture.app.verbs.reviewing import BulkReport


def test_numbers_go_with_their_nouns():
    assert [counted(n, "photo") for n in (0, 1, 2)] == ["0 photos", "1 photo", "2 photos"]
    assert counted(2, "box", "boxes") == "2 boxes"


def _trial(model, mean, weight):
    return MemberTrial(model, mean, 0.01, 0.5, perplexity=9.0, weight=weight, note="")


def test_learn_is_brief_unless_asked(capsys):
    """Three lines and the best members; the members that have no weight only with --verbose."""
    members = [_trial(f"member-{i}", 0.5, weight) for i, weight in enumerate((0.2, 0.8, 0.0, 0.4, 0.6))]
    report = LearnReport(
        "auto",
        "0001",
        40,
        30,
        7,
        ("rare",),
        (_trial("auto", 0.6, 0.0), *members),
        "blend of 4",
        60.0,
        None,
        0.1,
        (),
    )
    print_learned(report)
    assert capsys.readouterr().out.splitlines() == [
        "Learned 7 words from 30 tagged photos of 40 (model: auto).",
        "Tested on hidden tags: of as many guesses as a photo has tags, 50% are right",
        "(mean average precision 0.600 ± 0.010).",
        "Blended: member-1 40%, member-4 30%, member-3 20%; --verbose shows 2 more.",
        "1 word is on too few photos to be learned.",
        "'topicture annotate' now suggests words for the other photos.",
    ]
    print_learned(report, verbose=True)
    out = capsys.readouterr().out
    assert all(f"member-{i}" in out for i in range(5))
    assert "Blended:" not in out


def test_regions_are_a_line_per_word(capsys):
    labels = (("sky", 0.5, 0.3), ("sea", 0.9, 0.4), ("", 0.0, 0.1), ("sky", 0.7, 0.2))
    print_regions([RegionLabel(i, *label) for i, label in enumerate(labels)])
    assert capsys.readouterr().out.splitlines() == [
        "  50% of the photo  sky  (up to 70%, 2 regions)",
        "  40% of the photo  sea  (90%)",
        "  10% of the photo  no word",
    ]


def test_tags_that_are_not_listed_are_counted(capsys):
    tags = tuple((f"tag-{n:02d}", 0.5, 40 - n) for n in range(23))
    print_bulk(BulkReport(0.9, sum(n for *_, n in tags), 50, tags, dry_run=False))
    _, *lines, last, hint = capsys.readouterr().out.splitlines()
    assert lines[0] == "    40  tag-00 (from 50%)"
    assert last == "    57  (3 more tags)"
    assert sum(int(line.split()[0]) for line in (*lines, last)) == sum(n for *_, n in tags)
    assert "undo" in hint


@pytest.mark.parametrize(
    ("not_reached", "too_little", "told"),
    [
        (0, 0, ""),
        (1, 0, "Asked for 90%: 1 tag does not reach it.\n"),
        (0, 3, "Asked for 90%: too little evidence for 3 tags; answers in 'topicture review' give more.\n"),
        (2, 1, "Asked for 90%: 2 tags do not reach it, too little evidence for 1 tag; answers in 'top"),
    ],
)
def test_answers_are_asked_for_where_they_help(capsys, not_reached, too_little, told):
    print_bulk(BulkReport(0.9, 0, 0, (), True, too_little, not_reached))
    rest = capsys.readouterr().out.partition("\n")[2]
    assert rest.startswith(told)
    assert ("answers" in rest) == (too_little > 0)
