"""Golden runner: GM-LDA, point estimates and Dirichlet posteriors."""

from region_cases import run_lda

from topicture.models.regions.gm_lda import STORY


def run(case):
    return run_lda(case, STORY)[0]
