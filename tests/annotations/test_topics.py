"""Topics in one form: planted ones are found with their words, images and regions; every model answers."""

import numpy as np
import pytest
from corpora import make_tiny_corpus

import topicture as tp
from topicture.annotations.topics import members_of, topics_of
from topicture.corpus import Corpus
from topicture.models.blends.auto import Auto
from topicture.models.registry import make_annotator

KINDS, PER_KIND = 3, 20
SMALL = {"n_topics": 3, "n_init": 1, "max_iter": 20}
SETTINGS = {
    **dict.fromkeys(("mix-unigram", "gm-mixture", "gm-lda", "corr-lda", "plsa", "plsa-words"), SMALL),
    **dict.fromkeys(("lap-em", "lap-var1", "lap-var2"), SMALL),
    "link-lda": {**SMALL, "n_epochs": 1},
    **{name: {"n_components": 3} for name in ("lsa", "nlsa")},
    "iwe": {"n_init": 1, "max_iter": 10},
    **{name: {"n_sweeps_use": 10, "max_iter": 4} for name in ("dba", "emm-ml", "emm-margin")},
    "network": {"n_hidden": 4, "n_networks": 1, "n_updates": 5},
    "auto": {"members": ["naive-bayes", "knn", "mix-unigram"]},
}
KIND = {
    **dict.fromkeys(
        ("mix-unigram", "link-lda", "plsa", "plsa-words", "gm-mixture", "gm-lda", "corr-lda"), "topics"
    ),
    **dict.fromkeys(("lap-em", "lap-var1", "lap-var2"), "topics"),
    **dict.fromkeys(("dba", "emm-ml", "emm-margin"), "words"),
    **dict.fromkeys(("lsa", "nlsa", "iwe"), "components"),
}


def planted(wrong=0.0):
    """Images of three kinds, each with its word, a share of them wrong; regions are noise first, then of the kind."""
    rng = np.random.default_rng(5)
    kind = np.arange(KINDS * PER_KIND) % KINDS
    centres = 8 * np.eye(KINDS)
    visual = rng.poisson(0.2, (len(kind), 2 * KINDS))
    visual[np.arange(len(kind)), 2 * kind] += 9
    regions = [np.stack([rng.normal(0, 0.5, KINDS) - 8, rng.normal(centres[k], 0.5)]) for k in kind]
    said = np.where(rng.random(len(kind)) < wrong, rng.integers(0, KINDS, len(kind)), kind)
    return kind, Corpus.from_arrays(
        captions=np.eye(KINDS)[said], vocabulary=["cat", "dog", "cow"], visual_words=visual, regions=regions
    )


@pytest.mark.parametrize("name", ["mix-unigram", "plsa", "gm-mixture"])
def test_planted_topics_are_found_with_their_images(name):
    kind, corpus = planted()
    (model,) = topics_of(make_annotator(name, **SMALL).fit(corpus), corpus, n_words=1)
    assert (model.kind, model.of, model.n_topics) == ("topics", "images", KINDS)
    assert sum(topic.weight for topic in model.topics) == pytest.approx(1)
    assert {topic.words[0][0] for topic in model.topics} == {"cat", "dog", "cow"}
    for topic in model.topics:
        word = corpus.vocabulary.index(topic.words[0][0])
        assert len(topic.typical) == 6
        assert {int(kind[typical.image]) for typical in topic.typical} == {word}
        assert all(typical.region is None for typical in topic.typical)


def test_topics_of_regions_show_the_region():
    kind, corpus = planted()
    annotator = make_annotator("corr-lda", n_topics=KINDS + 1, n_init=1, max_iter=40).fit(corpus)
    (model,) = topics_of(annotator, corpus, n_words=1)
    assert model.of == "regions"
    # Half of the regions are noise that all images share; the three other topics are the kinds.
    kinds = [topic for topic in model.topics if all(typical.region == 1 for typical in topic.typical)]
    assert len(kinds) == KINDS
    for topic in kinds:
        assert {int(kind[typical.image]) for typical in topic.typical} == {
            corpus.vocabulary.index(topic.words[0][0])
        }
        assert topic.weight == pytest.approx(1 / 6, abs=0.05)
    (noise,) = [topic for topic in model.topics if topic not in kinds]
    assert {typical.region for typical in noise.typical} == {0}
    assert len({typical.image for typical in noise.typical}) == len(noise.typical)


