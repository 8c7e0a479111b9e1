"""What the terminal shows of a result."""

from topicture.annotations.choice.learning import MemberTrial
from topicture.app.console.tables import print_learned
from topicture.app.counting import counted
from topicture.app.learning.learning import LearnReport


def test_numbers_go_with_their_nouns():
    assert [counted(n, "photo") for n in (0, 1, 2)] == ["0 photos", "1 photo", "2 photos"]
    assert counted(2, "box", "boxes") == "2 boxes"


def _trial(model, mean, weight):
    return MemberTrial(model, mean, 0.01, 0.5, perplexity=9.0, weight=weight, note="")


def test_learn_is_brief_unless_asked(capsys):
    """Three lines and the best members; the members that have no weight only with --verbose."""
    members = [_trial(f"member-{i}", 0.5, weight) for i, weight in enumerate((0.1, 0.4, 0.0, 0.2, 0.3))]
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
        "Learned auto from 30 tagged photos of 40: 7 words.",
        "On hidden tags: mean average precision 0.600 ± 0.010, accuracy 0.500.",
        "Weights: member-1 0.40, member-4 0.30, member-3 0.20; --verbose shows 2 more.",
        "1 word is on too few photos to be learned.",
    ]
    print_learned(report, verbose=True)
    out = capsys.readouterr().out
    assert all(f"member-{i}" in out for i in range(5))
    assert "Weights:" not in out
