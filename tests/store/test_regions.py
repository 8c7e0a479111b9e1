"""Where words are in a photo: replaced photo by photo, and written once for every word."""

import pytest

from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision
from topicture.store.regions import Box
from topicture.store.sidecar_record import Placing

SEA = Box("sea", 0.0, 0.5, 1.0, 0.5, 0.7)
SKY = Box("sky", 0.0, 0.0, 1.0, 0.25, 0.6)
ALL = Placing(0.0, 1.0)


@pytest.fixture
def catalog(tmp_path):
    with Catalog.create(tmp_path) as catalog:
        for number in (1, 2):
            catalog.files.put(f"{number}.jpg", bytes([number]) * 32, 10, 0, "")
        catalog.decisions.decide([Decision(1, "sea", "present")], "review")
        catalog.decisions.decide([Decision(2, "sky", "present")], "file")
        catalog.suggestions.add_model("0001", "corr-lda", 1, {})
        yield catalog


def write(catalog, placing=ALL, **options):
    due = catalog.sidecar_record.due(placing)
    catalog.sidecar_record.plan(due)
    for item in due:
        catalog.sidecar_record.finish(item, f"120 7 {item.path}.xmp", placing, **options)
    return [item.path for item in due]


def test_images_that_are_not_named_keep_theirs(catalog):
    catalog.regions.replace(1, {1: [SKY, SEA], 2: [SKY]})
    assert catalog.regions.of(1) == [SKY, SEA]
    catalog.regions.replace(1, {1: [SEA]})
    assert (catalog.regions.of(1), catalog.regions.of(2)) == ([SEA], [SKY])
    catalog.regions.replace(1, {1: []})
    assert catalog.regions.of(1) == []


def test_a_word_is_due_again_when_its_place_is_found_after_it_was_written(catalog):
    assert write(catalog) == ["1.jpg"]
    catalog.regions.replace(1, {1: [SKY], 2: [SKY]})  # of no word of ours
    assert catalog.sidecar_record.due(ALL) == []
    catalog.regions.replace(1, {1: [SEA, SKY]})
    assert catalog.sidecar_record.due() == []
    assert write(catalog) == ["1.jpg"]
    assert catalog.sidecar_record.due(ALL) == []


def test_a_place_that_changes_is_not_written_again(catalog):
    catalog.regions.replace(1, {1: [SEA]})
    write(catalog)
    catalog.regions.replace(1, {1: [SEA._replace(probability=0.5), SKY]})
    assert catalog.sidecar_record.due(ALL) == []


def test_a_place_is_due_until_it_could_be_written(catalog):
    catalog.regions.replace(1, {1: [SEA]})
    assert write(catalog, None) == ["1.jpg"]  # a model that has not proved itself
    assert write(catalog, Placing(0.8, 1.0)) == write(catalog, Placing(0.0, 0.4)) == []
    assert write(catalog, Placing(0.6, 0.5)) == ["1.jpg"]
    assert write(catalog) == []


def test_declined_places_are_written_only_on_request(catalog):
    catalog.regions.replace(1, {1: [SEA]})
    assert write(catalog, None, declined=True) == ["1.jpg"]
    catalog.regions.replace(1, {1: [SEA, SKY]})
    assert write(catalog) == []
    assert write(catalog, ALL._replace(declined_too=True)) == ["1.jpg"]
    assert catalog.sidecar_record.due(ALL._replace(declined_too=True)) == []
