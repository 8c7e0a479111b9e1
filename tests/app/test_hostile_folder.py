"""Nothing that lies beside the photos is run or obeyed, by no process of ours."""

import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from whole_run import RUNS_SHORT, environment, new_collection, run_all, script

import topicture

MARKING = "open({mark!r}, 'a').write(__name__ + ' was run\\n')\nraise ImportError(__name__)\n"
# `latex` and what else matplotlib would run for it, first on the PATH: not run, were the settings obeyed, is the aim.
PROGRAMS = ("latex", "pdflatex", "dvipng", "kpsewhich", "luatex", "gs", "inkscape")
SETTINGS = "text.usetex: True\nbackend: module://numpy\nfigure.dpi: 17\n"


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "mark"


@pytest.fixture
def photos(tmp_path, mark):
    """A collection with a file for every module that any process could import, and settings for matplotlib."""
    photos = new_collection(tmp_path / "collection")
    names = set(sys.stdlib_module_names) | set(packages_distributions())
    names |= {"topicture", "sitecustomize", "usercustomize", "child_work", "encodings"}
    for name in filter(str.isidentifier, names):
        (photos / f"{name}.py").write_text(MARKING.format(mark=str(mark)))
    for name in ("PIL", "multiprocessing", "encodings", "jax", "matplotlib"):
        (photos / name).mkdir()
        (photos / name / "__init__.py").write_text(MARKING.format(mark=str(mark)))
    (photos / "matplotlibrc").write_text(SETTINGS)
    return photos


@pytest.fixture
def env(tmp_path, mark):
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).write_text(f"#!/bin/sh\necho {name} was run >> {mark}\nexit 1\n")
        (programs / name).chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return environment(tmp_path / "home", PATH=path)


def marks(mark):
    return sorted(set(mark.read_text().splitlines())) if mark.exists() else []


def test_the_traps_work(photos, mark, env):
    """What `python -c` would do here."""
    subprocess.run([sys.executable, "-c", "import numpy"], cwd=photos, env=env, capture_output=True)
    assert marks(mark)


@pytest.mark.slow  # much work, all of it real
def test_commands_run_nothing_from_the_folder(photos, mark, env):
    run_all(photos, env, RUNS_SHORT, timeout=300)
    assert marks(mark) == []


@pytest.mark.slow
def test_no_command_runs_anything_from_the_folder(photos, mark, env):
    run_all(photos, env, timeout=900)
    assert marks(mark) == []


LIBRARY = {
    "scenes": "from topicture.demo.scenes import render_scenes; "
    "print(len(list(render_scenes(2, 0, 64, 48, workers=2))))",
    "describe": "from topicture.vision.pipeline import describe; "
    "print(len(describe(['photo-000.jpg', 'photo-002.jpg'], 'colour-layout', captions=[['a'], ['b']]).corpus))",
    "spread": "from topicture_experiments.shared.running import spread; from math import sqrt; "
    "print(len(dict(spread(sqrt, [1, 4], jobs=2))))",
}


@pytest.mark.parametrize("work", LIBRARY)
def test_children_of_the_library_run_nothing_from_the_folder(work, photos, mark, env):
    """The folder is a program's working folder; relative paths of photos mean what they mean there."""
    done = subprocess.run(
        script(photos, LIBRARY[work]), cwd=photos, env=env, capture_output=True, text=True, timeout=300
    )
    assert (done.stdout, done.returncode) == ("2\n", 0), done.stderr
    assert marks(mark) == []


def test_a_working_folder_on_the_path_stays_with_the_parent(tmp_path, env):
    """A program that was started by `python -c` has the working folder first on its path; its children do not."""
    photos = new_collection(tmp_path / "other")
    command = [
        sys.executable,
        "-c",
        "import numpy, pickle, topicture.vision.pipeline; " + TRAP + LIBRARY["describe"],
    ]
    done = subprocess.run(command, cwd=photos, env=env, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("2\n", 0), done.stderr
    assert not (photos / "ran").exists()


# Laid once the parent has loaded what it needs.
TRAP = "open('cv2.py', 'w').write('open(\"ran\", \"w\")'); open('struct.py', 'w').write('open(\"ran\", \"w\")'); "


def test_settings_beside_the_photos_are_not_even_read(photos, env):
    code = (
        "from topicture.app.cli.own_process import own_this_process; own_this_process(); import matplotlib, os; "
        "print(matplotlib.rcParams['text.usetex'], matplotlib.rcParams['figure.dpi'], os.getcwd())"
    )
    done = subprocess.run(
        script(photos, code), cwd=photos, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == f"False 100.0 {photos}\n", done.stderr


def test_every_child_is_started_in_one_place():
    """No module but `children` starts a Python process, by whatever means."""
    source = Path(topicture.__file__).parent
    means = ("sys.executable", "Popen(", "subprocess.run(", "multiprocessing", "ProcessPool", "os.fork")
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if any(way in path.read_text(encoding="utf-8") for way in means)
    }
    assert found == {"children.py"}
