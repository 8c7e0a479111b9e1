"""Golden runner: pLSA-Words, its three stages."""

import numpy as np
from golden_plsa_joint import fold

from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.models.counts import plsa
from topicture.models.counts.plsa import Params, Prior, Settings
from topicture.models.counts.plsa_words import fit_visual
from topicture.models.em import loop as em


def run(case):
    config, inputs = case.config, case.inputs
    corpus = Corpus.from_arrays(captions=inputs["W"], visual_words=inputs["F"])
    theta, corpus = inputs["init_theta"][corpus.tagged], corpus[corpus.tagged]
    model, prior = plsa.model(Settings(modalities=("words",))), Prior(config["eps"])
    captions = Batches(corpus, ("captions",))
    start = np.asarray(corpus.captions.sum(axis=1)).ravel() @ theta
    words = em.fit(
        model,
        captions,
        Params(start / start.sum(), inputs["init_phiW"], inputs["init_phiF"]),
        prior,
        max_iter=config["iters_words"],
        tol=0.0,
        posteriors=plsa.posteriors(captions, theta),
    )
    theta = plsa.thetas(captions, words.posteriors)
    visual = fit_visual(
        Batches(corpus, ("visual_words",)),
        words.params,
        theta,
        prior,
        max_iter=config["iters_visual"],
        tol=0.0,
    )
    params = Params(words.params.p_z, words.params.phiW, visual.params.phiF)
    test_theta, test_pw = fold(model, params, corpus.vocabulary, inputs["test_F"], config["iters_fold"])
    test = Corpus.from_arrays(vocabulary=corpus.vocabulary, visual_words=inputs["test_F"])
    folding = plsa.model(Settings(modalities=("visual",), learn=("theta",)))
    folded = em.fit(
        folding, Batches(test, ("visual_words",)), params, prior, max_iter=config["iters_fold"], tol=0.0
    )
    return {
        "theta": theta,
        "phiW": params.phiW,
        "phiF": params.phiF,
        "trace_words": words.trace,
        "trace_visual": visual.trace,
        "trace_fold": folded.trace,
        "test_theta": test_theta,
        "test_pw": test_pw,
    }
