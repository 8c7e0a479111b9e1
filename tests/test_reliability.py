"""The pages of promises are true to the tests: each fault names at least one, and each of them exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RELIABILITY = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
SECURITY = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(?:tests/)?([\w/]+\.py)(?:::(test_\w+))?`")
ROWS = re.findall(r"^\| *(\d+) *\|.*$", RELIABILITY, flags=re.MULTILINE)


def assert_exists(file, test):
    path = ROOT / "tests" / file
    assert path.is_file(), f"{file} is not there"
    if test:
        assert re.search(rf"^def {test}\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE), test


def test_rows_are_numbered_in_order():
    assert [int(number) for number in ROWS] == list(range(1, len(ROWS) + 1))
    assert len(ROWS) >= 43


@pytest.mark.parametrize("number", ROWS)
def test_every_fault_names_tests_that_exist(number):
    row = re.search(rf"^\| *{number} *\|.*$", RELIABILITY, flags=re.MULTILINE).group()
    named = NAMED.findall(row.split("|")[-2])
    assert named
    for file, test in named:
        assert test, f"{file}: which test?"
        assert_exists(file, test)


def test_every_promise_of_the_security_page_names_tests_that_exist():
    table = SECURITY.partition("## Promises and their tests")[2].partition("\n## ")[0]
    for row in table.strip().splitlines()[2:]:
        named = NAMED.findall(row)
        assert named, row
        for file, test in named:
            assert_exists(file, test)


def test_commands_of_long_runs_name_programs_that_exist():
    for program in re.findall(r"python (tests/[\w/]+\.py)", RELIABILITY):
        assert (ROOT / program).is_file()
