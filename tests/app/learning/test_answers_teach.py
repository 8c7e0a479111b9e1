"""Every accept and reject in review is a label of that word alone, for the models as for the probabilities."""

import numpy as np
import pytest
from photo_folder import N_TAGGED, jpeg, make_library, put, words_of

from topicture.app.learning import training_tags
from topicture.app.learning.learning import look_at
from topicture.app.learning.model_folder import load_learned
from topicture.app.learning.training_tags import gather
from topicture.app.progress import silent
from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision

N_POSITIVE, N_REJECTED = 40, 100


@pytest.fixture
def library(tmp_path):
    return make_library(tmp_path / "photos")


def number(path):
    return int(path.split("-")[-1].removesuffix(".jpg"))


def decide(library, verdicts, source="review", probability=None):
    """Verdicts are (number of the photo, word, verdict), on what a model had suggested where it told a probability."""
    with Catalog.open(library.folder, write=True) as catalog:
        images = {number(path): catalog.files.at(path).image for path in catalog.files.known()}
        catalog.decisions.decide(
            [Decision(images[n], word, verdict, None, probability) for n, word, verdict in verdicts], source
        )


def gathered(library):
    """What is learned from: captions and answers by the number of the photo."""
    with Catalog.open(library.folder) as catalog:
        tags = gather(catalog, 3)
    numbers = [number(image.path) for image in tags.images]
    answers = {
        (numbers[row], tags.vocabulary[word]): int(tags.answers[row, word])
        for row, word in zip(*tags.answers.nonzero(), strict=True)
    }
    return dict(zip(numbers, tags.captions, strict=True)), answers


def model_of(library):
    with Catalog.open(library.folder) as catalog:
        return load_learned(catalog.model_folder(catalog.suggestions.models()[0]))


def test_what_was_answered_about_untagged_photos_is_no_caption(library):
    first, second = N_TAGGED, N_TAGGED + 1
    decide(library, [(first, "rose", "present"), (first, "sea", "rejected"), (second, "grass", "rejected")])
    captions, answers = gathered(library)
    assert captions[first] == captions[second] == []
    assert answers == {(first, "rose"): 1, (first, "sea"): -1, (second, "grass"): -1}


def test_what_was_answered_about_tagged_photos_completes_their_captions(library):
    upper, lower = words_of(5)
    assert upper != lower
    missing = next(word for word in ("rose", "sea", "grass") if word not in (upper, lower))
    decide(library, [(5, missing, "present"), (5, upper, "rejected")])
    captions, answers = gathered(library)
    assert set(captions[5]) == {lower, missing}
    assert answers == {}


def test_a_photo_whose_only_tag_was_rejected_has_no_caption_any_more(library):
    (word,) = set(words_of(1))
    decide(library, [(1, word, "rejected")])
    captions, answers = gathered(library)
    assert captions[1] == []
    assert answers == {(1, word): -1}


def test_what_the_machine_accepted_is_no_answer(library):
    decide(library, [(N_TAGGED, "rose", "present")], "bulk")
    assert gathered(library)[1] == {}
    decide(library, [(N_TAGGED, "rose", "present")])  # a person confirms it
    assert gathered(library)[1] == {(N_TAGGED, "rose"): 1}


def test_where_owners_captions_are_few_accepted_words_stand_in_for_them(tmp_path):
    library = make_library(tmp_path / "photos", n=20, tagged=4)
    verdicts = [(n, word, "present") for n in range(4, 12) for word in sorted(set(words_of(n)))]
    decide(library, [*verdicts, (15, "rose", "rejected")])
    captions, answers = gathered(library)
    assert all(captions[n] for n in range(12))
    assert answers == {(15, "rose"): -1}


@pytest.fixture
def few_teach(monkeypatch):
    """However few answers there are, models learn from them."""
    monkeypatch.setattr(training_tags, "LEAST_TEACHING", 0.0)


