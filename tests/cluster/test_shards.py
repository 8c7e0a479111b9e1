"""Fits on a cluster: the same bits as here, whoever works, and whoever dies meanwhile."""

from collections import Counter
from threading import Timer
from time import monotonic, sleep

import numpy as np
import pytest
from corpora import make_tiny_corpus
from hypothesis import given
from hypothesis import strategies as st

from topicture import make_annotator
from topicture.cluster.engine import Cluster
from topicture.cluster.members import local_cluster
from topicture.cluster.shards import ClusterShards, assigned
from topicture.elsewhere import working_on
from topicture.models import neighbours
from topicture.models.em import loop as em

SETTINGS = {"n_topics": 3, "n_init": 2, "max_iter": 12, "tol": 0.0}


@pytest.fixture(autouse=True)
def _many_small_shards(monkeypatch):
    """Seven shards of 16 images, so that sums make an uneven tree; only who cuts them needs to know."""
    monkeypatch.setattr(em, "chunk_images", lambda: 16)


@pytest.fixture(scope="module")
def members():
    with local_cluster(2, port=0) as made:
        yield made


@pytest.fixture
def corpus():
    return make_tiny_corpus(np.random.default_rng(0), n_images=100)


def numbers(annotator):
    return [np.asarray(x).tobytes() for x in (*annotator.params_, annotator.objective_trace_)]


def test_any_number_of_workers_gives_the_same_bits_and_one_that_dies_changes_none(members, corpus, tmp_path):
    """Two workers; then one is killed in the middle of a fit; then there is one. Four are below."""
    here = make_annotator("gm-mixture", **SETTINGS).fit(corpus)
    assert here.n_iter_ == SETTINGS["max_iter"]
    shards, killed = set(), []

    def look(progress):
        shards.update(path.name for path in cluster.folder.glob("images-*/shard-*"))

    def kill(progress):
        # Several passes after the posteriors were noted, of the second restart.
        if progress.restart == 1 and progress.iteration == 11:
            members.workers.processes[0].kill()
            killed.append(members.workers.processes[0].wait())

    with Cluster(members.address, tmp_path) as cluster, working_on(cluster):
        with_two = make_annotator("gm-mixture", **SETTINGS).fit(corpus, callback=look)
        with_one_dying = make_annotator("gm-mixture", **SETTINGS).fit(corpus, callback=kill)
        assert killed
        end = monotonic() + 60
        while len(cluster.client.nthreads()) > 1 and monotonic() < end:  # until the scheduler has noticed
            sleep(0.05)
        assert len(cluster.client.nthreads()) == 1
        with_one = make_annotator("gm-mixture", **SETTINGS).fit(corpus)
        assert members.workers.mend() == 1
    assert len(shards) == 7  # it did take place there
    assert numbers(with_two) == numbers(here)
    assert numbers(with_one_dying) == numbers(here)
    assert numbers(with_one) == numbers(here)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_four_workers_give_the_same_bits(corpus, tmp_path):
    settings = {**SETTINGS, "n_init": 1, "max_iter": 4}
    here = make_annotator("gm-mixture", **settings).fit(corpus)
    with local_cluster(4, port=0) as four, Cluster(four.address, tmp_path) as cluster, working_on(cluster):
        cluster.client.wait_for_workers(4, timeout=60)
        there = make_annotator("gm-mixture", **settings).fit(corpus)
    assert numbers(there) == numbers(here)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "gm-lda",
        "corr-lda",
        "plsa",
        "plsa-words",
        "link-lda",
        "mix-unigram",
        "lap-em",
        "dba",
        "emm-ml",
        "emm-margin",
    ],
)
def test_every_model_of_the_loop_gives_the_same_bits(name, members, corpus, tmp_path):
    settings = {"max_iter": 3}
    here = make_annotator(name, **settings).fit(corpus)
    with Cluster(members.address, tmp_path) as cluster, working_on(cluster):
        there = make_annotator(name, **settings).fit(corpus)
    assert numbers(there) == numbers(here)


