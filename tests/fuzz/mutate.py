"""Mutations: of bytes, knowing nothing of what they mean; of JSON and XML, keeping them well-formed."""

import ast
import copy
import random
import struct
from pathlib import Path
from typing import Any

from lxml import etree

__all__ = ["ODD_NUMBERS", "ODD_TEXTS", "ODD_VALUES", "mutate_bytes", "mutate_json", "mutate_xml", "tokens"]

ODD_NUMBERS = (
    0,
    1,
    -1,
    2,
    127,
    128,
    255,
    256,
    32767,
    65535,
    1 << 31,
    (1 << 32) - 1,
    (1 << 63) - 1,
    -(1 << 63),
)
ODD_TEXTS = (
    *(
        "",
        " ",
        "\0",
        "\x1b[31m",
        "\n",
        "a\u0301",
        "\u202e",
        "\ud800",
        "..",
        "../../x",
        "/etc",
        "%s",
        "{}",
        "[[]]",
    ),
    "x" * 20_000,
)
ODD_VALUES = (
    *(None, True, False, *ODD_NUMBERS, 1e308, -0.0, float("nan"), float("inf")),
    *(*ODD_TEXTS, [], {}, [[]], [None] * 50, {"": 0}),
)
_LARGEST = 200_000  # bytes: large inputs cost time and find little


def tokens(name: str) -> tuple[bytes, ...]:
    """The pieces that a kind of file is made of, from tokens/."""
    lines = (Path(__file__).parent / "tokens" / f"{name}.dict").read_text(encoding="ascii").splitlines()
    return tuple(ast.literal_eval("b" + line) for line in lines if not line.startswith("#"))


def mutate_bytes(seeds: list[bytes], pieces: tuple[bytes, ...], rng: random.Random) -> bytes:
    """One to eight changes of a seed."""
    content = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 2, 3, 5, 8))):
        at = rng.randrange(len(content) + 1)
        end = min(len(content), at + rng.choice((1, 2, 4, 16, 200)))
        match rng.randrange(10):
            case 0:
                if content:
                    content[at % len(content)] ^= 1 << rng.randrange(8)
            case 1:
                content[at : at + 1] = rng.randbytes(1)
            case 2:
                content[at:end] = b""
            case 3:
                content[at:at] = rng.randbytes(rng.choice((1, 2, 4, 50)))
            case 4:
                content[at:at] = content[at:end] * rng.choice((1, 2, 100))
            case 5:
                number = rng.choice(ODD_NUMBERS) & 0xFFFFFFFF
                size, order = rng.choice(((1, ">"), (2, ">"), (2, "<"), (4, ">"), (4, "<")))
                packed = struct.pack(order + "I", number)
                content[at : at + size] = packed[-size:] if order == ">" else packed[:size]
            case 6:
                other = rng.choice(seeds)
                start = rng.randrange(len(other) + 1)
                content[at:end] = other[start : start + rng.choice((4, 40, 400))]
            case 7:
                content[at:] = b""
            case _:
                if pieces:
                    content[at : rng.choice((at, end))] = rng.choice(pieces)
    return bytes(content[:_LARGEST])


def mutate_json(value: Any, rng: random.Random) -> Any:
    """A copy with something in it changed, left out, doubled, renamed or nested deeper."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        changed = dict(value)
        match rng.randrange(8):
            case 0:
                del changed[key]
            case 1:
                changed[rng.choice([*value, "x", ""])] = changed.pop(key)
            case 2:
                changed[key] = rng.choice(list(value.values()))
            case _:
                changed[key] = mutate_json(value[key], rng)
        return changed
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        match rng.randrange(6):
            case 0:
                return value[:at] + value[at + 1 :]
            case 1:
                return value[:at] + [value[at]] * rng.choice((2, 2, 30)) + value[at:]
            case _:
                return [*value[:at], mutate_json(value[at], rng), *value[at + 1 :]]
    if rng.random() < 0.02:
        for _ in range(rng.choice((5, 300))):  # what is deeper json can't write; mutated bytes are
            value = [value] if rng.random() < 0.5 else {"a": value}
        return value
    return rng.choice(ODD_VALUES)


def mutate_xml(seed: bytes, rng: random.Random) -> bytes:
    """A well-formed document with elements, texts and attributes moved, doubled, renamed, dropped or replaced."""
    root = etree.fromstring(seed)
    for _ in range(rng.choice((1, 2, 4, 8))):
        elements = list(root.iter(etree.Element))
        one, other = rng.choice(elements), rng.choice(elements)
        text = rng.choice(
            ["x", "1", "-1", "1e999", "a|b", "a/b", "nan", other.text or "", "é" * rng.choice((1, 9000))]
        )
        match rng.randrange(9):
            case 0:
                if one.getparent() is not None:
                    one.getparent().remove(one)
            case 1:
                one.append(copy.deepcopy(other))
            case 2:
                one.tag = other.tag
            case 3:
                one.text = text
            case 4:
                one.tail = text
            case 5:
                one.set(rng.choice([other.tag, *other.attrib, "x", "{urn:foreign}x"]), text)
            case 6:
                if one.attrib:
                    del one.attrib[rng.choice(list(one.attrib))]
            case 7:
                one.append(
                    rng.choice((etree.Comment("x"), etree.PI("x", "y"), etree.Element("{urn:foreign}e")))
                )
            case _:
                for _ in range(rng.choice((1, 3, 250))):
                    one = etree.SubElement(one, other.tag)
    return etree.tostring(root, encoding=rng.choice(("utf-8", "utf-8", "utf-16")))
