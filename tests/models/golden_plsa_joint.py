"""Golden runner: joint pLSA, one vocabulary or two, and fold-in."""

import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.models.counts import plsa
from topicture.models.counts.plsa import Params, Prior, Settings
from topicture.models.em import loop as em


def run(case):
    config, inputs = case.config, case.inputs
    corpus = Corpus.from_arrays(captions=inputs["W"], visual_words=inputs["F"])
    V, concat = corpus.n_words, config["variant"] == "concat"
    phiW, phiF = (
        np.split(inputs["init_phi"], [V], axis=1) if concat else (inputs["init_phiW"], inputs["init_phiF"])
    )
    model = plsa.model(Settings(config["variant"]))
    batches = Batches(corpus, model.views)
    result = em.fit(
        model,
        batches,
        Params(p_z(inputs), phiW, phiF),
        Prior(config["eps"]),
        max_iter=config["iters"],
        tol=0.0,
        posteriors=plsa.posteriors(batches, inputs["init_theta"]),
    )
    phi = result.params
    test_theta, test_pw = fold(model, phi, corpus.vocabulary, inputs["test_F"], config["iters_fold"])
    topics = {"phi": np.hstack([phi.phiW, phi.phiF])} if concat else {"phiW": phi.phiW, "phiF": phi.phiF}
    return {
        **topics,
        "theta": plsa.thetas(batches, result.posteriors),
        "trace": result.trace,
        "test_theta": test_theta,
        "test_pw": test_pw,
    }


def p_z(inputs):
    """p(z) of the starting theta, weighted by the images' counts."""
    weighted = (inputs["W"].sum(axis=1) + inputs["F"].sum(axis=1)) @ inputs["init_theta"]
    return weighted / weighted.sum()


def fold(model, params, vocabulary, test_F, n_steps):
    """theta and p(w) of test images from their visual words."""
    test = Corpus.from_arrays(vocabulary=vocabulary, visual_words=test_F)
    batches = Batches(test, ("visual_words",))
    tables = em.tables(model, params), params.p_z, params.phiW
    outputs = []
    for fn in (plsa.fold_in(n_steps), plsa.annotate(n_steps)):
        values = [(rows, values) for rows, values in em.map_images(fn, tables, batches)]
        order = np.argsort(np.concatenate([rows for rows, _ in values]))
        outputs.append(np.concatenate([part for _, part in values])[order])
    return outputs
