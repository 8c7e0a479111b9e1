"""The house stays in order: no circles among imports, folders and files of a size to read, nothing said twice."""

import io
import keyword
import sys
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = [ROOT / "src", ROOT / "experiments" / "src"]
sys.path.insert(0, str(ROOT / "docs"))

from import_graph import ROWS, cycles, folder_graph, module_graph, rows_of  # noqa: E402

MOST_FILES, MOST_LINES, TOO_MANY_ALIKE = 15, 350, 10


def python_files():
    return [path for source in SOURCES for path in sorted(source.rglob("*.py"))]


@pytest.mark.parametrize("source", SOURCES, ids=["src", "experiments"])
def test_no_module_imports_itself_in_a_round(source):
    """Imports inside functions count: a circle that is only broken by laziness is still a circle."""
    assert cycles(module_graph(source)) == []


def test_a_circle_would_be_found(tmp_path):
    (tmp_path / "one.py").write_text("import two\n")
    (tmp_path / "two.py").write_text("def later():\n    from one import x\n")
    assert cycles(module_graph(tmp_path)) == [["one", "two"]]


def test_folders_import_downwards():
    row = {folder: number for number, folders in enumerate(ROWS) for folder in folders}
    upwards = [(a, b) for a, b in folder_graph(module_graph()) if row[b] < row[a]]
    assert upwards == []


def test_rows_of_another_tree_have_importers_above(tmp_path):
    for name, content in {"topicture": "", "topicture.a": "import topicture.b.x", "topicture.b": ""}.items():
        folder = tmp_path.joinpath(*name.split("."))
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(content)
    (tmp_path / "topicture" / "b" / "x.py").write_text("import topicture\n")
    assert rows_of(tmp_path) == (("a",), ("b",), ("",))


def test_folders_hold_few_files():
    counts = Counter(path.parent for path in python_files() if path.name != "__init__.py")
    assert {str(folder.relative_to(ROOT)): n for folder, n in counts.items() if n > MOST_FILES} == {}


def test_files_are_short():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in python_files()}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


# --- Nothing is said twice ----------------------------------------------------------------------------------------


def shapes(path):
    """(line number, its tokens with names, numbers and texts made alike) of the lines that do something.

    Imports, lone brackets, declarations of fields and rows of literals are passed over: values of one kind look alike.
    """
    lines = defaultdict(list)
    content = path.read_bytes()
    for token in tokenize.tokenize(io.BytesIO(content).readline):
        if token.type == tokenize.NAME:
            lines[token.start[0]].append(token.string if token.string in KEYWORDS else "name")
        elif token.type in (tokenize.NUMBER, tokenize.STRING):
            lines[token.start[0]].append("value")
        elif token.type == tokenize.OP:
            lines[token.start[0]].append(token.string)
    kept = [(number, tuple(shape)) for number, shape in sorted(lines.items())]
    return [(n, shape) for n, shape in kept if len(shape) > 2 and not _declares(shape)]


def _declares(shape):
    return shape[0] in ("import", "from", "value") or shape[:2] == ("name", ":")


KEYWORDS = frozenset((*keyword.kwlist, "self"))


def clones(paths, window=TOO_MANY_ALIKE):
    """Places whose `window` lines in a row have the same shapes as another place's."""
    seen, found = {}, []
    for path in paths:
        lines = shapes(path)
        for start in range(len(lines) - window + 1):
            part = lines[start : start + window]
            key = tuple(shape for _, shape in part)
            here = (path, part[0][0], part[-1][0])
            other = seen.setdefault(key, here)
            apart = other[0] != path or other[2] < here[1]
            if other is not here and apart:
                found.append(f"{path.name}:{here[1]}-{here[2]} ~ {other[0].name}:{other[1]}-{other[2]}")
    return found


def test_no_ten_lines_stand_twice():
    assert clones(sorted((ROOT / "src").rglob("*.py"))) == []


def test_a_clone_would_be_found(tmp_path):
    (tmp_path / "one.py").write_text("".join(f"total_{i} = first(x, {i})\n" for i in range(12)))
    (tmp_path / "two.py").write_text("".join(f"sum_{i} = second(y, {i + 3})\n" for i in range(12)))
    assert clones([tmp_path / "one.py", tmp_path / "two.py"])
