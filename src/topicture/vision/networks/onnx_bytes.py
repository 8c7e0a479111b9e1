"""ONNX models as bytes: the few messages of the format that our graphs need, written as protocol buffers are.

A message is a run of fields, each a number, a kind and a value; a message inside a message is its bytes with their
length before them. The order of the fields is theirs by number, as the package `onnx` writes them, so the bytes are
the same: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto names the numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Node", "model_bytes"]

FLOAT = 1  # TensorProto.DataType
INT, STRING, INTS = 2, 3, 7  # AttributeProto.AttributeType
VARINT, BYTES = 0, 2  # kinds of fields

Attribute = int | str | Sequence[int]


class Node(NamedTuple):
    """One operation of a graph."""

    operation: str
    inputs: Sequence[str]
    output: str
    attributes: Mapping[str, Attribute]


def model_bytes(
    name: str,
    nodes: Iterable[Node],
    constants: Iterable[tuple[str, np.ndarray]],
    inputs: Mapping[str, Sequence[str | int]],
    outputs: Mapping[str, Sequence[str | int]],
    *,
    opset: int,
    ir_version: int,
) -> bytes:
    """A whole model: a graph of float32 values, its constants inside.

    `inputs` and `outputs` give the axes by name: a length, or a word for one that is free.
    """
    graph = [
        *(_field(1, _node(node)) for node in nodes),
        _field(2, name),
        *(_field(5, _tensor(*constant)) for constant in constants),
        *(_field(11, _value(*value)) for value in inputs.items()),
        *(_field(12, _value(*value)) for value in outputs.items()),
    ]
    operators = _field(1, "") + _field(2, opset)
    return b"".join(
        [_field(1, ir_version), _field(2, "topicture"), _field(7, b"".join(graph)), _field(8, operators)]
    )


def _node(node: Node) -> bytes:
    fields = [*(_field(1, name) for name in node.inputs), _field(2, node.output), _field(4, node.operation)]
    return b"".join(fields + [_field(5, _attribute(*item)) for item in sorted(node.attributes.items())])


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, str):
        return _field(1, name) + _field(4, value) + _field(20, STRING)
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, INT)
    return _field(1, name) + b"".join(_field(8, int(number)) for number in value) + _field(20, INTS)


def _tensor(name: str, value: np.ndarray) -> bytes:
    dims = b"".join(_field(1, length) for length in value.shape)
    return dims + _field(2, FLOAT) + _field(8, name) + _field(9, value.astype("<f4").tobytes())


def _value(name: str, axes: Sequence[str | int]) -> bytes:
    dims = (_field(2 if isinstance(axis, str) else 1, axis) for axis in axes)
    shape = b"".join(_field(1, dim) for dim in dims)
    return _field(1, name) + _field(2, _field(1, _field(1, FLOAT) + _field(2, shape)))


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | VARINT) + _varint(value)
    content = value.encode("utf-8") if isinstance(value, str) else value
    return _varint(number << 3 | BYTES) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    """Seven bits a byte, the low ones first; the high bit says that more follow."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])
