"""Whatever people edit, files say and undo or redo bring back, in any order: no ring, no word that is two things."""

import random
from contextlib import suppress

import pytest

from topicture.app.verbs.words.editing import delete_word, merge_words, rename_word, set_parent
from topicture.collection.metadata.word_sources import PHOTO, WordSource
from topicture.errors import TopictureError
from topicture.store import Catalog
from topicture.store.decisions.decisions import OURS, Decision
from topicture.store.safety.checks import problems

WORDS = "abcdef"
DEEDS = (
    "rename",
    "merge",
    "delete",
    "parent",
    "decide",
    "scan",
    "undo",
    "redo",
    "undo a step",
    "redo a step",
)


def do(catalog, chance, deed):
    one, two, three = (chance.choice(WORDS) for _ in range(3))
    match deed:
        case "rename":
            rename_word(catalog, one, two)
        case "merge":
            merge_words(catalog, [one, two], three)
        case "delete":
            delete_word(catalog, one)
        case "parent":
            set_parent(catalog, one, chance.choice([None, two]))
        case "decide":
            verdict = chance.choice(["present", "rejected", "cleared"])
            source = chance.choice(["review", "bulk", "import"])
            catalog.decisions.decide([Decision(chance.randint(1, 3), one, verdict)], source)
        case "scan":
            name = f"{chance.randint(1, 6)}.jpg"
            image = catalog.files.put(name, name.encode(), 1, 1, "")
            said = WordSource(PHOTO, frozenset(chance.sample(WORDS, 2)), paths=frozenset([(one, two)]))
            step = catalog.decisions.step(chance.choice(["scan", "file"]))
            catalog.file_words.update(name, image, [said], step)
            catalog.tree.note(name, image, [said])
            catalog.tree.settle(catalog.decisions.step("file"))
        case "undo" | "redo":
            getattr(catalog.decisions, deed)()
        case _:
            (last,) = catalog.database.execute("SELECT max(id) FROM batches").fetchone()
            getattr(catalog.decisions, deed.split()[0])(chance.randint(1, last))


HALF = {
    "a word that is in use and means another": "merged IS NOT NULL AND deleted IS NULL",
    "a name of a name": "merged IN (SELECT id FROM words WHERE merged IS NOT NULL)",
    "a verdict on a word that means another": "merged IS NOT NULL AND id IN (SELECT word FROM tags)",
    "a deleted word that would be written": "deleted IS NOT NULL AND id IN (SELECT word FROM tags "
    f"WHERE verdict = 'present' AND source IN {OURS})",
}


@pytest.mark.parametrize("seed", range(3))
def test_no_half_states(tmp_path, seed):
    chance = random.Random(seed)
    with Catalog.create(tmp_path) as catalog:
        for name in "123":
            catalog.files.put(f"{name}.jpg", f"{name}.jpg".encode(), 1, 1, "")
        catalog.decisions.decide([Decision(1, word, "present") for word in WORDS], "review")
        for _ in range(150):
            deed = chance.choice(DEEDS)
            with suppress(TopictureError):  # refused, which leaves everything as it was
                do(catalog, chance, deed)
            assert catalog.tree.rings() == [], deed
            for what, condition in HALF.items():
                query = f"SELECT word FROM words WHERE {condition}"
                assert catalog.database.execute(query).fetchall() == [], f"{what}, after {deed}"
        assert problems(catalog) == []
