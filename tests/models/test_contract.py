"""What every registered model must do. A model joins by being registered; its small settings stand in SETTINGS."""

import dataclasses
import inspect
import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from corpora import make_tiny_corpus
from helpers import assert_never_falls
from sklearn.base import clone

import topicture as tp
from topicture.corpus import Corpus
from topicture.errors import CorpusError, FitWarning, ModelFileError, NotFitted, TopictureError
from topicture.models import base as models_base
from topicture.models.array_shapes import ARRAYS
from topicture.models.base import Annotator
from topicture.models.em import loop as em
from topicture.models.em.loop import Results
from topicture.models.files import read_model, write_model
from topicture.models.registry import annotator_class

# Small settings, so that the whole table runs in seconds. A registered model without an entry runs with its defaults.
SETTINGS: dict[str, dict] = {
    "link-lda": {"n_topics": 3, "n_epochs": 2, "n_init": 2, "max_iter": 30},
    "mix-unigram": {"n_topics": 3, "n_init": 2, "max_iter": 30},
    "gm-mixture": {"n_topics": 3, "n_init": 2, "max_iter": 30},
    "gm-lda": {"n_topics": 3, "n_init": 2, "max_iter": 15},
    "corr-lda": {"n_topics": 3, "n_init": 2, "max_iter": 15},
    "region-logistic": {"tol": 1e-9, "max_iter": 15},
    "plsa": {"n_topics": 3, "n_init": 2, "max_iter": 30},
    "plsa-words": {"n_topics": 3, "n_init": 2, "max_iter": 30},
    "lap-em": {"n_topics": 3, "n_init": 2, "max_iter": 30},
    "lap-var1": {"n_topics": 3, "n_init": 2, "max_iter": 30},
    "lap-var2": {"n_topics": 3, "n_init": 2, "max_iter": 30},
    "lsa": {"n_components": 3},
    "nlsa": {"n_components": 3},
    "iwe": {"n_init": 2, "max_iter": 30},
    "dba": {"n_sweeps_use": 20, "max_iter": 15, "tol": 1e-9},
    "emm-ml": {"n_sweeps_use": 20, "max_iter": 15, "tol": 1e-9},
    "emm-margin": {"n_sweeps_use": 20, "max_iter": 5},
    "network": {"n_hidden": 8, "n_networks": 2, "n_updates": 30},
    "matching": {"n_dimensions": 8, "n_spaces": 2, "n_updates": 30},
    "auto": {"members": ["naive-bayes", "knn", "tagprop"]},
}

MODELS = tp.model_names()
VISUAL_MODELS = [name for name in MODELS if annotator_class(name).needs]
# What the objective of a fit does. RISES: no step lowers it; else why there is nothing of the kind to test.
RISES = "rises"
MAY_FALL = "smoothing may lower it, as published; the fit ends at the best step and says so"
NO_STEPS = "there are no steps: counted, decomposed or solved at once"
NOT_KEPT = "steps of an optimiser of SciPy, whose objective is not kept"
RANDOM_STEPS = "random steps, none of which is sure to help"
OBJECTIVES = {
    "empirical": NO_STEPS,
    "mix-unigram": RISES,
    "gm-mixture": RISES,
    "gm-lda": RISES,
    "corr-lda": RISES,
    "region-logistic": RISES,
    "plsa": RISES,
    "plsa-words": RISES,
    "link-lda": RISES,
    "lap-em": MAY_FALL,
    "lap-var1": RISES,
    "lap-var2": MAY_FALL,
    "lsa": NO_STEPS,
    "nlsa": NO_STEPS,
    "iwe": RISES,
    "dba": RISES,
    "emm-ml": RISES,
    "emm-margin": RISES,
    "naive-bayes": NO_STEPS,
    "knn": NO_STEPS,
    "tagprop": NOT_KEPT,
    "logistic": NOT_KEPT,
    "companions": NOT_KEPT,
    "ridge": NO_STEPS,
    "label-spreading": NO_STEPS,
    "network": RANDOM_STEPS,
    "matching": RANDOM_STEPS,
    "text-match": RISES,
    "auto": "its members have their own",
}
# Models that do not learn by the shared loop; their own tests show that a wrong step would be seen.
OWN_LOOP = ("iwe", "region-logistic", "text-match")


