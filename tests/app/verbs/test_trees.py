"""Trees of tags through the verbs: read, searched, learned, shown, and written back where they belong."""

import os

import pytest
from photo_files import bag, description, xmp
from photo_folder import RECIPE, jpeg, learn, make_library, put

from topicture.app.learning.training_tags import gather
from topicture.app.verbs.library import Library
from topicture.collection.metadata.keywords import photo_keywords
from topicture.collection.metadata.tag_lists import LISTS
from topicture.collection.metadata.xmp import parse_xmp, property_values


def lightroom(*paths, subject=()):
    inside = f"<lr:hierarchicalSubject>{bag(paths)}</lr:hierarchicalSubject>"
    return xmp(description((f"<dc:subject>{bag(subject)}</dc:subject>" if subject else "") + inside))


def lists(sidecar):
    tree = parse_xmp(sidecar.read_bytes())
    return {name.partition("}")[2]: list(property_values(tree, name)) for name in LISTS}


@pytest.fixture
def library(tmp_path):
    """Three photos: two of people, by the tree of another program, and one without a word."""
    root = tmp_path / "photos"
    for number, packet in enumerate(
        [lightroom("People|person"), lightroom("People|person", "Places|Rome"), None]
    ):
        put(root / f"{number}.jpg", jpeg(number))
        if packet:
            put(root / f"{number}.jpg.xmp", packet)
    library = Library.create(root, recipe=RECIPE)
    library.scan()
    return library


def test_an_accepted_word_is_written_at_its_place_in_the_tree(library):
    root = library.folder.parent
    library.decide("2.jpg", ["person", "sunset"], "present")
    library.write()
    assert lists(root / "2.jpg.xmp") == {
        "subject": ["person", "sunset"],
        "hierarchicalSubject": ["People|person", "sunset"],
        "TagsList": ["People/person", "sunset"],
    }
    assert b"<rdf:Seq>" in (root / "2.jpg.xmp").read_bytes()
    assert library.write().files == 0


def test_words_of_others_are_not_copied_to_the_top_of_the_tree(library):
    root = library.folder.parent
    put(root / "3.jpg", jpeg(3, ["person", "plain"]))  # by a program that knows no trees
    library.scan()
    library.decide("3.jpg", ["sunset"], "present")
    library.decide("1.jpg", ["sunset"], "present")
    library.write()
    assert lists(root / "3.jpg.xmp")["hierarchicalSubject"] == ["People|person", "plain", "sunset"]
    assert lists(root / "1.jpg.xmp")["hierarchicalSubject"] == ["People|person", "Places|Rome", "sunset"]
    assert lists(root / "1.jpg.xmp")["TagsList"] == ["People/person", "Places/Rome", "sunset"]


def test_a_word_written_at_the_top_moves_when_its_place_becomes_known(library):
    root = library.folder.parent
    library.decide("2.jpg", ["Rome", "beach"], "present")
    library.write()
    put(root / "1.jpg.xmp", lightroom("People|person", "Places|Italy|Rome", "Themes|beach"))
    os.utime(root / "1.jpg.xmp")
    library.scan()
    assert library.status().pending_writes == 1
    library.write()
    assert lists(root / "2.jpg.xmp")["hierarchicalSubject"] == ["Places|Italy|Rome", "Themes|beach"]
    assert library.write().files == 0
    with library.writing("tags") as catalog:
        catalog.words.set_parent("Italy", "Europe")
    library.write()
    assert lists(root / "2.jpg.xmp")["TagsList"] == ["Themes/beach", "Europe/Italy/Rome"]
    library.undo()
    library.write()
    assert "Places/Italy/Rome" in lists(root / "2.jpg.xmp")["TagsList"]


def test_a_place_that_another_program_gave_a_word_is_not_doubled(tmp_path):
    root = tmp_path / "photos"
    put(root / "a.jpg", jpeg(0))
    put(root / "a.jpg.xmp", lightroom("Family|person"))
    library = Library.create(root, recipe=RECIPE)
    library.scan()
    library.decide("a.jpg", ["person"], "present")  # the file says so already
    with library.writing("tags") as catalog:
        catalog.words.set_parent("person", "People")
    library.write()
    assert lists(root / "a.jpg.xmp")["hierarchicalSubject"] == ["Family|person"]


