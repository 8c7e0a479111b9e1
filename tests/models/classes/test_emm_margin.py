"""EMM by max-margin learning: the safeguard, its relation to maximum likelihood, what it reports."""

from itertools import islice

import numpy as np
import pytest
from helpers import assert_never_falls

import topicture as tp
from topicture.corpus import Corpus
from topicture.corpus.batches import Batches
from topicture.errors import CorpusError
from topicture.models.classes import class_topics, emm, emm_margin
from topicture.models.classes.values import ClassPrior, Settings
from topicture.models.em import loop as em

FAST = {"n_sweeps": 2, "n_sweeps_use": 10, "max_iter": 4}


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(2)
    params = emm.Params(rng.dirichlet(np.full(8, 0.3), 4) * 50 + 0.5, 0.5, np.ones(4), np.full(4, 3.0))
    return emm.sample(rng, params, 30, n_regions=3, n_visual=8)


def first_rounds(corpus, n, kappa, nu2, safeguard):
    settings = Settings(label="printed", kappa=kappa, n_sweeps=2, margin=True, safeguard=safeguard)
    batches, C = Batches(corpus, class_topics.VIEWS), corpus.n_words
    start = emm.Params(class_topics.init_mu(corpus, 0.5), np.float64(0.5), np.ones(C), np.ones(C))
    steps = emm_margin.rounds(
        emm.make_model(settings),
        batches,
        start,
        ClassPrior(),
        [None] * len(batches),
        nu1=1.0,
        nu2=nu2,
        kappa=kappa,
    )
    return list(islice(steps, n)), start, batches


@pytest.mark.parametrize("kappa", [0.0, 1.0])
def test_safeguard_keeps_the_loss_from_rising(corpus, kappa):
    n_labelled = int(corpus.tagged.sum())
    steps, _, _ = first_rounds(corpus, 5, kappa, 20.0 * n_labelled, safeguard=20.0)
    losses = [loss for step in steps for loss in (step.loss_e, step.loss_m, step.loss)]
    assert_never_falls(-np.array(losses))


def test_the_bound_after_the_m_step_needs_no_pass_where_rates_stay(corpus):
    settings = Settings(label="printed", kappa=1.0, n_sweeps=2, margin=True, learn_prior=False)
    batches, C, prior = Batches(corpus, class_topics.VIEWS), corpus.n_words, ClassPrior()
    model = emm.make_model(settings)
    params = emm.Params(class_topics.init_mu(corpus, 0.5), np.float64(0.5), np.ones(C), np.ones(C))
    posteriors, stats, bound = em.e_step(model, batches, params, [None] * len(batches))
    updated = em.m_step(model, params, stats, prior)
    told = emm_margin._after_m_step(model, batches, params, updated, prior, posteriors, stats, bound)
    assert told == pytest.approx(em.objective(model, batches, updated, prior, posteriors), rel=1e-12)


def test_without_margin_and_label_terms_it_is_maximum_likelihood(corpus):
    """nu2 = kappa = 0: mu, eta and lam are those of EMM_m with the label term switched off."""
    steps, start, batches = first_rounds(corpus, 3, kappa=0.0, nu2=0.0, safeguard=0.0)
    model = emm.make_model(Settings(label="printed", kappa=0.0, n_sweeps=2))
    params, posteriors = start, [None] * len(batches)
    for step in steps:
        posteriors, stats, _ = em.e_step(model, batches, params, posteriors)
        params = em.m_step(model, params, stats, ClassPrior())
        for name in ("mu", "eta", "lam"):
            np.testing.assert_allclose(getattr(step.params, name), getattr(params, name), rtol=1e-12)
        np.testing.assert_array_equal(step.params.w, 0)


def test_the_margin_problem_holds_the_right_images():
    """Unlabelled images, those without regions and those with every label have no margin term."""
    captions = np.array([[1, 0, 0], [1, 1, 1], [0, 0, 0], [0, 1, 1], [0, 1, 0]], float)
    bags = [np.ones((n, 4)) for n in (2, 1, 2, 0, 1)]
    steps, _, batches = first_rounds(
        Corpus.from_arrays(captions=captions, region_words=bags), 1, kappa=1.0, nu2=10.0, safeguard=0.0
    )
    problem = steps[0].problem
    assert problem.n_labelled == 4
    assert sorted(problem.relevant.tolist()) == sorted([[True, False, False], [False, True, False]])
    np.testing.assert_allclose(problem.zbar.sum(axis=1), 1)
    ((rows, _),) = batches
    delta = np.zeros((5, 3))
    delta[rows] = em.unstack(steps[0].posteriors[0].delta, 5)
    assert not delta[[1, 2, 3]].any()
    assert delta[[0, 4]].any()