def test_equally_sure_images_are_ordered_by_nearness():
    _, corpus = planted()
    annotator = make_annotator("gm-mixture", **SMALL).fit(corpus)
    (model,) = topics_of(annotator, corpus, n_typical=len(corpus))
    for topic in model.topics:
        mu, s2 = annotator.params_.mu[topic.number], annotator.params_.s2[topic.number]
        rows = corpus.regions.reshape(len(corpus), 2, KINDS)[[one.image for one in topic.typical]]
        distance = (((rows - mu) ** 2) / s2).sum(axis=(1, 2))
        score = np.round([one.score for one in topic.typical], 2)
        alike = np.diff(score) == 0
        assert (np.diff(score) <= 0).all()
        assert alike.sum() > PER_KIND
        assert (np.diff(distance)[alike] >= -1e-9).all()


@pytest.mark.parametrize("name", ["lsa", "nlsa"])
def test_components_have_two_ends(name):
    kind, corpus = planted()
    annotator = make_annotator(name, n_components=2, view="visual_words").fit(corpus)
    (model,) = topics_of(annotator, corpus, n_words=3)
    assert model.kind == "components"
    for topic in model.topics:
        ends = (topic.words, topic.typical), (topic.opposite_words, topic.opposite)
        for sign, (words, typical) in zip((1, -1), ends, strict=True):
            assert all(np.sign(value) == sign for _, value in words)
            scores = [sign * one.score for one in typical]
            assert scores == sorted(scores, reverse=True)
        assert not {one.image for one in topic.typical} & {one.image for one in topic.opposite}
    # The word that goes along best with an end is the word of the photos there.
    topic = model.topics[-1]
    assert {int(kind[one.image]) for one in topic.typical} == {corpus.vocabulary.index(topic.words[0][0])}


# Each compiles programs of its own for seconds; models like them are looked at above, or here.
COMPILE_LONG = (
    "link-lda",
    "gm-lda",
    "corr-lda",
    "emm-margin",
    "dba",
    "plsa-words",
    "lap-em",
    "auto",
    "gm-mixture",
)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in COMPILE_LONG)) for n in tp.model_names()]
)
def test_every_model_answers(name):
    corpus = make_tiny_corpus(np.random.default_rng(3))
    annotator = make_annotator(name, **SETTINGS.get(name, {})).fit(corpus)
    models = topics_of(annotator, corpus, n_words=2, n_typical=3, max_topics=2)
    if name != "auto":
        assert [model.kind for model in models] == ([KIND[name]] if name in KIND else [])
    for model in models:
        assert 1 <= len(model.topics) <= 2
        weights = [topic.weight for topic in model.topics if topic.weight is not None]
        assert weights == sorted(weights, reverse=True)
        for topic in model.topics:
            assert len(topic.words) <= 2
            assert {word for word, _ in (*topic.words, *topic.opposite_words)} <= set(corpus.vocabulary)
            for typical in (*topic.typical, *topic.opposite):
                assert 0 <= typical.image < len(corpus)
                assert typical.region is None or typical.region < corpus.n_regions[typical.image]


def test_members_share_a_blend():
    _, corpus = planted(wrong=0.3)
    auto = Auto(["knn", "naive-bayes"]).fit(corpus)
    members = members_of(auto)
    shares = [member.share for member in members]
    assert sum(shares) == pytest.approx(1)
    assert shares == sorted(shares, reverse=True)
    for member in members:
        weight = auto.blend_.weights[auto.members_.index(member.annotator)]
        assert member.share == pytest.approx(weight / auto.blend_.weights.sum())
    assert {member.title for member in members} <= {"knn on visual_words", "naive-bayes"}


def test_members_without_a_say_are_left_out():
    _, corpus = planted(wrong=0.3)
    auto = Auto(["naive-bayes"]).fit(corpus)
    auto.members_ = [
        make_annotator("naive-bayes").fit(corpus),
        make_annotator("knn", view="visual_words").fit(corpus),
    ]
    auto.blend_ = auto.blend_._replace(backgrounds=np.zeros(2), weights=np.array([1e-6, 0.7]))
    assert [member.title for member in members_of(auto)] == ["knn on visual_words"]
    auto.blend_ = auto.blend_._replace(weights=np.zeros(2))
    assert members_of(auto) == []


def test_a_sample_stands_for_a_large_collection(monkeypatch):
    monkeypatch.setattr("topicture.annotations.topics.MAX_IMAGES", 12)
    kind, corpus = planted()
    (model,) = topics_of(make_annotator("mix-unigram", **SMALL).fit(corpus), corpus, n_words=1, n_typical=12)
    shown = [one.image for topic in model.topics for one in topic.typical if one.score > 0.5]
    assert len(set(shown)) <= 12
    for topic in model.topics:  # positions are those of the whole collection
        word = corpus.vocabulary.index(topic.words[0][0])
        assert {int(kind[one.image]) for one in topic.typical if one.score > 0.5} <= {word}
