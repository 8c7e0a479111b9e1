"""Links from promises to the tests that prove them: a test that a page names leads to its source, inside the site.

`collection/test_folder.py::test_links_are_never_followed` becomes a link to that line of a highlighted copy.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

REPOSITORY = Path(__file__).parents[2]
NAMED = re.compile(r"(?:tests/)?([\w/]+\.py)(?:::(test_\w+))?")
FOLDER = "_tests"


def place_of(text: str) -> tuple[Path, int] | None:
    """File and line of the test that a piece of code names, if it names one."""
    found = NAMED.fullmatch(text)
    path = REPOSITORY / "tests" / found[1] if found else None
    if found is None or path is None or not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8").splitlines()
    wanted = f"def {found[2]}(" if found[2] else ""
    return path, next((number for number, line in enumerate(lines, 1) if line.startswith(wanted)), 1)


def link(app: Any, tree: nodes.document, page: str) -> None:
    """Wrap what names a test into a link, and remember the file."""
    for node in list(tree.findall(nodes.literal)):
        place = place_of(node.astext())
        if place is None or isinstance(node.parent, nodes.reference):
            continue
        inside = place[0].relative_to(REPOSITORY / "tests").as_posix()
        target = f"{'../' * page.count('/')}{FOLDER}/{inside}.html#line-{place[1]}"
        node.replace_self(nodes.reference("", "", node.deepcopy(), refuri=target, internal=False))
        copy(place[0], Path(app.outdir, FOLDER, f"{inside}.html"))


def copy(source: Path, target: Path) -> None:
    """The source of tests as a page with numbered lines."""
    if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    style = HtmlFormatter(
        full=True, title=source.name, linenos="inline", lineanchors="line", anchorlinenos=True
    )
    target.write_text(highlight(source.read_text(encoding="utf-8"), PythonLexer(), style), encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
