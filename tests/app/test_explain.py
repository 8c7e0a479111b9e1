"""`explain` as a person meets it: the page, the summary, JSON, and what happens when something is missing."""

import base64
import hashlib
import json
import shutil
from html.parser import HTMLParser

import pytest
from photo_folder import RECIPE, copy_library, jpeg, learn, make_library, make_photos, put, words_of

from topicture.app.cli.looking import explain as cli_explain
from topicture.app.verbs.library import Library

HOSTILE_WORD = "<script>alert(1)</script> & \"x\" 'y' {{ 7*7 }}"
HOSTILE_NAME = "<img src=x onerror=alert(2)>.jpg"
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Tags that open and close properly, the text, and everything that a browser might load."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.addresses, self.tags, self.policy = [], [], [], [], ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        self.addresses += [value for name, value in attrs if name in ("src", "href", "data", "action")]
        if ("http-equiv", "Content-Security-Policy") in attrs:
            self.policy = dict(attrs)["content"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A learned library, with a word and a file name that try to get into the page as markup."""
    root = tmp_path_factory.mktemp("photos")
    make_photos(root, n=32, tagged=24)
    put(root / HOSTILE_NAME, jpeg(40))
    library = Library.create(root, recipe=RECIPE)
    library.scan()
    for number in range(0, 12, 2):
        library.decide(root / f"photo-{number:03d}.jpg", [HOSTILE_WORD], "present")
    library.decide(root / HOSTILE_NAME, [HOSTILE_WORD, "rose"], "present")
    learn(library)
    library.explain(workers=0)  # held-out answers are kept, and come along with the copies
    return root


@pytest.fixture
def root(learned, tmp_path, monkeypatch):
    copy_library(learned, tmp_path / "photos")
    monkeypatch.chdir(tmp_path / "photos")
    return tmp_path / "photos"


def test_the_page_stands_alone(root, topicture):
    code, out, _ = topicture("explain", "--workers", 0)
    assert code == 0
    assert "Page: .topicture/pages/0001-lsa.html" in out.replace("\\", "/")
    text = (root / ".topicture" / "pages" / "0001-lsa.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags.count("script") == 1
    assert all(address.startswith(("data:image/", "#")) for address in page.addresses)
    assert "default-src 'none'" in page.policy
    script = text[text.index("<script>") + 8 : text.index("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page.policy
    for heading in ("How it was chosen", "Topics", "Words in pictures", "Word by word", "Mistaken words"):
        assert heading in page.text


def test_words_and_file_names_are_text(root, topicture):
    topicture("explain", "--workers", 0)
    text = (root / ".topicture" / "pages" / "0001-lsa.html").read_text(encoding="utf-8")
    page = Page(text)
    assert HOSTILE_WORD in page.text
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "&lt;img src=x onerror=alert(2)&gt;.jpg" in text


def test_summary_and_json_tell_the_same(root, topicture):
    _, out, _ = topicture("explain", "--workers", 0)
    code, told, error = topicture("explain", "--workers", 0, "--json", "--out", "page.html")
    assert (code, error) == (0, "")
    told = json.loads(told)
    assert told["page"] == str(root / "page.html")
    assert (root / "page.html").is_file()
    assert f"{told['n_words']} words, learned from {told['learned_tagged']} tagged photos" in out
    words = {word["word"]: word for word in told["word_table"]}
    assert set(words) == {"rose", "grass", "sea", "sand", HOSTILE_WORD}
    assert words[HOSTILE_WORD]["photos"] == 7
    assert words["rose"]["photos"] == 1 + sum("rose" in words_of(number) for number in range(24))
    assert told["topic_models"][0]["kind"] == "components"
    assert told["learning"] is None
    # A photo that was only reviewed is judged, too, by the two words that were decided.
    assert told["judged"] == 24 + 1
    paths = [photo["path"] for example in told["examples"] for photo in example["typical"]]
    assert all((root / path).is_file() for path in paths)


def test_held_out_answers_are_those_of_learning(root, topicture):
    told = json.loads(topicture("explain", "--workers", 0, "--json")[1])
    report = json.loads(topicture("evaluate", "--json")[1])
    pairs = [sum(row["n"] for row in rows) for rows in (told["calibration"], report["reliability"])]
    assert pairs[0] == pairs[1]
    assert told["calibration_error"] == pytest.approx(report["calibration_error"])


def test_held_out_answers_are_made_once(root, topicture, monkeypatch):
    (kept,) = (root / ".topicture" / "models" / "0001").glob("held-out-*.safetensors")

    def refuse(*_, **__):
        raise AssertionError("fitted again")

    with monkeypatch.context() as patch:
        patch.setattr("topicture.app.explain.held_out.held_out_again", refuse)
        assert topicture("explain", "--workers", 0)[0] == 0
    kept.write_bytes(kept.read_bytes()[:100])  # damaged: made again
    assert topicture("explain", "--workers", 0)[0] == 0
    assert len(kept.read_bytes()) > 100


def test_new_tags_are_told_and_count(root, topicture):
    before = json.loads(topicture("explain", "--workers", 0, "--json")[1])
    topicture("tag", "photo-028.jpg", "rose", "unheard-of")
    code, out, _ = topicture("explain", "--workers", 0)
    assert code == 0
    assert "It was learned from 25 tagged photos, and 26 have one of its words now" in out
    after = json.loads(topicture("explain", "--workers", 0, "--json")[1])
    roses = [
        next(word["photos"] for word in told["word_table"] if word["word"] == "rose")
        for told in (before, after)
    ]
    assert roses[1] == roses[0] + 1
    assert len(list((root / ".topicture" / "models" / "0001").glob("held-out-*"))) == 1
    assert topicture("check")[0] == 0


def test_curves_take_fits_and_tell_a_sentence(root, topicture):
    code, out, _ = topicture("explain", "--workers", 0, "--curves", "--minutes", 2)
    assert code == 0
    assert "tagged photos the mean average precision changed by" in out
    page = Page((root / ".topicture" / "pages" / "0001-lsa.html").read_text(encoding="utf-8"))
    assert "More tagged photos" in page.text
    assert "More or fewer topics: lsa" in page.text


def test_models_by_number_name_and_folder(root, topicture, tmp_path):
    topicture("learn", "--model", "knn", "--no-regions", "--workers", 0, "--quiet")

    def named(*arguments):
        told = json.loads(topicture("explain", *arguments, "--workers", 0, "--json")[1])
        return told["folder"], told["model"], len(told["topic_models"])

    assert named() == ("0002", "knn", 0)
    assert named("1") == named("0001") == named("lsa") == ("0001", "lsa", 1)
    shutil.copytree(root / ".topicture" / "models" / "0001", tmp_path / "saved")
    assert named(tmp_path / "saved") == ("saved", "lsa", 1)


def test_the_browser_opens_only_when_asked(root, topicture, monkeypatch):
    opened = []
    monkeypatch.setattr(cli_explain.webbrowser, "open", opened.append)
    topicture("explain", "--workers", 0, "--quiet")
    assert opened == []
    assert topicture("explain", "--workers", 0, "--quiet", "--open")[1] == ""
    assert opened == [(root / ".topicture" / "pages" / "0001-lsa.html").as_uri()]


def test_a_photo_that_is_gone_is_skipped_and_told(root, topicture):
    (root / "photo-000.jpg").unlink()
    code, _, error = topicture("explain", "--workers", 0)
    assert code == 1
    assert "photo-000.jpg: can't be opened" in error
    page = Page((root / ".topicture" / "pages" / "0001-lsa.html").read_text(encoding="utf-8"))
    assert "photo-000.jpg" not in "".join(page.text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "corr-lda"], "no model 'corr-lda' was learned here"),
        (["explain", "7"], "there are: 0001 (lsa)"),
        (["explain", "."], "nor is it a model's folder"),
        (["explain", "--threshold", "7"], "above 0 and up to 1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_answered_in_one_line(root, topicture, arguments, message):
    code, _, error = topicture(*arguments, "--workers", 0)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1


def test_nothing_was_learned_yet(tmp_path, topicture, monkeypatch):
    make_library(tmp_path / "photos", n=4, tagged=0)
    monkeypatch.chdir(tmp_path / "photos")
    code, _, error = topicture("explain")
    assert (code, error.count("\n")) == (2, 1)
    assert "run 'topicture learn'" in error


def test_no_photo_has_a_word_of_the_model(root, tmp_path, topicture, monkeypatch):
    make_library(tmp_path / "others", n=4, tagged=0)
    monkeypatch.chdir(tmp_path / "others")
    model = root / ".topicture" / "models" / "0001"
    code, _, error = topicture("explain", model, "--workers", 0)
    assert (code, error.count("\n")) == (2, 1)
    assert "no photo carries a tag yet" in error
    topicture("tag", "photo-000.jpg", "rose", "only-here")
    code, _, error = topicture("explain", model, "--workers", 0)
    assert (code, error.count("\n")) == (2, 1)
    assert "only 1 photo with a word of this model" in error
