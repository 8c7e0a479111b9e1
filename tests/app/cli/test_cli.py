"""The command line as a person meets it: run as a program, looked at from outside."""

import json
import os
import subprocess
import sys

import pytest


def topicture(*arguments, cwd=None):
    """Run the program; its text is what a person would see."""
    command = [sys.executable, "-c", "from topicture.app.cli.main import main; main()", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=300)


def assert_one_line(result):
    assert result.returncode == 2
    assert result.stderr.startswith("topicture: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


def test_help_names_the_verbs():
    result = topicture("--help")
    assert result.returncode == 0
    for verb in ("demo", "models"):
        assert verb in result.stdout


def test_version():
    result = topicture("--version")
    assert result.returncode == 0
    assert result.stdout.startswith("topicture ")


def test_models_are_listed_with_their_needs():
    rows = json.loads(topicture("models", "--json").stdout)
    names = [row["name"] for row in rows]
    assert {"empirical", "mix-unigram"} <= set(names)
    assert all(row["about"] for row in rows)
    assert "mix-unigram" in topicture("models").stdout


def test_unknown_verb_is_a_usage_error():
    result = topicture("dmeo")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


def test_too_few_images_are_refused_in_one_line(tmp_path):
    result = topicture("demo", "--images", "5", "--out", tmp_path / "demo")
    assert_one_line(result)
    assert "at least 40" in result.stderr


def test_out_folder_that_is_a_file_is_refused_in_one_line(tmp_path):
    (tmp_path / "taken").write_text("mine")
    result = topicture("demo", "--images", "40", "--out", tmp_path / "taken")
    assert_one_line(result)
    assert "taken" in result.stderr
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.slow  # much work, all of it real
@pytest.mark.xdist_group("demo")
def test_demo_writes_a_self_contained_page(tmp_path):
    result = topicture("demo", "--images", "60", "--workers", "1", "--out", tmp_path / "demo")
    assert result.returncode == 0, result.stderr
    assert "empirical" in result.stdout
    assert "index.html" in result.stdout.replace("\n", "")
    page = (tmp_path / "demo" / "index.html").read_text(encoding="utf-8")
    assert page.count("data:image/jpeg;base64,") == 24
    assert page.count("data:image/png;base64,") == 6  # labelled regions
    for outside in ("http://", "https://", "<script", "src='//", "@import"):
        assert outside not in page
    report = json.loads((tmp_path / "demo" / "demo.json").read_text())
    assert report["n_images"] == 60
    assert report["n_tagged"] == 15
    assert report["scores"][0]["model"] == "empirical"


def test_sample_photos_are_written_alone_and_only_into_a_folder_of_their_own(tmp_path):
    arguments = ("demo", "--photos", tmp_path / "photos", "--images", "4", "--workers", "1", "--json")
    assert json.loads(topicture(*arguments).stdout)["photos"] == 4
    assert len(list((tmp_path / "photos").glob("*.jpg"))) == 4
    assert not (tmp_path / "photos" / ".topicture").exists()
    (tmp_path / "photos" / "mine.jpg").write_bytes(b"mine")
    assert_one_line(topicture(*arguments[:-1]))
