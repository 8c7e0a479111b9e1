"""The catalog: decisions, undo, places, one writer, damage, backup."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from privileges import give_away, without_privileges

from topicture.collection.metadata.word_sources import PHOTO, WordSource
from topicture.store import Catalog, CatalogBusy, CatalogError
from topicture.store.decisions.decisions import Decision
from topicture.store.migrations import STEPS, VERSION
from topicture.store.safety.checks import back_up, problems


@pytest.fixture
def catalog(tmp_path):
    (tmp_path / "photos").mkdir()
    with Catalog.create(tmp_path / "photos") as catalog:
        yield catalog


def add(catalog, path="a.jpg", content=b"a" * 32):
    with catalog.database.transaction():
        return catalog.files.put(path, content, 10, 20, "")


def said(*words, origin=PHOTO, whole=True):
    return [WordSource(origin, frozenset(words), whole=whole)]


def verdicts(catalog, image):
    return {tag.word: tag.verdict for tag in catalog.decisions.tags_of(image)}


# --- Opening ------------------------------------------------------------------------------------------------------


def test_a_second_writer_is_told_who_holds_the_catalog(catalog):
    with pytest.raises(CatalogBusy, match=rf"'topicture init' \(process {os.getpid()} on .* since \d{{4}}-"):
        Catalog.open(catalog.folder, write=True, command="scan")


def test_readers_go_on_while_somebody_writes(catalog):
    image = add(catalog)
    with Catalog.open(catalog.folder) as reader, catalog.database.transaction():
        catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
        assert reader.decisions.tags_of(image) == []


def test_the_lock_of_a_killed_process_is_free(catalog):
    folder = catalog.folder
    catalog.close()
    code = f"""
import os, signal
from pathlib import Path
from topicture.store import Catalog
Catalog.open(Path({os.fspath(folder)!r}), write=True, command="scan")
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    Catalog.open(folder, write=True, command="learn").close()


def test_a_catalog_is_not_made_twice(catalog):
    catalog.close()
    with pytest.raises(CatalogError, match="there is a catalog already"):
        Catalog.create(catalog.folder.parent)
    Catalog.open(catalog.folder, write=True).close()


def test_no_catalog_is_told_with_the_remedy(tmp_path):
    with pytest.raises(CatalogError, match="topicture init"):
        Catalog.open(tmp_path)


def test_a_foreign_database_is_left_alone(tmp_path):
    path = tmp_path / "catalog.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(CatalogError, match="another program"):
        Catalog.open(tmp_path, write=True)
    assert path.read_bytes() == before


def test_a_newer_catalog_is_refused(catalog):
    catalog.database.execute(f"PRAGMA user_version = {VERSION + 1}")
    folder = catalog.folder
    catalog.close()
    with pytest.raises(CatalogError, match="newer Topicture"):
        Catalog.open(folder)


@pytest.mark.parametrize("damage", [b"not a database at all" * 100, b""])
def test_a_damaged_catalog_gives_one_clear_line(catalog, damage):
    folder = catalog.folder
    catalog.close()
    (folder / "catalog.sqlite").write_bytes(damage)
    with pytest.raises(CatalogError) as error:
        Catalog.open(folder)
    assert "\n" not in str(error.value)


