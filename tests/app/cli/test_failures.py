"""Whatever a command raises, a person reads one line: what is wrong, where, what to do."""

import errno
import os
import sqlite3
import subprocess
import sys
import warnings

import numpy as np
import pytest
from photo_folder import jpeg, make_library, put

from topicture.app.cli.failures import one_line
from topicture.app.verbs import scanning
from topicture.errors import FitWarning, TopictureError

ODD = "odd\x1b[31m\n.jpg"


def too_deep(depth=0):
    return too_deep(depth + 1)


def raises(error):
    def fail(*_, **__):
        raise error

    return fail


FAULTS = {
    "memory": (raises(MemoryError()), "not enough memory"),
    "array": (lambda *_, **__: np.zeros(1 << 57), "not enough memory"),
    "database": (raises(sqlite3.DatabaseError("database disk image is malformed")), "topicture check"),
    "disk": (raises(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), ODD)), "the disk is full; make room"),
    "quota": (raises(OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))), "share of the disk is used up"),
    "permission": (
        raises(PermissionError(errno.EACCES, "Permission denied", b"\xff")),
        "check its permissions",
    ),
    "unknown system error": (raises(OSError("odd")), "odd"),
    "depth": (lambda *_, **__: too_deep(), "nested too deeply"),
    "text": (lambda *_, **__: "\udcff".encode(), "not valid Unicode"),
    "library": (raises(ValueError("shapes (1,) (2,)\nnot aligned")), "internal error (ValueError: shapes"),
    "bug": (lambda *_, **__: {}["key"], "internal error (KeyError: 'key'); run again with --debug"),
    "assertion": (raises(AssertionError()), "internal error (AssertionError); run"),
    "end of input": (raises(EOFError()), "internal error (EOFError)"),
    "own": (raises(TopictureError(f"{ODD}: no such photo")), r"odd\x1b[31m\n.jpg: no such photo"),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    make_library(root, n=4, tagged=2)
    return root


@pytest.mark.parametrize("fault", FAULTS)
def test_every_exception_is_one_line_with_code_two(root, topicture, monkeypatch, fault):
    fail, told = FAULTS[fault]
    monkeypatch.setattr(scanning, "walk_photos", fail)
    code, out, error = topicture("scan", root)
    assert (code, out) == (2, "")
    assert error.startswith("topicture: ")
    assert error.count("\n") == 1
    assert error.rstrip("\n").isprintable()
    assert told in error


@pytest.mark.parametrize("how", ["option", "environment"])
def test_debug_shows_the_traceback_and_then_the_line(root, topicture, monkeypatch, how):
    monkeypatch.setattr(scanning, "walk_photos", FAULTS["bug"][0])
    monkeypatch.setenv("TOPICTURE_DEBUG", "1" if how == "environment" else "0")
    code, _, error = topicture(*(["--debug"] if how == "option" else []), "scan", root)
    assert code == 2
    assert error.startswith("Traceback ")
    assert "test_failures.py" in error
    assert error.splitlines()[-1].startswith("topicture: internal error (KeyError: 'key')")


@pytest.mark.parametrize("debug", [[], ["--debug"]])
def test_how_a_fit_ended_is_told_when_debugging_alone(root, topicture, monkeypatch, debug):
    walk = scanning.walk_photos

    def walk_and_warn(*given, **named):
        warnings.warn("codebook of 20 words, not 200", FitWarning, stacklevel=2)
        return walk(*given, **named)

    monkeypatch.setattr(scanning, "walk_photos", walk_and_warn)
    monkeypatch.setenv("TOPICTURE_DEBUG", "0")
    code, _, error = topicture("scan", root, *debug)  # warnings are errors here
    assert (code, "codebook" in error) == ((2, True) if debug else (0, False))


def test_a_full_disk_of_the_database_is_told_as_such(tmp_path):
    database = sqlite3.connect(tmp_path / "small.sqlite")
    database.execute("CREATE TABLE t (x)")
    database.execute("PRAGMA max_page_count = 3")
    with pytest.raises(sqlite3.Error) as full:
        database.execute("INSERT INTO t VALUES (zeroblob(100000))")
    database.close()
    assert one_line(full.value).startswith("the disk is full; make room")


