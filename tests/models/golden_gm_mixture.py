"""Golden runner: GM-Mixture, point estimates and Dirichlet posteriors."""

import numpy as np
from region_cases import corpora

from topicture.corpus.batches import Batches
from topicture.models.em import loop as em
from topicture.models.regions import gm_mixture
from topicture.models.regions.gaussian_lda import word_means
from topicture.models.regions.gm_mixture import DirichletParams, PointParams, Prior


def run(case):
    config = case.config
    train, test = corpora(case)
    kind = PointParams if config["mode"] == "ml" else DirichletParams
    params = kind(*(case.inputs[f"init_{name}"] for name in kind._fields))
    prior = Prior(config["pi_pseudo"], config["eps"], np.array(config["var_floor"]))
    model = gm_mixture.make_model("alternate" if config.get("update_eta", True) else "fixed")
    batches = Batches(train, model.views)
    result = em.fit(model, batches, params, prior, max_iter=config["iters"], tol=0.0)
    tables = em.tables(model, result.params), word_means(result.params)

    def each(fn, corpus):
        ((rows, values),) = em.map_images(fn, tables, Batches(corpus, model.views))
        return values[np.argsort(rows)]

    return {
        **result.params._asdict(),
        "trace": result.trace,
        "resp": each(gm_mixture.topic_posterior, train),
        "beta_mean": tables[1],
        "test_pz": each(gm_mixture.topic_posterior, test.without_captions()),
        "test_pw": each(gm_mixture.annotate, test.without_captions()),
        "test_loglik": each(gm_mixture.log_evidence, test),
    }
