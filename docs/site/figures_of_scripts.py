"""Which figures a gallery script has made, and in which order the gallery is shown."""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

SECTIONS = ("tasks", "counts", "graphs", "regions", "spaces", "rivals")
DPI = 110


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures among a script's variables that no earlier block made, as reStructuredText that shows them.

    Topicture's figures belong to whoever asked for them; pyplot, where the gallery would look, never hears of them.
    """
    shown = block_vars["example_globals"].setdefault("__figures_shown__", [])
    paths = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, Figure) and not any(value is other for other in shown):
            path = Path(next(block_vars["image_path_iterator"])).with_suffix(".png")
            value.savefig(path, dpi=DPI, facecolor="white", metadata={"Software": None})
            shown.append(value)
            paths.append(str(path))
    return figure_rst(paths, gallery_conf["src_dir"])


class Sections:
    """What people do comes first, then the models."""

    def __call__(self, folder: str) -> int:
        return SECTIONS.index(Path(folder).name)

    def __repr__(self) -> str:
        return (
            f"Sections{SECTIONS}"  # the same in every run: sphinx asks whether the configuration has changed
        )
