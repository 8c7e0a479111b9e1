"""From a text encoder to learned word terms: real ONNX graphs for pictures and texts, by library and tool."""

import io
import json

import numpy as np
import pytest
from photo_folder import put, xmp
from PIL import Image
from text_encoders import N_CELLS, write_network, write_table

import topicture as tp
from topicture.annotations.measures.retrieval import average_precisions
from topicture.app.verbs.library import Library
from topicture.errors import CorpusError, DataNotFound, ModelFileError
from topicture.models.blends.auto import Auto
from topicture.store import Catalog
from topicture.vision.networks.word_vectors import word_vectors
from topicture.vision.pipeline import describe
from topicture.vision.recipe import Recipe

PUBLIC = ("rose", "grass", "sea", "sand", "snow", "brick", "cloud", "straw", "moss", "rust", "slate", "wheat")
PRIVATE = ("Rex", "Anna", "Trude", "Lisl")
WORDS = (*PUBLIC, *PRIVATE)
MISTAKEN, BLUR = 0.5, 30.0


def draw(rng, n_photos):
    """Looks of all words, which words each photo shows, and pixels (32, 32, 3): the looks of its words and noise."""
    looks = rng.normal(size=(len(WORDS), N_CELLS))
    truth = rng.random((n_photos, len(WORDS))) < 0.12
    truth[np.arange(n_photos), rng.integers(len(WORDS), size=n_photos)] = True
    cells = 127.5 + 25 * truth @ looks + BLUR * rng.normal(size=(n_photos, N_CELLS))
    squares = cells.reshape(-1, 3, 8, 8).repeat(4, axis=2).repeat(4, axis=3).transpose(0, 2, 3, 1)
    return looks, truth, np.clip(squares, 0, 255).astype(np.uint8)


def few_tags(rng, truth, n, n_tagged):
    """Tags of the first photos: every word on `n` of them that show it, chosen at random."""
    tags = np.zeros_like(truth)
    for w in range(truth.shape[1]):
        shown = np.flatnonzero(truth[:n_tagged, w])
        tags[rng.permutation(shown)[:n], w] = True
    return tags


def png(pixels):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def network_of(folder, looks):
    """An encoder that knows the looks of the public words, not quite right."""
    return write_network(folder, dict(zip(PUBLIC, looks, strict=False)), noise=MISTAKEN)


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """Photos, their true words, three tags of every word, and a network with a text encoder."""
    folder, rng = tmp_path_factory.mktemp("texts"), np.random.default_rng(2)
    looks, truth, pixels = draw(rng, 300)
    tags = few_tags(rng, truth, 3, 100)
    paths = [put(folder / f"{i:03d}.png", png(one)) for i, one in enumerate(pixels)]
    captions = [[word for word, tag in zip(WORDS, row, strict=True) if tag] for row in tags]
    return paths, truth, captions, network_of(folder, looks)


@pytest.fixture(scope="module")
def corpus(collection):
    paths, _, captions, network = collection
    recipe = Recipe(("deep",), network=str(network))
    return describe(paths, recipe, captions=captions, vocabulary=WORDS, workers=0).corpus


def quality(model, corpus, truth):
    """Mean average precision over words, on photos without tags: of public words, and of private ones."""
    found = average_precisions(model.annotate(corpus)[~corpus.tagged], truth[~corpus.tagged])
    return found[: len(PUBLIC)].mean(), found[len(PUBLIC) :].mean()


# --- The library -------------------------------------------------------------------------------------------------


def test_described_photos_bring_vectors_of_their_words(corpus, collection):
    assert corpus.word_vectors.shape == (len(WORDS), corpus.descriptor.shape[1])
    np.testing.assert_array_equal(corpus.word_vectors, word_vectors(collection[3], WORDS, workers=0))
    paths, _, _, network = collection
    unlearned = describe(paths[:2], Recipe(("deep",), network=str(network)), vocabulary=WORDS, workers=0)
    assert unlearned.corpus.word_vectors is None  # nothing is learned from these


def test_texts_help_words_with_three_photos(corpus, collection):
    """Three tags of every word: what texts add to the best of those that learn from photos alone."""
    truth = collection[1]
    alone = tp.make_annotator("text-match").fit(corpus)
    known, unknown = alone.weights_[: len(PUBLIC)], alone.weights_[len(PUBLIC) :]
    assert known.mean() > 1
    assert unknown.mean() < 0.6 * known.mean()
    members = ["knn", "ridge", "logistic"]
    without = quality(Auto(members).fit(corpus), corpus, truth)
    blend = Auto([*members, "text-match"]).fit(corpus)
    public, private = quality(blend, corpus, truth)
    assert public > without[0] + 0.1
    assert private > without[1] - 0.1  # three photos do not always tell that a text says nothing
    assert next(row.weight for row in blend.report_ if row.member == "text-match") > 0


