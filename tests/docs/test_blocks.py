"""What the pages show can be done: Python runs, commands exist with their options, links have their anchors."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer.main

from topicture.app.cli.commands import app
from topicture.demo.scenes import write_collection

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in DOCS.rglob("*.md") if not any(part.startswith("_") for part in path.parts)),
]


def blocks(path, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )


def numbers():
    """What the block of scikit-learn.md takes for given."""
    rng = np.random.default_rng(0)
    topic = rng.integers(3, size=60)
    X = rng.poisson(np.kron(np.eye(3), np.full(4, 3.0))[topic] + 0.2)
    return {"X": X[:50], "y": np.eye(3, dtype=int)[topic[:50]], "X_new": X[50:]}


def prepared(page):
    return numbers() if page.name == "scikit-learn.md" else {}


QUICK = [page for page in PAGES if blocks(page, "python") and page.name not in ("README.md", "tool.md")]


@pytest.mark.parametrize("page", QUICK, ids=lambda page: page.name)
def test_python_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = prepared(page)
    for code in blocks(page, "python"):
        exec(compile(code.replace("[10, 30, 100]", "[2, 3]"), page.name, "exec"), names)


@pytest.mark.slow  # learns a small collection
def test_python_of_the_tool_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_collection("photos", 40, captioned=0.6, width=96, height=72)
    (code,) = blocks(DOCS / "tool.md", "python")
    quick = code.replace("learn()", 'learn("empirical")').replace("tiger grass -water", "tree -sea")
    assert quick.count("empirical") == 1
    exec(compile(quick, "tool.md", "exec"), {})
    assert "scene-" in capsys.readouterr().out


# --- Commands ------------------------------------------------------------------------------------------------------


def commands_shown():
    """(page, command line) of every line of a block that begins with topicture."""
    for page in PAGES:
        for block in blocks(page, "(?:console|sh|bash)?"):
            for line in block.splitlines():
                if match := re.match(r"(?:\$ )?(?:\.venv/bin/)?(topicture .*)", line):
                    yield page, match[1].partition("  #")[0].partition("     ")[0]


def unknown(line):
    """What of a command line the program does not know."""
    root = typer.main.get_command(app)
    words = shlex.split(line)[1:]
    while words and words[0].startswith("--") and any(words[0] in p.opts for p in root.params):
        words = words[1:]
    if not words:
        return ""
    command = root.commands.get(words[0])
    if command is None:
        return f"command {words[0]}"
    options = {"--help", *(o for p in command.params for o in [*p.opts, *p.secondary_opts])}
    given = [word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)]
    return ", ".join(f"option {word}" for word in given if word not in options and " " not in word)


def test_commands_that_are_shown_exist():
    shown = list(commands_shown())
    assert len(shown) > 20
    assert [(page.name, line, unknown(line)) for page, line in shown if unknown(line)] == []


@pytest.mark.parametrize("line", ["topicture frobnicate", "topicture scan --frobnicate"])
def test_a_command_that_does_not_exist_is_noticed(line):
    assert "frobnicate" in unknown(line)


# --- Links ---------------------------------------------------------------------------------------------------------


def anchors(page):
    """Anchors of the headings of a page, as Markdown makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_have_their_anchors(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            other = page.parent / target if target else page
            assert anchor in anchors(other), f"{page.name}: {target}#{anchor}"


def test_links_into_the_gallery_lead_to_scripts():
    for page in PAGES:
        for target in re.findall(r"_gallery/([\w/]+/plot_\w+)", page.read_text(encoding="utf-8")):
            assert (DOCS / "gallery" / f"{target}.py").is_file(), f"{page.name}: {target}"
