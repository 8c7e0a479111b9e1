"""Links from pages to files that are not pages: they are copied into the site, so that every link works offline.

A Markdown page links to the README, to a test or to a folder as it lies in the repository. Inside the site, a link to a
text file outside `docs` leads to a copy under `_repository`; a link to a folder to a list of it.
"""

import posixpath
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.fileutil import copy_asset_file

REPOSITORY = Path(__file__).parents[2]
KINDS = {"": ".txt", ".py": ".txt", ".md": ".txt", ".json": ".json", ".toml": ".txt", ".csv": ".txt"}


def file_of(target: str, page: str) -> Path | None:
    """The file or folder of the repository that a link on a page leads to, if it is outside the site's sources."""
    path = (REPOSITORY / "docs" / posixpath.dirname(page) / target.split("#")[0]).resolve()
    return path if path.exists() and path.is_relative_to(REPOSITORY) and target else None


def rewrite(app: Any, tree: nodes.document, page: str) -> None:
    """Point links at copies, and make these."""
    for node in tree.findall(nodes.reference):
        target = node.get("refuri", "")
        if not target or "://" in target or target.startswith(("#", "mailto:")):
            continue
        path = file_of(target, page)
        if path is None or path.suffix not in KINDS:
            continue
        inside = path.relative_to(REPOSITORY)
        copy = Path(app.outdir, "_repository", f"{inside}{'/index' if path.is_dir() else ''}{KINDS[path.suffix]}")
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            copy.write_text("\n".join(sorted(p.name for p in path.iterdir() if p.name[0] not in "._")) + "\n")
        else:
            copy_asset_file(path, copy, force=True)
        up = "../" * page.count("/")
        node["refuri"] = up + copy.relative_to(app.outdir).as_posix()


def setup(app: Any) -> dict[str, Any]:
    app.connect("doctree-resolved", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