def test_a_word_that_comes_up_later_has_a_vector_at_once(collection):
    paths, _, captions, network = collection
    later = [[*words, "moss garden"] if i == 4 else words for i, words in enumerate(captions)]
    recipe = Recipe(("deep",), network=str(network))
    corpus = describe(paths, recipe, captions=later, workers=0).corpus
    assert corpus.word_vectors[corpus.vocabulary.index("moss garden")].any()


def test_a_table_for_pictures_of_another_width_is_refused(collection, tmp_path, rng):
    paths, _, captions, _ = collection
    network = write_network(tmp_path, {}, manifest={"text": "words.safetensors", "tokenizer": None})
    write_table(
        tmp_path / "words.safetensors", ["rose"], np.ones((1, 7), np.float32), tmp_path / "vision.onnx"
    )
    with pytest.raises(CorpusError, match="7 columns, but the descriptor has 96"):
        describe(paths, Recipe(("deep",), network=str(network)), captions=captions, workers=0)


def test_a_bad_table_is_told_before_photos_are_looked_at(collection, tmp_path):
    paths, _, captions, _ = collection
    network = write_network(tmp_path, {}, manifest={"text": "words.safetensors", "tokenizer": None})
    (tmp_path / "words.safetensors").write_bytes(b"nothing")
    looked = []
    with pytest.raises(ModelFileError, match="not a table"):
        describe(
            paths,
            Recipe(("deep",), network=str(network)),
            captions=captions,
            workers=0,
            progress=lambda *step: looked.append(step),
        )
    assert not looked


def test_other_views_have_no_texts(collection):
    """What is not the network's own output is not in its space."""
    paths, _, captions, network = collection
    recipe = Recipe(("colour-layout",), network=str(network), max_side=32)
    assert describe(paths[:20], recipe, captions=captions[:20], workers=0).corpus.word_vectors is None


# --- The tool ----------------------------------------------------------------------------------------------------


@pytest.fixture
def library(tmp_path):
    """A catalog of sixty photos, 45 of them with keywords, to be measured by a network with texts."""
    rng = np.random.default_rng(4)
    looks, truth, pixels = draw(rng, 60)
    (tmp_path / "network").mkdir()
    network = network_of(tmp_path / "network", looks)
    for number, (one, row) in enumerate(zip(pixels, truth, strict=True)):
        stream = io.BytesIO()
        words = [word for word, shown in zip(WORDS, row, strict=True) if shown]
        Image.fromarray(one).save(stream, "JPEG", quality=95, **({"xmp": xmp(words)} if number < 45 else {}))
        put(tmp_path / "photos" / f"{number:02d}.jpg", stream.getvalue())
    recipe = {"views": ["deep"], "network": str(network)}
    library = Library.create(tmp_path / "photos", recipe=recipe)
    library.scan()
    return library


def test_learn_asks_the_encoder_and_annotate_does_not(library, tmp_path):
    report = library.learn("text-match", regions=False, workers=1)
    assert report.model == "text-match"
    # What was learned is in the model.
    (tmp_path / "network" / "text.onnx").unlink()
    (tmp_path / "network" / "tokenizer.json").unlink()
    library.annotate(workers=0)
    found = library.search("moss", limit=5)
    assert len(found) == 5
    with pytest.raises(DataNotFound, match=r"text\.onnx"):
        library.learn("text-match", regions=False, workers=0)


@pytest.mark.slow  # tries every model twice
def test_texts_may_be_added_to_a_catalog_later(library, tmp_path):
    def members():
        return {trial.model for trial in library.learn("auto", regions=False, workers=0).trials}

    path = tmp_path / "network" / "clip.json"
    whole = path.read_text()
    bare = {key: value for key, value in json.loads(whole).items() if key not in ("text", "tokenizer")}
    path.write_text(json.dumps(bare))
    assert "text-match" not in members()
    path.write_text(whole)
    assert "text-match" in members()


def test_init_knows_the_network_from_any_folder(collection, tmp_path, monkeypatch, topicture):
    photos = tmp_path / "photos"
    put(photos / "one.png", collection[0][0].read_bytes())
    monkeypatch.chdir(collection[3].parent)
    assert topicture("init", photos, "--network", "clip.json", "--view", "deep")[0] == 0
    with Catalog.open(photos / ".topicture") as catalog:
        assert catalog.get("recipe")["network"] == str(collection[3])


@pytest.mark.parametrize("damaged", ["clip.json", "tokenizer.json"])
def test_init_refuses_a_network_that_is_of_no_use(damaged, collection, tmp_path, topicture):
    photos, folder = tmp_path / "photos", tmp_path / "network"
    put(photos / "one.png", collection[0][0].read_bytes())
    folder.mkdir()
    network = write_network(folder, {})
    (folder / damaged).write_text("{")
    code, _, told = topicture("init", photos, "--network", network)
    assert code != 0
    assert damaged in told
    assert not (photos / ".topicture").exists()
