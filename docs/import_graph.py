"""The import graph of the package, lazy imports included: its cycles, and a picture of its folders.

    python docs/import_graph.py --out docs/images/import_graph_after.png
    git worktree add ../before COMMIT; python docs/import_graph.py --tree ../before --out before.png

An arrow says that modules of one folder import from another; its width grows with their number.
"""

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Set
from pathlib import Path

import networkx as nx

SOURCE = Path(__file__).parent.parent / "src"
Rows = tuple[tuple[str, ...], ...]


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
    ("earlier",),
    ("app.cli",),
    ("app.web", "app.web.routes"),
    ("app.console",),
    ("demo", "demo.scenes"),
    ("app.verbs.deciding", "app.verbs.teaching"),
    ("app.verbs", "app.verbs.asking"),
    ("app.explain",),
    ("app.learning", "app.pages", "app"),
    ("store", "store.decisions", "store.safety", "search"),
    ("cluster",),
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


def folder_graph(graph: nx.DiGraph, rows: Rows = ROWS) -> Counter[tuple[str, str]]:
    """(folder, folder) -> number of imports from modules of the one to modules of the other."""
    return Counter(
        (a, b)
        for source, target in graph.edges
        if (a := _folder(source, rows)) != (b := _folder(target, rows))
    )


def _folder(module: str, rows: Rows) -> str:
    name = module.removeprefix("topicture").removeprefix(".")
    known = [folder for row in rows for folder in row if folder]
    return max((f for f in known if name == f or name.startswith(f + ".")), key=len, default="")


def rows_of(source: Path) -> Rows:
    """Rows for any tree: whoever imports stands above; folders that import one another stand side by side."""
    packages = {_name(path, source) for path in source.rglob("__init__.py")}
    names = sorted(name.removeprefix("topicture").removeprefix(".") for name in packages)
    between = nx.DiGraph(folder_graph(module_graph(source), (tuple(names),)).keys())
    between.add_nodes_from(names)
    groups = nx.condensation(between)
    return tuple(
        tuple(folder for group in generation for folder in sorted(groups.nodes[group]["members"]))
        for generation in nx.topological_generations(groups)
    )


def draw(path: Path, source: Path = SOURCE, rows: Rows = ROWS) -> None:
    """Draw the folders in their rows and the imports between them; those that point upwards or sideways are red."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
    from PIL import Image

    graph = module_graph(source)
    sizes = Counter(_folder(name, rows) for name in graph)
    where = {
        folder: ((column + 0.5) * 12 / len(row), -1.25 * number)
        for number, row in enumerate(rows)
        for column, folder in enumerate(row)
    }
    figure, axes = plt.subplots(figsize=(11, 0.88 * len(rows)))
    for (a, b), n in folder_graph(graph, rows).items():
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
    axes.set_ylim(-1.25 * len(rows) + 0.6, 0.6)
    axes.axis("off")
    figure.savefig(path, dpi=100, bbox_inches="tight")
    with Image.open(path) as picture:  # few colours make a small file
        picture.convert("RGB").quantize(32).save(path, optimize=True)


def numbers(source: Path) -> str:
    """What the pictures can't show, in one line."""
    files = sorted(source.rglob("*.py"))
    folders = Counter(path.parent for path in files if path.name != "__init__.py")
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in files]
    graph = module_graph(source)
    return (
        f"{len(files)} modules, {sum(lines):,} lines; at most {max(folders.values())} modules per folder and "
        f"{max(lines)} lines per module; {graph.number_of_edges():,} imports; circles of modules: {len(cycles(graph))}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tree", type=Path, help="the root of another checkout; its rows are worked out")
    parser.add_argument("--out", type=Path, help="the picture to draw")
    told = parser.parse_args()
    chosen = told.tree / "src" if told.tree else SOURCE
    print(numbers(chosen))
    if told.out:
        draw(told.out, chosen, rows_of(chosen) if told.tree else ROWS)
    if found := cycles(module_graph(chosen)):
        sys.exit("\n".join("modules that import one another: " + ", ".join(group) for group in found))
