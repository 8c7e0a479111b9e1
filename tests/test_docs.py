"""The documentation is true: its code runs, its links lead somewhere, its commands exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("code", blocks(ROOT / "README.md", "python"))
def test_readme_code_runs(code, capsys):
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_readme_answer_is_right(capsys):
    exec(compile(blocks(ROOT / "README.md", "python")[0], "README.md", "exec"), {})
    assert capsys.readouterr().out == "sea and forest\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target} is not there"


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make ([a-z-]+)`", (ROOT / "README.md").read_text()):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"make {target}"


def test_ci_runs_the_readme_test_command():
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    assert "make test " in (ROOT / "README.md").read_text()


def test_every_model_is_in_the_readme():
    from topicture import model_names

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in model_names():
        assert f"`{name}`" in text, f"{name} is missing from the models of the README"