def test_candidates_with_all_classes_are_the_dense_form(corpus):
    """Four of five words in play, the fifth hopeless for every image: the same weights."""
    hopeless = Corpus.from_arrays(
        captions=np.hstack([corpus.captions.toarray(), np.zeros((30, 1))]),
        region_words=corpus.region_words,
        region_offsets=corpus.region_offsets,
    )
    dense, few = (
        tp.make_annotator("emm-margin", n_candidates=n, kappa=0.0, **FAST).fit(hopeless) for n in (0, 4)
    )
    # mu of the hopeless class stays at its prior; images may still give it a little of their regions.
    assert few.loss_trace_[-1] == pytest.approx(dense.loss_trace_[-1], rel=0.02)
    np.testing.assert_allclose(few.annotate(hopeless).sum(axis=1), 1)


def test_what_it_reports(corpus, tmp_path):
    told = []
    model = tp.make_annotator("emm-margin", **FAST).fit(corpus, callback=told.append)
    assert len(model.loss_trace_) == model.n_iter_ + 1 == len(told) + 1
    assert len(model.n_cuts_) == model.n_iter_
    assert 0 <= model.duality_gap_ <= 1e-4 * max(1, abs(model.loss_trace_).max())
    np.testing.assert_array_equal(model.objective_trace_, -np.minimum.accumulate(model.loss_trace_))
    model.save(tmp_path / "model")
    loaded = tp.load_annotator(tmp_path / "model")
    np.testing.assert_array_equal(loaded.loss_trace_, model.loss_trace_)
    assert loaded.duality_gap_ == model.duality_gap_


def test_rises_are_told_and_the_best_round_is_kept():
    words = emm_margin._in_words(em.Results.max_iter, np.array([5.0, 4.0, 4.5, 3.0]), unsolved=1)
    assert "rose in 1 of 3 rounds" in words
    assert "1 round" in words


def test_nothing_tagged_is_refused(corpus):
    with pytest.raises(CorpusError, match="tagged"):
        tp.make_annotator("emm-margin").fit(corpus.without_captions())


@pytest.mark.slow
def test_tags_of_sampled_images_are_found():
    """With distinct classes, the words of an image's regions outscore the others in nearly all held-out images."""
    rng = np.random.default_rng(3)
    beta = rng.dirichlet(np.full(30, 0.1), 6) * 100 + 0.1
    params = emm.Params(beta, 0.5, np.ones(6), np.full(6, 20.0))
    sampled = emm.sample(rng, params, 400, n_regions=3, n_visual=15)
    # Labels of classes without regions are coin tosses in the story; here an image has the labels of its regions.
    share = sampled.region_words @ np.log(beta / beta.sum(axis=1, keepdims=True)).T
    owner = np.repeat(np.arange(400), sampled.n_regions)
    captions = np.zeros((400, 6))
    captions[owner, share.argmax(axis=1)] = 1
    data = Corpus.from_arrays(
        captions=captions, region_words=sampled.region_words, region_offsets=sampled.region_offsets
    )
    train, test = data[:300], data[300:]
    for name in ("emm-margin", "emm-ml"):
        p = tp.make_annotator(name).fit(train).annotate(test)
        truth = test.captions.toarray() > 0
        worst_own = np.where(truth, p, np.inf).min(axis=1)
        best_other = np.where(truth, -np.inf, p).max(axis=1)
        assert (worst_own > best_other).mean() > 0.9


def test_captions_limit_the_words_of_regions(corpus):
    model = emm_margin.EMMMargin(**FAST).fit(corpus)
    own = corpus.captions.toarray() > 0
    told, plain = model.label_regions(corpus, use_captions=True), model.label_regions(corpus)
    for d, (rows, free) in enumerate(zip(told, plain, strict=True)):
        np.testing.assert_allclose(rows.sum(axis=1), 1)
        if own[d].any():
            assert (rows[:, ~own[d]] == 0).all()
            # The order among the image's own words is that of the regions without captions.
            np.testing.assert_array_equal(rows[:, own[d]].argmax(axis=1), free[:, own[d]].argmax(axis=1))
        else:
            np.testing.assert_array_equal(rows, free)