def test_a_read_only_folder_can_still_be_read():
    with tempfile.TemporaryDirectory(prefix="topicture-test-") as name:
        root = Path(name)
        with Catalog.create(root) as catalog:
            image = add(catalog)
            catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
        give_away(root, *root.rglob("*"))
        for path in (root / ".topicture", *root.rglob(".topicture/*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        with without_privileges():
            with Catalog.open(root / ".topicture") as reader:
                assert verdicts(reader, image) == {"tiger": "present"}
            with pytest.raises(CatalogError, match="can't be written"):
                Catalog.open(root / ".topicture", write=True)
        (root / ".topicture").chmod(0o755)


def test_every_step_of_the_schema_is_applied_once(catalog):
    assert len(STEPS) == VERSION == catalog.database.execute("PRAGMA user_version").fetchone()[0]
    folder = catalog.folder
    catalog.close()
    Catalog.open(folder, write=True).close()


def test_a_transaction_that_fails_changes_nothing(catalog):
    image = add(catalog)

    def decide_and_fail():
        with catalog.database.transaction():
            catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        decide_and_fail()
    assert catalog.decisions.tags_of(image) == []


# --- Decisions ----------------------------------------------------------------------------------------------------


def test_undo_takes_back_one_batch_at_a_time(catalog):
    a, b = add(catalog), add(catalog, "b.jpg", b"b" * 32)
    catalog.decisions.decide([Decision(a, "tiger", "present")], "file")
    catalog.decisions.decide([Decision(a, "tiger", "rejected"), Decision(b, "grass", "present")], "bulk")
    catalog.decisions.decide([Decision(b, "grass", "rejected")], "review")
    assert catalog.decisions.undo().source == "review"
    assert verdicts(catalog, b) == {"grass": "present"}
    assert len(catalog.decisions.undo().decisions) == 2
    assert (verdicts(catalog, a), verdicts(catalog, b)) == ({"tiger": "present"}, {})
    assert catalog.decisions.undo() is None  # what stands in files is not ours to undo
    assert problems(catalog) == []


def test_the_log_keeps_what_was_undone(catalog):
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "tiger", "present", 7, 0.8)], "review")
    catalog.decisions.undo()
    rows = catalog.database.execute(
        "SELECT verdict, model, probability, undoes FROM decisions ORDER BY id"
    ).fetchall()
    assert rows == [("present", 7, 0.8, None), ("cleared", None, None, 1)]


def test_deleting_a_tag_rejects_it_everywhere_and_can_be_undone(catalog):
    a, b = add(catalog), add(catalog, "b.jpg", b"b" * 32)
    catalog.decisions.decide([Decision(a, "tiger", "present"), Decision(b, "tiger", "present")], "file")
    assert catalog.decisions.delete_word("tiger") == 2
    assert verdicts(catalog, a) == verdicts(catalog, b) == {"tiger": "rejected"}
    assert catalog.decisions.deleted_words() == {"tiger"}
    catalog.decisions.undo()
    assert verdicts(catalog, a) == {"tiger": "present"}
    assert catalog.decisions.deleted_words() == set()


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.just("undo"),
            st.tuples(
                st.sampled_from(["present", "rejected", "cleared"]),
                st.sampled_from(["file", "review", "bulk", "import"]),
                st.sets(st.integers(0, 2), min_size=1),
            ),
        ),
        max_size=12,
    )
)
def test_whatever_is_decided_and_undone_tags_are_the_last_word_of_the_log(tmp_path_factory, steps):
    root = tmp_path_factory.mktemp("photos")
    with Catalog.create(root) as catalog:
        images = [add(catalog, f"{i}.jpg", bytes([i]) * 32) for i in range(3)]
        for step in steps:
            if step == "undo":
                catalog.decisions.undo()
            else:
                verdict, source, chosen = step
                catalog.decisions.decide([Decision(images[i], "tiger", verdict) for i in chosen], source)
        assert problems(catalog) == []


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["present", "rejected"]), st.integers(0, 2)), max_size=8))
def test_undoing_everything_leads_back_to_the_start(tmp_path_factory, steps):
    with Catalog.create(tmp_path_factory.mktemp("photos")) as catalog:
        images = [add(catalog, f"{i}.jpg", bytes([i]) * 32) for i in range(3)]
        catalog.decisions.decide([Decision(images[0], "tiger", "present")], "file")
        before = list(catalog.decisions.all_tags())
        for verdict, i in steps:
            catalog.decisions.decide([Decision(images[i], "tiger", verdict)], "review")
        while catalog.decisions.undo() is not None:
            pass
        assert list(catalog.decisions.all_tags()) == before


# --- Keywords in files --------------------------------------------------------------------------------------------


def test_a_rejected_keyword_that_stays_in_the_file_is_no_news(catalog):
    image = add(catalog)
    catalog.file_words.update("a.jpg", image, said("tiger"))
    catalog.decisions.decide([Decision(image, "tiger", "rejected")], "review")
    catalog.file_words.update("a.jpg", image, said("tiger"))
    catalog.files.mark_gone(["a.jpg"])
    assert add(catalog, "moved/b.jpg") == image
    catalog.file_words.update("moved/b.jpg", image, said("tiger"))
    assert verdicts(catalog, image) == {"tiger": "rejected"}


