"""What an earlier version offered is still found under its old name."""

import runpy
import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import topicture as tp
from topicture.collection.formats import Item, read_annotations
from topicture.collection.skipped import Skipped
from topicture.corpus import Corpus, Vocabulary
from topicture.corpus.batches import Batches
from topicture.moved import _table
from topicture.search import WordIndex
from topicture.store import Catalog

NAMES = {
    module: names.split()
    for module, _, names in (
        line.partition(": ")
        for line in Path(__file__).with_name("earlier_names.txt").read_text().splitlines()
    )
}
"""The `__all__` of every module before the folders of today."""

WITHOUT_SUCCESSOR = {
    "topicture.annotations.refitting": {"FixedBlend"},  # took weights over that had seen the hidden tags
    "topicture.app.cli": {"main"},  # a module of that name has it
    "topicture.app.pages": {"render"},  # likewise
    "topicture.models.descent": {"Adam"},  # optax has it
    "topicture.models.matching": {"gradient"},  # jax.grad of `loss`
}


@pytest.mark.parametrize("module", NAMES)
def test_every_earlier_name_is_found(module):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = import_module(module)
        missing = {name for name in NAMES[module] if not hasattr(found, name)}
    assert missing <= WITHOUT_SUCCESSOR.get(module, set())


def test_the_list_leads_somewhere():
    """No line names a module or a name that is not there, nor a module that was never there."""
    for old, places in _table().items():
        assert old in NAMES or old == "topicture.experiments"
        for new, names in places:
            module = import_module(new)
            assert [name for name in names.values() if not hasattr(module, name)] == []


@pytest.mark.parametrize(
    ("module", "name", "now"),
    [
        ("topicture.app.service", "Library", "Library"),
        ("topicture.app.taggings", "Taggings", "TrainingTags"),
        ("topicture.collection.keywords", "photo_keywords", "photo_keywords"),
        ("topicture.collection.scenes", "render_scenes", "render_scenes"),
        ("topicture.collection.scenes.canvas", "Canvas", "Canvas"),
        ("topicture.experiments.blei2003_report", "main", "main"),
        ("topicture.models.corr_lda", "CorrLDA", "CorrLDA"),
        ("topicture.models.em", "fit", "fit"),
        ("topicture.search", "relevant", "relevant"),
    ],
)
def test_a_moved_name_comes_with_a_warning(module, name, now):
    with pytest.warns(DeprecationWarning, match=rf"{module}\.{name} is now in topicture"):
        assert getattr(import_module(module), name).__name__ == now


def test_what_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        import_module("topicture.models.no_such_model")
    for module in ("topicture.models.corr_lda", "topicture.search"):
        with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
            import_module(module).no_such_name  # noqa: B018


