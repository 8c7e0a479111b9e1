"""Golden runner: Corr-LDA, point estimates and Dirichlet posteriors."""

import numpy as np
from region_cases import corpora, run_lda

from topicture.models.regions.corr_lda import STORY


def run(case):
    outputs, q = run_lda(case, STORY)
    train, _ = corpora(case)
    sizes = zip(q.lam, np.diff(train.captions.indptr), train.n_regions, strict=True)
    # Per image: its distinct words (in ascending order, as the corpus keeps them) x its regions.
    lam_flat = np.concatenate([lam[:m, :n].ravel() for lam, m, n in sizes])
    return {**outputs, "lam_flat": lam_flat}
