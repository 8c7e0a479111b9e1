import json

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper
from pictures import noise, quadrants

from topicture.annotations.measures.metrics import per_word
from topicture.corpus.datasets import corel5k
from topicture.errors import ModelFileError
from topicture.vision.networks.deep import load_network, pool_regions, unit_rows
from topicture.vision.networks.manifest import network_graph
from topicture.vision.pipeline import describe
from topicture.vision.read import read
from topicture.vision.recipe import Recipe

TIGER, POLAR_BEAR = 292, 296  # of the thousand ImageNet classes


@pytest.fixture(scope="module")
def lite0():
    return load_network("lite0")


# --- Bundled networks ---------------------------------------------------------------------------------------------


def test_outputs_have_their_documented_shapes(lite0):
    outputs = lite0([noise(30, 40), noise(500, 20)])
    assert outputs.pooled.shape == (2, 1280)
    assert [feature_map.shape for feature_map in outputs.maps] == [(2, 112, 14, 14), (2, 1280, 7, 7)]
    assert len(lite0.image_descriptor) == 1280
    assert len(lite0.region_descriptor) == 112 + 1280
    assert lite0.key in lite0.image_descriptor.key


def test_pooled_is_the_mean_of_the_last_map(lite0):
    outputs = lite0([noise(50, 50)])
    assert np.allclose(outputs.pooled, outputs.maps[-1].mean(axis=(2, 3)), atol=1e-5)


def test_a_picture_does_not_depend_on_its_batch(lite0):
    pictures = [noise(60, 80, seed) for seed in range(3)]
    together = lite0.image_features(pictures)
    alone = np.concatenate([lite0.image_features([pixels]) for pixels in pictures])
    assert np.allclose(together, alone, atol=1e-4)


def test_image_features_are_the_pooled_output(lite0):
    pixels, _ = quadrants()
    assert np.array_equal(lite0.image_features([pixels]), lite0([pixels]).pooled)


def test_regions_that_look_alike_have_features_alike(lite0):
    """Two left quarters of one texture, two right quarters of another."""
    tile, other = noise(60, 60, 1), np.full((60, 60, 3), 200, dtype=np.uint8)
    pixels = np.block([[[tile], [other]], [[tile], [other]]])
    labels = np.kron([[0, 1], [2, 3]], np.ones((60, 60), dtype=np.int32)).astype(np.int32)
    rows = lite0.region_features(lite0([pixels]), 0, labels)
    assert rows.shape == (4, 1392)
    similarity = rows @ rows.T / 2  # two maps, each of length 1
    assert np.allclose(np.diag(similarity), 1, atol=1e-5)
    assert min(similarity[0, 2], similarity[1, 3]) > max(similarity[0, 1], similarity[2, 3])


def test_classes_of_real_photos(data_folder):
    """The class head tells tigers and polar bears: weights, padding and normalisation are right."""
    data = corel5k(data=data_folder)
    network = load_network("lite2")
    session = onnxruntime.InferenceSession(network_graph("lite2")[1], providers=["CPUExecutionProvider"])
    for word, expected in [("tiger", TIGER), ("polar", POLAR_BEAR)]:
        column = data.train.vocabulary.index(word)
        chosen = data.train.image_ids[data.train.captions[:, [column]].toarray()[:, 0] > 0][:10]
        photos = [read(content)[5:-5, 5:-5] for _, content in data.images(chosen)]
        logits = session.run(
            ["logits"], {"image": np.stack([network._prepare(pixels) for pixels in photos])}
        )[0]
        assert np.mean(logits.argmax(axis=1) == expected) >= 0.9


@pytest.mark.slow
def test_nearest_neighbours_on_corel5k(data_folder):
    """Ten neighbours' words, weighted by exp(15 cosine), five an image: per-word F1 was 0.438 when written."""
    data = corel5k("evaluation", data=data_folder)
    ids = [*data.train.image_ids, *data.test.image_ids]
    recipe = Recipe("deep", network="lite2", border=5)
    features = describe(list(data.images(ids)), recipe, vocabulary=["word"]).corpus.descriptor
    train, test = features[: len(data.train)], features[len(data.train) :]
    cosine = test @ train.T
    nearest = np.argsort(-cosine, axis=1)[:, :10]
    weights = np.exp(15 * np.take_along_axis(cosine, nearest, axis=1))
    scores = np.einsum("nk,nkv->nv", weights, data.train.captions.toarray()[nearest])
    result = per_word(scores, data.test.captions)
    assert result.f1 > 0.425
    assert result.n_plus >= 170


# --- A user's own network -------------------------------------------------------------------------------------------


