"""Targets: annotation files of other tools, and the queries that people type."""

import json
import random
from pathlib import Path

from fuzz.harness import Target
from fuzz.mutate import ODD_TEXTS, mutate_bytes, mutate_json, mutate_xml, tokens
from fuzz.photos import XML_TOKENS, seeds
from topicture.collection.formats import read_annotations
from topicture.collection.formats.dispatch import FORMATS, guess_format
from topicture.collection.words import clean_word
from topicture.corpus import Vocabulary
from topicture.search.query import Lexicon, Query, QueryError

__all__ = ["targets"]

JSON_TOKENS = (*tokens("json"), b"[" * 3000, b"9" * 5000)
TABLE_TOKENS = (*tokens("table"), b"x" * 140_000)
SUFFIXES = {"coco": "json", "labelme": "json", "voc": "xml", "cvat": "xml", "jsonl": "jsonl"}
QUERY_PARTS = (
    *("tiger", "TIGER", "golden gate", "día", "di\u0301a", "é", *'"“„-−–\\, \n', '-"', '\\"'),
    *(text for text in ODD_TEXTS if len(text) < 100),
)


def targets(corpus: Path, scratch: Path) -> dict[str, Target]:
    """Name -> target."""
    lexicon = Lexicon(Vocabulary(["tiger", "Tiger", "golden gate", "día", "-dash", 'quo"te', "a,b"]))

    def query(content: bytes) -> None:
        text = content.decode("utf-8", "surrogatepass")
        parsed = lexicon.parse(text)
        assert isinstance(parsed, Query)
        assert lexicon.parse(str(parsed)) == parsed

    return {
        **{format: _annotations(format, corpus, scratch) for format in FORMATS},
        "query": Target(_make_query, query, (QueryError,)),
    }


def _annotations(format: str, corpus: Path, scratch: Path) -> Target:
    files = seeds(corpus / format)
    path = scratch / f"file.{SUFFIXES.get(format, format.partition('-')[0])}"
    suffix = path.suffix
    pieces = {".json": JSON_TOKENS, ".jsonl": JSON_TOKENS, ".xml": XML_TOKENS}.get(suffix, TABLE_TOKENS)

    def make(rng: random.Random) -> bytes:
        if suffix == ".json" and rng.random() < 0.6:
            value = json.loads(rng.choice(files))
            for _ in range(rng.choice((1, 2, 4))):
                value = mutate_json(value, rng)
            return json.dumps(value).encode()
        if suffix == ".xml" and rng.random() < 0.6:
            return mutate_xml(rng.choice(files), rng)
        return mutate_bytes(files, pieces, rng)

    def use(content: bytes) -> None:
        path.write_bytes(content)
        if suffix == ".arff":  # a table and its labels, one of them changed
            table, labels = (files[0], content) if content.lstrip().startswith(b"<") else (content, files[1])
            path.write_bytes(table)
            path.with_suffix(".xml").write_bytes(labels)
        for name in (format, guess_format(path)):
            found = read_annotations(path, name)
            assert all(clean_word(word) == word for item in found.items for word in item.words)
            assert all("\n" not in str(line) for line in found.refused)

    return Target(make, use)


def _make_query(rng: random.Random) -> bytes:
    parts = [rng.choice(QUERY_PARTS) for _ in range(rng.choice((1, 2, 3, 5, 10, 60)))]
    if rng.random() < 0.1:
        parts.append(chr(rng.randrange(0x110000)) * rng.choice((1, 3, 3000)))
    return rng.choice(("", " ")).join(parts).encode("utf-8", "surrogatepass")
