"""Golden runner: empirical baseline."""

import numpy as np

from topicture.annotations.measures.metrics import rank
from topicture.corpus import Corpus
from topicture.models.empirical import word_frequencies


def run(case):
    corpus = Corpus.from_arrays(captions=case.inputs["W"])
    hidden = case.inputs["labelled"] == 0
    p_w = word_frequencies(corpus.without_captions(hidden), case.config["eps"])
    return {"pw": p_w, "order": rank(p_w[None, :])[0] if np.ndim(rank(p_w)) == 2 else rank(p_w)}
