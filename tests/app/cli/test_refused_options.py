"""Options that contradict each other, or would have no say, are refused before anything is done."""

import pytest
from photo_folder import make_library


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A scanned collection, with the working folder inside."""
    make_library(tmp_path / "photos", n=4, tagged=4)
    monkeypatch.chdir(tmp_path / "photos")
    return tmp_path / "photos"


@pytest.mark.parametrize(
    ("command", "told_why"),
    [
        ("list --tag nosuch", "no tag 'nosuch' is in use"),
        ("list --untagged --tag rose", "--untagged and --tag"),
        ("annotate --new --again", "--new and --again"),
        ("models --learned --prune", "--learned and --prune"),
        ("models --keep 2", "--keep and --dry-run go with --prune"),
        ("models --learned --dry-run", "--keep and --dry-run go with --prune"),
        ("undo --list --step 1", "--list and --step"),
    ],
)
def test_options_without_a_meaning_are_refused(root, topicture, command, told_why):
    code, out, error = topicture(*command.split())
    assert (code, out, told_why in error) == (2, "", True)
