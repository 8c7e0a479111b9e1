"""Numbers of texts as CLIP's encoders know them; files of another kind are refused."""

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_encoders import END, START, letters, merges_of, tokenizer_values

from topicture.errors import DataNotFound, ModelFileError
from topicture.vision.networks import tokens
from topicture.vision.networks.tokens import read_tokenizer

# "café" and "日本" by their bytes, as the format writes them.
MERGES = [
    *merges_of(["photo", "of", "garden", "grandma", "the", "rose"]),
    ("c", "a"),
    ("ca", "f"),
    ("caf", "\u00c3"),
    ("caf\u00c3", "\u00a9</w>"),
    ("\u00e6", "\u0139"),
    ("\u00e6\u0139", "\u00a5"),
    ("\u00e6\u0139\u00a5", "\u00e6"),
    ("\u00e6\u0139\u00a5\u00e6", "\u013e"),
    ("\u00e6\u0139\u00a5\u00e6\u013e", "\u00ac</w>"),
    ("a", "r"),
    ("d", "e"),
]
# What the package tokenizers 0.23.3 says with these merges.
GOLDEN = [
    ("a photo of rose", [544, 320, 515, 516, 532, 545]),
    ("Grandma's garden", [544, 527, 6, 338, 521, 545]),
    ("GRANDMA\u2019S  Garden", [544, 527, 158, 222, 503, 338, 521, 545]),
    ("Rex", [544, 81, 68, 343, 545]),
    ("caf\u00e9", [544, 536, 545]),
    ("cafe\u0301", [544, 536, 545]),
    ("\u039f\u0394\u039f\u03a3", [544, 138, 123, 138, 112, 138, 123, 139, 481, 545]),
    ("\u65e5\u672c 2024", [544, 541, 273, 271, 273, 275, 545]),
    ("don't", [544, 67, 78, 333, 6, 339, 545]),
    ("it'll've", [544, 72, 339, 6, 75, 331, 6, 85, 324, 545]),
    ("a/b|c", [544, 320, 270, 321, 347, 322, 545]),
    ("\U0001f600!?", [544, 172, 253, 246, 222, 0, 286, 545]),
    ("rose-garden", [544, 532, 268, 521, 545]),
    ("o o", [544, 334, 334, 545]),
    ("\u00a0the\u2003rose ", [544, 529, 532, 545]),
    ("\u00bdx\u00b2", [544, 126, 377, 343, 126, 366, 545]),
    ("\u0130", [544, 328, 136, 485, 545]),
]


def write(folder, change=lambda values: None):
    values = tokenizer_values(MERGES)
    change(values)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(values))
    return path


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return read_tokenizer(write(tmp_path_factory.mktemp("tokens")))


@pytest.mark.parametrize(("text", "ids"), GOLDEN)
def test_numbers_are_those_of_the_package_tokenizers(tokenizer, text, ids):
    assert tokenizer(text, 77) == ids


def test_a_long_text_keeps_its_ends(tokenizer):
    ids = tokenizer("rose " * 500, 77)
    assert len(ids) == 77
    assert (ids[0], ids[-1]) == (544, 545)
    assert tokenizer("rose", 2) == [544, 545]


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=30))
def test_nothing_of_a_text_is_lost(tokenizer, text):
    """The pieces' bytes are those of the text without its blanks."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    byte_of = dict(zip(letters(), [*plain, *(b for b in range(256) if b not in plain)], strict=True))
    pieces = {number: piece for piece, number in tokenizer.ids.items()}
    ids = tokenizer(text, 10_000)
    assert (pieces[ids[0]], pieces[ids[-1]]) == (START, END)
    joined = "".join(pieces[number].removesuffix("</w>") for number in ids[1:-1])
    found = bytes(byte_of[letter] for letter in joined).decode()
    lowered = "".join(c.lower() for c in unicodedata.normalize("NFC", text))
    assert found == "".join(c for c in lowered if not c.isspace())


def test_merges_and_ends_are_read_in_both_forms(tmp_path, tokenizer):
    def older(values):
        values["model"]["merges"] = [" ".join(pair) for pair in values["model"]["merges"]]

    def template(values):
        ends = {START: {"id": START, "ids": [544]}, END: {"id": END, "ids": [545]}}
        single = [{"SpecialToken": {"id": START}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": END}}]
        values["post_processor"] = {"type": "TemplateProcessing", "single": single, "special_tokens": ends}

    for change in (older, template):
        assert read_tokenizer(write(tmp_path, change))("a rose", 9) == tokenizer("a rose", 9)


def test_what_fills_up_is_the_end_unless_the_file_says_otherwise(tmp_path, tokenizer):
    assert tokenizer.padding == 545
    path = write(tmp_path, lambda values: values.update(padding={"pad_id": 0}))
    assert read_tokenizer(path).padding == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v["model"].update(type="Unigram"), "Unigram"),
        (lambda v: v["model"].update(end_of_word_suffix=None), "as CLIP's"),
        (lambda v: v["model"].update(byte_fallback=True), "byte_fallback"),
        (lambda v: v["model"].update(dropout=0.1), "dropout"),
        (lambda v: v["normalizer"]["normalizers"].pop(), "prepares texts"),
        (lambda v: v["pre_tokenizer"]["pretokenizers"][0].update(pattern={"Regex": "x"}), "finds words"),
        (lambda v: v["pre_tokenizer"]["pretokenizers"][1].update(add_prefix_space=True), "joins words"),
        (lambda v: v["model"]["vocab"].pop("a"), "no number for 'a'"),
        (lambda v: v["model"]["merges"].append(["z", "z"]), "no number for 'zz'"),
        (lambda v: v["model"]["merges"].append("zz"), "not a complete tokenizer"),
        (lambda v: v["model"]["vocab"].update(a=-1), "no number of a piece"),
        (lambda v: v["model"]["vocab"].update(a=1.5), "no number of a piece"),
        (lambda v: v.pop("model"), "not a complete tokenizer"),
        (lambda v: v.update(normalizer=None), "not a complete tokenizer"),
        (lambda v: v.update(post_processor={"type": "Other"}), "not a complete tokenizer"),
        (lambda v: v.update(padding=[1]), "not a complete tokenizer"),
    ],
)
def test_other_tokenizers_are_refused_in_one_line(tmp_path, change, message):
    with pytest.raises(ModelFileError, match=message) as refused:
        read_tokenizer(write(tmp_path, change))
    assert str(refused.value).startswith("tokenizer.json: ")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"[1]", b"null", b"\xff\xfe", b"1e999"])
def test_what_is_no_tokenizer_is_refused(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"tokenizer\.json"):
        read_tokenizer(path)


def test_a_missing_and_a_huge_file(tmp_path, monkeypatch):
    with pytest.raises(DataNotFound, match="no tokenizer"):
        read_tokenizer(tmp_path / "none.json")
    monkeypatch.setattr(tokens, "MAX_BYTES", 1000)
    with pytest.raises(ModelFileError, match="larger"):
        read_tokenizer(write(tmp_path))
