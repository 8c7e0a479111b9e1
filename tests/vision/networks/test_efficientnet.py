"""The graph against a slow twin: convolution by definition, batch norm not folded."""

import hashlib

import numpy as np
import onnxruntime
import pytest

from topicture.vision.networks.checkpoint import read_checkpoint
from topicture.vision.networks.efficientnet import OUTPUTS, REPEATS, build_graph
from topicture.vision.networks.manifest import _BUNDLED

EPSILON = 1e-3


def slow_conv(x, kernel, stride):
    """TensorFlow's "same" convolution of x (C, H, W); depthwise where the kernel has one input channel."""
    size = kernel.shape[2]
    pads = []
    for n in x.shape[1:]:
        total = max((-(-n // stride) - 1) * stride + size - n, 0)
        pads.append((total // 2, total - total // 2))
    padded = np.pad(x, [(0, 0), *pads])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))[
        :, ::stride, ::stride
    ]
    if kernel.shape[1] == 1 and kernel.shape[0] == len(x):
        return np.einsum("chwij,cij->chw", windows, kernel[:, 0])
    return np.einsum("chwij,dcij->dhw", windows, kernel)


def slow_network(x, weights, repeats):
    w = {key: value.astype(np.float64) for key, value in weights.items()}

    def norm(x, name):
        gain, shift, mean, variance = (
            w[f"{name}.{part}"][:, None, None] for part in ("weight", "bias", "running_mean", "running_var")
        )
        return (x - mean) / np.sqrt(variance + EPSILON) * gain + shift

    def relu6(x):
        return np.clip(x, 0, 6)

    x = relu6(norm(slow_conv(x, w["_conv_stem.weight"], 2), "_bn0"))
    names = iter(range(100))
    for stage, (n_blocks, first_stride) in enumerate(zip(repeats, (1, 2, 2, 2, 1, 2, 1), strict=True)):
        for repeat in range(n_blocks):
            block, stride, before = f"_blocks.{next(names)}", first_stride if repeat == 0 else 1, x
            if stage > 0:
                x = relu6(norm(slow_conv(x, w[f"{block}._expand_conv.weight"], 1), f"{block}._bn0"))
            x = relu6(norm(slow_conv(x, w[f"{block}._depthwise_conv.weight"], stride), f"{block}._bn1"))
            x = norm(slow_conv(x, w[f"{block}._project_conv.weight"], 1), f"{block}._bn2")
            if repeat > 0:
                x = x + before
        if stage == 4:
            stride16 = x
    stride32 = relu6(norm(slow_conv(x, w["_conv_head.weight"], 1), "_bn1"))
    pooled = stride32.mean(axis=(1, 2))
    return pooled, stride16, stride32, w["_fc.weight"] @ pooled + w["_fc.bias"]


@pytest.mark.parametrize(("variant", "shape"), [("lite0", (64, 64)), ("lite2", (65, 47))])
def test_graph_equals_its_slow_twin(variant, shape, rng):
    bundled = _BUNDLED[variant]
    weights = read_checkpoint(bundled.weights(), bundled.sha256)
    session = onnxruntime.InferenceSession(build_graph(variant, weights), providers=["CPUExecutionProvider"])
    images = rng.uniform(-1, 1, (2, 3, *shape)).astype(np.float32)
    results = session.run(list(OUTPUTS), {"image": images})
    for index in range(2):
        twin = slow_network(images[index].astype(np.float64), weights, REPEATS[variant])
        for name, result, expected in zip(OUTPUTS, results, twin, strict=True):
            scale = np.abs(expected).max()
            assert np.abs(result[index] - expected).max() < 1e-3 * scale, name


@pytest.mark.parametrize(
    ("variant", "sha256"),
    [
        ("lite0", "4e6c01896556f8802d97200a2b6333a672b1eac93bbad1153438ed1362a8f365"),
        ("lite2", "70c486da1b5ba51d1f31504d0c13aa67835d396d5b9d64c3a6f6d00eef53c522"),
    ],
)
def test_the_bytes_are_those_that_the_onnx_package_wrote(variant, sha256):
    """Stored features carry the graph's version: the same graph must come out of every release that has it."""
    bundled = _BUNDLED[variant]
    graph = build_graph(variant, read_checkpoint(bundled.weights(), bundled.sha256))
    assert hashlib.sha256(graph).hexdigest() == sha256
