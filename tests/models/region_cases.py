"""What the golden runners of the models with real-valued regions share."""

import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.models.em import loop as em
from topicture.models.regions.gaussian_lda import (
    DirichletParams,
    PointParams,
    Prior,
    make_infer,
    make_model,
    word_means,
)


def corpora(case):
    """The training and the test corpus of a case: captions W, stacked regions and the image of each."""

    def corpus(prefix):
        W = case.inputs[f"{prefix}W"]
        sizes = np.bincount(case.inputs[f"{prefix}reg_img"], minlength=len(W))
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return Corpus.from_arrays(captions=W, regions=case.inputs[f"{prefix}regions"], region_offsets=offsets)

    return corpus(""), corpus("test_")


def run_lda(case, story):
    """EM step by step, as the case's traces want it; returns the outputs that both LDA models have."""
    config = case.config
    train, test = corpora(case)
    kind = PointParams if config["mode"] == "ml" else DirichletParams
    params = kind(*(case.inputs[f"init_{name}"] for name in kind._fields))
    prior = Prior(config["eps"], np.array(config["var_floor"]))
    eta_update = "alternate" if config["update_eta"] else "fixed"
    model = make_model(story, config["inner"], 0.0, config["update_alpha"], eta_update, keep_phi=True)
    batches = one_chunk(train)
    posteriors, trace_e, trace_m = [None], [], []
    for _ in range(config["iters"]):
        posteriors, stats, bound = em.e_step(model, batches, params, posteriors)
        trace_e.append(bound + em.log_prior(model, params, prior))
        params = em.m_step(model, params, stats, prior)
        trace_m.append(em.objective(model, batches, params, prior, posteriors))
    q = in_order(batches, unblocked(posteriors[0]))
    tables, means = em.tables(model, params), word_means(params)
    answers_of, phi_of = make_infer(story, config["inner_test"], 0.0)

    def each(fn, corpus):
        batches = one_chunk(corpus)
        ((_, values),) = em.map_images(fn, tables, batches)
        return in_order(batches, values)

    bare = test.without_captions()
    new, test_phi = each(answers_of, bare), stacked(each(phi_of, bare), bare)
    return {
        **{name: np.asarray(value) for name, value in params._asdict().items()},
        "gamma": q.gamma,
        "phi": stacked(q.phi, train),
        "trace_e": trace_e,
        "trace_m": trace_m,
        "beta_mean": means,
        "test_pw": new.caption @ means,
        "test_region_pw": test_phi @ means,
        "test_gamma": new.gamma,
        "test_phi": test_phi,
        "test_elbo": each(answers_of, test).bound,
    }, q


def one_chunk(corpus):
    return Batches(
        corpus, ("captions", "regions"), max_shapes=1, chunk_images=1 << 20, block_images=lambda sizes: 4
    )


def unblocked(values):
    """Leaves of leading axes (blocks, block) with one row per image."""
    parts = (np.asarray(part) for part in values)
    return type(values)(*(part.reshape(part.shape[0] * part.shape[1], *part.shape[2:]) for part in parts))


def in_order(batches, values):
    """Leaves with one row per image, in the order of the corpus."""
    (chunk,) = batches
    order = np.argsort(chunk.rows)  # padding comes last
    if isinstance(values, tuple):
        return type(values)(*(part[order] for part in values))
    return values[order]


def stacked(values, corpus):
    """(D, N, .) with padding as one row per region."""
    return np.concatenate([rows[:n] for rows, n in zip(values, corpus.n_regions, strict=True)])