@pytest.mark.parametrize(
    "report", ["auto_report", "blei2003_report", "descriptors", "presence_report", "yang2010_settings"]
)
def test_reports_run_under_their_earlier_names(report, monkeypatch, capsys):
    old = f"topicture.experiments.{report}"
    new = _table()[old][-1][0]
    for module in (old, new):  # as in a process of its own
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(sys, "argv", ["report", "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module(old, run_name="__main__", alter_sys=True)
    out, err = capsys.readouterr()
    assert end.value.code == 0
    assert "usage" in out
    assert f"{old} is now {new}" in err


def test_renamed_attributes(tmp_path):
    with pytest.warns(DeprecationWarning, match="is now .source"):
        assert Skipped("a.jpg", "unreadable").path == "a.jpg"
    with pytest.warns(DeprecationWarning, match="is now .in_memory"):
        assert Batches(Corpus.from_arrays(captions=np.eye(2)), ("captions",)).kept
    with Catalog.create(tmp_path) as catalog:
        with pytest.warns(DeprecationWarning, match="is now .files"):
            assert catalog.places is catalog.files
        with pytest.warns(DeprecationWarning, match="is now .sidecar_record"):
            assert catalog.writes is catalog.sidecar_record


# --- Names that had to be made anew -------------------------------------------------------------------------------


def earlier(module, name):
    with pytest.warns(DeprecationWarning, match="is now in"):
        return getattr(import_module(module), name)


def test_blocks_and_relevance_for_a_search(tmp_path):
    class Fixed:
        def annotate(self, corpus):
            return np.full((len(corpus), 2), 0.5) * [1, corpus.captions.toarray()[0, 1]]

    captions = np.array([[1, 0], [1, 1], [0, 1]])
    blocks = earlier("topicture.search", "annotated_blocks")(
        Fixed(), Corpus.from_arrays(captions=captions), n_images=2
    )
    vocabulary = Vocabulary(["tiger", "water"])
    index = WordIndex.build(tmp_path / "index", vocabulary, ["a", "b", "c"], blocks)
    np.testing.assert_allclose(np.exp(index.log_p[0]), 0.5)
    np.testing.assert_allclose(np.exp(index.log_p[1]), [0, 0, 0.5])
    relevant = earlier("topicture.search.query", "relevant")
    assert relevant(index.parse("tiger"), captions).tolist() == [True, True, False]
    assert relevant(index.parse("tiger -water"), captions).tolist() == [True, False, False]


@pytest.mark.parametrize("name", ["arff", "coco", "csv_long", "csv_wide", "cvat", "jsonl", "labelme", "voc"])
def test_writers_of_single_formats(tmp_path, name):
    target = tmp_path / {"arff": "t.arff", "coco": "t.json", "cvat": "t.xml", "jsonl": "t.jsonl"}.get(
        name, "t.csv" if "csv" in name else "folder"
    )
    earlier(f"topicture.collection.formats.{name}", "write")(target, [Item("a.jpg", ("tiger", "grass"))])
    items = read_annotations(target, name.replace("_", "-")).items
    assert [(item.path, sorted(item.words)) for item in items] == [("a.jpg", ["grass", "tiger"])]


def test_single_changes_to_xmp():
    xmp = "topicture.collection.xmp_edit"
    tree = earlier(xmp, "new_document")()
    subject = earlier("topicture.collection.xmp", "DC") + "subject"
    assert earlier(xmp, "add_value")(tree, subject, "tiger")
    assert not earlier(xmp, "add_value")(tree, subject, "tiger")
    item = earlier(xmp, "append_item")(tree, subject)
    item.text = "grass"
    earlier(xmp, "lay_out")(item)
    assert earlier(xmp, "values")(tree, subject) == {"tiger", "grass"}
    earlier(xmp, "remove_value")(tree, subject, "tiger")
    earlier(xmp, "drop_item")(item)
    assert earlier(xmp, "values")(tree, subject) == set()
    region = earlier("topicture.collection.sidecar_values", "ObjectRegion")("tiger", 0.1, 0.1, 0.5, 0.5)
    assert earlier("topicture.collection.sidecar_regions", "set_regions")(tree, "tiger", [region])
    assert earlier("topicture.collection.sidecar_regions", "drop_regions")(tree, "tiger")
    assert earlier("topicture.collection.written", "records")(tree) == []
    assert earlier("topicture.collection.written", "record_of")(tree, "tiger") is None


def test_small_functions(tmp_path):
    log_softmax = earlier("topicture.models.expfam", "log_softmax")
    np.testing.assert_allclose(log_softmax(np.array([0.0, 0.0])), np.log([0.5, 0.5]), rtol=1e-6)
    np.testing.assert_allclose(log_softmax(np.full(4, -np.inf)), -np.log(4), rtol=1e-6)
    with_labels = earlier("topicture.vision.measure", "with_labels")
    assert with_labels(b"hash", None) == b"hash"
    assert with_labels(b"hash", np.zeros((2, 2), np.int32)) not in (b"hash", with_labels(b"other", None))
    stamp_of_file = earlier("topicture.app.sidecar_stamps", "stamp_of_file")
    assert stamp_of_file(tmp_path / "a.xmp") == ""
    (tmp_path / "a.xmp").write_text("12345")
    assert stamp_of_file(tmp_path / "a.xmp").startswith("5 ")


def test_public_names():
    assert {
        "Annotator",
        "AnnotatorClassifier",
        "Corpus",
        "TopictureError",
        "Vocabulary",
        "load_annotator",
        "make_annotator",
        "model_names",
    } <= set(tp.__all__)
