"""Reports become pages of their own, and their findings one summary."""

import base64

import numpy as np
import pytest
from PIL import Image
from topicture_experiments.reproducing import PAPERS, reports_of, reproduce, write_summary
from topicture_experiments.shared.running import Options, Tell

from topicture.app.pages.reports import html_of, write_html
from topicture.errors import TopictureError


def untold(report: str) -> Tell:
    return lambda line, done, total: None


REPORT = """# Some paper: our figures

Text with *emphasis* and <b onclick="x()">markup</b>.

## The paper's findings

| Finding | Here | Verdict |
| --- | --- | --- |
| It works | 0.3 against 0.2 | holds |

## More

![A curve](curve.png)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "blei2003.md").write_text(REPORT)
    Image.fromarray(np.zeros((2, 2, 3), np.uint8)).save(tmp_path / "curve.png")
    return tmp_path


def test_a_page_holds_its_figures_and_no_markup_of_others(folder):
    page = write_html(folder / "blei2003.md").read_text()
    assert base64.b64encode((folder / "curve.png").read_bytes()).decode() in page
    assert "<em>emphasis</em>" in page
    assert "<td>0.3 against 0.2</td>" in page
    assert "<title>Some paper: our figures</title>" in page
    assert "<b onclick" not in page


@pytest.mark.parametrize("name", ["../curve.png", "https://example.org/a.png", "curve.svg"])
def test_a_figure_is_a_file_beside_the_report(folder, name):
    with pytest.raises(ValueError, match="figure"):
        html_of(f"![x]({name})", folder)


def test_the_summary_lies_where_it_is_asked_for(folder):
    """Of the reports there is evidence of none; the tables of `auto` stand under their headings."""
    (folder / "auto.md").write_text(
        "# Auto\n\n**Older than the code:** all of it.\n\nText.\n\n"
        "## Usual split\n\nText.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    )
    inside = write_summary(folder).read_text()
    assert "| Paper | Claim | Published | Here | Verdict | Why |" in inside
    assert (
        "**Older than the code:** all of it.\n\n### Usual split\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"
        in inside
    )
    assert "(auto.md)" in inside
    beside = write_summary(folder, folder.parent / "results.md").read_text()
    assert f"({folder.name}/auto.md)" in beside


def test_papers_that_share_a_report_run_it_once():
    assert reports_of(["shao2009", "shao2010"]) == ["shao"]
    papers = [name for name in PAPERS if name not in ("all", "auto", "missing", "regions")]
    assert reports_of(["all"]) == reports_of(papers)
    assert reports_of(["auto"]) == ["auto"]
    assert reports_of(["regions"]) == ["regions"]


def test_an_unknown_paper_is_told(tmp_path):
    with pytest.raises(TopictureError, match="blei2004"):
        reproduce(["blei2004"], Options(tmp_path), untold)


def test_missing_data_is_one_line(tmp_path):
    with pytest.raises(TopictureError) as error:
        reproduce(["blei2003"], Options(tmp_path / "out", str(tmp_path / "nowhere"), quick=True), untold)
    assert "nowhere" in str(error.value)
    assert "\n" not in str(error.value)
