"""`reproduce` without the package of the experiments, which owners of photos need not have."""

import pytest

from topicture.app.cli import reproduce as command


@pytest.mark.parametrize("paper", ["blei2003", "auto"])
def test_without_the_experiments_it_says_what_to_install(topicture, tmp_path, monkeypatch, paper):
    asked = []

    def none(**wanted):
        asked.append(wanted)
        return []

    monkeypatch.setattr(command, "entry_points", none)
    code, told, error = topicture("reproduce", paper, "--out", tmp_path / "out")
    assert (code, told, error.count("\n")) == (2, "", 1)
    assert "'topicture[papers]'" in error
    assert "'make install'" in error
    assert asked == [{"group": "topicture.experiments", "name": "reproduce"}]
    assert not (tmp_path / "out").exists()


def test_the_installed_experiments_are_found():
    pytest.importorskip("topicture_experiments")
    assert command._experiments().__name__ == "topicture_experiments.reproducing"
