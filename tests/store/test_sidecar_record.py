"""What is to be written is found without a pass over every photo that has a word."""

import pytest

from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision


@pytest.fixture
def catalog(tmp_path):
    with Catalog.create(tmp_path) as catalog:
        yield catalog


def test_a_word_that_many_photos_have_is_taken_out_of_few_at_little_cost(catalog):
    n = 1000
    with catalog.database.transaction():
        names = [f"photo-{number:04d}" for number in range(n)]
        images = [
            catalog.files.put(f"{name}.tif", name.encode(), 10, 20, f"10 10 {name}.xmp") for name in names
        ]
        catalog.decisions.decide([Decision(image, "cat", "present") for image in images], "review")
        due = catalog.sidecar_record.due()
        catalog.sidecar_record.plan(due)
        for each, name in zip(due, names, strict=True):
            catalog.sidecar_record.finish(each, f"10 10 {name}.xmp")
        catalog.decisions.decide(
            [Decision(image, "cat", "rejected") for image in images[: n // 10]], "review"
        )
    steps = []
    catalog.database.connection.set_progress_handler(lambda: steps.append(1) and None, 1000)
    assert catalog.sidecar_record.count_due() == n // 10
    catalog.database.connection.set_progress_handler(None, 0)
    assert len(steps) < 300  # of a thousand instructions each; a pass over all photos for each came to 1,800