def having(parameter):
    """The models with a hyper-parameter of that name."""
    return grouped(name for name in MODELS if parameter in annotator_class(name)().get_params())


def grouped(names):
    return [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in names]


def make(name, **params):
    accepted = annotator_class(name)().get_params()
    params = {key: value for key, value in params.items() if key in accepted}
    return tp.make_annotator(name, **{**SETTINGS.get(name, {}), **params})


# All tests of a model in one process: they share its compiled programs and its fit.
@pytest.fixture(params=grouped(MODELS))
def name(request):
    return request.param


@cache
def the_corpus():
    return make_tiny_corpus(np.random.default_rng(20261115))


@cache
def fitted(name):
    """One fit for all tests that only look at it."""
    return make(name).fit(the_corpus())


def bases(cls):
    return [base for base in cls.__mro__[1:] if base.__module__.startswith("topicture.")]


@pytest.mark.parametrize("name", MODELS)
def test_every_class_is_abstract_or_final(name):
    """A base that can be made itself invites callers to ask one class and get the answers of another."""
    cls = annotator_class(name)
    assert Annotator in bases(cls)
    assert not inspect.isabstract(cls)
    assert not [sub for sub in cls.__subclasses__() if sub.__module__.startswith("topicture.")]
    for base in bases(cls):
        assert inspect.isabstract(base), (
            f"{cls.__name__} is made from {base.__name__}, which is no abstract class"
        )


@pytest.mark.parametrize("name", MODELS)
def test_annotate_is_final(name):
    """Blends, trials and users get the same answer; options go to `_annotate`."""
    assert Annotator.annotate.__final__
    for cls in (annotator_class(name), *bases(annotator_class(name))):
        assert cls is Annotator or "annotate" not in vars(cls), f"{cls.__name__} overrides annotate"


def test_options_that_a_model_does_not_have_are_refused(name, tiny_corpus):
    with pytest.raises(TypeError, match="no_such_option"):
        fitted(name).annotate(tiny_corpus, no_such_option=1)


def assert_distributions(p, shape):
    assert p.shape == shape
    assert np.isfinite(p).all()
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)


def test_rows_are_distributions(name, tiny_corpus):
    assert_distributions(fitted(name).annotate(tiny_corpus), (12, 6))


def test_same_seed_same_result(name, tiny_corpus):
    first, second = (make(name, seed=3).fit(tiny_corpus) for _ in range(2))
    np.testing.assert_array_equal(first.annotate(tiny_corpus), second.annotate(tiny_corpus))
    np.testing.assert_array_equal(first.objective_trace_, second.objective_trace_)


def test_hyper_parameters_survive_clone(name):
    model = make(name, seed=7)
    assert clone(model).get_params() == model.get_params()
    assert clone(model).set_params(**model.get_params()).get_params() == model.get_params()


def test_fit_keeps_hyper_parameters_and_corpus(name, tiny_corpus):
    model = make(name)
    before = repr(model.get_params())
    copy = tiny_corpus[:]
    model.fit(tiny_corpus)
    assert repr(model.get_params()) == before
    assert tiny_corpus == copy


def test_objective_never_falls(name):
    """The EM loop leaves out a step that fell, so its trace alone can't show one: the reason of the end must."""
    model, kind = fitted(name), OBJECTIVES[name]
    if kind not in (RISES, MAY_FALL):
        assert len(model.objective_trace_) == model.n_iter_ == 0, "it has an objective: say what that does"
        return
    fell = (Results.objective_fell.value, Results.fell_as_allowed.value, Results.not_finite.value)
    if kind == RISES:
        assert not model.result_.startswith(fell)
        assert "rose" not in model.result_  # the loss of a model that minimises one
    # `loss_trace_` is what was found, where `objective_trace_` is the best so far.
    traces = [model.objective_trace_, -getattr(model, "loss_trace_", np.zeros(0))]
    assert len(traces[0]) == model.n_iter_ + 1 >= 3, "too few steps to see a fall"
    for trace in traces:
        assert_never_falls(trace)


