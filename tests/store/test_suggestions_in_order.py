"""Open suggestions in order: the same as sorting all of them, without reading more than is asked for."""

import random
from itertools import islice

import pytest

from topicture.store import Catalog
from topicture.store.decisions.decisions import Decision


@pytest.fixture
def catalog(tmp_path):
    """40 images, 6 words, many equal probabilities; some suggestions decided, one word deleted, one image gone."""
    draw = random.Random(5)
    with Catalog.create(tmp_path) as catalog:
        with catalog.database.transaction():
            images = [catalog.files.put(f"{i}.jpg", bytes([i]) * 32, 1, 1, "") for i in range(40)]
            words = {word: catalog.decisions.word_id(word) for word in "abcdef"}
            model = catalog.suggestions.add_model("0001", "lsa", 1, {})
            other = catalog.suggestions.add_model("0002", "lsa", 1, {})
        rows = [
            (image, number, draw.choice([0.3, 0.4, 0.5, 0.6, draw.random()]))
            for image in images
            for number in words.values()
            if draw.random() < 0.6
        ]
        catalog.suggestions.replace(model, rows)
        catalog.suggestions.replace(other, [(images[0], words["a"], 0.99)])
        catalog.decisions.decide(
            [Decision(image, "a", "present") for image in images[:9]]
            + [Decision(image, "b", "rejected") for image in images[5:20]],
            "review",
        )
        catalog.decisions.delete_word("f")
        catalog.files.mark_gone(["7.jpg"])
        yield catalog


@pytest.mark.parametrize("word", [None, "a", "f", "unheard"])
def test_orders_are_those_of_sorting_everything(catalog, word):
    everything = catalog.suggestions.open(1, word=word)
    surest = sorted(everything, key=lambda s: (-s.probability, s.image, s.word))
    assert list(catalog.suggestions.surest(1, word=word)) == surest
    uncertain = sorted(everything, key=lambda s: (abs(s.probability - 0.5), s.image, s.word))
    assert list(catalog.suggestions.most_uncertain(1, word=word)) == uncertain
    assert set(catalog.suggestions.open_images(1, word=word)) == {s.image for s in everything}
    if word is None:
        assert {s.word for s in everything} == set("abcde")


def test_what_comes_after_a_suggestion(catalog):
    of_word = list(catalog.suggestions.surest(1, word="c"))
    for i, seen in enumerate(of_word):
        after = catalog.suggestions.surest(1, word="c", after=(seen.probability, seen.image))
        assert list(after) == of_word[i + 1 :]


def test_numbers_of_each_word(catalog):
    everything = catalog.suggestions.open(1)
    found = catalog.suggestions.open_by_word(1, gone=catalog.files.gone_images())
    assert {(each.word, each.open) for each in found} == {
        (word, sum(s.word == word for s in everything)) for word in "abcde"
    }
    for each in found:
        likely = [s.probability for s in everything if s.word == each.word and s.probability >= 0.5]
        assert each.likely == len(likely)
        assert each.right == pytest.approx(sum(likely))
    assert [each.right for each in found] == sorted((each.right for each in found), reverse=True)
    assert catalog.suggestions.open_by_word(1, "c", gone=catalog.files.gone_images()) == [
        each for each in found if each.word == "c"
    ]
    assert catalog.suggestions.open_by_word(1, "f") == catalog.suggestions.open_by_word(1, "unheard") == []


def test_the_first_few_are_found_without_reading_all(tmp_path):
    """Counted in steps of the database's machine: ten times as many suggestions must not take much longer."""

    def steps(n):
        root = tmp_path / str(n)
        root.mkdir()
        with Catalog.create(root) as catalog:
            with catalog.database.transaction():
                images = [
                    catalog.files.put(f"{i}.jpg", i.to_bytes(2, "big") * 16, 1, 1, "") for i in range(n)
                ]
                words = [catalog.decisions.word_id(f"w{i}") for i in range(5)]
                model = catalog.suggestions.add_model("0001", "lsa", 1, {})
            catalog.suggestions.replace(
                model,
                [(i, w, 0.3 + (i * 7919 % 1000) / 2000) for i in images for w in words],
            )
            catalog.database.execute(
                "CREATE INDEX IF NOT EXISTS suggestions_by_word ON suggestions (model, word, probability)"
            )
            counted = []
            catalog.database.connection.set_progress_handler(lambda: counted.append(1), 10)
            assert len(list(islice(catalog.suggestions.surest(model), 20))) == 20
            assert len(list(islice(catalog.suggestions.most_uncertain(model), 20))) == 20
            catalog.database.connection.set_progress_handler(None, 0)
            return len(counted)

    assert steps(2000) < 3 * steps(200)


def test_all_of_them_are_counted_without_looking_at_each(catalog):
    """Decided, of a word that nobody wants, of a photo without a file, or of one that another took the place of."""
    catalog.words.set_policy("e", "never", None)
    catalog.files.put("8.jpg", b"\x99" * 32, 1, 1, "")
    everything = catalog.suggestions.open(1)
    assert catalog.suggestions.count_open(1) == (len(everything), len({s.image for s in everything}))
    assert len({s.image for s in everything}) < 38
