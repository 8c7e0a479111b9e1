"""Keep other programs' parts of a sidecar byte for byte.

A tree that is written out again says the same, but in other bytes: quotes, entities and blanks inside tags are written
in one way only. So every property that we did not change is put back as it stood, and so are the tags around them.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple
from xml.parsers import expat

from lxml import etree

from topicture.collection.metadata.xmp import RDF, BadXmp, parse_xml

__all__ = ["with_original_bytes"]

_TAG = re.compile(rb"""<[^"'>]*(?:"[^"]*"[^"'>]*|'[^']*'[^"'>]*)*>""")


class _Piece(NamedTuple):
    """A property, or the tag that opens an element around properties: what it says, and where it stands."""

    says: object
    begin: int
    end: int


def with_original_bytes(before: bytes, after: bytes) -> bytes:
    """`after`, a document made from `before`, with all that is unchanged in the bytes of `before`.

    Where that can't be done so that it says the same, `after` as it is.
    """
    try:
        former: dict[object, deque[_Piece]] = {}
        for piece in _pieces(before):
            former.setdefault(piece.says, deque()).append(piece)
        parts, at = [], 0
        for piece in _pieces(after):
            if known := former.get(piece.says):
                original = known.popleft()
                parts += [after[at : piece.begin], before[original.begin : original.end]]
                at = piece.end
        content = b"".join([*parts, after[at:]])
        said, wanted = (_canonical(parse_xml(each).getroot()) for each in (content, after))
        return content if said == wanted else after
    except (expat.ExpatError, etree.LxmlError, BadXmp, ValueError):
        return after


def _pieces(content: bytes) -> Iterator[_Piece]:
    """In the order of the document; raises ValueError where texts and trees are not alike."""
    root = parse_xml(content).getroot()
    deepest = 2 if root.tag == RDF + "RDF" else 3  # of properties
    yield from (
        _Piece(_said(element, depth, deepest, content[begin:end].endswith(b"/>")), begin, end)
        for (element, depth), (begin, end) in zip(
            _elements(root, deepest), _spans(content, deepest), strict=True
        )
    )


def _said(element: etree._Element, depth: int, deepest: int, closed: bool) -> object:
    if depth == deepest:
        return _canonical(element)
    above = element.getparent()
    known = {} if above is None else above.nsmap
    declared = frozenset(item for item in element.nsmap.items() if known.get(item[0]) != item[1])
    return element.tag, frozenset(element.attrib.items()), declared, closed


def _canonical(element: etree._Element) -> bytes:
    return etree.tostring(element, method="c14n", exclusive=True, with_tail=False)


def _elements(root: etree._Element, deepest: int) -> Iterator[tuple[etree._Element, int]]:
    waiting = [(root, 0)]
    while waiting:
        element, depth = waiting.pop()
        yield element, depth
        if depth < deepest:
            waiting += [(each, depth + 1) for each in reversed(list(element.iterchildren(etree.Element)))]


def _spans(content: bytes, deepest: int) -> list[tuple[int, int]]:
    """Where the elements stand whose depth is `deepest`, whole, and the opening tags of those around them."""
    parser = expat.ParserCreate("utf-8")
    found: list[tuple[int, int]] = []
    depth = 0  # of the element to come

    def start(name: str, attributes: object) -> None:
        nonlocal depth
        opened = parser.CurrentByteIndex
        if depth <= deepest:
            tag = _TAG.match(content, opened)
            if tag is None:
                raise ValueError("a tag that is none")
            found.append((opened, tag.end()))
        depth += 1

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        if depth == deepest:
            begin, tag_end = found[-1]
            if not content[begin:tag_end].endswith(b"/>"):
                found[-1] = (begin, content.index(b">", parser.CurrentByteIndex) + 1)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(content, True)
    return found
