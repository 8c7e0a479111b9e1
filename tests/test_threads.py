"""Parts of arrays worked on side by side."""

import threading

import numpy as np
import pytest
from corpora import make_tiny_corpus
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from topicture.models.baselines.matching import Matching
from topicture.models.baselines.network import Network
from topicture.models.spaces import nlsa
from topicture.models.spaces.kernels import kernel_fn
from topicture.models.spaces.lanczos import leading_eigenpairs
from topicture.models.spaces.latent_space import Joint
from topicture.threads import one_thread_products, side_by_side


def blas_threads() -> set[int]:
    """Of libraries whose number belongs to the process; where OpenMP counts, every thread has its own."""
    return {
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas" and library.get("threading_layer") != "openmp"
    }


@pytest.mark.parametrize("n_threads", [1, 2])
def test_every_part_is_done_once(n_threads):
    done = np.zeros(50, int)

    def work(part: int) -> None:
        done[part] += 1

    with threadpool_limits(n_threads, "blas"), side_by_side() as for_each:
        for_each(work, range(50))
    assert (done == 1).all()


def test_products_use_one_thread_inside_and_what_was_set_after():
    with threadpool_limits(2, "blas"):
        with side_by_side():
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_two_threads_work_at_the_same_time():
    both = threading.Barrier(2, timeout=20)
    with threadpool_limits(2, "blas"), side_by_side() as for_each:
        for_each(lambda part: both.wait(), range(2))  # a lone thread would wait until the barrier breaks


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_exception_comes_out(n_threads):
    def work(part: int) -> None:
        raise ValueError(f"part {part}")

    with (
        threadpool_limits(n_threads, "blas"),
        side_by_side() as for_each,
        pytest.raises(ValueError, match="part 0"),
    ):
        for_each(work, range(3))


def test_eigenpairs_do_not_depend_on_the_threads():
    X = np.random.default_rng(0).standard_normal((900, 40)) * np.geomspace(1, 1e-3, 40)
    K = np.exp(-0.5 * ((X[:, None, :5] - X[None, :, :5]) ** 2).sum(axis=2))
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, "blas"):
            found.append(leading_eigenpairs(K, 5, np.random.default_rng(1)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_kernels_do_not_depend_on_the_threads(monkeypatch):
    monkeypatch.setattr(nlsa, "_STRIP", 16)
    monkeypatch.setattr(nlsa, "_BLOCK_BYTES", 2000)
    rng, kernel = np.random.default_rng(0), kernel_fn("gaussian", 0.7)
    joint = Joint(sparse.csr_array(rng.poisson(0.6, (90, 4)).astype(float)), rng.random((90, 6)))
    space = nlsa.KernelSpace(kernel, joint.at(slice(20)), rng.normal(size=(20, 3)), np.zeros(3))
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, "blas"):
            found.append((nlsa.kernel_matrix(kernel, joint.at(slice(90))), space.project(joint)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize(
    "make",
    [
        lambda: Network(n_hidden=8, n_networks=3, n_updates=20),
        lambda: Matching(n_dimensions=8, n_spaces=3, n_updates=20),
    ],
    ids=["network", "matching"],
)
def test_what_is_learned_side_by_side_does_not_depend_on_the_threads(make):
    corpus = make_tiny_corpus(np.random.default_rng(0), n_images=40)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, "blas"):
            model = make().fit(corpus)
        found.append(model.annotate(corpus))
    np.testing.assert_array_equal(found[0], found[1])


def test_overlapping_fits_leave_the_threads_as_they_were():
    """The first to begin is the first to end: what the second found when it began must not be what is left."""
    began, end = threading.Event(), threading.Event()

    def second():
        with side_by_side():
            began.set()
            assert end.wait(20)

    other = threading.Thread(target=second)
    with threadpool_limits(2, "blas"):
        with side_by_side():
            other.start()
            assert began.wait(20)
        assert blas_threads() == {1}  # the second is still at work
        end.set()
        other.join(20)
        assert blas_threads() == {2}


def test_the_limit_ends_after_an_exception():
    with threadpool_limits(2, "blas"):
        with pytest.raises(ValueError, match="no"), one_thread_products():
            raise ValueError("no")
        assert blas_threads() == {2}
