"""What other programs wrote into a sidecar stands byte for byte after we wrote into it, too."""

import pytest
from photo_files import photo

from topicture.collection.sidecar.verbatim import with_original_bytes
from topicture.collection.sidecar.write import ObjectRegion, Tag, sidecar_path, write_sidecar

RDF = "xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'"
HISTORY = """<crs:History   xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/" crs:note='"odd" &#x41;&apos;'  >
  <rdf:Seq>   <rdf:li>one  <!-- a comment --> two &gt; <![CDATA[<three>]]></rdf:li><rdf:li   /></rdf:Seq
 ></crs:History>"""
RATING = "<xmp:Rating xmlns:xmp='http://ns.adobe.com/xap/1.0/' >4</xmp:Rating >"
OPENING = (
    "<rdf:Description rdf:about='' xmlns:tiff='http://ns.adobe.com/tiff/1.0/'\n   tiff:Make='A &amp; B'>"
)
SUBJECT = "<dc:subject xmlns:dc='http://purl.org/dc/elements/1.1/'><rdf:Bag><rdf:li>theirs</rdf:li></rdf:Bag></dc:subject>"


def document(*parts, around=("<x:xmpmeta xmlns:x='adobe:ns:meta/' x:xmptk='Another 1.0'>", "</x:xmpmeta>")):
    inside = f"{OPENING}\n {'  '.join(parts)}\n</rdf:Description>"
    return f"<?xpacket begin='\ufeff' id='x'?>\n{around[0]}<rdf:RDF {RDF}>\n{inside}</rdf:RDF>{around[1]}".encode()


@pytest.mark.parametrize("around", [("<x:xmpmeta xmlns:x='adobe:ns:meta/'>", "</x:xmpmeta>"), ("", "")])
def test_what_is_not_ours_stands_in_its_own_bytes(tmp_path, around):
    picture = photo(tmp_path / "a.jpg")
    beside = sidecar_path(picture)
    before = document(HISTORY, SUBJECT, RATING, HISTORY, around=around)
    beside.write_bytes(before)
    write_sidecar(picture, add=[Tag("tiger")], regions=[ObjectRegion("tiger", 0.1, 0.1, 0.5, 0.5)])
    content = beside.read_bytes()
    assert b"tiger" in content
    for part in (RATING, OPENING, *around):
        assert part.encode() in content
    assert content.count(HISTORY.encode()) == 2
    assert not write_sidecar(picture, add=[Tag("tiger")]).changed
    write_sidecar(picture, remove=["tiger"])
    for part in (RATING, OPENING, *around):
        assert part.encode() in beside.read_bytes()
    assert beside.read_bytes().count(HISTORY.encode()) == 2


def test_a_document_in_another_encoding_is_left_as_written(tmp_path):
    picture = photo(tmp_path / "a.jpg")
    beside = sidecar_path(picture)
    beside.write_bytes(document(RATING).decode().partition("?>")[2].encode("utf-16"))
    write_sidecar(picture, add=[Tag("tiger")])
    assert b"tiger" in beside.read_bytes()


@pytest.mark.parametrize("after", [b"", b"<a>", b"<a><b/></a>"])
def test_what_is_no_match_stays(after):
    assert with_original_bytes(document(RATING), after) == after


def test_an_element_that_was_empty_and_is_not_any_more_is_no_piece():
    before = f"<rdf:RDF {RDF}><rdf:Description rdf:about='' /></rdf:RDF>".encode()
    after = f'<rdf:RDF {RDF}><rdf:Description rdf:about=""><a/></rdf:Description></rdf:RDF>'.encode()
    assert with_original_bytes(before, after) == after
