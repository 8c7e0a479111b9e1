"""Golden runner: mixture of unigrams, point estimates and Dirichlet posteriors."""

import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.models.counts import mix_unigram
from topicture.models.counts.mix_unigram import DirichletParams, PointParams, Prior
from topicture.models.em import loop as em


def run(case):
    corpus = Corpus.from_arrays(captions=case.inputs["W"], visual_words=case.inputs["F"])
    config, kind = case.config, PointParams if case.config["smoothing"] == "map" else DirichletParams
    names = [name for name in ("eta_b", "eta_phi") if name in config] or ["eps_b", "eps_phi"]
    prior = Prior(config["eps_a"], *(config[name] for name in names))
    params = kind(*(case.inputs[f"init_{name}"] for name in kind._fields))
    batches = Batches(corpus, mix_unigram.MODEL.views)
    result = em.fit(mix_unigram.EXACT, batches, params, prior, max_iter=config["iters"], tol=0.0)
    test = Corpus.from_arrays(vocabulary=corpus.vocabulary, visual_words=case.inputs["test_F"])
    p, pw = _posterior(result.params, corpus)
    test_p, test_pw = _posterior(result.params, test)
    return {
        **result.params._asdict(),
        "trace": result.trace,
        "p": p,
        "pw": pw,
        "test_p": test_p,
        "test_pw": test_pw,
    }


def _posterior(params, corpus):
    """p and p(w) of every image, with its caption where it has one."""
    batches = Batches(corpus, mix_unigram.MODEL.views)
    p = np.zeros((len(corpus), len(params.a)))
    for rows, values in em.map_images(
        mix_unigram.topic_posterior, em.tables(mix_unigram.MODEL, params), batches
    ):
        p[rows] = values
    return p, p @ mix_unigram.word_means(params)
