"""Where a cluster may be, and what is said where there is none."""

import sys

import numpy as np
import pytest

from topicture.cluster.addresses import check_address, distributed, security_of
from topicture.cluster.arrays import ArrayFile, read_arrays, write_arrays
from topicture.cluster.engine import Cluster
from topicture.cluster.members import scheduler
from topicture.errors import TopictureError
from topicture.extras import MissingExtra


def test_addresses_on_this_machine_need_no_tls(tmp_path):
    assert check_address("127.0.0.1", None) == "tcp://127.0.0.1:8786"
    assert check_address("tcp://localhost:9", None) == "tcp://localhost:9"
    assert check_address("tcp://[::1]:9", None) == "tcp://[::1]:9"
    assert check_address("10.0.0.5", tmp_path) == "tls://10.0.0.5:8786"


@pytest.mark.parametrize(
    ("address", "tls", "reason"),
    [
        ("tcp://10.0.0.5:8786", False, "must use TLS"),
        ("tcp://10.0.0.5:8786", True, "must use TLS"),
        ("tls://10.0.0.5:8786", False, "give --tls FOLDER"),
        ("http://127.0.0.1:80", False, "not the address of a cluster"),
        ("tcp://127.0.0.1:port", False, "not the address of a cluster"),
        ("tcp://127.0.0.1:99999", False, "not the address of a cluster"),
        ("tcp://[::1:9", False, "not the address of a cluster"),
    ],
)
def test_other_machines_need_tls(address, tls, reason, tmp_path):
    with pytest.raises(TopictureError, match=reason):
        check_address(address, tmp_path if tls else None)


def test_a_scheduler_that_others_reach_needs_tls():
    with pytest.raises(TopictureError, match="give --tls FOLDER"), scheduler("0.0.0.0", 0, None):
        pass


def test_missing_certificates_are_named(tmp_path):
    with pytest.raises(TopictureError, match=r"ca\.pem: is missing"):
        security_of(tmp_path)


def test_without_dask_a_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "distributed")
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    with pytest.raises(MissingExtra, match=r"pip install 'topicture\[cluster\]'"):
        distributed()


def test_where_nobody_listens_one_line_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("topicture.cluster.engine.CONNECT_SECONDS", 1)
    with pytest.raises(TopictureError, match="no cluster answers there"), Cluster("127.0.0.1:1", tmp_path):
        pass


def test_arrays_come_back_as_they_were(tmp_path):
    arrays = [
        np.arange(6.0).reshape(2, 3),
        np.zeros((0, 4), np.int32),
        np.array(3, np.int64),
        np.ones(5, np.float32),
    ]
    for found, given in zip(read_arrays(write_arrays(tmp_path / "a", arrays)), arrays, strict=True):
        assert found.dtype == given.dtype
        np.testing.assert_array_equal(found, given)


def test_arrays_that_were_changed_are_refused(tmp_path):
    file = write_arrays(tmp_path / "a", [np.arange(6.0)])
    content = bytearray((tmp_path / "a").read_bytes())
    content[-1] ^= 1
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(TopictureError, match="not what was written"):
        read_arrays(file)
    with pytest.raises(TopictureError, match="can't read it"):
        read_arrays(ArrayFile(str(tmp_path / "b"), file.blake2b))
