"""Golden runner: Link-LDA, with traces after the E-step and after the M-step."""

import numpy as np
from scipy.special import digamma, gammaln

from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.models.counts import link_lda
from topicture.models.counts.link_lda import Params, Settings
from topicture.models.em import loop as em


def run(case):
    config, inputs = case.config, case.inputs
    corpus = Corpus.from_arrays(captions=inputs["W"], visual_words=inputs["F"])
    learn = (config["update_alpha"], config["update_eta"])
    model = link_lda.model(Settings(config["inner"], 0.0, *learn))
    batches = Batches(corpus, model.views)
    params = Params(
        *(inputs[f"init_{name}"] for name in Params._fields[:3]), config["eta_b"], config["eta_phi"]
    )
    trace_e, trace_m, posteriors = [], [], [None] * len(batches)
    for _ in range(config["iters"]):
        posteriors, stats, bound = em.e_step(model, batches, params, posteriors)
        new = em.m_step(model, params, stats, None)
        trace_e.append(bound + em.log_prior(model, params, None))
        gain = expected_log_joint(model, stats, params, new) - expected_log_joint(
            model, stats, params, params
        )
        trace_m.append(bound + gain + em.log_prior(model, new, None))
        params = new
    gamma = np.zeros((len(corpus), len(params.alpha)))
    for chunk, q in zip(batches, posteriors, strict=True):
        gamma[chunk.rows] = em.unstack(q.gamma, len(chunk.rows))
    test_gamma = fold_in(params, inputs["test_F"], corpus.vocabulary, config["inner_test"])
    return {
        **params._asdict(),
        "trace_e": trace_e,
        "trace_m": trace_m,
        "gamma": gamma,
        "pw": annotate(params, gamma),
        "test_gamma": test_gamma,
        "test_pw": annotate(params, test_gamma),
    }


def expected_log_joint(model, stats, at, params):
    """What the bound owes to alpha and to the topics while q of the images stays as it was found `at` other ones."""
    counts = (np.asarray(stats.tokens) * em.tables(model, at).T).T
    U = at.rB.shape[1]
    alpha = np.asarray(params.alpha)
    log_beta_fn = gammaln(alpha).sum() - gammaln(alpha.sum())
    return (
        np.sum(counts[:, :U] * elog(params.rB))
        + np.sum(counts[:, U:] * elog(params.rPhi))
        + np.sum((alpha - 1) * np.asarray(stats.log_theta))
        - float(stats.n_images) * log_beta_fn
    )


def elog(r):
    r = np.asarray(r)
    return digamma(r) - digamma(r.sum(axis=1, keepdims=True))


def fold_in(params, F, vocabulary, n_sweeps):
    """gamma of new images from their visual words, under frozen topics and a given number of sweeps."""
    test = Corpus.from_arrays(vocabulary=vocabulary, visual_words=F)
    model = link_lda.model(Settings(n_sweeps, 0.0))
    batches = Batches(test, model.views)
    gamma = np.zeros((len(test), len(params.alpha)))
    posteriors, _, _ = em.e_step(model, batches, params, [None] * len(batches))
    for chunk, q in zip(batches, posteriors, strict=True):
        gamma[chunk.rows] = em.unstack(q.gamma, len(chunk.rows))
    return gamma


def annotate(params, gamma):
    return gamma / gamma.sum(axis=1, keepdims=True) @ link_lda.word_means(params)