def test_keywords_that_come_and_go_are_decisions(catalog):
    image = add(catalog)
    catalog.file_words.update("a.jpg", image, said("tiger", "grass"))
    catalog.file_words.update("a.jpg", image, said("grass"))
    assert verdicts(catalog, image) == {"grass": "present"}
    catalog.file_words.update("a.jpg", image, said("grass", "tiger"))
    assert verdicts(catalog, image) == {"grass": "present", "tiger": "present"}


def test_a_word_planned_for_writing_is_not_taken_for_a_keyword(catalog):
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
    catalog.sidecar_record.plan(catalog.sidecar_record.due())
    catalog.file_words.update("a.jpg", image, said())  # the sidecar was never written: not a removal
    assert verdicts(catalog, image) == {"tiger": "present"}
    catalog.file_words.update("a.jpg", image, said("tiger"))  # it was written, then the process was killed
    catalog.decisions.decide([Decision(image, "tiger", "rejected")], "review")
    catalog.file_words.update("a.jpg", image, said("tiger"))
    assert verdicts(catalog, image) == {"tiger": "rejected"}
    assert [due.remove for due in catalog.sidecar_record.due()] == [("tiger",)]


# --- Writes -------------------------------------------------------------------------------------------------------


def test_what_stands_in_the_file_already_is_not_written(catalog):
    image = add(catalog)
    catalog.file_words.update("a.jpg", image, said("tiger"))
    catalog.decisions.decide([Decision(image, "tiger", "rejected")], "review")
    catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
    assert catalog.sidecar_record.due() == []


def test_confirming_a_bulk_acceptance_makes_it_a_persons(catalog):
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "tiger", "present", 1, 0.97)], "bulk")
    (due,) = catalog.sidecar_record.due()
    assert due.add[0] == ("tiger", True, 0.97)
    catalog.sidecar_record.plan([due])
    catalog.sidecar_record.finish(due, "300 20 a.jpg.xmp")
    assert catalog.sidecar_record.due() == []
    catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
    (due,) = catalog.sidecar_record.due()
    assert not due.add[0].by_machine
    assert catalog.sidecar_record.count_due() == 1


def test_failed_writes_stay_due_with_their_reason(catalog):
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
    (due,) = catalog.sidecar_record.due()
    catalog.sidecar_record.plan([due])
    catalog.sidecar_record.fail(due.path, "Read-only file system")
    assert catalog.sidecar_record.count_due() == 1
    assert [(trouble.path, trouble.reason) for trouble in catalog.sidecar_record.troubles()] == [
        ("a.jpg", "Read-only file system")
    ]


# --- Paths, backup, check ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["new\nline.jpg", "-rf.jpg", "quote'\".jpg", os.fsdecode(b"\xff\xfe.jpg"), "x" * 250]
)
def test_paths_are_kept_to_the_byte(catalog, path):
    image = add(catalog, path)
    assert catalog.files.paths_of(image) == [path]
    assert path in catalog.files.known()


def test_backup_is_a_catalog_in_its_turn(catalog, tmp_path):
    image = add(catalog)
    catalog.decisions.decide([Decision(image, "tiger", "present")], "review")
    back_up(catalog, tmp_path / "copy")
    with Catalog.open(tmp_path / "copy") as copy:
        assert verdicts(copy, image) == {"tiger": "present"}
        assert copy.root == catalog.root
        assert problems(copy) == []
    with pytest.raises(CatalogError, match="exists already"):
        back_up(catalog, tmp_path / "copy")


def test_check_finds_tags_without_a_decision(catalog):
    image = add(catalog)
    word = catalog.decisions.word_id("tiger")
    catalog.database.execute("INSERT INTO tags VALUES (?, ?, 'present', 'review', 99)", (image, word))
    assert problems(catalog) == ["database: tags without a decision behind them: 1"]


def test_check_finds_a_model_without_files(catalog):
    catalog.suggestions.add_model("0001", "lsa", 1, {})
    assert ["no such model file" in problem for problem in problems(catalog)] == [True]


def test_a_catalog_inside_its_collection_moves_along(catalog, tmp_path):
    catalog.close()
    (tmp_path / "photos").rename(tmp_path / "moved")
    with Catalog.open(tmp_path / "moved" / ".topicture") as moved:
        assert moved.root == tmp_path / "moved"


def test_settings_are_json(catalog):
    catalog.set("recipe", {"views": ["deep"]})
    assert catalog.get("recipe") == json.loads('{"views": ["deep"]}')
