"""The page on metadata is true: its example gives what it says, and no format is missing."""

import re
from pathlib import Path

from topicture.collection.formats import FORMATS

PAGE = (Path(__file__).parents[2] / "docs" / "metadata.md").read_text(encoding="utf-8")


def test_the_example_gives_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(code, "metadata.md", "exec"), {})
    said = re.findall(r"print\(.*\)  # (.*)", code)
    assert said
    assert capsys.readouterr().out.splitlines() == said


def test_every_format_is_on_the_page():
    assert re.findall(r"^\| `([\w-]+)` \| (?:one|a folder|the same)", PAGE, flags=re.MULTILINE) == list(
        FORMATS
    )
