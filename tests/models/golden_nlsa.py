"""Golden runner: NLSA with the Gaussian kernel, printed and centred."""

import numpy as np
from scipy import sparse

from topicture.models.neighbours import nearest, soft_inference, unit_rows
from topicture.models.spaces.kernels import kernel_fn
from topicture.models.spaces.latent_space import Joint
from topicture.models.spaces.nlsa import centred_eigenpairs, exact_space, kernel_matrix


def run(case):
    W = case.inputs["W"].astype(float)
    tagged = W.sum(axis=1) > 0
    train = Joint(sparse.csr_array(W[tagged]), case.inputs["Vis"][tagged])
    test_visual = case.inputs["test_Vis"]
    test = Joint(sparse.csr_array((len(test_visual), W.shape[1])), test_visual)
    kernel = kernel_fn("gaussian", case.config["sigma"])
    rng = np.random.default_rng(0)
    X = train.at(slice(None))
    space, features = exact_space(kernel, X, case.config["K"], centre=case.config["centre"], rng=rng)
    queries = space.project(test)
    near = nearest(queries, features, case.config["Z"])
    return {
        "eig": centred_eigenpairs(kernel_matrix(kernel, X), len(X), rng)[0],
        "gram": queries @ features.T,
        "cos": unit_rows(queries) @ unit_rows(features).T,
        "p_soft": soft_inference(near, train.words, W.sum(axis=0) / W.sum()),
    }
