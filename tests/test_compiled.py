"""Compiled code is kept, in a folder that nobody else can write to."""

import json
import os
import subprocess
import sys

import pytest

import topicture
from topicture import compiled
from topicture.errors import TopictureError


@pytest.fixture
def home(tmp_path):
    tmp_path.chmod(0o700)
    return tmp_path


def test_a_folder_of_ones_own_is_made_and_trusted(home):
    place = compiled.trusted_folder(home / "cache" / "compiled")
    assert place.is_dir()
    assert place.stat().st_mode & 0o077 == 0
    assert compiled.trusted_folder(home / "cache" / "compiled") == place


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows keeps no modes of this kind")
@pytest.mark.parametrize("part", ["place", "root", "above"])
@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_where_others_can_write_nothing_is_kept(home, part, mode):
    place = compiled.trusted_folder(home / "cache" / "compiled")
    {"place": place, "root": place.parent, "above": place.parent.parent}[part].chmod(mode)
    with pytest.raises(TopictureError, match="others can write there"):
        compiled.trusted_folder(home / "cache" / "compiled")


def test_a_link_is_not_followed(home):
    place = compiled.trusted_folder(home / "compiled")
    place.rename(home / "moved")
    place.symlink_to(home / "moved")
    with pytest.raises(TopictureError, match="no folder"):
        compiled.trusted_folder(home / "compiled")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows: owners are not numbers")
def test_the_folder_of_another_user_is_not_used(home, monkeypatch):
    compiled.trusted_folder(home / "compiled")
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    with pytest.raises(TopictureError, match="others can write"):
        compiled.trusted_folder(home / "compiled")
    monkeypatch.setenv("TOPICTURE_CACHE", str(home))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    assert compiled.settings_of_a_program() == {}, "the tool then works without it"


def test_what_the_user_decided_stays(home, monkeypatch):
    monkeypatch.setenv("TOPICTURE_CACHE", str(home))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    assert compiled.settings_of_a_program()["JAX_COMPILATION_CACHE_DIR"].startswith(str(home))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "")
    assert compiled.settings_of_a_program() == {}


def test_old_entries_go_first(home, monkeypatch):
    place = compiled.trusted_folder(home)
    for age, name in enumerate(("new", "old", "oldest")):
        (place / name).write_bytes(bytes(100))
        os.utime(place / name, (1e9 - age, 1e9 - age))
    monkeypatch.setattr(compiled, "MOST_BYTES", 250)
    compiled.trusted_folder(home)
    assert sorted(os.listdir(place)) == ["new", "old"]


FIT = """
import json, sys
import jax
import numpy as np
import topicture
from topicture.corpus import Corpus
from topicture.models.counts.mix_unigram import MixUnigram

if sys.argv[1] == "opted":
    topicture.keep_compiled_code()
counted = {"compile_requests_use_cache": 0, "cache_hits": 0}

def count(name, **_):
    if (last := name.split("/")[-1]) in counted:
        counted[last] += 1

jax.monitoring.register_event_listener(count)
words = np.random.default_rng(0).integers(0, 2, (12, 6))
MixUnigram(2, n_init=1, max_iter=1).fit(Corpus.from_arrays(captions=words, visual_words=words))
print(json.dumps(counted))
"""


def test_a_second_process_compiles_nothing(home):
    """Without the call, JAX's settings are as they were, and nothing is written."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")}
    environment |= {"TOPICTURE_CACHE": str(home), "JAX_PLATFORMS": "cpu"}

    def fit(how):
        done = subprocess.run(
            [sys.executable, "-c", FIT, how], env=environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert fit("plain")["cache_hits"] == 0
    assert not (home / "compiled").exists()
    first, second = fit("opted"), fit("opted")
    assert first["compile_requests_use_cache"] == second["compile_requests_use_cache"] <= 10
    assert second["cache_hits"] == second["compile_requests_use_cache"] > first["cache_hits"]


def test_the_name_is_public():
    assert topicture.keep_compiled_code is compiled.keep_compiled_code
