"""What a scan changes: it asks before much goes, one undo takes it back, and what returns is as it was."""

import pytest
from decided_photos import later, state
from photo_folder import jpeg, make_library, put, xmp

from topicture.app.verbs.scanning import FEW_WITHDRAWN
from topicture.store import Catalog


@pytest.fixture
def library(tmp_path):
    return make_library(tmp_path / "photos", n=6, tagged=3)


@pytest.fixture
def root(library):
    return library.folder.parent


def tags(library, name):
    return {tag.word: (tag.verdict, tag.source) for tag in library.tags(name)}


def change(root, seconds=10):
    """Another program takes a keyword of its own out of one photo, and gives two others some."""
    later(put(root / "photo-000.jpg", jpeg(0)), seconds)
    later(put(root / "photo-002.jpg", jpeg(2, ["sea", "calm"])), seconds)
    later(put(root / "photo-004.jpg.xmp", xmp(["dusk"])), seconds)


def test_a_keyword_of_another_program_goes_as_it_came(library, root):
    change(root)
    report = library.scan()
    assert (report.decisions, report.withdrawn, report.conflicts) == (2, 1, ())
    assert tags(library, root / "photo-000.jpg") == {}


def test_one_undo_takes_a_scan_back_and_it_does_not_come_again(library, root, topicture):
    library.decide(root / "trip/photo-003.jpg", ["night"], "present")
    before = state(library)
    change(root)
    library.scan()
    assert state(library) != before
    assert topicture("undo", catalog=root)[1] == "Undid 3 decisions (scan): calm, dusk, rose\n"
    assert state(library) == before
    library.scan()
    for path in [*root.rglob("*.jpg"), *root.rglob("*.xmp")]:  # the same again, with another time
        later(path, 99)
    report = library.scan()
    assert report.changed == 6
    assert state(library) == before
    assert library.undo().source == "review"


def test_photos_that_are_new_are_no_step(library, root):
    library.decide(root / "photo-004.jpg", ["night"], "present")
    put(root / "new.jpg", jpeg(50, ["sea"]))
    library.scan()
    assert library.undo().source == "review"
    assert tags(library, root / "new.jpg") == {"sea": ("present", "file")}
    assert library.undo() is None


def test_a_keyword_that_returns_restores_its_tag(library, root):
    before = state(library)
    put(root / "photo-000.jpg", jpeg(0))
    library.scan()
    later(put(root / "photo-000.jpg", jpeg(0, ["rose"])))
    assert library.scan().decisions == 1
    assert state(library) == before


def test_a_decision_that_an_older_version_withdrew_returns_with_its_source_and_probability(library, root):
    from topicture.store.decisions.decisions import Decision

    with Catalog.open(library.folder, write=True) as catalog:
        image = catalog.files.at("photo-004.jpg").image
        catalog.decisions.decide([Decision(image, "dusk", "present", 3, 0.625)], "bulk")
        before = state(library)
        catalog.decisions.decide([Decision(image, "dusk", "cleared")], "file")
    put(root / "photo-004.jpg.xmp", xmp(["dusk"]))
    library.scan()
    assert state(library) == before


# --- Many at once -----------------------------------------------------------------------------------------------------


@pytest.fixture
def stripped(library, root):
    """Another program has taken out what it had put in, on many photos at once; one photo has gained a word."""
    for number in range(FEW_WITHDRAWN + 1):
        put(root / f"many-{number}.jpg", jpeg(100 + number, ["sand"]))
    library.scan()
    for number in range(FEW_WITHDRAWN + 1):
        later(put(root / f"many-{number}.jpg", jpeg(100 + number)))
    put(root / "photo-004.jpg.xmp", xmp(["dusk"]))
    return library


def test_a_scan_that_would_take_many_tags_away_leaves_them(stripped, root):
    for _ in range(2):
        report = stripped.scan()
        assert len(report.withheld) == FEW_WITHDRAWN + 1
        assert report.withheld[0] == "many-0.jpg: sand"
        assert report.withdrawn == 0
        assert tags(stripped, root / "many-7.jpg") == {"sand": ("present", "file")}
    assert tags(stripped, root / "photo-004.jpg") == {
        "dusk": ("present", "file")
    }  # additions need no question


def test_when_told_it_takes_them_and_one_undo_brings_them_back(stripped, root):
    stripped.scan()
    before = state(stripped)
    assert stripped.scan(withdraw_many=True).withdrawn == FEW_WITHDRAWN + 1
    assert tags(stripped, root / "many-7.jpg") == {}
    assert stripped.scan().withheld == ()
    assert len(stripped.undo().decisions) == FEW_WITHDRAWN + 1
    assert state(stripped) == before
    assert stripped.scan().withheld == ()


def test_the_command_refuses_and_says_how(stripped, root, topicture):
    code, _, error = topicture("scan", catalog=root)
    assert code == 1
    assert (
        f"{FEW_WITHDRAWN + 1} tags would be removed, which is a lot: nothing was changed about them." in error
    )
    assert "'topicture scan --yes'" in error
    code, out, _ = topicture("scan", "--yes")
    assert code == 0
    assert f"{FEW_WITHDRAWN + 1} tags whose keywords other programs had removed" in out


@pytest.mark.parametrize(("answer", "left"), [("y", 0), ("n", 1)])
def test_in_a_terminal_the_command_asks(stripped, root, topicture, monkeypatch, answer, left):
    monkeypatch.setattr("topicture.app.cli.upkeep.collection.is_terminal", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda text, default: answer == "y")
    code, _, _ = topicture("scan", catalog=root)
    assert code == left
    assert len(tags(stripped, root / "many-7.jpg")) == left


def test_few_go_without_a_question(library, root):
    for number in range(FEW_WITHDRAWN):
        put(root / f"many-{number}.jpg", jpeg(100 + number, ["sand"]))
    library.scan()
    for number in range(FEW_WITHDRAWN):
        later(put(root / f"many-{number}.jpg", jpeg(100 + number)))
    assert library.scan().withdrawn == FEW_WITHDRAWN
