"""The regions that carry each word: where in the tagged photos a model of regions sees it most surely."""

from collections.abc import Sequence

import numpy as np

from topicture.annotations.choice.region_evidence import OTHER, region_posterior
from topicture.annotations.measures.ranking import rank
from topicture.app.explain.explanation import PhotoExamples, TypicalPhoto
from topicture.app.learning.model_folder import Learned
from topicture.app.learning.region_choice import trust_told
from topicture.corpus import Corpus

__all__ = ["with_regions"]

N_SHOWN = 4
MOST_PHOTOS = 200  # tagged photos of a word that are looked at


def with_regions(
    examples: Sequence[PhotoExamples], learned: Learned, corpus: Corpus, paths: Sequence[str]
) -> tuple[PhotoExamples, ...]:
    """The examples of words with the regions that carry them, the surest region of each photo."""
    annotator = learned.region_annotator or learned.annotator
    if not annotator.labels_regions or corpus.region_offsets is None:
        return tuple(examples)
    trust = trust_told(learned.report)
    found = []
    for example in examples:
        word = corpus.vocabulary.index(example.word)
        rows = np.flatnonzero((corpus.captions[:, [word]].toarray().ravel() > 0) & (corpus.n_regions > 0))
        rows = rows[:: max(1, -(-len(rows) // MOST_PHOTOS))]
        places = []
        for row, p in zip(rows.tolist(), annotator.label_regions(corpus[rows]), strict=True):
            tags = corpus.captions[[row]].toarray().ravel() > 0
            sure = region_posterior(p, np.where(tags, 1.0, OTHER))[:, word]
            if trust is not None:
                sure = trust.calibration(sure)
            best = int(sure.argmax())
            places.append(TypicalPhoto(paths[row], best, float(sure[best])))
        best_first = rank([place.score for place in places])[:N_SHOWN]
        found.append(example._replace(carried=tuple(places[i] for i in best_first)))
    return tuple(found)