def own_network(folder, layout="NCHW", tokens=False, **manifest):
    """A network whose map is its input, and whose pooled output is that map's mean."""
    axes = ["batch", 3, 16, 16] if layout == "NCHW" else ["batch", 16, 16, 3]
    image = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, axes)
    space = [2, 3] if layout == "NCHW" else [1, 2]
    nodes = [
        helper.make_node("Identity", ["x"], ["grid"]),
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=space, keepdims=0),
    ]
    outputs = [
        helper.make_tensor_value_info("grid", onnx.TensorProto.FLOAT, axes),
        helper.make_tensor_value_info("mean", onnx.TensorProto.FLOAT, ["batch", 3]),
    ]
    if tokens:  # five leading tokens, then the grid in reading order
        shape = helper.make_tensor("shape", onnx.TensorProto.INT64, [3], [0, 3, 256])
        zeros = helper.make_tensor("zeros", onnx.TensorProto.FLOAT, [1, 5, 3], [99.0] * 15)
        nodes += [
            helper.make_node("Reshape", ["x", "shape"], ["flat"]),
            helper.make_node("Transpose", ["flat"], ["rows"], perm=[0, 2, 1]),
            helper.make_node("Concat", ["zeros", "rows"], ["tokens"], axis=1),
        ]
        outputs.append(helper.make_tensor_value_info("tokens", onnx.TensorProto.FLOAT, [1, 261, 3]))
        graph = helper.make_graph(nodes, "own", [image], outputs, [shape, zeros])
    else:
        graph = helper.make_graph(nodes, "own", [image], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (folder / "own.onnx").write_bytes(model.SerializeToString())
    values = {
        "model": "own.onnx",
        "size": 16,
        "mean": [0, 0, 0],
        "std": [1, 1, 1],
        "layout": layout,
        **manifest,
    }
    (folder / "own.json").write_text(json.dumps(values))
    return load_network(folder / "own.json")


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_own_network_gets_the_pixels_as_its_manifest_says(layout, tmp_path):
    network = own_network(tmp_path, layout, maps=["grid"], pooled="mean", mean=[1, 2, 3], std=[2, 4, 8])
    pixels = noise(16, 16)
    outputs = network([pixels])
    expected = ((pixels - np.array([1.0, 2, 3])) / [2, 4, 8]).transpose(2, 0, 1)
    assert np.allclose(outputs.maps[0][0], expected, atol=1e-5)
    assert np.allclose(outputs.pooled[0], expected.mean(axis=(1, 2)), atol=1e-4)


def test_without_a_pooled_output_the_map_is_averaged(tmp_path):
    pixels = noise(16, 16)
    pooled = own_network(tmp_path, maps=["grid"]).image_features([pixels])
    assert np.allclose(pooled, own_network(tmp_path, pooled="mean").image_features([pixels]), atol=1e-3)


def test_tokens_are_a_map_after_the_leading_ones(tmp_path):
    network = own_network(tmp_path, tokens=True, maps=["grid", "tokens"])
    grid, tokens = network([noise(16, 16)]).maps
    assert np.array_equal(grid, tokens)


def test_region_features_need_maps(tmp_path):
    network = own_network(tmp_path, pooled="mean")
    with pytest.raises(ModelFileError, match="no maps"):
        network.region_features(network([noise(16, 16)]), 0, np.zeros((16, 16), dtype=np.int32))


def test_errors_of_own_networks_are_one_line(tmp_path):
    with pytest.raises(ModelFileError, match="no output other"):
        own_network(tmp_path, maps=["other"])
    with pytest.raises(ModelFileError, match="does not run"):
        own_network(tmp_path, maps=["grid"], size=32)([noise(8, 8)])
    with pytest.raises(ModelFileError, match="a map has 2 axes"):
        own_network(tmp_path, maps=["mean"])([noise(8, 8)])
    (tmp_path / "own.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelFileError, match="can't be loaded"):
        load_network(tmp_path / "own.json")


# --- Pooling under masks ----------------------------------------------------------------------------------------------


def slow_pool(feature_map, labels):
    """By definition: every pixel of a region averages the cells it lies in, by area."""
    _, h, w = feature_map.shape
    n_rows, n_columns = labels.shape
    rows = []
    for region in range(labels.max() + 1):
        total, weight = np.zeros(len(feature_map)), 0.0
        for y, x in np.argwhere(labels == region):
            for i in range(h):
                for j in range(w):
                    tall = min((i + 1) * n_rows / h, y + 1) - max(i * n_rows / h, y)
                    wide = min((j + 1) * n_columns / w, x + 1) - max(j * n_columns / w, x)
                    area = max(tall, 0) * max(wide, 0)
                    total, weight = total + area * feature_map[:, i, j], weight + area
        rows.append(total / weight)
    return np.array(rows)


@settings(max_examples=40, deadline=None)
@given(
    height=st.integers(1, 9),
    width=st.integers(1, 9),
    h=st.integers(1, 6),
    w=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_pooling_equals_its_slow_twin(height, width, h, w, seed):
    rng = np.random.default_rng(seed)
    feature_map = rng.normal(size=(4, h, w)).astype(np.float32)
    labels = rng.integers(-1, 4, (height, width))
    if labels.max() < 0:
        labels[0, 0] = 0
    labels = np.searchsorted(np.unique(labels[labels >= 0]), labels) - (labels < 0)  # no gaps
    assert np.allclose(pool_regions(feature_map, labels), slow_pool(feature_map, labels), atol=1e-5)


def test_one_region_is_the_mean_of_the_map(rng):
    feature_map = rng.normal(size=(5, 7, 9)).astype(np.float32)
    pooled = pool_regions(feature_map, np.zeros((63, 45), dtype=np.int32))
    assert np.allclose(pooled[0], feature_map.mean(axis=(1, 2)), atol=1e-5)


def test_region_of_one_pixel_takes_its_cell():
    feature_map = np.arange(16, dtype=np.float32).reshape(1, 4, 4)
    labels = np.zeros((100, 100), dtype=np.int32)
    labels[99, 0] = 1
    assert pool_regions(feature_map, labels)[1, 0] == 12


def test_no_region_gives_no_row():
    assert pool_regions(np.ones((3, 2, 2), np.float32), np.full((4, 4), -1)).shape == (0, 3)


def test_unit_rows_leave_zeros_alone():
    assert unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]
