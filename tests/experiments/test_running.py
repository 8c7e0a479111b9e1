"""What all reports share: options, work over processes, and what a stopped run goes on from."""

import json
import os
from importlib.metadata import version

import pytest
from child_work import one_over, square, where
from topicture_experiments.shared.running import Evidence, Options, command, measured, spread

from topicture.errors import TopictureError

EMPTY = {"plan": {"topics": (10, 20)}, "found": {}}


def test_work_is_spread_over_processes_of_one_thread(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found = dict(spread(square, range(6), jobs=2))
    assert {n: result[0] for n, result in found.items()} == {n: n * n for n in range(6)}
    assert os.getpid() not in {pid for _, pid, _ in found.values()}
    assert {threads for *_, threads in found.values()} == {"1"}
    assert "OMP_NUM_THREADS" not in os.environ  # as it was before


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_work_begins_after_the_limit(jobs):
    assert list(spread(square, range(6), jobs=jobs, limit_seconds=0)) == []


def test_a_problem_of_a_process_comes_out():
    with pytest.raises(TopictureError, match=r"^0: ZeroDivisionError: division by zero; one process"):
        list(spread(one_over, [1, 0], jobs=2))
    with pytest.raises(ZeroDivisionError):
        list(spread(one_over, [1, 0], jobs=1))


def test_work_is_done_where_its_relative_paths_mean_something(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = dict(spread(where, range(2), jobs=2))
    assert {folder for folder, _, _ in found.values()} == {str(tmp_path)}
    assert all(isolated and str(tmp_path) not in path for _, path, isolated in found.values())


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data" / "corel16k"
    folder.mkdir(parents=True)
    (folder / "a.npz").write_bytes(b"pictures")
    return folder.parent


def test_evidence_is_kept_and_read_again(tmp_path, data):
    options = Options(tmp_path, str(data))
    evidence = Evidence.open("some", options, EMPTY, ("corel16k",))
    evidence.keep({"a": 1.5})
    again = Evidence.open("some", options, EMPTY, ("corel16k",))
    assert again.found == {"a": 1.5}
    assert Evidence.open("some", options._replace(redo=True), EMPTY, ("corel16k",)).found == {}


def test_a_page_says_with_what_it_was_measured(tmp_path):
    evidence = Evidence.open("some", Options(tmp_path, quick=True), {**EMPTY, "date": "2026-01-01"})
    evidence.values["versions"] = {"jax": ["0.1"]}
    evidence.keep()
    told = measured(evidence.values)
    assert "the quick form" in told
    assert f"jax 0.1 and {version('jax')}" in told
    assert measured({"date": "2026-01-01"}) == "measured on 2026-01-01"


def test_evidence_of_another_plan_or_other_data_is_not_used(tmp_path, data):
    options = Options(tmp_path, str(data))
    Evidence.open("some", options, EMPTY, ("corel16k",)).keep({"a": 1})
    with pytest.raises(TopictureError, match="another plan"):
        Evidence.open("some", options, {**EMPTY, "plan": {"topics": (10,)}}, ("corel16k",))
    other = tmp_path / "other" / "corel16k"
    other.mkdir(parents=True)
    (other / "a.npz").write_bytes(b"other pictures")
    with pytest.raises(TopictureError, match="other data"):
        Evidence.open("some", options._replace(data=str(other.parent)), EMPTY, ("corel16k",))
    # Without the data a page can still be written from what was measured.
    assert Evidence.open("some", options._replace(data=str(tmp_path / "gone")), EMPTY, ("corel16k",)).found


@pytest.mark.parametrize("content", ["{", "[]", json.dumps({"found": {}})])
def test_a_damaged_file_is_told(tmp_path, content):
    (tmp_path / "some.json").write_text(content)
    with pytest.raises(TopictureError, match="--redo"):
        Evidence.open("some", Options(tmp_path), EMPTY)


def test_a_command_has_all_options_and_ends_with_one_line(tmp_path, capsys):
    seen = []

    def run(options, tell):
        seen.append(options)
        tell("something", 1, 2)
        if options.redo:
            raise TopictureError("no such thing")

    arguments = ["--out", str(tmp_path / "new"), "--data", "d", "--cache", "c", "--quick", "--jobs", "3"]
    command("some", "Doc.", run, arguments)
    assert seen == [Options(tmp_path / "new", "d", "c", True, 3)]
    assert capsys.readouterr().err == "1/2 something\n"
    with pytest.raises(SystemExit, match="some: no such thing"):
        command("some", "Doc.", run, [*arguments, "--redo"])
