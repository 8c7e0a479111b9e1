"""Golden runner: LapVar1, every sweep and M-step traced."""

import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.models.counts import mix_unigram
from topicture.models.counts.mix_unigram import DirichletParams, PointParams, Prior
from topicture.models.em import loop as em
from topicture.models.graphs import lap
from topicture.models.graphs.graph import Graph


def run(case):
    config = case.config
    params, prior, batches = read_start(case)
    graph = Graph.from_adjacency(case.inputs["S"])
    update = lap.Sweeps(config["schedule"], 1, tuple(case.inputs["order"].tolist()))
    model = lap.with_fixed_posteriors(mix_unigram.MODEL, mix_unigram.statistics)
    coupling = lap.Coupling(model, mix_unigram.log_joint, batches, graph, update, config["lam"])
    p = case.inputs["init_p"]

    def q():
        value = em.objective(model, batches, params, prior, coupling.posteriors(p))
        return value - config["lam"] * graph.roughness(p)

    trace = [q()]
    for _ in range(config["iters"]):
        for _ in range(config["sweeps"]):
            posteriors, _ = coupling(params, coupling.posteriors(p))
            p = coupling.rows(posteriors)
            trace.append(q())
        _, stats, _ = em.e_step(model, batches, params, posteriors)
        params = em.m_step(model, params, stats, prior)
        trace.append(q())
    return {
        **params._asdict(),
        "p": p,
        "pw": p @ mix_unigram.word_means(params),
        "trace_Q": np.array(trace),
        "R": graph.roughness(p),
    }


def read_start(case):
    """Starting parameters, prior and images of a case on the mixture of unigrams."""
    config, inputs = case.config, case.inputs
    kind = PointParams if config["smoothing"] == "map" else DirichletParams
    names = [name for name in ("eta_b", "eta_phi") if name in config] or ["eps_b", "eps_phi"]
    prior = Prior(config["eps_a"], *(config[name] for name in names))
    params = kind(*(inputs[f"init_{name}"] for name in kind._fields))
    corpus = Corpus.from_arrays(captions=inputs["W"], visual_words=inputs["F"])
    return params, prior, Batches(corpus, mix_unigram.MODEL.views)