def test_a_search_for_a_word_finds_those_below_it(library):
    assert {hit.path for hit in library.search("people")} == {"0.jpg", "1.jpg"}
    assert {hit.path for hit in library.search("people -places")} == {"0.jpg"}
    assert library.search("people")[0].said == ("People",)


def test_a_model_s_belief_in_a_word_below_counts_unless_it_was_rejected(tmp_path):
    library = make_library(tmp_path / "photos")
    learn(library)
    with library.writing("tags") as catalog:
        catalog.words.set_parent("rose", "plants")
        catalog.words.set_parent("grass", "plants")
    found = {hit.path: hit for hit in library.search("plants", limit=64)}
    untagged = [path for path in found if not found[path].said]
    assert untagged
    path = max(untagged, key=lambda path: found[path].probability)
    library.decide(path, ["rose", "grass"], "rejected")
    assert path not in {hit.path for hit in library.search("plants", limit=64)}


def test_a_parent_is_learned_from_its_children_and_not_suggested_beside_them(tmp_path):
    library = make_library(tmp_path / "photos")
    with library.writing("tags") as catalog:
        catalog.words.set_parent("rose", "plants")
        catalog.words.set_parent("grass", "plants")
        tags = gather(catalog, 3)
        plants = tags.vocabulary.index("plants")
        below = [tags.vocabulary.index(word) for word in ("rose", "grass")]
        assert (tags.truth[:, plants] == tags.truth[:, below].any(axis=1)).all()
        assert tags.truth[:, plants].any()
    learn(library)
    library.annotate(everything=True, threshold=0.0, workers=0)
    with library.reading() as catalog:
        model = catalog.suggestions.newest().id
        with_plants = catalog.decisions.images_with(["rose", "grass"], "present")
        rows = catalog.database.execute(
            "SELECT image FROM suggestions AS s JOIN words ON words.id = s.word "
            "WHERE model = ? AND words.word = 'plants'",
            (model,),
        )
        suggested = {image for (image,) in rows}
    assert suggested
    assert not suggested & set(with_plants)


def test_tags_are_shown_as_a_tree(library, capsys):
    from topicture.app.console.words import print_words
    from topicture.app.verbs.words.listing import list_words

    with library.reading() as catalog:
        print_words(list_words(catalog))
    assert capsys.readouterr().out.splitlines() == [
        "      2  People",
        "      2    person",
        "      1  Places",
        "      1    Rome",
    ]


def test_files_read_by_an_earlier_version_are_read_again_without_a_new_hash(library, monkeypatch):
    with library.writing("scan") as catalog:
        catalog.set("reading", None)
        catalog.database.execute("DELETE FROM file_places")
        catalog.database.execute("UPDATE words SET parent = NULL")
    monkeypatch.setattr("topicture.app.verbs.scanning.picture_id", pytest.fail)
    report = library.scan()
    assert (report.changed, report.unchanged) == (0, 3)
    with library.reading() as catalog:
        assert catalog.tree.paths()["person"] == ("People", "person")


@pytest.mark.parametrize(
    ("namespace", "name", "kind", "value"),
    [
        ('xmlns:MP="http://ns.microsoft.com/photo/1.0"', "MP:LastKeywordXMP", "Bag", "Animals/Cats/tiger"),
        (
            'xmlns:lr="http://ns.adobe.com/lightroom/1.0/"',
            "lr:hierarchicalSubject",
            "Bag",
            "Animals|Cats|tiger",
        ),
        ('xmlns:digiKam="http://www.digikam.org/ns/1.0/"', "digiKam:TagsList", "Seq", "Animals/Cats/tiger"),
        ('xmlns:MP="http://ns.microsoft.com/photo/1.0/"', "MP:LastKeywordXMP", "Bag", "Animals/Cats/tiger"),
    ],
)
def test_the_lists_of_all_programs_give_words_and_paths(tmp_path, namespace, name, kind, value):
    photo = put(tmp_path / "a.jpg", jpeg(0))
    packet = xmp(
        f'<rdf:Description rdf:about="" {namespace}><{name}>{bag([value], kind)}</{name}></rdf:Description>'
    )
    put(tmp_path / "a.jpg.xmp", packet)
    found = photo_keywords(photo)
    assert found.words == ("tiger",)
    assert found.sources[1].paths == {("Animals", "Cats", "tiger")}
