"""Topic models of other libraries, trained step by step on counts from a file. Needs NumPy, SciPy and the library.

`python link_lda_peers.py LIBRARY COUNTS.npz TOPICS.npz K STEPS SEED` trains for each of the comma-separated numbers of
further iterations in turn and stores after each the topics (K, words) with the CPU seconds so far, and the CPU seconds
that it took to hand over the counts. The time to import the library is not counted.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from time import process_time

import numpy as np
from scipy import sparse

ALPHA, ETA, MINIBATCH = 0.1, 0.05, 512


def scikit_learn_batch(
    X: sparse.csr_array, k: int, steps: list[int], seed: int
) -> Iterator[np.ndarray | None]:
    yield from _scikit_learn(X, k, steps, seed, "batch")


def scikit_learn_online(
    X: sparse.csr_array, k: int, steps: list[int], seed: int
) -> Iterator[np.ndarray | None]:
    yield from _scikit_learn(X, k, steps, seed, "online")


def _scikit_learn(X, k, steps, seed, method):
    from sklearn.decomposition import LatentDirichletAllocation

    def make(max_iter):
        return LatentDirichletAllocation(
            k,
            doc_topic_prior=ALPHA,
            topic_word_prior=ETA,
            learning_method=method,
            learning_offset=16.0,
            batch_size=MINIBATCH,
            max_iter=max_iter,
            total_samples=X.shape[0],
            random_state=seed,
        )

    X = sparse.csr_matrix(X)
    yield None
    if method == "online":
        model = make(1)
        for n in steps:
            for _ in range(n):
                model.partial_fit(X)
            yield model.components_
        return
    # Its batch learning can't be continued: every number of iterations is a fit of its own.
    for n in steps:
        yield make(n).fit(X).components_


def gensim(X: sparse.csr_array, k: int, steps: list[int], seed: int) -> Iterator[np.ndarray | None]:
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    documents = list(Sparse2Corpus(X, documents_columns=False))
    names = {i: str(i) for i in range(X.shape[1])}
    model = LdaModel(
        num_topics=k,
        id2word=names,
        alpha="auto",
        eta=ETA,
        chunksize=MINIBATCH,
        eval_every=None,
        random_state=seed,
    )
    yield None
    for n in steps:
        model.update(documents, passes=n)
        yield model.get_topics()


def tomotopy(X: sparse.csr_array, k: int, steps: list[int], seed: int) -> Iterator[np.ndarray | None]:
    import tomotopy

    model = tomotopy.LDAModel(k=k, alpha=ALPHA, eta=ETA, seed=seed)
    names = np.array([str(i) for i in range(X.shape[1])])
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        model.add_doc(names[np.repeat(X.indices[start:end], X.data[start:end].astype(int))])
    model.train(0, workers=1)
    yield None
    order = [int(word) for word in model.used_vocabs]
    for n in steps:
        model.train(n, workers=1)
        topics = np.zeros((k, X.shape[1]))
        topics[:, order] = [model.get_topic_word_dist(i) for i in range(k)]
        yield topics


LIBRARIES = {
    "scikit-learn-batch": ("sklearn.decomposition", scikit_learn_batch),
    "scikit-learn-online": ("sklearn.decomposition", scikit_learn_online),
    "gensim": ("gensim.models", gensim),
    "tomotopy": ("tomotopy", tomotopy),
}
FROM_SCRATCH = ("scikit-learn-batch",)  # whose every look is a whole fit


def main(library: str, counts: str, out: str, k: str, steps: str, seed: str) -> None:
    X = sparse.csr_array(sparse.load_npz(counts))
    module, train = LIBRARIES[library]
    import_module(module)
    cpu_seconds, setup, arrays = 0.0, 0.0, {}
    start = process_time()
    for topics in train(X, int(k), [int(n) for n in steps.split(",")], int(seed)):
        spent = process_time() - start
        cpu_seconds = spent if library in FROM_SCRATCH else cpu_seconds + spent
        if topics is None:
            setup = cpu_seconds
        else:
            i = len(arrays) // 2
            # A copy: scikit-learn goes on in the same array.
            arrays |= {f"topics_{i}": np.array(topics), f"cpu_seconds_{i}": np.array(cpu_seconds)}
        start = process_time()
    np.savez(out, setup=setup, **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
