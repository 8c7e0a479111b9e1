"""What child processes run in tests: tasks, and workers that answer what no worker should."""

import os
import pickle
import struct
import sys
import time

__all__ = ["HOSTILE", "allocate", "one_over", "pid_after", "square", "where"]


def square(n):
    return n * n, os.getpid(), os.environ.get("OMP_NUM_THREADS", "")


def one_over(n):
    return 1 / n


def where(_):
    """Working folder, import path, whether isolated."""
    return os.getcwd(), sys.path, bool(sys.flags.isolated)


def allocate(n_bytes):
    return len(bytearray(n_bytes))


def pid_after(_):
    return os.getpid()


class Bomb:
    """Unpickled, it leaves a file where the environment says."""

    def __reduce__(self):
        return open, (os.environ["TOPICTURE_TEST_MARK"], "w")


def framed(head, body=b""):
    return struct.pack("<QQ", len(head), len(body)) + head + body


def answering(content):
    """A worker that starts as it should and then answers every task by `content`."""

    def serve():
        tasks, answers = sys.stdin.buffer, sys.stdout.buffer
        pickle.load(tasks)
        answers.write(framed(b"null"))
        answers.flush()
        while True:
            pickle.load(tasks)
            answers.write(content() if callable(content) else content)
            answers.flush()

    return serve


def old_pickle():
    """What a worker of an older version would send: a length and a pickle."""
    content = pickle.dumps(Bomb())
    return struct.pack("<Q", len(content)) + content + bytes(64)


pickle_bomb = answering(lambda: pickle.dumps(Bomb()) + bytes(64))
length_and_pickle_bomb = answering(old_pickle)
claims_much = answering(struct.pack("<QQ", 10, 1 << 60) + b"x" * 4096)
long_head = answering(struct.pack("<QQ", 1 << 60, 0) + b"[" * 4096)
no_json = answering(framed(b"\xff\xfe{"))
deep_json = answering(framed(b"[" * 100_000))
unknown_form = answering(framed(b'{"eval": "1"}'))
unknown_record = answering(framed(b'{"record": "system", "values": ["true"]}'))
wrong_fields = answering(framed(b'{"record": "Failure", "values": [1, 2, 3]}'))
wrong_types = answering(framed(b'{"record": "Failure", "values": [[], "yes"]}'))
objects = answering(framed(b'{"array": "|O", "shape": [1]}', bytes(8)))
short_array = answering(framed(b'{"array": "<f8", "shape": [4000000000, 4000000000]}', bytes(8)))
negative = answering(framed(b'{"array": "<f8", "shape": [-1]}', bytes(8)))
left_over = answering(framed(b"1", bytes(8)))
huge_number = answering(framed(b"9" * 10_000))

HOSTILE = (
    "pickle_bomb",
    "length_and_pickle_bomb",
    "claims_much",
    "long_head",
    "no_json",
    "deep_json",
    "unknown_form",
    "unknown_record",
    "wrong_fields",
    "wrong_types",
    "objects",
    "short_array",
    "negative",
    "left_over",
    "huge_number",
)


def ends_at_once():
    sys.exit("no such luck")


def reads_and_ends():
    sys.stdin.buffer.read(1)


def stops_talking():
    """Closes its answers, and stays."""
    pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(framed(b"null"))
    sys.stdout.buffer.flush()
    os.close(1)
    time.sleep(600)
