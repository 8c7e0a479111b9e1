"""Replacing a file under the hands of other programs: whatever they do in between, their content is not lost."""

import errno
import os
import subprocess
import sys
import threading
import time

import pytest

from topicture.atomic import exchange
from topicture.atomic.exchange import remove_exchanged, remove_unchanged, replace_unchanged

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges two files in one step")
OLD, OURS, THEIRS, LATEST = b"old", b"ours", b"theirs", b"theirs, and later"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.xmp"
    path.write_bytes(OLD)
    return path


@pytest.fixture
def at_rename(monkeypatch):
    """Do something right before, or right after, the n-th rename."""

    def arrange(act, *, when, turn=1):
        real, turns = exchange.rename_specially, []

        def disturbed(*arguments):
            turns.append(True)
            if len(turns) == turn and when == "before":
                act()
            code = real(*arguments)
            if len(turns) == turn and when == "after":
                act()
            return code

        monkeypatch.setattr(exchange, "rename_specially", disturbed)

    return arrange


def put(path, content):
    """As a program does that writes a new file and renames it."""
    new = path.with_name("their.tmp")
    new.write_bytes(content)
    os.replace(new, path)


def only(path):
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("known", [True, False], ids=["exchange", "plain rename"])
@pytest.mark.parametrize("expected", [OLD, None])
def test_the_expected_file_is_replaced(path, expected, known, monkeypatch):
    if not known:
        monkeypatch.setattr(exchange, "rename_specially", lambda *_: errno.EINVAL)
    path.chmod(0o640)
    if expected is None:
        path.unlink()
    assert replace_unchanged(path, expected, OURS)
    assert path.read_bytes() == OURS
    if expected is not None:
        assert path.stat().st_mode & 0o777 == 0o640
    only(path)


def test_a_new_file_has_the_usual_mode(tmp_path):
    (tmp_path / "plain").touch()
    assert replace_unchanged(tmp_path / "a.xmp", None, OURS)
    assert (tmp_path / "a.xmp").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("expected", [b"another", None])
def test_another_file_is_left(path, expected):
    assert not replace_unchanged(path, expected, OURS)
    assert path.read_bytes() == OLD
    only(path)


@linux
def test_a_file_put_there_in_the_last_moment_is_given_back(path, at_rename):
    at_rename(lambda: put(path, THEIRS), when="before")
    assert not replace_unchanged(path, OLD, OURS)
    assert path.read_bytes() == THEIRS
    only(path)


@linux
def test_a_file_made_in_the_last_moment_is_left(path, at_rename):
    path.unlink()
    at_rename(lambda: put(path, THEIRS), when="before")
    assert not replace_unchanged(path, None, OURS)
    assert path.read_bytes() == THEIRS
    only(path)


@linux
def test_a_file_removed_in_the_last_moment_stays_away(path, at_rename):
    at_rename(path.unlink, when="before")
    assert not replace_unchanged(path, OLD, OURS)
    assert list(path.parent.iterdir()) == []


@linux
def test_the_newest_of_two_files_of_others_wins(path, at_rename, monkeypatch):
    real = exchange.holds
    looks = []

    def look(where, content):
        looks.append(where)
        if len(looks) == 2:  # ours was exchanged with theirs, and is about to be found out
            put(path, LATEST)
        return real(where, content)

    monkeypatch.setattr(exchange, "holds", look)
    at_rename(lambda: put(path, THEIRS), when="before")
    assert not replace_unchanged(path, OLD, OURS)
    assert path.read_bytes() == LATEST
    only(path)


@linux
def test_a_link_put_there_in_the_last_moment_is_given_back(path, at_rename, tmp_path):
    def link():
        path.unlink()
        path.symlink_to("elsewhere")

    at_rename(link, when="before")
    assert not replace_unchanged(path, OLD, OURS)
    assert os.readlink(path) == "elsewhere"


@linux
@pytest.mark.parametrize("seconds", [0, 0.1])
def test_a_program_that_writes_into_the_open_file_is_waited_for(path, at_rename, seconds):
    """It opened the file before ours took its place, and knows nothing of that."""
    file = path.open("r+b")

    def write():
        time.sleep(seconds)
        file.write(THEIRS)
        file.close()

    writer = threading.Thread(target=write)
    at_rename(writer.start, when="after")
    assert not replace_unchanged(path, OLD, OURS)
    writer.join()
    assert path.read_bytes() == THEIRS
    only(path)


