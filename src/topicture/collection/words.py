"""The one form of a tag: what every reader, writer and command agrees is a word, and how a text is shown in a message.

A word is Unicode text in normal form C, without blanks around it, of at most `MAX_BYTES` bytes in UTF-8. Everything a
person may want is allowed: blanks and commas inside, a leading dash, slashes, bars, emoji, any script and direction.
Control characters (newline, tab and NUL among them) are refused rather than dropped: a text that has them is seldom a
tag, and dropping them would make two different texts the same word. Upper and lower case are told apart.
"""

import os
import unicodedata

from topicture.errors import BadWord

__all__ = ["MAX_BYTES", "clean_word", "printable"]

MAX_BYTES = 16_384
"""Longest word, in bytes of UTF-8: far beyond any tag, short enough that a file pasted as a tag is refused."""

_SHOWN = 60  # characters of a text that a message repeats
_REFUSED = {
    "Cc": "a control character",
    "Cs": "a character that is not valid Unicode",
    "Zl": "a line break",
    "Zp": "a paragraph break",
}
_NOT_IN_XML = "\ufffe\uffff"
_INVISIBLE = {"Cf", "Zs"}


def clean_word(text: str) -> str:
    """The word that a text stands for: normal form C, blanks around it removed.

    Two spellings of the same characters (composed or not) give the same word, and a clean word is its own clean form.

    Raises
    ------
    BadWord
        The text is empty or invisible, too long, or has a control character, line break, lone surrogate or a code
        point that XML can't hold. The message shows the text with such characters escaped.
    """
    plain = (
        text.isprintable()
    )  # then nothing to be refused is in it, and every character but the blank is visible
    if not plain:
        _refuse_characters(text)
    word = unicodedata.normalize("NFC", text).strip()
    if not word or (not plain and all(unicodedata.category(character) in _INVISIBLE for character in word)):
        raise BadWord(f"tag '{_excerpt(text)}' has no visible character")
    size = len(word.encode())
    if size > MAX_BYTES:
        raise BadWord(f"tag '{_excerpt(text)}' is {size} bytes long (limit {MAX_BYTES})")
    return word


def printable(text: str | bytes) -> str:
    """`text` on one line: control characters and undecodable bytes as escapes, so that it is safe to print."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in os.fsdecode(text))


def _refuse_characters(text: str) -> None:
    for character in text:
        reason = _REFUSED.get(unicodedata.category(character))
        if reason is None and character in _NOT_IN_XML:
            reason = _REFUSED["Cs"]
        if reason is not None:
            raise BadWord(f"tag '{_excerpt(text)}' contains {reason} ({ascii(character)[1:-1]})")


def _excerpt(text: str) -> str:
    shown = printable(text[: _SHOWN + 1])
    return shown if len(text) <= _SHOWN else shown[:_SHOWN] + "..."
