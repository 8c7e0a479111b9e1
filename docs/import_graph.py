"""The import graph of the package, lazy imports included: its cycles, and a picture of its folders.

    python docs/import_graph.py docs/images/imports.svg

An arrow says that modules of one folder import from another; its width grows with their number.
"""

import ast
import sys
from collections import Counter
from collections.abc import Set
from pathlib import Path

import networkx as nx

SOURCE = Path(__file__).parent.parent / "src"


def module_graph(source: Path = SOURCE) -> nx.DiGraph:
    """Every module, with an edge to each module of ours that it imports, at the top or inside a function."""
    files = {_name(path, source): path for path in sorted(source.rglob("*.py"))}
    graph = nx.DiGraph()
    graph.add_nodes_from(files)
    for name, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        graph.add_edges_from((name, target) for target in _imports(tree, files.keys()) if target != name)
    return graph


def _name(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(node: ast.AST, known: Set[str]) -> set[str]:
    """The known modules that code imports; what only type checkers read is passed over."""
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        return set()
    found: set[str] = set()
    if isinstance(node, ast.Import):
        found = {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom) and node.module:
        names = {f"{node.module}.{alias.name}" for alias in node.names}
        # `from package import module` names modules, the other form names what a module holds.
        found = (names & known) | (set() if names <= known else {node.module})
    return (found & known).union(*(_imports(child, known) for child in ast.iter_child_nodes(node)))


def cycles(graph: nx.DiGraph) -> list[list[str]]:
    """Groups of modules that import one another, directly or in a round."""
    return [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1]


# --- The picture ------------------------------------------------------------------------------------------------------

ROWS = (
    ("app.cli",),
    ("app.console",),
    ("demo", "demo.scenes"),
    ("app.verbs", "app.verbs.asking"),
    ("app.explain",),
    ("app.learning", "app.pages", "app"),
    ("store", "store.decisions", "store.safety", "search"),
    ("annotations", "annotations.choice", "annotations.figures", "annotations.measures", "annotations.shift"),
    ("models.blends", "models.baselines"),
    ("models.graphs", "models.classes", "models.spaces"),
    ("models.regions", "models.counts"),
    ("models.em",),
    ("models",),
    ("vision", "vision.features", "vision.networks"),
    ("collection", "collection.formats", "collection.sidecar", "collection.metadata"),
    ("corpus",),
    ("",),
)
"""The folders from people (top) to numbers and files (bottom); "" holds the few modules that all may import."""


def folder_graph(graph: nx.DiGraph) -> Counter[tuple[str, str]]:
    """(folder, folder) -> number of imports from modules of the one to modules of the other."""
    return Counter(
        (a, b) for source, target in graph.edges if (a := _folder(source)) != (b := _folder(target))
    )


def _folder(module: str) -> str:
    name = module.removeprefix("topicture").removeprefix(".")
    known = [folder for row in ROWS for folder in row if folder]
    return max((f for f in known if name == f or name.startswith(f + ".")), key=len, default="")


def draw(path: Path) -> None:
    """Draw the folders in their rows and the imports between them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

    graph = module_graph()
    sizes = Counter(_folder(name) for name in graph)
    where = {
        folder: ((column + 0.5) * 12 / len(row), -1.25 * number)
        for number, row in enumerate(ROWS)
        for column, folder in enumerate(row)
    }
    figure, axes = plt.subplots(figsize=(11, 15))
    for (a, b), n in folder_graph(graph).items():
        up = where[b][1] > where[a][1]
        arrow = FancyArrowPatch(
            (where[a][0], where[a][1] - (0 if up else 0.3)),
            (where[b][0], where[b][1] + (0 if up else 0.3)),
            arrowstyle="-|>",
            mutation_scale=8,
            linewidth=0.4 + 0.12 * n,
            color="#c0392b" if up else "#7f8c9b",
            alpha=0.45,
            connectionstyle="arc3,rad=0.06",
            zorder=1,
        )
        axes.add_patch(arrow)
    for folder, (x, y) in where.items():
        box = FancyBboxPatch(
            (x - 1.05, y - 0.28),
            2.1,
            0.56,
            boxstyle="round,pad=0.03",
            facecolor="#f4f1ea",
            edgecolor="#34495e",
        )
        axes.add_patch(box)
        label = folder or "errors, files"
        axes.text(x, y, f"{label}\n{sizes[folder]} modules", ha="center", va="center", fontsize=8, zorder=3)
    axes.set_xlim(-0.2, 12.2)
    axes.set_ylim(-1.25 * len(ROWS) + 0.6, 0.6)
    axes.axis("off")
    figure.savefig(path, dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    found = cycles(module_graph())
    if found:
        sys.exit("\n".join("modules that import one another: " + ", ".join(group) for group in found))
    if len(sys.argv) > 1:
        draw(Path(sys.argv[1]))
