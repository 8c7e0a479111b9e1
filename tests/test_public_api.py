"""The public names: all there, and none of them loaded before it is used."""

import importlib
import subprocess
import sys

import pytest

import topicture as tp

HEAVY = (
    "jax",
    "sklearn",
    "scipy",
    "numpy",
    "matplotlib",
    "PIL",
    "cv2",
    "onnxruntime",
    "safetensors",
    "typer",
)


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_import_loads_nothing_heavy():
    loaded = run_python("import topicture, sys; print(*(name.split('.')[0] for name in sys.modules))")
    assert "topicture" in loaded
    assert not set(HEAVY) & set(loaded)


@pytest.mark.parametrize("name", ["Corpus", "Vocabulary", "TopictureError"])
def test_names_without_models_do_not_start_jax(name):
    loaded = run_python(f"import topicture, sys; topicture.{name}; print(*sys.modules)")
    assert not {"jax", "sklearn", "matplotlib"} & set(loaded)


@pytest.mark.parametrize("name", tp.__all__)
def test_public_names_resolve(name):
    value = getattr(tp, name)
    assert value.__name__ == name
    assert name in dir(tp)
    assert getattr(importlib.import_module(value.__module__), name) is value


def test_every_public_name_is_listed():
    assert sorted(tp.__all__) == sorted(tp._PUBLIC)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'Corpsu'"):
        tp.Corpsu  # noqa: B018


def test_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert tp.__version__ == version("topicture")
