"""Plain data between processes; hostile answers of a whole worker are tested in vision/test_workers.py."""

import contextlib
import io
import json
import struct
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from topicture.messages import MAX_BODY, BadMessage, receive_message, send_message


@dataclass(frozen=True)
class Point:
    name: str
    x: float


def sent(value):
    stream = io.BytesIO()
    send_message(stream, value)
    return stream.getvalue()


def back(value, *records):
    stream = io.BytesIO(sent(value))
    return receive_message(stream, {record.__name__: record for record in records})


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda parts: (
        st.lists(parts) | st.lists(parts).map(tuple) | st.dictionaries(st.text() | st.integers(), parts)
    ),
    max_leaves=20,
)


@given(PLAIN)
def test_plain_values_come_back_as_they_are(value):
    again = back(value)
    assert again == value
    assert type(again) is type(value)


@given(
    arrays.arrays(
        st.sampled_from(["?", "i1", "<i2", ">i4", "u8", "f2", "f4", ">f8"]), arrays.array_shapes(min_dims=0)
    )
)
def test_arrays_come_back_as_they_are(array):
    again = back({"a": [array]})["a"][0]
    assert again.dtype == array.dtype.newbyteorder("<")
    assert again.shape == array.shape
    np.testing.assert_array_equal(again, array)
    assert again.flags.writeable


def test_views_and_empty_arrays():
    np.testing.assert_array_equal(
        back(np.arange(12).reshape(3, 4).T[:, ::2]), np.arange(12).reshape(3, 4).T[:, ::2]
    )
    assert back(np.zeros((0, 7), np.float32)).shape == (0, 7)
    assert back(np.float32(1.5)) == 1.5


def test_records_come_back_where_they_are_expected():
    assert back([Point("a", 1.0)], Point) == [Point("a", 1.0)]
    with pytest.raises(BadMessage):
        back([Point("a", 1.0)])


@pytest.mark.parametrize(
    "value", [1j, object(), {1, 2}, np.array([None]), np.array(["text"]), range(3), print]
)
def test_other_values_are_not_sent(value):
    with pytest.raises(TypeError):
        sent([1, value])


def test_what_is_too_large_is_not_sent():
    with pytest.raises(ValueError, match="over the limit"):
        sent(np.zeros(MAX_BODY + 1, np.uint8))


def test_a_stream_that_ends_early_is_told():
    content = sent({"a": np.arange(5)})
    for end in range(len(content)):
        with pytest.raises(EOFError):
            receive_message(io.BytesIO(content[:end]))


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_any_bytes_are_a_message_or_none(head, body):
    stream = io.BytesIO(struct.pack("<QQ", len(head), len(body)) + head + body)
    with contextlib.suppress(BadMessage):
        receive_message(stream, {"Point": Point})


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda parts: (
        st.lists(parts)
        | st.dictionaries(
            st.sampled_from(["bytes", "array", "shape", "tuple", "dict", "record", "values"]), parts
        )
    ),
)


@given(JSON, st.binary(max_size=50))
def test_any_json_is_a_message_or_none(value, body):
    head = json.dumps(value).encode()
    stream = io.BytesIO(struct.pack("<QQ", len(head), len(body)) + head + body)
    with contextlib.suppress(BadMessage):
        receive_message(stream, {"Point": Point})