def test_few_answers_correct_promises_and_teach_no_model(library):
    """Half as many answers as words of captions are enough."""
    with Catalog.open(library.folder) as catalog:
        n_given = sum(len(words) for words in gather(catalog, 3).captions)
    unasked = range(N_TAGGED, N_TAGGED + n_given)
    verdicts = [(n, word, "rejected") for n in unasked for word in ("rose", "sea", "grass")]
    known = {number(path) for path in photo_paths(library)}
    verdicts = [one for one in verdicts if one[0] in known]
    enough = -(-n_given // 2)
    assert len(verdicts) >= enough
    decide(library, verdicts[: enough - 1], probability=0.5)
    assert teaching(library) == 0
    decide(library, verdicts[enough - 1 : enough], probability=0.5)
    assert teaching(library) == enough


def test_what_nobody_had_suggested_teaches_at_once(library):
    decide(library, [(N_TAGGED, "rose", "present")], probability=0.5)
    decide(library, [(N_TAGGED + 1, "rose", "present"), (N_TAGGED + 2, "sea", "rejected")])
    assert teaching(library) == 2


def photo_paths(library):
    with Catalog.open(library.folder) as catalog:
        return list(catalog.files.known())


def teaching(library):
    with Catalog.open(library.folder) as catalog:
        return gather(catalog, 3).teaching.nnz


@pytest.mark.parametrize("model", ["ridge", "knn", "logistic", pytest.param("auto", marks=pytest.mark.slow)])
@pytest.mark.usefixtures("few_teach")
def test_models_learn_from_answers(library, model):
    decide(library, [(n, "rose", "present" if "rose" in words_of(n) else "rejected") for n in range(48, 60)])
    report = library.learn(model, regions=False, workers=0)
    assert report.tagged == N_TAGGED + sum("rose" in words_of(n) for n in range(48, 60))
    annotator = model_of(library).annotator
    members = annotator.members_ if model == "auto" else [annotator]
    assert any(getattr(m, "before_", None) or getattr(m, "answered_", None) for m in members)


@pytest.mark.usefixtures("few_teach")
def test_the_same_decisions_give_the_same_model(library):
    verdicts = [(n, "rose", "present" if "rose" in words_of(n) else "rejected") for n in range(48, 60)]
    found = []
    for again in (verdicts[:6], verdicts[6:], []):
        decide(library, again)
        library.learn("knn", regions=False, workers=0)
        found.append(model_of(library))
    first, second, third = (one.annotator._file_content()[1] for one in found)
    assert (len(first["answers.rows"]), len(second["answers.rows"])) == (6, 12)
    for name, array in second.items():
        np.testing.assert_array_equal(array, third[name])
    np.testing.assert_array_equal(found[1].calibration.answered.words, found[2].calibration.answered.words)


def average_precision(p, truth):
    hits = truth[np.argsort(-p, kind="stable")]
    return (np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean()


@pytest.mark.parametrize("model", ["ridge", "knn"])
@pytest.mark.parametrize("others", [(), ("sea",)], ids=["one word", "two words"])
def test_a_word_with_many_rejections_is_told_from_others(tmp_path, model, others):
    """40 photos have the word and nothing else is said of it but that 100 others have not."""
    root = tmp_path / "photos"
    having = [n for n in range(400) if "rose" in words_of(n)]
    lacking = [n for n in range(400) if "rose" not in words_of(n)]
    tagged, asked = having[:N_POSITIVE], lacking[: 2 * N_REJECTED : 2]
    for n in sorted({*having[:80], *lacking[: 2 * N_REJECTED]}):
        keywords = [word for word in ("rose", *others) if word in words_of(n)] if n in tagged else ()
        put(root / f"photo-{n:03d}.jpg", jpeg(n, keywords))
    library = make_library(root, n=0, tagged=0)
    decide(library, [(n, "rose", "rejected") for n in asked])
    library.learn(model, regions=False, workers=0)
    learned = model_of(library)
    with Catalog.open(library.folder) as catalog:
        images = [i for i in catalog.files.living() if number(i.path) not in {*tagged, *asked}]
        corpus = look_at(catalog, images, learned.features, 0, silent, vocabulary=learned.vocabulary).corpus
        by_id = {image.content.hex(): number(image.path) for image in images}
        presence = np.concatenate([b.p for b in learned.presence_blocks(corpus, [""] * len(corpus))])
    truth = np.array(["rose" in words_of(by_id[name]) for name in corpus.image_ids.tolist()])
    p = presence[:, learned.vocabulary.index("rose")]
    assert average_precision(p, truth) > truth.mean() + 0.3