@given(
    n_orders=st.integers(1, 70),
    n_workers=st.integers(1, 17),
    size=st.sampled_from([1, 2, 8]),
    dies=st.booleans(),
)
def test_orders_are_shared_evenly_and_stay_where_they_were(n_orders, n_workers, size, dies):
    firsts, workers = range(0, n_orders * size, size), [f"worker {i}" for i in range(n_workers)]
    at_first = assigned(firsts, workers, {})
    loads = [list(at_first.values()).count(each) for each in workers]
    assert sum(loads) == n_orders
    assert max(loads) == -(-n_orders // n_workers)
    assert assigned(firsts, workers, at_first) == at_first
    left = workers[1:] if dies else [*workers, "a new one"]
    after = assigned(firsts, left, at_first)
    assert set(after) == set(firsts) if left else not after
    assert all(after[first] == who for first, who in at_first.items() if who in left)
    evened = assigned(firsts, left, after, even=True)
    loads = [list(evened.values()).count(each) for each in left]
    assert not left or max(loads) == -(-n_orders // len(left))
    moved = [first for first in evened if evened[first] != after[first]]
    too_many = sum(max(0, list(after.values()).count(each) - max(loads)) for each in left)
    assert len(moved) == too_many  # nobody gives up more than the others lack


def test_a_fit_goes_on_when_all_workers_have_died_at_once(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("topicture.cluster.shards.LOOK_SECONDS", 0.5)
    settings = SETTINGS | {"n_init": 1, "max_iter": 3}
    here = make_annotator("gm-mixture", **settings).fit(corpus)
    mended, orders = [], ClusterShards._orders

    def dies_after_orders_were_made(shards, this):
        found = orders(shards, this)
        if this.number == 2:
            members.workers.processes[0].kill()
            while cluster.client.nthreads():  # until the scheduler has noticed
                sleep(0.05)
            Timer(1, lambda: mended.append(members.workers.mend())).start()
        return found

    monkeypatch.setattr(ClusterShards, "_orders", dies_after_orders_were_made)
    with (
        local_cluster(1, port=0) as members,
        Cluster(members.address, tmp_path) as cluster,
        working_on(cluster),
    ):
        there = make_annotator("gm-mixture", **settings).fit(corpus)
    assert mended == [1]
    assert numbers(there) == numbers(here)


def test_a_file_system_that_times_out_on_a_worker_ends_the_fit(members, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "topicture.cluster.shards.run_shards", lambda order: (_ for _ in ()).throw(TimeoutError("of a file"))
    )
    with (
        Cluster(members.address, tmp_path) as cluster,
        working_on(cluster),
        pytest.raises(TimeoutError, match="of a file"),
    ):
        make_annotator("gm-mixture", **SETTINGS).fit(corpus)


def test_workers_that_come_later_get_work_where_that_costs_nothing(members, corpus, tmp_path, monkeypatch):
    """Also those that are started for some that died. Who takes over after a note begins with it."""
    settings = SETTINGS | {"n_init": 1}
    here = make_annotator("gm-mixture", **settings).fit(corpus)
    shared, orders = [], ClusterShards._orders

    def watched(shards, this):
        found = orders(shards, this)
        shared.append(sorted(Counter(found[1]).values()))
        return found

    monkeypatch.setattr(ClusterShards, "_orders", watched)
    with Cluster(members.address, tmp_path) as cluster, working_on(cluster):
        cluster.client.wait_for_workers(2, timeout=60)
        workers = cluster.client.nthreads
        monkeypatch.setattr(
            cluster.client, "nthreads", lambda: dict(sorted(workers().items())[: 1 if len(shared) < 3 else 2])
        )
        there = make_annotator("gm-mixture", **settings).fit(corpus)
    assert shared == 8 * [[7]] + 5 * [[3, 4]]
    assert numbers(there) == numbers(here)


def test_work_waits_for_workers_that_are_not_there_yet(members, corpus, tmp_path, monkeypatch):
    settings = SETTINGS | {"n_init": 1, "max_iter": 2}
    here = make_annotator("gm-mixture", **settings).fit(corpus)
    with Cluster(members.address, tmp_path) as cluster, working_on(cluster):
        monkeypatch.setattr(cluster.client, "nthreads", dict)  # as the scheduler says while they restart
        there = make_annotator("gm-mixture", **settings).fit(corpus)
    assert numbers(there) == numbers(here)


def test_neighbours_are_found_by_the_workers(members, tmp_path, monkeypatch):
    features = np.random.default_rng(0).normal(size=(300, 8))
    here = neighbours.nearest(features, features, 5)
    monkeypatch.setattr(neighbours, "_SHARED", 0)
    monkeypatch.setattr(
        neighbours, "blocks", lambda n, *_: (slice(i, min(i + 64, n)) for i in range(0, n, 64))
    )
    asked = []
    with Cluster(members.address, tmp_path) as cluster, working_on(cluster):
        in_order = cluster.in_order
        monkeypatch.setattr(cluster, "in_order", lambda *call: asked.append(1) or in_order(*call))
        there = neighbours.nearest(features, features, 5)
    assert asked
    np.testing.assert_array_equal(there.rows, here.rows)
    np.testing.assert_allclose(there.cosines, here.cosines, rtol=1e-14)


@pytest.mark.slow
def test_large_minibatches_are_shared(members, corpus, tmp_path):
    """Four chunks make one stochastic step."""
    settings = {"n_topics": 2, "n_init": 1, "n_epochs": 2, "max_iter": 1, "batch_size": 64}
    here = make_annotator("link-lda", **settings).fit(corpus)
    asked = []
    with Cluster(members.address, tmp_path) as cluster, working_on(cluster):
        run_some = ClusterShards.run_some

        def watched(self, model, tables, which):
            asked.append(len(which))
            return run_some(self, model, tables, which)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ClusterShards, "run_some", watched)
            there = make_annotator("link-lda", **settings).fit(corpus)
    assert asked == [4, 3, 4, 3]
    assert numbers(there) == numbers(here)
