"""`annotate --everything` finds words that owners forgot: a photo's own tags take no part in what is said about it."""

import io

import numpy as np
import pytest
from photo_folder import RECIPE, put, xmp
from PIL import Image

from topicture.app.verbs.library import Library
from topicture.models.blends import members

COLOURS = {"meadow": (60, 160, 70), "sea": (50, 90, 190), "desert": (200, 170, 90)}
N_TAGGED, N = 72, 96
FORGETFUL = (0, 1, 2, 3)  # of the photos of the sea, in which all others are tagged "water" too


def kind_of(number):
    return list(COLOURS)[(number + 1) % 3]


def photo(number, keywords):
    """A picture whose colour tells its kind; apart from that no two are alike."""
    rng = np.random.default_rng(number)
    patches = Image.fromarray(rng.integers(0, 256, (4, 5, 3), dtype=np.uint8)).resize(
        (40, 30), Image.Resampling.BICUBIC
    )
    pixels = (0.5 * np.array(COLOURS[kind_of(number)]) + 0.5 * np.asarray(patches)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=90, **({"xmp": xmp(keywords)} if keywords else {}))
    return stream.getvalue()


def is_sea(number):
    return kind_of(number) == "sea"


SEAS = [number for number in range(N) if is_sea(number)]
FORGOT = {SEAS[i] for i in FORGETFUL}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("photos")


@pytest.fixture(scope="module")
def library(root):
    for number in range(N):
        words = [kind_of(number)] + ["water"] * (is_sea(number) and number not in FORGOT)
        put(root / f"photo-{number:03d}.jpg", photo(number, words if number < N_TAGGED else ()))
    library = Library.create(root, recipe=RECIPE)
    library.scan()
    return library


def probabilities(library, word):
    """Number of the photo -> probability of the word."""
    return {
        int(question.path[6:9]): question.probability
        for question in library.queue(limit=10_000)
        if question.word == word
    }


@pytest.mark.parametrize("model", ["logistic", "auto"])
def test_a_forgotten_word_is_as_probable_as_on_an_untagged_photo(library, model, monkeypatch):
    # Few and quick, and all the time they want: who is in the blend does not depend on how busy the machine is.
    monkeypatch.setattr(members, "MEMBERS", ("naive-bayes", "knn", "logistic"))
    library.learn(model, regions=False, workers=0, budget_seconds=3600)
    library.annotate(everything=True, threshold=0.0, workers=0)
    water = probabilities(library, "water")
    forgot = np.mean([water[number] for number in FORGOT])
    untagged = np.mean([water[number] for number in SEAS if number >= N_TAGGED])
    others = np.mean([p for number, p in water.items() if not is_sea(number)])
    assert untagged > others + 0.4
    assert forgot == pytest.approx(untagged, abs=0.15)


def test_a_model_of_old_answers_itself(library, model_folder):
    """Its folder holds no answers for hidden tags."""
    (model_folder / "answers.safetensors").unlink()
    library.annotate(everything=True, threshold=0.0, workers=0)
    assert len(probabilities(library, "water")) > N - len(SEAS)


def test_damaged_answers_are_told(root, model_folder, topicture):
    (model_folder / "answers.safetensors").write_bytes(b"nothing")
    code, _, error = topicture("annotate", "--workers", 0, catalog=root / ".topicture")
    assert code != 0
    assert "answers.safetensors" in error
    assert len(error.strip().splitlines()) == 1


@pytest.fixture
def model_folder(library, root):
    library.learn("knn", regions=False, workers=0)
    return max((root / ".topicture" / "models").iterdir())