def test_what_every_objective_does_is_known():
    assert set(OBJECTIVES) == set(MODELS)


@pytest.mark.slow  # fits every model once more
@pytest.mark.parametrize(
    "name", [name for name in MODELS if OBJECTIVES[name] == RISES and name not in OWN_LOOP]
)
def test_a_wrong_step_would_be_seen(name, tiny_corpus, monkeypatch):
    """The test above bites: a model whose M-step goes back to where it began half the time does not pass it."""
    m_step, first = em.m_step, []

    def wrong(model, params, *args):
        first.append(params)
        return first[0] if len(first) == 4 else m_step(model, params, *args)

    monkeypatch.setattr(em, "m_step", wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        model = make(name, n_init=1, tol=0.0, max_iter=12, annealing=1.0).fit(tiny_corpus)
    monkeypatch.setitem(globals(), "fitted", lambda name: model)
    with pytest.raises(AssertionError):
        test_objective_never_falls(name)


def test_order_of_images_changes_nothing(name, tiny_corpus, rng):
    order = rng.permutation(len(tiny_corpus))
    straight, shuffled = fitted(name), make(name).fit(tiny_corpus[order])
    np.testing.assert_allclose(
        shuffled.annotate(tiny_corpus[order]), straight.annotate(tiny_corpus)[order], rtol=1e-10, atol=1e-14
    )


def test_batch_changes_nothing(name, tiny_corpus):
    """An image's answer does not depend on the images (and so the padding) beside it."""
    model = fitted(name)
    together = model.annotate(tiny_corpus)
    for i in (0, 1, 2, 5, 11):
        np.testing.assert_allclose(
            model.annotate(tiny_corpus[i : i + 1])[0], together[i], rtol=1e-9, atol=1e-13
        )


def test_answers_in_blocks_are_the_answers(name, tiny_corpus, monkeypatch):
    model = fitted(name)
    whole = model.annotate(tiny_corpus)
    monkeypatch.setattr(models_base, "_BLOCK_IMAGES", (5, 5))
    blocks = list(model.annotate_blocks(tiny_corpus))
    assert len(blocks) > 1
    assert {block.p.dtype for block in blocks} == {np.dtype(np.float32)}
    np.testing.assert_allclose(np.vstack([block.p for block in blocks]), whole, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(model.annotate(tiny_corpus), whole, rtol=1e-9, atol=1e-13)
    for rows, some in model.annotate_blocks(tiny_corpus, top=3):
        assert np.diff(some.indptr).tolist() == [3] * (rows.stop - rows.start)
        best = np.sort(whole[rows], axis=1)[:, -3:]
        np.testing.assert_allclose(np.sort(some.data.reshape(-1, 3)), best, rtol=1e-6)


def test_views_may_be_float32_and_mapped(name, tiny_corpus, tmp_path):
    rounded = {view: getattr(tiny_corpus, view).astype(np.float32) for view in ("regions", "descriptor")}
    single = dataclasses.replace(tiny_corpus, **rounded)
    double = dataclasses.replace(tiny_corpus, **{k: v.astype(np.float64) for k, v in rounded.items()})
    single.save(tmp_path / "corpus")
    mapped = Corpus.load(tmp_path / "corpus")
    assert mapped.descriptor.dtype == np.float32
    np.testing.assert_allclose(
        fitted(name).annotate(mapped), fitted(name).annotate(double), rtol=1e-3, atol=1e-5
    )


def test_captions_are_not_looked_at_when_annotating(name, tiny_corpus):
    model = fitted(name)
    np.testing.assert_array_equal(model.annotate(tiny_corpus), model.annotate(tiny_corpus.without_captions()))


def test_one_word_vocabulary(name, rng):
    corpus = make_tiny_corpus(rng, n_words=1)
    np.testing.assert_allclose(make(name).fit(corpus).annotate(corpus), 1)


@pytest.mark.parametrize("name", having("n_topics"))
def test_one_topic_gives_every_image_the_same_words(name, tiny_corpus):
    p = make(name, n_topics=1).fit(tiny_corpus).annotate(tiny_corpus)
    np.testing.assert_allclose(p, np.tile(p[0], (len(p), 1)), rtol=1e-9)


@pytest.mark.slow  # compiles every model anew
def test_more_topics_than_images(name, tiny_corpus):
    corpus = tiny_corpus[3:7]
    assert_distributions(make(name, n_topics=9).fit(corpus).annotate(tiny_corpus), (12, 6))


@pytest.mark.slow  # other shapes, so every model is compiled anew
@pytest.mark.parametrize(
    "case", ["one image", "all alike", "tagged alike", "constant features", "no visual part"]
)
def test_degenerate_corpora_are_fitted_or_refused(name, case, tiny_corpus):
    corpus = {
        "one image": lambda: tiny_corpus[3:4],
        "all alike": lambda: repeated(tiny_corpus, 3, times=6),
        "tagged alike": lambda: with_captions(tiny_corpus, np.ones((12, 6))),
        "constant features": lambda: with_constant_features(tiny_corpus),
        "no visual part": lambda: repeated(tiny_corpus, 2, times=3),
    }[case]()
    try:
        model = make(name).fit(corpus)
    except TopictureError as error:
        assert "\n" not in str(error)
    else:
        assert_distributions(model.annotate(corpus), (len(corpus), 6))
        assert np.isfinite(model.objective_trace_).all()


def test_no_image_tagged_is_refused_or_uniform(name, tiny_corpus):
    corpus = tiny_corpus.without_captions()
    try:
        p = make(name).fit(corpus).annotate(corpus)
    except TopictureError as error:
        assert "tagged" in str(error)
    else:
        np.testing.assert_allclose(p, 1 / 6, rtol=1e-9)


def test_save_and_load_annotate_alike(name, tiny_corpus, tmp_path):
    model = fitted(name)
    model.save(tmp_path / "model")
    for loaded in (tp.load_annotator(tmp_path / "model"), annotator_class(name).load(tmp_path / "model")):
        assert repr(loaded.get_params()) == repr(model.get_params())
        assert loaded.result_ == model.result_
        np.testing.assert_array_equal(loaded.objective_trace_, model.objective_trace_)
        np.testing.assert_array_equal(loaded.annotate(tiny_corpus), model.annotate(tiny_corpus))


@pytest.mark.parametrize("damage", ["truncated", "header", "foreign", "pickle", "empty", "text", "nan"])
def test_bad_model_files_are_refused(name, damage, tmp_path):
    path = tmp_path / "model"
    fitted(name).save(path)
    content = path.read_bytes()
    damaged = {
        "truncated": content[: len(content) - 5],
        "header": content[:20],
        "foreign": (2).to_bytes(8, "little") + b"{}",
        "pickle": pickle.dumps({"a": 1}),
        "empty": b"",
        "text": b"not a model at all\n" * 10,
        "nan": content[:-8] + np.array([np.nan]).tobytes(),
    }[damage]
    path.write_bytes(damaged)
    with pytest.raises(ModelFileError) as refused:
        tp.load_annotator(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def misshapen(array):
    """The array with one row more or less along each axis, with another number of axes, of another type."""
    for axis, length in enumerate(array.shape):
        yield np.concatenate([array, np.take(array, [0], axis=axis)], axis=axis) if length else None
        yield np.take(array, range(length - 1), axis=axis) if length else None
    yield array[None]
    yield array.astype(np.int64 if array.dtype.kind == "f" else np.float64) if array.size else None


def test_arrays_that_do_not_fit_are_refused(name, tiny_corpus, tmp_path):
    """A length that nothing else depends on may differ: then the model answers as it should."""
    path = tmp_path / "model"
    fitted(name).save(path)
    header, arrays = read_model(path)
    n_refused = 0
    for key, array in arrays.items():
        for wrong in misshapen(array):
            if wrong is None:
                continue
            write_model(path, header, {**arrays, key: wrong})
            try:
                loaded = tp.load_annotator(path)
            except ModelFileError as refused:
                assert str(path) in str(refused)
                assert "\n" not in str(refused)
                n_refused += 1
            else:
                assert_distributions(loaded.annotate(tiny_corpus), (12, 6))
    assert n_refused >= 4


def test_indices_that_lead_outside_are_refused(name, tmp_path):
    path = tmp_path / "model"
    fitted(name).save(path)
    header, arrays = read_model(path)
    for key in arrays:
        if key.endswith(("captions.words", "captions.ends", "visual.indices", "visual.indptr")):
            for value in (-1, 10**6):
                wrong = arrays[key].copy()
                wrong[-1] = value
                write_model(path, header, {**arrays, key: wrong})
                with pytest.raises(ModelFileError, match="not the rows of a table"):
                    tp.load_annotator(path)


def test_every_array_of_a_model_file_is_in_the_table(name):
    arrays, _ = fitted(name)._state()
    own = {key for key in arrays if not key.startswith(("base.", "member"))}
    assert own <= ARRAYS[name].keys()


def test_other_vocabulary_is_refused(name, tiny_corpus):
    model = fitted(name)
    other = with_captions(tiny_corpus, np.ones((12, 5)), vocabulary=["a", "b", "c", "d", "e"])
    with pytest.raises(CorpusError, match="another vocabulary"):
        model.annotate(other)


@pytest.mark.parametrize("name", grouped(VISUAL_MODELS))
def test_other_feature_sizes_are_refused(name, rng):
    wider = make_tiny_corpus(rng, n_visual=11, n_features=5, n_columns=6)
    with pytest.raises(CorpusError, match="columns"):
        fitted(name).annotate(wider)


@pytest.mark.parametrize("name", grouped(VISUAL_MODELS))
def test_missing_view_is_named(name, tiny_corpus):
    needs = annotator_class(name).needs
    bare = Corpus.from_arrays(captions=tiny_corpus.captions, vocabulary=tiny_corpus.vocabulary)
    with pytest.raises(CorpusError, match=needs[0]):
        make(name).fit(bare)


def test_use_before_fit_is_refused(name, tiny_corpus):
    with pytest.raises(NotFitted, match="fit"):
        make(name).annotate(tiny_corpus)


@pytest.mark.slow  # compiles every model anew
@pytest.mark.parametrize("name", having("precision"))
def test_float32_agrees(name, tiny_corpus):
    double = make(name, max_iter=5).fit(tiny_corpus).annotate(tiny_corpus)
    single = make(name, max_iter=5, precision="float32").fit(tiny_corpus).annotate(tiny_corpus)
    np.testing.assert_allclose(single, double, atol=1e-3)


def test_global_jax_settings_are_left_alone(name, tiny_corpus):
    import jax

    before = dict(jax.config.values)
    make(name).fit(tiny_corpus).annotate(tiny_corpus)
    assert dict(jax.config.values) == before


def test_regions_get_distributions_or_are_refused(name, tiny_corpus):
    if not annotator_class(name).labels_regions:
        with pytest.raises(TopictureError, match="regions"):
            fitted(name).label_regions(tiny_corpus)
        return
    labels = fitted(name).label_regions(tiny_corpus)
    assert [len(rows) for rows in labels] == tiny_corpus.n_regions.tolist()
    for rows in labels:
        assert_distributions(rows, (len(rows), 6))


# --- Corpora -------------------------------------------------------------------------------------------------


def rebuilt(corpus, **changes):
    fields = {
        "captions": corpus.captions,
        "vocabulary": corpus.vocabulary,
        "image_ids": corpus.image_ids,
        "regions": corpus.regions,
        "region_offsets": corpus.region_offsets,
        "region_words": corpus.region_words,
        "descriptor": corpus.descriptor,
        "word_vectors": corpus.word_vectors,
    }
    return Corpus.from_arrays(**{**fields, **changes})


def with_captions(corpus, captions, vocabulary=None):
    texts = corpus.word_vectors if vocabulary is None else None
    return rebuilt(corpus, captions=captions, vocabulary=vocabulary or corpus.vocabulary, word_vectors=texts)


def with_constant_features(corpus):
    return rebuilt(corpus, regions=np.ones_like(corpus.regions), descriptor=np.ones_like(corpus.descriptor))


def repeated(corpus, i, times):
    one = corpus[i : i + 1]
    return Corpus.concat([rebuilt(one, image_ids=[f"copy{j}"]) for j in range(times)])
