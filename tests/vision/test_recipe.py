from dataclasses import replace

import pytest

from topicture.errors import TopictureError
from topicture.vision import recipe as module
from topicture.vision.recipe import VIEWS, Recipe

ALL = Recipe(("colour-layout", "regions:blobs", "visual_words:sift"))
DEEP = Recipe(("deep", "regions:deep", "visual_words:blobs"))


def changed(before, after):
    a, b = before.keys(), after.keys()
    assert a.keys() == b.keys()
    return {step for step in a if a[step] != b[step]}


def test_every_view_has_a_recipe_with_distinct_keys():
    for view in VIEWS:
        keys = Recipe(view).keys()
        assert set(keys) == set(VIEWS[view].steps)
        assert len(set(keys.values())) == len(keys)


@pytest.mark.parametrize(
    ("change", "steps"),
    [
        ({"network": "lite0"}, {"deep", "regions:deep"}),
        ({"segmentation": "grid"}, {"regions:deep", "regions:blobs"}),
        ({"max_regions": 12}, {"regions:deep", "regions:blobs"}),
        ({"max_side": 256}, {"deep", "regions:deep", "regions:blobs"}),
        ({"border": "dark"}, {"deep", "regions:deep", "regions:blobs"}),
        ({"n_words": 7, "components": 3}, set()),
    ],
)
def test_a_setting_changes_the_keys_that_depend_on_it(change, steps):
    assert changed(DEEP, replace(DEEP, **change)) == steps


def test_number_of_patches_concerns_sift_alone():
    assert changed(ALL, replace(ALL, n_patches=10)) == {"sift", "sift-regions"}


def test_a_new_version_concerns_its_descriptor_alone(monkeypatch):
    before = ALL.keys()
    monkeypatch.setattr(module, "BLOBS", replace(module.BLOBS, version=99))
    after = ALL.keys()
    assert {step for step in before if before[step] != after[step]} == {"regions:blobs"}


def test_json_round_trip():
    recipe = Recipe(["deep"], border="dark", seed=3)
    assert Recipe(**recipe.to_json()) == recipe


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"views": ("shallow",)}, "no view called shallow"),
        ({"views": ()}, "no view called nothing"),
        ({"views": ("deep", "colour-layout")}, "deep and colour-layout both fill a corpus's descriptor"),
        ({"segmentation": "magic"}, "no segmentation called 'magic'"),
        ({"border": -1}, "border"),
        ({"border": "light"}, "border"),
        ({"max_side": 0}, "at least 1"),
    ],
)
def test_mistakes_are_told_at_once(arguments, message):
    with pytest.raises(TopictureError, match=message):
        Recipe(**arguments)
