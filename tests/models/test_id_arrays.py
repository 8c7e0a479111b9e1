"""Ids of images in model files: any text, a million of them, and files of the form that had them in the header."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicture.errors import ModelFileError
from topicture.models import files
from topicture.models.counts.mix_unigram import MixUnigram
from topicture.models.files import read_model, write_model
from topicture.models.graphs.lap_mix_unigram import LapMixUnigram
from topicture.models.id_arrays import ids_from, ids_state
from topicture.models.registry import load_annotator
from topicture.models.spaces.iwe import IWE

MODELS = {
    "lap-var1": lambda: LapMixUnigram(n_topics=2, n_init=1, max_iter=2),
    "iwe": lambda: IWE(MixUnigram(n_topics=2, n_init=1, max_iter=2), n_init=1, max_iter=2),
}
MILLION = 1_000_000


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\0"), max_size=8), max_size=8))
def test_any_ids_come_back(ids):
    ids = np.array(ids, dtype=np.str_)
    found = ids_from(ids_state(ids), {})
    assert found.tolist() == ids.tolist()


@pytest.mark.parametrize("ends", [[3, 2, 4], [1, 2, 5], [-1, 2, 4], [1, 2, 3]])
def test_ends_that_do_not_go_with_the_text_are_refused(ends):
    arrays = ids_state(np.array(["a", "b", "cd"])) | {"image_ids.ends": np.array(ends)}
    with pytest.raises(ValueError, match="damaged"):
        ids_from(arrays, {})


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_a_million_photos_is_saved_and_opened(name, tiny_corpus, tmp_path):
    """As many ids as such a model has, of the length of a content's digest; its other arrays stay small."""
    model = MODELS[name]().fit(tiny_corpus)
    model.image_ids_ = np.char.add("0" * 57, np.arange(MILLION, 2 * MILLION).astype(str))
    if name == "lap-var1":
        model.posteriors_ = np.full((MILLION, 2), 0.5, np.float32)
        known = model._known.visual
        ends = np.concatenate([known.indptr, np.full(MILLION - 12, known.nnz)])
        grown = type(known)((known.data, known.indices, ends), shape=(MILLION, known.shape[1]))
        model._known = model._known._replace(visual=grown)
    model.save(tmp_path / "model")
    loaded = load_annotator(tmp_path / "model")
    np.testing.assert_array_equal(loaded.image_ids_, model.image_ids_)
    np.testing.assert_array_equal(loaded.annotate(tiny_corpus), model.annotate(tiny_corpus))


@pytest.mark.parametrize("name", MODELS)
def test_files_with_the_ids_in_the_header_still_open(name, tiny_corpus, tmp_path):
    """The form of version 0.1.0: a list of texts among the facts, no arrays of ids."""
    model = MODELS[name]().fit(tiny_corpus)
    model.save(tmp_path / "new")
    header, arrays = read_model(tmp_path / "new")
    header["facts"]["image_ids"] = model.image_ids_.tolist()
    old = {key: array for key, array in arrays.items() if not key.startswith("image_ids.")}
    assert len(old) == len(arrays) - 2
    write_model(tmp_path / "old", header, old)
    loaded = load_annotator(tmp_path / "old")
    np.testing.assert_array_equal(loaded.image_ids_, model.image_ids_)
    np.testing.assert_array_equal(loaded.annotate(tiny_corpus), model.annotate(tiny_corpus))


def test_a_header_too_long_to_be_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_MAX_HEADER", 1 << 20)
    write_model(tmp_path / "model", {"words": "x" * 1000}, {})
    before = (tmp_path / "model").read_bytes()
    with pytest.raises(ModelFileError, match="not written: the header of the model takes 1 MB") as refused:
        write_model(tmp_path / "model", {"words": "x" * (1 << 20)}, {})
    assert "\n" not in str(refused.value)
    assert (tmp_path / "model").read_bytes() == before
