"""EfficientNet-Lite as an ONNX graph, built from the arrays of its checkpoint.

EfficientNet-Lite is EfficientNet without squeeze-and-excite and with ReLU6 for swish: a 3x3 stem of stride 2, seven
stages of inverted-residual blocks (1x1 expansion, depthwise convolution, 1x1 linear projection), and a 1x1 head of
1280 channels. Widths, kernel sizes and skips are read off the weights; only the stages' repeats and strides are
written here. Stem, head, first and last stage are the same in all variants.

The weights were trained in TensorFlow, whose "same" padding puts the odd pixel below and to the right: ONNX calls it
SAME_UPPER. Symmetric padding shifts every strided map by half a pixel and costs accuracy.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from topicture.vision.networks.onnx_bytes import Node, model_bytes

__all__ = ["OUTPUTS", "REPEATS", "build_graph"]

REPEATS = {"lite0": (1, 2, 2, 3, 3, 4, 1), "lite2": (1, 3, 3, 4, 4, 5, 1)}
STAGE_STRIDES = (1, 2, 2, 2, 1, 2, 1)
STRIDE_16_STAGE = 4  # the last stage at stride 16 (zero-based)

BATCH_NORM_EPSILON = 1e-3
OPSET = 17
IR_VERSION = 9

OUTPUTS = ("pooled", "stride16", "stride32", "logits")


def build_graph(variant: str, weights: Mapping[str, np.ndarray]) -> bytes:
    """The serialised ONNX model of `variant`; batch norm is folded into the convolutions.

    Input `image` (B, 3, H, W) float32, any H and W. Outputs `pooled` (B, 1280), `stride16` (B, C, H/16, W/16) after
    the fifth stage, `stride32` (B, 1280, H/32, W/32) after the head, `logits` (B, 1000) of the ImageNet classes.
    """
    graph = _Graph(weights)
    value = graph.convolve("image", "_conv_stem", "_bn0", stride=2, activate=True)
    block = 0
    for stage, repeats in enumerate(REPEATS[variant]):
        for repeat in range(repeats):
            stride = STAGE_STRIDES[stage] if repeat == 0 else 1
            value = graph.inverted_residual(value, f"_blocks.{block}", stride)
            block += 1
        if stage == STRIDE_16_STAGE:
            graph.add("Identity", [value], output="stride16")
    graph.convolve(value, "_conv_head", "_bn1", stride=1, activate=True, output="stride32")
    pooled = graph.add("GlobalAveragePool", ["stride32"])
    graph.add("Flatten", [pooled], output="pooled", axis=1)
    fc = [
        graph.constant("_fc.weight", weights["_fc.weight"]),
        graph.constant("_fc.bias", weights["_fc.bias"]),
    ]
    graph.add("Gemm", ["pooled", *fc], output="logits", transB=1)
    return graph.serialise(f"efficientnet-{variant}")


class _Graph:
    """Nodes and constants in the order in which they are added."""

    def __init__(self, weights: Mapping[str, np.ndarray]) -> None:
        self._weights = weights
        self._nodes: list[Node] = []
        self._constants: list[tuple[str, np.ndarray]] = []
        self._zero = self.constant("zero", np.float32(0))
        self._six = self.constant("six", np.float32(6))

    def constant(self, name: str, value: np.ndarray | np.float32) -> str:
        self._constants.append((name, np.asarray(value, np.float32)))
        return name

    def add(self, operation: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        output = output or f"v{len(self._nodes)}"
        self._nodes.append(Node(operation, inputs, output, attributes))
        return output

    def convolve(
        self, value: str, conv: str, norm: str, *, stride: int, activate: bool, output: str = ""
    ) -> str:
        """Convolution with its batch norm folded in, then ReLU6 where `activate`."""
        kernel, bias = _fold(self._weights[f"{conv}.weight"], self._norm(norm))
        inputs = [value, self.constant(f"{conv}.kernel", kernel), self.constant(f"{conv}.bias", bias)]
        attributes: dict[str, Any] = {
            "kernel_shape": kernel.shape[2:],
            "strides": [stride, stride],
            "group": kernel.shape[0] if kernel.shape[1] == 1 else 1,
            "auto_pad": "SAME_UPPER",
        }
        if not activate:
            return self.add("Conv", inputs, output, **attributes)
        return self.add("Clip", [self.add("Conv", inputs, **attributes), self._zero, self._six], output)

    def inverted_residual(self, value: str, block: str, stride: int) -> str:
        """Expand (absent in the first block), depthwise, project; a skip where the shapes agree."""
        inner = value
        if f"{block}._expand_conv.weight" in self._weights:
            inner = self.convolve(inner, f"{block}._expand_conv", f"{block}._bn0", stride=1, activate=True)
        inner = self.convolve(
            inner, f"{block}._depthwise_conv", f"{block}._bn1", stride=stride, activate=True
        )
        inner = self.convolve(inner, f"{block}._project_conv", f"{block}._bn2", stride=1, activate=False)
        if stride == 1 and self._channels_in(block) == self._channels_out(block):
            return self.add("Add", [value, inner])
        return inner

    def serialise(self, name: str) -> bytes:
        outputs: dict[str, list[str | int]] = {
            "pooled": ["batch", 1280],
            "stride16": ["batch", "channels16", "rows16", "columns16"],
            "stride32": ["batch", 1280, "rows32", "columns32"],
            "logits": ["batch", 1000],
        }
        return model_bytes(
            name,
            self._nodes,
            self._constants,
            {"image": ["batch", 3, "height", "width"]},
            outputs,
            opset=OPSET,
            ir_version=IR_VERSION,
        )

    def _norm(self, name: str) -> tuple[np.ndarray, ...]:
        return tuple(
            self._weights[f"{name}.{part}"] for part in ("weight", "bias", "running_mean", "running_var")
        )

    def _channels_in(self, block: str) -> int:
        expand = self._weights.get(f"{block}._expand_conv.weight")
        return (
            self._weights[f"{block}._depthwise_conv.weight"].shape[0] if expand is None else expand.shape[1]
        )

    def _channels_out(self, block: str) -> int:
        return self._weights[f"{block}._project_conv.weight"].shape[0]


def _fold(kernel: np.ndarray, norm: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    """(kernel, bias) of the convolution followed by batch norm; computed in float64, returned in float32."""
    scale, shift, mean, variance = (part.astype(np.float64) for part in norm)
    gain = scale / np.sqrt(variance + BATCH_NORM_EPSILON)
    folded = kernel.astype(np.float64) * gain[:, None, None, None]
    return folded.astype(np.float32), (shift - mean * gain).astype(np.float32)
