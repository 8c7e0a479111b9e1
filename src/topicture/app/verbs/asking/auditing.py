"""Before a bulk acceptance: a random sample of what would be accepted, and how it was answered."""

import numpy as np

from topicture.app.verbs.asking.drawing_lots import AUDITED, Audit
from topicture.app.verbs.asking.question import Question
from topicture.app.verbs.asking.reaching import reaching
from topicture.store import Catalog

__all__ = ["audit_of", "audit_sample"]


def audit_sample(
    catalog: Catalog, precision: float, *, tag: str | None = None, seed: int | None = None
) -> list[Question]:
    """Up to 30 of the suggestions that reach a precision, each as likely to be drawn as any other."""
    chosen = reaching(catalog, precision, tag=tag).chosen
    n = min(AUDITED, len(chosen))
    drawn = np.random.default_rng(seed).choice(len(chosen), n, replace=False).tolist() if n else []
    paths = catalog.files.first_paths({chosen[i].image for i in drawn})
    return [
        Question(
            paths[one.image],
            one.image,
            one.word,
            one.probability,
            n / len(chosen),
            catalog.decisions.left_out(one.image, one.word),
        )
        for one in (chosen[i] for i in drawn)
    ]


def audit_of(catalog: Catalog, sample: list[Question]) -> Audit:
    """The answers that stand."""
    verdicts = {(image, word): verdict for image, word, verdict, _ in catalog.decisions.all_tags()}
    answers = [verdicts[q.image, q.word] for q in sample if (q.image, q.word) in verdicts]
    return Audit(len(answers), sum(verdict == "present" for verdict in answers))
