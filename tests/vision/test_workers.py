import os
import signal
import sys
import tempfile
import threading
import time
import tracemalloc
from operator import truediv
from types import SimpleNamespace

import pytest
from child_work import HOSTILE, allocate, pid_after, where

from topicture.children import NEUTRAL_FOLDER
from topicture.errors import DataNotFound, TopictureError
from topicture.vision import workers
from topicture.vision.networks.deep import load_network
from topicture.vision.workers import Failure, WarmPool, run_isolated


class Poison:
    """Unpickled in a worker, it calls `function` there: what a crashing or hanging decoder does."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def run(job, tasks, n_workers=2, timeout=30.0):
    return dict(run_isolated(job, tasks, n_workers, timeout))


@pytest.mark.parametrize("n_workers", [0, 1, 3])
def test_every_task_is_answered_under_its_number(n_workers):
    assert run(abs, [-3, 2, -1, 0], n_workers) == {0: 3, 1: 2, 2: 1, 3: 0}


def test_no_tasks_no_results():
    assert run(abs, []) == {}


@pytest.mark.parametrize("n_workers", [0, 1])
def test_an_exception_costs_its_task_only(n_workers):
    results = run(abs, [-1, "text", -2], n_workers)
    assert results[0] == 1
    assert results[2] == 2
    assert results[1] == Failure("TypeError: bad operand type for abs(): 'str'")


@pytest.mark.parametrize("n_workers", [0, 1])
def test_what_the_user_must_put_right_ends_the_run(n_workers):
    with pytest.raises(DataNotFound, match="no network called"):
        run(load_network, ["/nonexistent/manifest.json"], n_workers)


def test_a_crash_is_answered_by_a_reason_and_the_rest_completes():
    results = run(str, [1, Poison(os._exit, 7), 2, Poison(signal.raise_signal, signal.SIGKILL), 3])
    assert [results[i] for i in (0, 2, 4)] == ["1", "2", "3"]
    assert results[1] == Failure("its decoder crashed (exit code 7), twice: set aside", lasting=True)
    assert results[3] == Failure("its decoder crashed (SIGKILL), twice: set aside", lasting=True)


def test_a_hang_is_ended_and_the_rest_completes():
    start = time.monotonic()
    results = run(str, [Poison(time.sleep, 600), 1, 2], n_workers=1, timeout=1.0)
    assert results[0] == Failure("its decoder took over 1 s, twice: set aside", lasting=True)
    assert [results[1], results[2]] == ["1", "2"]
    assert time.monotonic() - start < 60


def test_what_fails_once_is_tried_again(tmp_path):
    mark = str(tmp_path / "mark")
    die_once = f"import os\nif not os.path.exists({mark!r}):\n open({mark!r}, 'w').close()\n os._exit(1)"
    assert run(str, [Poison(exec, die_once), 5]) == {0: "None", 1: "5"}


def test_workers_that_cant_be_started_are_told_not_waited_for(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    with pytest.raises(TopictureError, match=r"can't be started: .*No such file"):
        run(abs, [-1, 2])
    pool = WarmPool(abs, 1, 30.0)
    try:
        with pytest.raises(TopictureError, match="can't be started"):
            pool.ask(-1).result(20)
        monkeypatch.undo()
        with pytest.raises(TopictureError, match=r"can't do its work: .*pickle"):
            pool.ask(lambda: 0).result(20)
        assert pool.ask(-1).result(20) == 1
    finally:
        pool.close()


def test_output_of_libraries_does_not_mix_with_answers():
    assert run(os.write, [1], n_workers=1)[0].reason.startswith("TypeError")
    assert run(str, [Poison(os.write, 1, b"noise from C code\n"), 2], n_workers=1) == {0: "18", 1: "2"}


def test_tasks_are_taken_as_workers_become_free():
    taken = []
    results = run_isolated(abs, (taken.append(n) or n for n in range(100)), 2, 30.0)
    next(results)
    assert len(taken) <= 5
    results.close()


def test_leaving_early_ends_the_workers():
    before = threading.active_count()
    results = run_isolated(time.sleep, [0.01, 0.01, 600, 600, 600, 600], 2, 900.0)
    next(results)
    start = time.monotonic()
    results.close()
    while threading.active_count() > before and time.monotonic() - start < 20:  # a watchdog is on its way out
        time.sleep(0.02)
    assert time.monotonic() - start < 20
    assert threading.active_count() <= before


def test_workers_that_cannot_start_are_one_clear_error(monkeypatch):
    monkeypatch.setattr(workers, "_SERVE", ("child_work", "ends_at_once"))
    with pytest.raises(TopictureError, match="while starting: no such luck"):
        run(abs, [1])


def test_unguarded_scripts_work():
    """A script without the usual guard of `__main__` is not run again by its workers."""
    main = sys.modules["__main__"]
    try:
        sys.modules["__main__"] = SimpleNamespace(__file__="/nonexistent/script.py", __spec__=None)
        assert run(truediv, [], 1) == {}
        assert run(abs, [-4], 1) == {0: 4}
    finally:
        sys.modules["__main__"] = main


# --- Trust ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("serve", HOSTILE)
def test_an_answer_that_is_none_fails_its_task_and_runs_nothing(serve, monkeypatch, tmp_path):
    mark = tmp_path / "ran"
    monkeypatch.setenv("TOPICTURE_TEST_MARK", str(mark))
    monkeypatch.setattr(workers, "_SERVE", ("child_work", serve))
    tracemalloc.start()
    result = run(abs, [-1], n_workers=1)[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(result, Failure)
    assert "an invalid answer" in result.reason
    assert "\n" not in result.reason
    assert not mark.exists()
    assert peak < 100e6


def test_a_worker_that_stops_talking_is_ended(monkeypatch):
    monkeypatch.setattr(workers, "_SERVE", ("child_work", "stops_talking"))
    start = time.monotonic()
    assert run(abs, [-1], n_workers=1, timeout=1.0)[0].reason.startswith("its decoder took over 1 s")
    assert time.monotonic() - start < 30


def test_a_result_that_cannot_be_sent_fails_its_task_only():
    results = run(complex, [1, 2], n_workers=1)
    assert results[0] == Failure("its result can't be sent: a complex can't be sent")


def test_workers_do_not_see_the_working_folder(monkeypatch, tmp_path):
    """Neither as their own nor on the import path, however it came onto the parent's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", ".", "sub", str(tmp_path), *sys.path])
    folder, path, isolated = run(where, [0], n_workers=1)[0]
    assert folder == NEUTRAL_FOLDER
    assert isolated
    assert all(os.path.isabs(entry) for entry in path)
    assert str(tmp_path) not in path


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of this kind")
def test_the_memory_of_a_worker_is_limited():
    """The system refuses, and the next task is done by the same worker."""
    results = run(allocate, [1000, workers.MEMORY_LIMIT + 1, 2000], n_workers=1)
    assert results[0] == 1000
    assert results[1] == Failure("MemoryError: no message")
    assert results[2] == 2000


def test_a_worker_is_replaced_after_so_many_tasks():
    results = run_isolated(pid_after, range(5), 1, 30.0, tasks_per_worker=2)
    pids = [pid for _, pid in sorted(results)]
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]
