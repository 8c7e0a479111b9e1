"""Golden runner: IWE by exact r-steps and steepest descent in the words' places."""

import numpy as np

from topicture.models.spaces.embedding import (
    Ridge,
    Words,
    embed,
    energy,
    image_gradient,
    posterior,
    word_gradient,
    word_step,
)


def run(case):
    W = case.inputs["W"].astype(float)
    tagged = W.sum(axis=1) > 0
    P = W[tagged] / W[tagged].sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        log_q = np.log(W.sum(axis=0) / W.sum())
    ridge = Ridge(case.config["xi_r"], case.config["xi_w"])
    words = Words(case.inputs["init_phi"], log_q)
    r = case.inputs["init_r"][tagged] if len(case.inputs["init_r"]) == len(W) else case.inputs["init_r"]
    gradients = image_gradient(P, r, words, ridge), word_gradient(P, r, words, ridge)
    trace = [energy(P, r, words, ridge)]
    for _ in range(case.config["iters"]):
        r = embed(P, words, ridge.images, r, tol=1e-12)
        trace.append(energy(P, r, words, ridge))
        words = word_step(P, r, words, ridge, case.config["step0"])
        trace.append(energy(P, r, words, ridge))
    test_r = embed(case.inputs["test_P"], words, ridge.images, tol=1e-12)
    return {
        "r": r,
        "phi": words.phi,
        "logprior": log_q,
        "trace": trace,
        "test_r": test_r,
        "test_pw": posterior(test_r, words),
        "grad_r0": gradients[0],
        "grad_phi0": gradients[1],
    }
