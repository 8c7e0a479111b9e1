"""Golden runner: LSA by soft inference and by propagation."""

import numpy as np
from scipy import sparse

from topicture.models.neighbours import nearest, ranked_images, soft_inference, unit_rows
from topicture.models.spaces.latent_space import Joint
from topicture.models.spaces.lsa import Basis, propagate, singular_vectors


def run(case):
    W = case.inputs["W"].astype(float)
    tagged = W.sum(axis=1) > 0
    train = Joint(sparse.csr_array(W[tagged]), case.inputs["Vis"][tagged])
    test_visual = case.inputs["test_Vis"]
    test = Joint(sparse.csr_array((len(test_visual), W.shape[1])), test_visual)
    values, basis = singular_vectors(train, case.config["K"], np.random.default_rng(0))
    space = Basis(basis[: W.shape[1]], basis[W.shape[1] :])
    features, queries = space.project(train), space.project(test)
    near = nearest(queries, features, case.config["Z"])
    return {
        "singular_values": values,
        "projector": basis @ basis.T,
        "cos": unit_rows(queries) @ unit_rows(features).T,
        "p_soft": soft_inference(near, train.words, W.sum(axis=0) / W.sum()),
        "propagated": propagate(ranked_images(queries, features), train.words, case.config["n_words"]),
    }
