"""Lists of words that are not what XMP says: nothing that others put there is lost, or the sidecar is left alone."""

import pytest
from photo_files import description, photo, xmp

from topicture.collection.metadata.keywords import photo_keywords
from topicture.collection.sidecar.write import SidecarError, Tag, write_sidecar


@pytest.fixture
def picture(tmp_path):
    return photo(tmp_path / "a.jpg")


@pytest.fixture
def beside(tmp_path):
    return tmp_path / "a.jpg.xmp"


def test_elements_inside_a_word_leave_its_text(picture, beside):
    """Blanks put between such elements would be a part of the word."""
    word = "<rdf:li>a<lr:e><lr:e/></lr:e>b</rdf:li>"
    beside.write_bytes(xmp(description(f"<dc:subject><rdf:Bag>{word}</rdf:Bag></dc:subject>")))
    before = photo_keywords(picture).words
    write_sidecar(picture, add=[Tag("ours")])
    assert set(photo_keywords(picture).words) == {*before, "ours"}
    assert word.encode() in beside.read_bytes()


@pytest.mark.parametrize(
    "element",
    [
        '<dc:subject><rdf:Description xmlns:f="urn:f" f:x="kept" rdf:value="tiger"/></dc:subject>',
        "<dc:subject rdf:parseType='Resource'><rdf:value>tiger</rdf:value><lr:by>Ann</lr:by></dc:subject>",
        '<digiKam:TagsList xmlns:f="urn:f" f:x="a/b"/>',
        "<lr:hierarchicalSubject><!-- kept by hand --></lr:hierarchicalSubject>",
    ],
    ids=["description", "qualified", "attribute", "comment"],
)
def test_what_a_list_could_not_hold_is_left_alone_with_a_reason(picture, beside, element):
    beside.write_bytes(content := xmp(description(element)))
    with pytest.raises(SidecarError, match="is more than words, which a list could not hold; left as it is"):
        write_sidecar(picture, add=[Tag("leaf", hierarchy=("tree", "leaf"))])
    assert beside.read_bytes() == content


def test_what_else_a_list_says_stays_when_our_words_go(picture, beside):
    beside.write_bytes(
        xmp(description('<dc:subject xmlns:f="urn:f" f:x="kept"><rdf:Bag f:y="kept too"/></dc:subject>'))
    )
    write_sidecar(picture, add=[Tag("ours")])
    write_sidecar(picture, remove=["ours"])
    assert b'f:x="kept"' in beside.read_bytes()
    assert b'f:y="kept too"' in beside.read_bytes()
    assert photo_keywords(picture).words == ()


def test_a_second_record_of_a_word_does_not_count_later(picture, beside):
    """Of another program's making: a copied record, say. The first write leaves one."""
    machine = Tag("guess", probability=0.75, by_machine=True)
    write_sidecar(picture, add=[machine])
    content = beside.read_text()
    begin = content.index('<rdf:li rdf:parseType="Resource">')
    record = content[begin : content.index("</rdf:li>", begin) + len("</rdf:li>")]
    beside.write_text(content.replace(record, record.replace("machine", "person") + record))
    assert write_sidecar(picture, add=[machine]).changed
    assert not write_sidecar(picture, add=[machine]).changed
    assert beside.read_text().count("<topicture:word>guess<") == 1
    write_sidecar(picture, add=[Tag("other")], remove=["guess"])
    assert "guess" not in beside.read_text()
