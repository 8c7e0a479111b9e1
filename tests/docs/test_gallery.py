"""The gallery: enough scripts, each with a title, a story and a figure, on nothing but data of our own."""

import ast
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from topicture.annotations.figures.photos import photo_grid
from topicture.demo.sample import sample_photos
from topicture.errors import CorpusError

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
SCRIPTS = sorted(GALLERY.glob("*/plot_*.py"))


def test_there_are_enough_scripts_in_every_section():
    assert len(SCRIPTS) >= 25
    for section in GALLERY.iterdir():
        if section.is_dir() and not section.name.startswith("_"):
            assert (section / "GALLERY_HEADER.rst").is_file()
            assert 1 <= len(list(section.glob("plot_*.py"))) <= 15


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_tells_and_shows(script):
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)
    title, underline, *story = ast.get_docstring(tree).splitlines()
    assert underline == "=" * len(title)
    assert len(" ".join(story)) > 100, "say what there is to see"
    assert text.count("\n# %%\n") >= 1
    imported = {
        (node.module or "").split(".")[0]
        if isinstance(node, ast.ImportFrom)
        else node.names[0].name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported <= {"numpy", "scipy", "skimage", "sklearn", "tempfile", "topicture"}
    assert "topicture" in imported


@pytest.mark.slow  # a script that needs no photos, as an example of all; `make docs` runs every one
def test_a_script_makes_its_figure():
    script = GALLERY / "tasks" / "plot_completeness.py"
    names = {}
    exec(compile(script.read_text(encoding="utf-8"), script.name, "exec"), names)
    assert any(isinstance(value, Figure) for value in names.values())
    assert abs(names["found"][-1].overall - names["given"].sum() / names["true"].sum()) < 0.1


def test_photos_in_a_grid():
    photos = [np.zeros((6, 8, 3), np.uint8)] * 3
    figure = photo_grid(photos, ["a $tag$", "b\nc", ""], columns=2, title="three")
    assert len(figure.axes) == 3
    assert [axes.get_xlabel() for axes in figure.axes] == ["a $tag$", "b\nc", ""]
    assert matplotlib.get_backend()  # none was chosen for the host
    with pytest.raises(CorpusError, match="2 photos do not go with 1"):
        photo_grid(photos[:2], ["a"])


@pytest.mark.slow  # renders and measures photos
def test_a_sample_is_partly_tagged_and_the_same_again():
    sample = sample_photos(12, tagged_fraction=0.5)
    assert sample is sample_photos(12, tagged_fraction=0.5)
    assert sample.corpus.tagged.sum() == 6
    assert sample.complete.tagged.all()
    assert len(sample.untagged) == 6
    for position in range(3):
        assert sample.regions(position).max() + 1 == sample.corpus.n_regions[position]
        assert sample.regions(position).shape == sample.scenes[position].pixels.shape[:2]
