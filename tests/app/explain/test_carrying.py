"""The regions that carry a word: those of tagged photos that most surely show it, one per photo."""

from types import SimpleNamespace

import numpy as np

from topicture.app.explain.carrying import N_SHOWN, with_regions
from topicture.app.explain.explanation import PhotoExamples
from topicture.corpus import Corpus
from topicture.models.regions.region_logistic import RegionLogistic


def photos(rng, n=60):
    """Two of four words per photo; region k of a photo shows its k-th word."""
    words = np.array([rng.choice(4, 2, replace=False) for _ in range(n)])
    captions = np.zeros((n, 4))
    np.put_along_axis(captions, words, 1, axis=1)
    regions = [3 * np.eye(4)[pair] + rng.normal(0, 0.2, (2, 4)) for pair in words]
    return words, Corpus.from_arrays(captions=captions, regions=regions, vocabulary=["a", "b", "c", "d"])


def test_the_surest_regions_of_tagged_photos(rng):
    words, corpus = photos(rng)
    learned = SimpleNamespace(region_annotator=RegionLogistic().fit(corpus), annotator=None, report={})
    paths = [str(n) for n in range(len(corpus))]
    (found,) = with_regions([PhotoExamples("b", (), (), ())], learned, corpus, paths)
    assert len(found.carried) == N_SHOWN
    assert len({place.path for place in found.carried}) == N_SHOWN
    for place in found.carried:
        assert words[int(place.path)][place.region] == 1
    scores = [place.score for place in found.carried]
    assert scores == sorted(scores, reverse=True)


def test_without_a_model_of_regions_nothing_is_added(rng):
    _, corpus = photos(rng)
    learned = SimpleNamespace(
        region_annotator=None, annotator=SimpleNamespace(labels_regions=False), report={}
    )
    example = PhotoExamples("b", (), (), ())
    assert with_regions([example], learned, corpus, [""] * len(corpus)) == (example,)
