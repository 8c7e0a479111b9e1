"""Golden runner: LapEM and LapVar2, Q traced after every M-step as in the papers' algorithms."""

import numpy as np
from golden_lapvar import read_start

from topicture.models.counts import mix_unigram
from topicture.models.em import loop as em
from topicture.models.graphs import lap
from topicture.models.graphs.graph import Graph


def run(case):
    config = case.config
    params, prior, batches = read_start(case)
    graph = Graph.from_adjacency(case.inputs["S"])
    model = lap.with_fixed_posteriors(mix_unigram.MODEL, mix_unigram.statistics)
    update = smoothing(config)
    coupling = lap.Coupling(model, mix_unigram.log_joint, batches, graph, update, config["lam"])
    p = case.inputs["init_p"]
    points, steps = [(params, p)], []
    for _ in range(config["iters"]):
        steps.append(update(coupling.A(params), None, graph, config["lam"])[1])
        posteriors, _ = coupling(params, coupling.posteriors(p))
        _, stats, _ = em.e_step(model, batches, params, posteriors)
        params, p = em.m_step(model, params, stats, prior), coupling.rows(posteriors)
        points.append((params, p))
    F = np.array(
        [em.objective(model, batches, params, prior, coupling.posteriors(p)) for params, p in points]
    )
    R = np.array([graph.roughness(p) for _, p in points])
    Q = F - config["lam"] * R
    best_params, best_p = points[int(np.argmax(Q))]
    not_risen = np.flatnonzero(np.diff(Q) <= config.get("tol_q", 0.0))
    return {
        **params._asdict(),
        "p": p,
        "pw": p @ mix_unigram.word_means(params),
        "trace_Q": Q,
        "trace_F": F,
        "trace_R": R,
        "smooth_steps": np.array(steps),
        "stopped_at": int(not_risen[0]) + 1 if len(not_risen) else -1,
        "best_Q": Q.max(),
        "best_p": best_p,
        "best_pw": best_p @ mix_unigram.word_means(best_params),
    }


def smoothing(config):
    kind, first, *rest = config["stop_smoothing"]
    if kind == "r_tol":
        return lap.Smoothing(kind, config["gamma"], rest[0] if rest else 200, first)
    return lap.Smoothing(kind, config["gamma"], first)
