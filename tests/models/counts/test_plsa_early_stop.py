"""Early stopping of pLSA's fold-in on held-out captions."""

import numpy as np
import pytest

import topicture as tp
from topicture.corpus import Corpus
from topicture.errors import TopictureError
from topicture.models.counts import plsa
from topicture.models.counts.plsa_early_stop import LARGEST, caption_path, steps_on_held_out
from topicture.models.em import loop as em

QUICK = {"n_topics": 3, "n_init": 1, "max_iter": 15, "power": 1.0}


def sampled(n_images=60, n_visual=30, seed=2):
    rng = np.random.default_rng(seed)
    params = plsa.Params(
        np.full(3, 0.3), rng.dirichlet(np.full(6, 0.2), 3), rng.dirichlet(np.full(12, 0.2), 3)
    )
    return plsa.sample(rng, params, n_images, n_visual, n_words=4)


def noisy(n_images=60):
    """Captions that visual words say next to nothing about: every step of fold-in leads further astray."""
    rng = np.random.default_rng(3)
    words = rng.multinomial(3, rng.dirichlet(np.full(8, 0.5)), n_images)
    return Corpus.from_arrays(captions=words, visual_words=rng.multinomial(5, np.full(40, 1 / 40), n_images))


@pytest.mark.parametrize("name", ["plsa", "plsa-words"])
def test_the_path_is_the_likelihood_of_captions_after_every_step(name):
    corpus = sampled()
    model = tp.make_annotator(name, **QUICK, fold_steps=4).fit(corpus)
    batches = model._batches(corpus, ("captions", "visual_words"))
    tables = model._tables_for_use()
    paths = np.zeros((len(corpus), 4))
    for rows, values in em.map_images(caption_path(4, 1.0), tables, batches):
        paths[rows] = values
    for n in (1, 4):
        model.fold_steps_ = n
        expected = (corpus.captions * np.log(model.annotate(corpus))).sum(axis=1)
        np.testing.assert_allclose(paths[:, n - 1], expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["plsa", "plsa-words"])
def test_noise_stops_early_which_suits_new_captions(name):
    corpus = noisy(160)
    known, new = corpus[:60], corpus[60:]
    early = tp.make_annotator(name, **QUICK, fold_steps="held-out").fit(known)
    whole = tp.make_annotator(name, **QUICK, fold_steps=LARGEST).fit(known)
    assert early.fold_steps_ <= 3
    assert whole.fold_steps_ == LARGEST
    of_early, of_whole = ((new.captions * np.log(m.annotate(new))).sum() for m in (early, whole))
    assert of_early > of_whole


def test_signal_is_followed_further():
    noise, signal = (
        tp.make_annotator("plsa", **QUICK, fold_steps="held-out").fit(corpus)
        for corpus in (noisy(), sampled(n_visual=400))
    )
    assert signal.fold_steps_ > noise.fold_steps_


def test_the_number_of_steps_is_saved(tmp_path):
    model = tp.make_annotator("plsa-words", **QUICK, fold_steps="held-out").fit(noisy())
    model.save(tmp_path / "model")
    again = tp.load_annotator(tmp_path / "model")
    assert again.fold_steps_ == model.fold_steps_
    np.testing.assert_allclose(again.annotate(noisy()), model.annotate(noisy()))


def test_one_tagged_image_is_too_few_to_hold_any_out():
    model = tp.make_annotator("plsa", **QUICK, fold_steps="held-out")
    assert steps_on_held_out(model, sampled()[:1]) == LARGEST


def test_another_word_is_refused():
    with pytest.raises(TopictureError, match="held-out"):
        tp.make_annotator("plsa", fold_steps="early").fit(sampled())