def run(*arguments, stdout=subprocess.PIPE, **environment):
    """The program as others start it: (exit code, output, errors) in bytes."""
    command = [
        sys.executable,
        "-c",
        "from topicture.app.cli.main import main; main()",
        *map(os.fsencode, arguments),
    ]
    plain = {name: value for name, value in os.environ.items() if name not in ("LC_ALL", "PYTHONUTF8")}
    done = subprocess.run(
        command,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**plain, "COLUMNS": "100", **environment},
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def test_output_onto_a_full_disk_is_told():
    with open("/dev/full", "wb") as full:
        code, _, error = run("models", stdout=full)
    assert code == 2
    assert error == b"topicture: " + one_line(OSError(errno.ENOSPC, "")).encode() + b"\n"


def test_a_reader_that_went_away_ends_the_program_quietly(root):
    for arguments in (["models"], ["status", "-c", root], ["tags", "-c", root]):
        reading, writing = os.pipe()
        os.close(reading)
        code, _, error = run(*arguments, stdout=writing)
        os.close(writing)
        assert (code, error) == (141, b"")


ENCODINGS = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "C": {"LC_ALL": "C", "PYTHONIOENCODING": "ascii:strict"},
    "UTF-8": {"PYTHONIOENCODING": "utf-8"},
}


@pytest.fixture(scope="module")
def odd_root(tmp_path_factory):
    """A collection whose words and names no terminal takes as they are."""
    root = tmp_path_factory.mktemp("odd")
    library = make_library(root, n=4, tagged=2)
    for name in (os.fsdecode(b"\xff\xe9.jpg"), ODD, "[red]夜.jpg"):
        put(root / name, jpeg(len(name)))
        library.scan()
        library.decide(name, ["夜景", "[red]x[/red]"], "present")
    return root


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_any_encoding_of_the_terminal_takes_any_name_and_word(odd_root, encoding):
    about = ["-c", os.fspath(odd_root)]
    outputs = []
    for arguments in (
        ["tags"],
        ["search", "夜景"],
        ["status"],
        ["tag", "[red]夜.jpg"],
        ["tag", "夜 nowhere"],
        ["夜"],
    ):
        code, out, error = run(*arguments, *(about if arguments[0] != "夜" else ()), **ENCODINGS[encoding])
        assert b"Traceback" not in error
        assert code == (2 if arguments[-1] in ("夜", "夜 nowhere") else 0), error
        assert b"\x1b" not in out + error
        outputs.append(out)
    shown = outputs[1].decode("utf-8")
    assert "\\udcff\\udce9.jpg" in shown
    assert "odd\\x1b[31m\\n.jpg" in shown
    assert "[red]" in shown
    assert ("夜" if encoding == "UTF-8" else "\\u591c") in shown
    assert b"[red]x[/red]" in outputs[0]


ESC = "\x1b[31m"


@pytest.mark.parametrize(
    "arguments",
    [
        [f"x{ESC}"],
        [f"--x{ESC}"],
        ["scan", f"/x{ESC}"],
        ["search", f"x{ESC}"],
        ["tag", f"x{ESC}", "y"],
        ["tag", "photo-000.jpg", f"y{ESC}"],
        ["tags", "--delete", f"y{ESC}"],
        ["review", "--order", f"y{ESC}"],
        ["review", "--limit", f"y{ESC}"],
        ["learn", "--model", f"y{ESC}"],
        ["export", f"y{ESC}"],
        ["export", "out.csv", "--format", f"y{ESC}"],
        ["import", f"y{ESC}"],
        ["backup", f"photo-000.jpg/{ESC}"],
        ["explain", f"x{ESC}"],
        ["similar", f"x{ESC}"],
        ["init", f"x{ESC}"],
        ["init", ".", "--catalog", f"photo-000.jpg/{ESC}"],
        ["status", "--catalog", f"x{ESC}"],
    ],
    ids=lambda arguments: " ".join(arguments).replace(ESC, "ESC"),
)
def test_control_characters_in_arguments_are_escaped(root, topicture, monkeypatch, arguments):
    monkeypatch.chdir(root)
    monkeypatch.delenv("TOPICTURE_CATALOG", raising=False)
    code, out, error = topicture(*arguments)
    assert code == 2
    assert "\x1b" not in out + error
    assert error.strip()
    assert "Traceback" not in error


def test_results_escape_control_characters(root, topicture, monkeypatch, tmp_path):
    monkeypatch.chdir(root)
    monkeypatch.delenv("TOPICTURE_CATALOG", raising=False)
    code, out, _ = topicture("backup", tmp_path / f"[red]{ESC}")
    assert code == 0
    assert "[red]\\x1b[31m" in out
    assert "\x1b" not in out
    code, out, _ = topicture("export", tmp_path / f"[red]{ESC}.csv")
    assert code == 0
    assert "[red]\\x1b[31m.csv" in out
