"""Photos measured by the workers of a cluster: the same numbers as here."""

import io

import numpy as np
import pytest
from pictures import noise
from PIL import Image
from text_encoders import N_CELLS, write_network

from topicture.cluster.engine import Cluster
from topicture.cluster.members import local_cluster
from topicture.cluster.photo_work import measure_photos
from topicture.elsewhere import Engine, working_on
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


class OneByOne(Engine):
    """An engine whose one worker is this process."""

    def shards(self, batches, posteriors):
        return None

    def measure(self, job, tasks, timeout, memory):
        for number, task in enumerate(tasks):
            yield number, measure_photos(job, timeout, memory, [task])[0]

    def in_order(self, function, calls):
        raise AssertionError("nobody asks")


def test_a_decoder_that_stays_takes_the_network_of_today(tmp_path):
    """Measurements are kept under the name of today's network: those of an earlier one would stay there for good."""
    for seed in (1, 2):
        path = write_network(tmp_path, {"sea": np.zeros(N_CELLS)}, seed=seed)
        recipe = Recipe(("deep",), network=str(path))
        here = describe(list(photos(4)), recipe, vocabulary=["sea"], workers=1)
        with working_on(OneByOne()):
            there = describe(list(photos(4)), recipe, vocabulary=["sea"])
        assert same(there, here)


def test_here_too_the_network_is_that_of_today(tmp_path):
    found = []
    for seed in (1, 2):
        path = write_network(tmp_path, {"sea": np.zeros(N_CELLS)}, seed=seed)
        recipe = Recipe(("deep",), network=str(path))
        found.append(describe(list(photos(4)), recipe, vocabulary=["sea"], workers=0))
    assert not same(*found)
