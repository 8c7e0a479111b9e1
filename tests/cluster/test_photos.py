"""Photos measured by the workers of a cluster: the same numbers as here."""

import io

import numpy as np
import pytest
from pictures import noise
from PIL import Image

from topicture.cluster.engine import Cluster
from topicture.cluster.members import local_cluster
from topicture.elsewhere import working_on
from topicture.vision.pipeline import describe
from topicture.vision.recipe import Recipe

RECIPE = Recipe(("colour-layout", "regions:blobs"), segmentation="grid")


def photos(n):
    """Pairs (id, content) of pictures; every ninth is none."""
    for i in range(n):
        stream = io.BytesIO()
        Image.fromarray(noise(40 + i % 7, 60, seed=i)).save(stream, "PNG")
        yield f"photo{i}", stream.getvalue() if i % 9 else b"no picture" + bytes([i])


def same(a, b):
    return (
        a.corpus == b.corpus
        and np.array_equal(a.positions, b.positions)
        and [str(bad) for bad in a.unreadable] == [str(bad) for bad in b.unreadable]
    )


@pytest.mark.slow
def test_a_worker_that_dies_in_the_middle_changes_nothing(tmp_path):
    here = describe(list(photos(150)), RECIPE, vocabulary=["sea"], workers=2)
    assert len(here.unreadable) == 17
    killed = []

    def kill(done, total):
        if done == 40:
            members.workers.processes[0].kill()
            killed.append(members.workers.processes[0].wait())

    with (
        local_cluster(2, port=0) as members,
        Cluster(members.address, tmp_path) as cluster,
        working_on(cluster),
    ):
        there = describe(list(photos(150)), RECIPE, vocabulary=["sea"], progress=kill)
        assert killed
        assert len(cluster.client.nthreads()) == 1
    assert same(there, here)
