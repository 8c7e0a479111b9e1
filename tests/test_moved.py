"""What earlier versions documented is still found under its old name."""

from importlib import import_module

import pytest

import topicture as tp

DOCUMENTED = [
    ("topicture.app.service", "Library"),
    ("topicture.collection.keywords", "photo_keywords"),
    ("topicture.collection.scenes", "render_scenes"),
    ("topicture.collection.scenes", "write_collection"),
]
UNCHANGED = [
    ("topicture.collection.formats", "read_annotations"),
    ("topicture.collection.formats", "write_annotations"),
    ("topicture.collection.sidecar", "ObjectRegion"),
    ("topicture.collection.sidecar", "Tag"),
    ("topicture.collection.sidecar", "write_sidecar"),
    ("topicture.vision.networks", "Manifest"),
    ("topicture.vision.pipeline", "Photo"),
    ("topicture.vision.pipeline", "describe"),
    ("topicture.vision.recipe", "Recipe"),
]


@pytest.mark.parametrize(("module", "name"), DOCUMENTED)
def test_a_moved_name_is_found_with_a_warning(module, name):
    with pytest.warns(DeprecationWarning, match=f"{module} is now"):
        found = getattr(import_module(module), name)
    assert found.__name__ == name


@pytest.mark.parametrize(("module", "name"), UNCHANGED)
def test_other_documented_names_are_where_they_were(module, name):
    assert getattr(import_module(module), name).__name__ == name


def test_public_names():
    assert {
        "Annotator",
        "AnnotatorClassifier",
        "Corpus",
        "TopictureError",
        "Vocabulary",
        "load_annotator",
        "make_annotator",
        "model_names",
    } <= set(tp.__all__)