@linux
def test_a_program_that_never_closes_the_file_gets_it_back(path, monkeypatch):
    monkeypatch.setattr(exchange, "REST_SECONDS", 0.05)
    with path.open("r+b") as file:
        assert not replace_unchanged(path, OLD, OURS)
        file.write(THEIRS)
    assert path.read_bytes() == THEIRS
    only(path)


@linux
def test_an_interrupted_exchange_gives_the_old_file_back(path, monkeypatch):
    def interrupt(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(exchange, "sync_folder", interrupt)
    with pytest.raises(KeyboardInterrupt):
        replace_unchanged(path, OLD, OURS)
    assert path.read_bytes() == OLD
    only(path)


# Another program puts its file there in the last moment, and ours is killed before the exchange, or right after.
KILLED = """
import os, sys
from pathlib import Path
from topicture.atomic import exchange
path, when, theirs = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
real = exchange.rename_specially
def killed(*arguments):
    if theirs:
        new = path.with_name("their.tmp")
        new.write_text(theirs)
        os.replace(new, path)
    if when == "after":
        real(*arguments)
    os.kill(os.getpid(), 9)
exchange.rename_specially = killed
exchange.replace_unchanged(path, b"old", b"ours")
"""


@linux
@pytest.mark.parametrize(
    ("when", "theirs", "stands"),
    [
        ("before", "", OLD),
        ("after", "", OURS),
        ("before", "theirs", THEIRS),
        ("after", "theirs", THEIRS),
    ],
)
def test_what_a_killed_exchange_took_out_is_put_back(path, when, theirs, stands):
    subprocess.run([sys.executable, "-c", KILLED, str(path), when, theirs], timeout=60)
    assert len(list(path.parent.iterdir())) == 2
    remove_exchanged(path.parent)
    assert path.read_bytes() == stands
    only(path)


@linux
def test_what_was_written_anew_after_a_killed_exchange_stands(path):
    subprocess.run([sys.executable, "-c", KILLED, str(path), "after", "theirs"], timeout=60)
    put(path, LATEST)
    remove_exchanged(path.parent)
    assert path.read_bytes() == LATEST
    only(path)


def test_half_of_a_temporary_file_is_removed(path, monkeypatch):
    written = []
    monkeypatch.setattr(exchange, "_write", lambda temporary, *rest: written.append(temporary.name) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        replace_unchanged(path, OLD, OURS)
    (path.parent / written[0]).write_bytes(OURS[:2])
    remove_exchanged(path.parent)
    assert path.read_bytes() == OLD
    only(path)


# --- Removing -------------------------------------------------------------------------------------------------------


def at_move(monkeypatch, act, *, after=False):
    """Do something right before, or right after, the file is moved aside."""
    real = os.rename

    def disturbed(*arguments):
        monkeypatch.setattr(os, "rename", real)
        if not after:
            act()
        real(*arguments)
        if after:
            act()

    monkeypatch.setattr(os, "rename", disturbed)


def test_the_expected_file_is_removed_and_another_is_left(path):
    assert not remove_unchanged(path, THEIRS)
    assert path.read_bytes() == OLD
    assert remove_unchanged(path, OLD)
    assert list(path.parent.iterdir()) == []
    assert not remove_unchanged(path, OLD)


def test_a_file_put_there_before_a_removal_is_given_back(path, monkeypatch):
    at_move(monkeypatch, lambda: put(path, THEIRS))
    assert not remove_unchanged(path, OLD)
    assert path.read_bytes() == THEIRS
    only(path)


def test_a_file_put_there_after_a_removal_stays(path, monkeypatch):
    at_move(monkeypatch, lambda: put(path, THEIRS), after=True)
    assert remove_unchanged(path, OLD)
    assert path.read_bytes() == THEIRS
    only(path)


def test_an_interrupted_removal_gives_the_file_back(path, monkeypatch):
    monkeypatch.setattr(exchange, "_rests", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        remove_unchanged(path, OLD)
    assert path.read_bytes() == OLD
    only(path)


@pytest.mark.parametrize("theirs", [False, True])
def test_a_killed_removal_loses_only_what_was_to_go(path, theirs):
    program = (
        "import os, sys; from pathlib import Path; from topicture.atomic import exchange\n"
        "path, real = Path(sys.argv[1]), os.rename\n"
        "def killed(*arguments):\n"
        f"    {theirs} and path.write_bytes(b'theirs')\n"
        "    real(*arguments); os.kill(os.getpid(), 9)\n"
        "os.rename = killed; exchange.remove_unchanged(path, b'old')\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], timeout=60)
    remove_exchanged(path.parent)
    assert [left.read_bytes() for left in path.parent.iterdir()] == ([THEIRS] if theirs else [])
