"""Single answers teach their word alone: exactly, and nobody else."""

from typing import ClassVar

import numpy as np
import pytest
from corpora import make_tiny_corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from topicture.annotations.choice.learning import learn_auto
from topicture.annotations.choice.trials import held_out
from topicture.corpus import Corpus
from topicture.errors import ModelFileError
from topicture.models.base import Annotator
from topicture.models.baselines.knn import KNN
from topicture.models.baselines.ridge import fit_ridge, with_answers
from topicture.models.blends import auto
from topicture.models.blends.auto import Auto
from topicture.models.blends.kept_trials import KeptTrials
from topicture.models.blends.members import members_for
from topicture.models.files import read_model, write_model
from topicture.models.registry import annotator_class, load_annotator, model_names

USERS = ("companions", "knn", "logistic", "ridge")
N_TAGGED, N_ASKED, L, V = 40, 20, 5, 4
VIEWS = ("descriptor", "visual_words")


def collection(seed=0, n_yes=6, n_no=8, word=1):
    """Tagged images, and some with an answer about a word; the look decides what is true. The last ten are unknown."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((N_TAGGED + N_ASKED + 10, L))
    captions = (rows @ rng.standard_normal((L, V)) > 0.3).astype(float)
    captions[:N_TAGGED, 0] = 1  # no caption is empty
    captions[N_TAGGED:] = 0
    answers = np.zeros_like(captions)
    answers[N_TAGGED : N_TAGGED + n_yes, word] = 1
    answers[N_TAGGED + n_yes : N_TAGGED + n_yes + n_no, word] = -1
    plain = Corpus.from_arrays(
        captions, descriptor=rows, visual_words=rng.poisson(1.0, (len(rows), 7)).astype(float)
    )
    return plain, plain.with_answers(answers)


def make(name, **params) -> Annotator:
    exact = {"tol": 1e-14, "max_iter": 3000}
    small = {"knn": {"n_neighbours": 15}, "logistic": exact, "companions": {"ridge": 3.0, **exact}}
    return annotator_class(name)(**{**small.get(name, {}), **params})


# --- Exactly ------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.integers(1, 12), st.floats(0.05, 50))
def test_ridge_with_answers_is_least_squares_of_each_word_by_itself(seed, n_asked, ridge):
    """Fewer answers than columns, and more: both ways of solving."""
    rng = np.random.default_rng(seed)
    rows, targets = rng.standard_normal((20, L)), (rng.random((20, V)) < 0.4).astype(float)
    rows -= rows.mean(axis=0)
    mean = targets.mean(axis=0)
    asked = rng.standard_normal((n_asked, L)) + 1
    answers = rng.integers(-1, 2, (n_asked, V)).astype(float)
    weights, _ = fit_ridge(rows, targets - mean, (ridge,))
    found = with_answers(rows, (weights, mean), ridge, asked, sparse.csr_array(answers))
    for word in range(V):
        known = answers[:, word] != 0
        x = np.column_stack([np.vstack([rows, asked[known]]), np.ones(20 + known.sum())])
        y = np.concatenate([targets[:, word], answers[known, word] > 0])
        shrink = ridge * np.diag([1.0] * L + [0.0])
        theta = np.linalg.solve(x.T @ x + shrink, x.T @ y)
        np.testing.assert_allclose(found[0][:, word], theta[:-1], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(found[1][word], theta[-1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("view", VIEWS)
def test_logistic_with_answers_is_the_fit_of_that_word_with_these_rows(view):
    _, corpus = collection()
    model = make("logistic", view=view).fit(corpus)
    rows = model._rows(corpus)
    rows = rows.toarray() if sparse.issparse(rows) else rows
    known = np.flatnonzero(corpus.tagged | (corpus.answers[:, [1]].toarray().ravel() != 0))
    y = (corpus.captions[:, [1]].toarray() > 0).ravel() | (corpus.answers[:, [1]].toarray().ravel() > 0)
    x = np.column_stack([rows, np.ones(len(rows))])[known]
    shrink = np.append(np.full(rows.shape[1], model.ridge), 1e-3)

    def loss(theta):
        scores = x @ theta
        slope = x.T @ (1 / (1 + np.exp(-scores)) - y[known]) + shrink * theta
        return np.logaddexp(0, scores).sum() - scores @ y[known] + shrink @ theta**2 / 2, slope

    best = minimize(loss, np.zeros(x.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose(model.linear_.weights[:, 1], best[:-1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.linear_.offset[1], best[-1], rtol=1e-4, atol=1e-5)


def test_knn_with_answers_is_the_share_among_all_that_were_asked():
    _, corpus = collection()
    model = make("knn", background=0.0).fit(corpus)
    unit = model.scaling_(corpus.descriptor)
    tagged, n_farther = np.flatnonzero(corpus.tagged), 0
    for image in range(len(corpus) - 10, len(corpus)):
        cosines = unit @ unit[image]
        near = tagged[np.argsort(-cosines[tagged])[:15]]
        weight = np.maximum(cosines, 0) ** 3
        is_near = cosines >= cosines[near].min()
        asked = np.flatnonzero(corpus.answered & is_near)
        n_farther += (
            weight[corpus.answered & ~is_near] > 0
        ).sum()  # they do not vote, as like as they may be
        yes = corpus.answers[:, [1]].toarray().ravel()[asked] > 0
        total = weight[near].sum()
        votes = weight[near] @ corpus.captions.toarray()[near]
        joined = votes.copy()
        joined[1] = total * (votes[1] + weight[asked][yes].sum()) / (total + weight[asked].sum())
        np.testing.assert_allclose(model._scores(corpus)[image], joined, rtol=1e-10)
        taken = max(votes[1] - joined[1], 0)
        told = (joined + taken * model.p_w_) / (joined.sum() + taken)
        np.testing.assert_allclose(model.annotate(corpus)[image], told, rtol=1e-10)
    assert n_farther


@pytest.mark.parametrize("name", ["logistic", "ridge"])
def test_what_answers_take_goes_to_no_other_word(name):
    """It goes to all, as frequent as they are: (s + t p_w) / (sum s + t), t being what was taken."""
    plain, corpus = collection(n_yes=0, n_no=14)
    model = make(name, background=0.0).fit(corpus)
    before, after = make(name).fit(plain)._scores(corpus), model._scores(corpus)
    taken = np.maximum(before[:, [1]] - after[:, [1]], 0)
    assert (taken > 0.01).any()
    told = (after + taken * model.p_w_) / (after.sum(axis=1, keepdims=True) + taken)
    np.testing.assert_allclose(model.annotate(corpus), told, rtol=1e-8)


# --- That word alone ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", USERS)
def test_other_words_keep_their_scores(name, view):
    plain, corpus = collection()
    before, after = (make(name, view=view).fit(images)._scores(corpus) for images in (plain, corpus))
    if name == "knn":  # which gives shares where there are no answers
        others = [w for w in range(V) if w != 1]
        before, after = (s[:, others] / s[:, others].sum(axis=1, keepdims=True) for s in (before, after))
        np.testing.assert_allclose(after, before, rtol=1e-12)
    else:
        np.testing.assert_array_equal(np.delete(after, 1, axis=1), np.delete(before, 1, axis=1))
        assert (after[:, 1] != before[:, 1]).any()


@pytest.mark.parametrize("name", USERS)
def test_a_no_lowers_and_a_yes_raises_the_word_for_look_alikes(name):
    plain, _ = collection()
    rng = np.random.default_rng(3)
    rows = np.array(plain.descriptor)
    rows[-6:] = rows[N_TAGGED] + 0.1 * rng.standard_normal(
        (6, L)
    )  # five that are asked about, one that is not
    plain = Corpus.from_arrays(plain.captions, descriptor=rows)
    told = {}
    for said in (-1, 0, 1):
        answers = np.zeros((len(rows), V))
        answers[-6:-1, 2] = said
        told[said] = make(name).fit(plain.with_answers(answers)).annotate(plain)[-1]
    assert told[-1][2] < told[0][2] < told[1][2]
    # What the word lost went to the word frequencies, and no other word gained more than that.
    lost = told[0][2] - told[-1][2]
    gained = np.delete(told[-1] - told[0], 2)
    assert (gained < lost).all()


@pytest.mark.parametrize("name", USERS)
def test_a_word_with_rejections_is_not_on_every_image(name):
    """Two words, one on all tagged images: only the rejections say where it is not."""
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((60, L))
    rows[:20, 0] += 3  # these have the word
    captions, answers = np.zeros((60, 2)), np.zeros((60, 2))
    captions[:10], answers[30:50, 0] = 1, -1
    corpus = Corpus.from_arrays(captions, descriptor=rows, answers=answers)
    p = make(name, **({"n_neighbours": 5} if name == "knn" else {})).fit(corpus).annotate(corpus)
    assert p[10:20, 0].mean() > p[50:, 0].mean() + 0.01


# --- Nothing else changes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", USERS)
def test_answers_about_captioned_images_change_nothing(name):
    """Their captions say it already."""
    plain, _ = collection()
    answers = np.zeros((len(plain), V))
    answers[:5] = np.where(plain.captions.toarray()[:5] > 0, 1, -1)
    said = plain.with_answers(answers)
    before, after = (make(name).fit(images)._file_content() for images in (plain, said))
    assert before[0] == after[0]
    assert before[1].keys() == after[1].keys()
    for key, array in before[1].items():
        np.testing.assert_array_equal(array, after[1][key])


@pytest.mark.parametrize("name", sorted(set(model_names()) - {*USERS, "auto"}))
def test_other_models_take_a_yes_as_a_caption(name):
    assert not annotator_class(name).uses_answers


def test_a_yes_alone_on_an_image_is_a_caption_to_topic_models():
    corpus = make_tiny_corpus(np.random.default_rng(0), n_images=14)
    answers = np.zeros((14, 6))
    answers[12, 0], answers[13, 3] = 1, -1
    said = corpus.with_answers(answers)
    model = annotator_class("plsa-words")
    p = [model(n_topics=2, max_iter=5).fit(c).annotate(corpus) for c in (said, said.answers_as_captions())]
    np.testing.assert_array_equal(*p)


# --- Files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", USERS)
def test_models_with_answers_are_saved_and_read(name, tmp_path):
    _, corpus = collection()
    model = make(name).fit(corpus)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(
        load_annotator(tmp_path / "model.safetensors").annotate(corpus), model.annotate(corpus)
    )


@pytest.mark.parametrize(
    ("name", "array", "value"),
    [
        ("ridge", "before.words", np.array([V])),
        ("logistic", "before.words", np.array([-1])),
        ("knn", "answers.words", np.full(14, V)),
        ("knn", "answers.ends", np.zeros(3, np.int64)),
    ],
)
def test_damaged_answers_are_told(name, array, value, tmp_path):
    _, corpus = collection()
    path = tmp_path / "model.safetensors"
    make(name).fit(corpus).save(path)
    header, arrays = read_model(path)
    write_model(path, header, {**arrays, array: value})
    with pytest.raises(ModelFileError):
        load_annotator(path)


# --- Hidden -------------------------------------------------------------------------------------------------------


class _Noting(KNN):
    """Keeps what it was shown."""

    seen: ClassVar[list[Corpus]] = []

    def _fit(self, corpus, callback):
        self.seen.append(corpus)
        super()._fit(corpus, callback)


def test_nobody_is_asked_about_what_it_was_told():
    _, corpus = collection()
    _Noting.seen = []
    found = held_out(lambda: _Noting(n_neighbours=5), corpus, groups=np.arange(len(corpus)))
    assert (found.fold_of[corpus.taught] >= 0).all()
    assert found.p[corpus.answered].any(axis=1).all()
    for fold, shown in enumerate(_Noting.seen):
        hidden = found.fold_of == fold
        assert hidden[corpus.answered].any()
        said = shown.answers.toarray()
        assert not said[hidden].any()
        np.testing.assert_array_equal(said[~hidden], corpus.answers.toarray()[~hidden])


def test_what_auto_is_judged_and_calibrated_by_has_not_seen_the_answers(monkeypatch):
    """Only of photos with neither caption nor answer the blend itself may tell."""
    monkeypatch.setattr(auto, "members_for", lambda images, _: members_for(images, ["knn", "ridge"]))
    _, corpus = collection()
    also = corpus.answered.copy()
    also[-3:] = True
    found = learn_auto(corpus, n_folds=2, also=also, groups=np.arange(len(corpus)))
    rows = found.held_out.rows
    assert rows.tolist() == np.flatnonzero(corpus.taught | also).tolist()
    np.testing.assert_array_equal(found.held_out.fold_of >= 0, corpus.taught[rows])
    told = found.annotator.annotate(corpus.without_captions())[rows]
    np.testing.assert_allclose(found.held_out.p[-3:], told[-3:])
    asked = corpus.answered[rows]
    assert (np.abs(found.held_out.p[asked] - told[asked]).max(axis=1) > 1e-6).all()


def test_auto_gives_answers_to_its_members_and_hides_them_in_its_folds(monkeypatch):
    _, corpus = collection()
    seen = []
    learn = KNN._learn
    monkeypatch.setattr(
        KNN, "_learn", lambda self, shown, tell: [seen.append(shown), learn(self, shown, tell)][1]
    )
    model = Auto(members=["knn", "ridge"], n_folds=2).fit(corpus, groups=np.arange(len(corpus)))
    assert all(m.answered_ is not None if m.name == "knn" else m.before_ is not None for m in model.members_)
    assert model.held_out_.shape == (int(corpus.taught.sum()), V)
    parts = [shown for shown in seen if shown.tagged.sum() < N_TAGGED]
    assert len(parts) >= 2
    for shown in parts:
        fold = model.fold_of_[corpus.tagged & ~shown.tagged][0]
        hidden = model.fold_of_ == fold
        assert hidden[corpus.answered].any()
        np.testing.assert_array_equal(shown.taught, corpus.taught & ~hidden)


def test_trials_with_other_answers_are_not_taken_for_the_same(tmp_path):
    plain, corpus = collection()
    hidden = np.arange(len(corpus)) < 10
    turned = plain.with_answers(-corpus.answers)
    kept = KeptTrials(tmp_path)
    found = [
        kept.answers(KNN(), images, hidden, lambda n=n: np.full((10, V), n)).p[0, 0]
        for n, images in enumerate((plain, corpus, turned, corpus))
    ]
    assert found == [0, 1, 2, 1]
