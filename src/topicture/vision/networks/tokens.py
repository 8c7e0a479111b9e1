"""The numbers that stand for a text before CLIP's text encoder: a reader of `tokenizer.json`, for CLIP's kind alone.

The format of Hugging Face's `tokenizers` knows many kinds, of which CLIP's is one: byte-pair encoding within words, a
word's last piece marked `</w>`. A file of any other kind is refused, not guessed at.
"""

import json
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from topicture.errors import DataNotFound, ModelFileError

__all__ = ["Tokenizer", "read_tokenizer"]

MAX_BYTES = 64 << 20  # CLIP's has some three
LONGEST_TEXT = 1000  # characters; an encoder looks at some 77 pieces
END_OF_WORD = "</w>"
_CONTRACTIONS = ("'re", "'ve", "'ll", "'s", "'t", "'m", "'d")
_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
_PRINTED = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))


class Tokenizer:
    """Texts to numbers.

    Parameters
    ----------
    ids : piece -> number
    ranks : two pieces that are joined -> how late; the earliest pair is joined first
    first, last : numbers before and after every text
    padding : number that fills up a text for an encoder of fixed length
    """

    def __init__(
        self, ids: dict[str, int], ranks: dict[tuple[str, str], int], first: int, last: int, padding: int
    ):
        self.ids = ids
        self.ranks = ranks
        self.first = first
        self.last = last
        self.padding = padding

    def __call__(self, text: str, longest: int) -> list[int]:
        """At most `longest` numbers, the first and the last included."""
        found = [self.ids[piece] for word in _words(text) for piece in self._pieces(word)]
        return [self.first, *found[: max(longest - 2, 0)], self.last]

    def _pieces(self, word: str) -> list[str]:
        pieces = [_LETTERS[byte] for byte in word.encode()]
        pieces[-1] += END_OF_WORD
        while len(pieces) > 1:
            pairs = [self.ranks.get(pair, len(self.ranks)) for pair in pairwise(pieces)]
            best = min(pairs)
            if best == len(self.ranks):
                break
            at = pairs.index(best)
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
        return pieces


def _words(text: str) -> Iterator[str]:
    """What `_WORDS` finds, which Python's own regular expressions can't say: runs of one kind, digits by themselves."""
    text = unicodedata.normalize("NFC", text)[:LONGEST_TEXT]
    # Letter by letter, as `tokenizers` does: a final sigma is a sigma.
    text = "".join(character.lower() for character in text)
    at = 0
    while at < len(text):
        kind, end = _kind(text[at]), at + 1
        if ending := next((c for c in _CONTRACTIONS if text.startswith(c, at)), ""):
            end = at + len(ending)
        elif kind in "LO":
            while end < len(text) and _kind(text[end]) == kind:
                end += 1
        if kind != " ":
            yield text[at:end]
        at = end


def _kind(character: str) -> str:
    """L a letter, N a digit, a blank, or O for others."""
    if character.isspace():
        return " "
    major = unicodedata.category(character)[0]
    return major if major in "LN" else "O"


def _letters() -> list[str]:
    """A visible character for every byte, as GPT-2 chose them: those without one get the next beyond 255."""
    others = (byte for byte in range(256) if byte not in _PRINTED)
    stand_in = {byte: chr(256 + number) for number, byte in enumerate(others)}
    return [stand_in.get(byte, chr(byte)) for byte in range(256)]


_LETTERS = _letters()


# --- The file -------------------------------------------------------------------------------------------------------


def read_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`; raises DataNotFound or ModelFileError."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ModelFileError(f"{path.name}: larger than {MAX_BYTES >> 20} MB; not a tokenizer")
        values = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataNotFound(f"no tokenizer at {path}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path.name}: not a JSON file ({error})") from None
    try:
        if (other := _unlike_clip(values)) is not None:
            raise ModelFileError(
                f"{path.name}: not a tokenizer as CLIP's ({other}); give a table of word vectors instead"
            )
        return _tokenizer(values)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        reason = " ".join(f"{type(error).__name__} {error}".split())
        raise ModelFileError(f"{path.name}: not a complete tokenizer ({reason[:200]})") from None


def _unlike_clip(values: Any) -> str | None:
    """What is not as CLIP has it, None where all is."""
    model = values["model"]
    if model["type"] != "BPE" or model["end_of_word_suffix"] != END_OF_WORD:
        return f"its model is {str(model['type'])[:40]!r}, or has no {END_OF_WORD}"
    for option in ("dropout", "continuing_subword_prefix", "byte_fallback", "ignore_merges"):
        if model.get(option):
            return f"it has {option}"
    normalizers = [step["type"] for step in values["normalizer"]["normalizers"]]
    if normalizers != ["NFC", "Replace", "Lowercase"]:
        return f"it prepares texts by {str(normalizers)[:80]}"
    split, level = values["pre_tokenizer"]["pretokenizers"]
    if split["pattern"] != {"Regex": _WORDS} or (split["behavior"], split["invert"]) != ("Removed", True):
        return "it finds words in another way"
    return None if (level["type"], level["add_prefix_space"]) == ("ByteLevel", False) else "it joins words"


def _tokenizer(values: Any) -> Tokenizer:
    model = values["model"]
    ids = {str(piece): _number(number) for piece, number in model["vocab"].items()}
    merges = [pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"]]
    ranks = {(str(one), str(other)): rank for rank, (one, other) in enumerate(merges)}
    letters = {letter + end for letter in _LETTERS for end in ("", END_OF_WORD)}
    if missing := {*letters, *(one + other for one, other in ranks)} - ids.keys():
        raise ValueError(f"it has no number for {min(missing)!r}")
    first, last = _ends(values["post_processor"])
    padding = _number((values.get("padding") or {}).get("pad_id", last))
    return Tokenizer(ids, ranks, first, last, padding)


def _ends(processor: Any) -> tuple[int, int]:
    if processor["type"] == "RobertaProcessing":
        return _number(processor["cls"][1]), _number(processor["sep"][1])
    first, _text, last = processor["single"]  # TemplateProcessing
    special = processor["special_tokens"]
    one, other = (special[part["SpecialToken"]["id"]]["ids"] for part in (first, last))
    return _number(one[0]), _number(other[0])


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**31:
        raise ValueError(f"{str(value)[:40]} is no number of a piece")
    return value
