"""NLSA: kernels by their formulas, kernel PCA against scikit-learn's, Nystroem against the exact space, files."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import chi2_kernel, cosine_similarity
from test_lsa import make_corpus

import topicture as tp
from topicture.corpus import Corpus
from topicture.errors import CorpusError, ModelFileError, TopictureError
from topicture.models.files import read_model, write_model
from topicture.models.neighbours import unit_rows
from topicture.models.spaces import nlsa
from topicture.models.spaces.kernels import KERNELS, kernel_fn, median_bandwidth
from topicture.models.spaces.latent_space import Joint
from topicture.models.spaces.nlsa import NLSA, exact_space, kernel_matrix, nystroem_space


def make_joint(rng, n=40, n_words=4, n_columns=6):
    return Joint(sparse.csr_array(rng.poisson(0.6, (n, n_words)).astype(float)), rng.random((n, n_columns)))


def without_words(joint):
    return Joint(sparse.csr_array(joint.words.shape), joint.visual)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("gaussian", lambda x, y: np.exp(-np.sum((x - y) ** 2) / (2 * 0.7**2))),
        ("chi-square", lambda x, y: np.exp(-np.sum((x - y) ** 2 / (x + y)) / 0.7)),
        ("intersection", lambda x, y: np.minimum(x, y).sum()),
        ("cosine", lambda x, y: x @ y / np.linalg.norm(x) / np.linalg.norm(y)),
    ],
)
def test_kernels_are_their_formulas(rng, name, formula):
    X, Y = rng.random((5, 4)) + 0.01, rng.random((3, 4)) + 0.01
    expected = [[formula(x, y) for y in Y] for x in X]
    np.testing.assert_allclose(kernel_fn(name, 0.7)(X, Y), expected, rtol=1e-12)


def test_kernels_agree_with_scikit_learn(rng):
    X = rng.random((6, 5))
    np.testing.assert_allclose(kernel_fn("chi-square", 0.5)(X, X), chi2_kernel(X, gamma=2.0), rtol=1e-12)
    np.testing.assert_allclose(kernel_fn("cosine", 1)(X, X), cosine_similarity(X), rtol=1e-12)


def test_bandwidth_is_the_median_distance():
    X = np.array([[0.0], [1], [3]])  # distances 1, 2, 3
    assert median_bandwidth("gaussian", X, np.random.default_rng(0)) == pytest.approx(2)
    assert median_bandwidth("gaussian", np.ones((4, 2)), np.random.default_rng(0)) == 1


@pytest.mark.parametrize(
    ("n_images", "small"),
    [(40, 600), (40, 5), (160, 5)],
    ids=["full decomposition", "ARPACK", "block Lanczos"],
)
def test_centred_coordinates_are_kernel_pca_scores(rng, monkeypatch, n_images, small):
    monkeypatch.setattr(nlsa, "_SMALL", small)
    joint = make_joint(rng, n_images)
    if n_images == 160:
        monkeypatch.setattr(nlsa, "eigsh", None)  # not needed
    X = joint.at(slice(None))
    sigma = 1.3
    space, features = exact_space(kernel_fn("gaussian", sigma), X, 4, centre=True, rng=rng)
    np.testing.assert_allclose(features, space.project(joint), atol=1e-9)
    pca = KernelPCA(4, kernel="rbf", gamma=0.5 / sigma**2, eigen_solver="dense").fit(X)
    queries = without_words(joint)
    # Our directions have unit length in the feature space of vectors scaled as scikit-learn's are.
    for ours, theirs in [
        (space.project(joint), pca.transform(X)),
        (space.project(queries), pca.transform(queries.at(slice(None)))),
    ]:
        signs = np.sign(np.sum(ours * theirs, axis=0))
        np.testing.assert_allclose(ours * signs, theirs, atol=1e-9)


def test_printed_coordinates_differ_from_centred_ones_by_a_constant(rng):
    joint = make_joint(rng)
    kernel, X = kernel_fn("gaussian", 1.0), joint.at(slice(None))
    printed, centred = (
        exact_space(kernel, X, 3, centre=centre, rng=np.random.default_rng(0))[1] for centre in (False, True)
    )
    np.testing.assert_allclose(centred.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(printed - centred, np.tile(printed.mean(axis=0), (len(joint), 1)), atol=1e-12)


def test_the_kernel_matrix_is_symmetric_whatever_the_blocks(rng, monkeypatch):
    X, kernel = rng.random((20, 3)), kernel_fn("gaussian", 0.5)
    monkeypatch.setattr(nlsa, "_STRIP", 7)
    K = kernel_matrix(kernel, X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, kernel(X, X), rtol=1e-12)


def test_at_most_one_component_less_than_images(rng):
    space, _ = exact_space(
        kernel_fn("gaussian", 1.0), make_joint(rng, n=8).at(slice(None)), 20, centre=False, rng=rng
    )
    assert space.directions.shape == (8, 7)


@pytest.mark.parametrize("centre", [False, True])
def test_nystroem_with_every_image_as_landmark_is_exact(rng, centre):
    joint = make_joint(rng, n=25)
    kernel = kernel_fn("gaussian", 1.0)
    exact, _ = exact_space(kernel, joint.at(slice(None)), 5, centre=centre, rng=rng)
    landmarks = rng.permutation(25)
    approximate, _ = nystroem_space(kernel, joint, landmarks, 5, centre=centre)
    grams = [space.project(without_words(joint)) @ space.project(joint).T for space in (exact, approximate)]
    np.testing.assert_allclose(grams[1], grams[0], atol=1e-9)


def test_nystroem_is_chosen_by_size_and_its_error_measured(rng):
    corpus = make_corpus(rng, n_images=300)
    exact = NLSA(5).fit(corpus)
    errors = []
    for n_landmarks in (10, 150):
        model = NLSA(5, max_exact=100, n_landmarks=n_landmarks).fit(corpus)
        assert "Nystroem" in model.result_
        assert f"{n_landmarks} of 300" in model.result_
        errors.append(model.approximation_error_)
    assert exact.approximation_error_ == 0
    assert "Nystroem" not in exact.result_
    assert 0 < errors[1] < errors[0] < 1
    assert errors[1] < 0.1


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("view", ["descriptor", "visual_words"])
def test_words_of_the_own_kind_come_first(rng, kernel, view):
    train, test = make_corpus(rng, n_images=200).split([0.8, 0.2], seed=0)
    p = NLSA(6, kernel=kernel, view=view).fit(train).annotate(test)
    kind = test.descriptor[:, 0] > 1.5
    own = np.where(kind, p[:, :3].sum(axis=1), p[:, 3:6].sum(axis=1))
    other = np.where(kind, p[:, 3:6].sum(axis=1), p[:, :3].sum(axis=1))
    assert np.mean(own > other) > 0.8  # by chance a half, give or take 0.08


def test_a_kernel_of_ones_own(rng, tmp_path):
    corpus = make_corpus(rng)
    own = NLSA(4, kernel=lambda X, Y: (1 + X @ Y.T) ** 2, n_neighbours=3).fit(corpus)
    features = unit_rows(own.features_)
    assert features.shape == (60, 4)
    with pytest.raises(TopictureError, match="can't be saved"):
        own.save(tmp_path / "model")
    with pytest.raises(TopictureError, match="kernel"):
        NLSA(4, kernel=lambda X, Y: X).fit(corpus)


@pytest.mark.parametrize("kernel", ["chi-square", "intersection"])
def test_negative_features_are_refused_where_the_kernel_has_no_meaning(kernel):
    corpus = Corpus.from_arrays(captions=np.ones((3, 1)), descriptor=-np.ones((3, 2)))
    with pytest.raises(CorpusError, match="negative"):
        NLSA(kernel=kernel).fit(corpus)


@pytest.mark.parametrize(
    "params",
    [{"kernel": "linear"}, {"bandwidth": 0.0}, {"max_exact": 0}, {"n_landmarks": 0}, {"view": "pixels"}],
)
def test_settings_that_cannot_work_are_refused(rng, params):
    (name,) = params
    with pytest.raises(TopictureError, match=name):
        NLSA(**params).fit(make_corpus(rng))


@pytest.mark.parametrize("bandwidth", [0.0, -0.0, -1.0, 1e-300, 1e300, float("inf"), float("nan")])
def test_a_file_with_a_kernel_that_cant_be_is_refused(bandwidth, tiny_corpus, tmp_path):
    path = tmp_path / "model"
    tp.make_annotator("nlsa", n_components=3).fit(tiny_corpus).save(path)
    header, arrays = read_model(path)
    space = {**header["facts"]["space"], "bandwidth": bandwidth}
    write_model(path, {**header, "facts": {**header["facts"], "space": space}}, arrays)
    with pytest.raises(ModelFileError, match="bandwidth"):
        tp.load_annotator(path)


@pytest.mark.parametrize(("value", "kernel"), [(np.inf, "gaussian"), (-1.0, "chi-square")])
def test_a_file_with_anchors_that_the_kernel_cant_take_is_refused(value, kernel, tiny_corpus, tmp_path):
    path = tmp_path / "model"
    tp.make_annotator("nlsa", n_components=3).fit(tiny_corpus).save(path)
    header, arrays = read_model(path)
    anchors = np.full_like(arrays["space.anchors"], value)
    params = {**header["params"], "kernel": kernel}
    write_model(path, {**header, "params": params}, {**arrays, "space.anchors": anchors})
    with pytest.raises(ModelFileError):
        tp.load_annotator(path)
