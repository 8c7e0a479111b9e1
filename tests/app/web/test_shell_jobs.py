"""Long work in processes of its own: progress, an end on demand, results that stay."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from topicture.app.learning.choosing import fit
from topicture.app.progress import silent
from topicture.app.web.answers import BadRequest
from topicture.app.web.jobs.board import JobBoard
from topicture.app.web.jobs.job import MOST_TRACE, Job, load_jobs, save_jobs


@pytest.fixture
def board(photos):
    board = JobBoard(photos / ".topicture")
    yield board
    board.close()


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return value


def ended(board, job):
    return wait_for(lambda: (found := board.get(job.id)).over and found)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(pid):
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in path.read_text().split()]
    return found + [grandchild for child in found for grandchild in children(child)]


def test_learning_tells_its_members_and_suggests(served):
    code, job = served.post("jobs", {"kind": "learn", "options": {"model": "knn", "regions": False}})
    assert (code, job["kind"]) == (200, "learn")
    done = wait_for(lambda: (found := served.get(f"jobs/{job['id']}")[1])["ended"] and found)
    assert (done["state"], done["error"]) == ("done", None)
    assert done["result"]["learned"]["model"] == "knn"
    assert done["result"]["annotated"]["suggestions"] > 0
    assert [entry["member"] for entry in done["trace"] if "member" in entry] == ["knn"]
    assert served.library.models()[0].name == "knn"


def test_the_objective_of_a_fit_is_traced(tiny_corpus):
    trace = []
    fit("mix-unigram", tiny_corpus, "Learning", silent, trace.append)
    assert trace[0] == {"stage": "Learning", "member": "mix-unigram"}
    objectives = [entry["objective"] for entry in trace[1:]]
    assert len(objectives) > 1
    assert objectives[-1] > objectives[0]


def test_jobs_of_writing_come_one_by_one_and_the_same_one_is_not_asked_for_twice(board):
    first, second = board.start("scan", {}), board.start("annotate", {"top": 1})
    assert board.start("annotate", {"top": 1}).id == second.id
    assert board.get(second.id).state == "waiting"
    first, second = ended(board, first), ended(board, second)
    assert (first.state, second.state) == ("done", "done")
    assert first.ended <= second.ended
    annotated = second.result["annotated"]
    assert annotated["with_suggestions"] == annotated["suggestions"]


def test_a_failure_is_told_with_a_code(board, photos):
    job = ended(board, board.start("learn", {"model": "no-such-model"}))
    assert (job.state, job.error["code"]) == ("failed", "unknown-model")


@pytest.mark.parametrize(
    ("kind", "options"),
    [("rm", {}), (None, {}), ("scan", {"root": "/"}), ("learn", {"workers": 99}), ("learn", {"min_count": True}),
     ("scan", [])],
)  # fmt: skip
def test_only_known_work_with_known_options_is_begun(board, kind, options):
    with pytest.raises(BadRequest):
        board.start(kind, options)


def slow_down(monkeypatch, folder):
    """Let children take their time: a worker of theirs waits for ever."""
    (folder / "slow.py").write_text(
        "import time\nimport topicture.app.web.jobs.work as work\n"
        "def wait(library, options, report, trace):\n"
        "    report('Waiting', 0, 10)\n    time.sleep(600)\n"
        "def deaf(library, options, report, trace):\n"
        "    import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); wait(library, options, report, trace)\n"
        "def crash(library, options, report, trace):\n"
        "    import os, sys; print('last words', file=sys.stderr, flush=True); os.kill(os.getpid(), 11)\n"
        "def much(library, options, report, trace):\n"
        "    trace({'member': 'x'}); return {'learned': {'skipped': ['x' * 500] * 20_000}}\n"
        "work.WORK.update({'scan': (wait, {}), 'write': (deaf, {}), 'annotate': (crash, {}), 'map': (much, {})})\n"
        "from topicture.app.web.jobs.child import main\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr("topicture.app.web.jobs.board._CHILD", ("slow", "main"))


def is_waiting(board, job):
    return wait_for(lambda: (found := board.get(job.id)).stage == "Waiting" and found)


@pytest.mark.parametrize("kind", ["scan", "write"])
def test_work_can_be_cancelled_even_where_it_does_not_listen(board, kind, monkeypatch, tmp_path):
    slow_down(monkeypatch, tmp_path)
    monkeypatch.setattr("topicture.app.web.jobs.board.GRACE_SECONDS", 0.5)
    job, waiting = board.start(kind, {}), board.start("learn", {})
    assert (is_waiting(board, job).done, board.get(job.id).total) == (0, 10)
    assert board.cancel(waiting.id).state == "cancelled"
    pid = board._processes[job.id].pid
    board.cancel(job.id)
    assert (ended(board, job).state, ended(board, job).error) == ("cancelled", None)
    wait_for(lambda: not is_running(pid), 10)  # a job is over with its last word; its process, a moment later


def test_a_crash_is_told_and_the_next_job_runs(board, monkeypatch, tmp_path, capfd):
    slow_down(monkeypatch, tmp_path)
    assert ended(board, board.start("annotate", {})).error["code"] == "job-crashed"
    is_waiting(board, board.start("scan", {}))
    assert "last words" in capfd.readouterr().err  # where somebody may report them from


def test_work_that_can_not_be_begun_fails_and_the_next_runs(board, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr("topicture.app.web.jobs.board.start_python", full)
        job = ended(board, board.start("annotate", {}))
    assert (job.state, job.error["message"]) == ("failed", "The disk is full.")
    assert ended(board, board.start("scan", {})).state == "done"


def test_a_long_result_is_told_by_its_first_lines(served, monkeypatch, tmp_path):
    slow_down(monkeypatch, tmp_path)
    board = served.site.jobs
    first, second = (ended(board, board.start("map", {})) for _ in range(2))
    assert first.state == "done"
    assert first.result == {"learned": {"skipped": ["x" * 500] * 100, "skipped_count": 20_000}}
    assert len(first.trace) == 1
    listed = {job["id"]: job for job in served.get("jobs")[1]["jobs"]}
    assert listed[second.id]["result"] == second.result
    assert listed[first.id]["result"] == {"learned": {"skipped": [], "skipped_count": 20_000}}
    assert listed[second.id]["trace"] == []
    assert served.get(f"jobs/{first.id}")[1]["result"] == first.result


def test_a_long_result_of_a_former_version_is_told_by_its_first_lines(served):
    served.site.jobs._jobs = [
        Job(9999, "scan", {}, state="done", ended=1.0, result={"skipped": ["x"] * 5000})
    ]
    (listed,) = [job for job in served.get("jobs")[1]["jobs"] if job["id"] == 9999]
    assert listed["result"] == {"skipped": ["x"] * 100, "skipped_count": 5000}


def test_of_a_record_that_grows_too_long_the_newest_jobs_are_kept(tmp_path):
    save_jobs(tmp_path, [Job(number, "scan", {}, ended=1.0, result="x" * (3 << 20)) for number in range(4)])
    assert [job.id for job in load_jobs(tmp_path)] == [2, 3]


def test_results_survive_a_restarted_server(board, photos, monkeypatch, tmp_path):
    done = ended(board, board.start("scan", {}))
    slow_down(monkeypatch, tmp_path)
    is_waiting(board, cut_off := board.start("write", {}))
    pid = board._processes[cut_off.id].pid
    board.close()
    assert not is_running(pid)
    again = JobBoard(photos / ".topicture")
    assert again.get(done.id).result == done.result
    assert (again.get(cut_off.id).state, again.get(cut_off.id).error["code"]) == ("cancelled", "server-ended")
    assert again.start("scan", {}).id > cut_off.id
    again.close()


@pytest.mark.parametrize("content", [b"", b"nonsense", b"{}", b"[1]", b'[{"id": 1}]', b"[" * 100_000])
def test_a_damaged_record_is_no_record(tmp_path, content):
    (tmp_path / "jobs.json").write_bytes(content)
    assert load_jobs(tmp_path) == []


def test_the_record_is_never_read_through_a_link(tmp_path):
    record = tmp_path / "elsewhere.json"
    record.write_text(json.dumps([{"id": 1, "kind": "scan", "options": {}, "ended": 1.0}]))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "jobs.json").symlink_to(record)
    assert load_jobs(tmp_path / "cache") == []
    assert len(load_jobs_of(record, tmp_path)) == 1


def load_jobs_of(record, folder):
    (folder / "jobs.json").write_bytes(record.read_bytes())
    return load_jobs(folder)


def test_a_long_trace_is_thinned_not_cut():
    job = Job(1, "learn", {})
    for number in range(5000):
        job.note({"iteration": number})
    numbers = [entry["iteration"] for entry in job.trace]
    assert len(numbers) <= MOST_TRACE
    assert numbers == sorted(numbers)
    assert (numbers[0], numbers[-1]) == (0, 4999)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="tells processes by /proc")
def test_a_killed_server_leaves_no_child(photos, tmp_path):
    code = (
        "import sys, time; sys.path[:0] = [sys.argv[2]]\n"
        "from topicture.app.web.jobs import board\n"
        "board._CHILD = ('slow', 'main')\n"
        "jobs = board.JobBoard(__import__('pathlib').Path(sys.argv[1]))\n"
        "job = jobs.start('scan', {})\n"
        "while jobs.get(job.id).stage != 'Waiting': time.sleep(0.02)\n"
        "print('ready', flush=True); time.sleep(60)\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        slow_down(patch, tmp_path)
    command = [sys.executable, "-c", code, str(photos / ".topicture"), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ) as server:
        assert server.stdout.readline() == b"ready\n"
        begun = children(server.pid)
        assert begun
        server.send_signal(signal.SIGKILL)
    wait_for(lambda: not any(map(is_running, begun)), 10)
