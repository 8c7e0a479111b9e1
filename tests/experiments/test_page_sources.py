"""What the sources of the pages may say: no measured figure in prose, no name of a source document, pages as committed.

Figures that were measured belong to the evidence (docs/results/*.json), from which the pages are computed: one that
stands in a sentence goes on standing there when the next run finds another.
"""

import ast
import json
import re
import shutil
from importlib import import_module
from pathlib import Path

import pytest
import topicture_experiments
from topicture_experiments.auto import page as auto_page
from topicture_experiments.blei2003 import page as blei2003_page
from topicture_experiments.blei2003.work import assembled
from topicture_experiments.liu2005 import page as liu2005_page
from topicture_experiments.shao import page as shao_page
from topicture_experiments.shared.summary import summary_table
from topicture_experiments.yang2010 import page as yang2010_page

ROOT = Path(__file__).parents[2]
PACKAGE = Path(topicture_experiments.__file__).parent
DOCS = ROOT / "docs"
RESULTS = DOCS / "results"
PAGES = [*sorted(RESULTS.glob("*.md")), DOCS / "results.md", DOCS / "experiments.md"]

# Module -> where its numbers come from -> the numbers.
ALLOWED = {
    "auto/page.py": {
        "name of a protocol": "25%",
        "words of Corel-5k, by its usual division": "260",
        "goals, set before measuring": "0.32 41.0 0.62 44.0 0.29 48.0 0.575 53.0 0.5 0.48",
    },
    "auto/presence.py": {"where reliability is judged": "10%"},
    "auto/work.py": {"name of a protocol": "25%"},
    "regions/page.py": {
        "words of MSRC v2, and settings of the other models": "21 50 40 500",
        "steps of certainty, and what half an overlap is": "0.0 0.5 0.6 0.7 0.8 0.9 1.0",
    },
    "regions/work.py": {"names of ways to regions": "10 20 40 100 384"},
    "blei2003/page.py": {
        "Corel-5k and our features": "260 46 10",
        "Blei and Jordan 2003: their data": "7,000 168 47",
        "what counts as close": "0.25",
    },
    "descriptors/images.py": {"sizes of codebooks": "500 1000"},
    "descriptors/report.py": {
        "Guillaumin et al., ICCV 2009": "0.33 0.42 160",
        "Verma and Jawahar, ECCV 2012": "0.44 0.46 191",
        "Murthy, Maji and Manmatha, ICMR 2015": "0.42 0.52 201",
    },
    "liu2005/page.py": {
        "Liu and Tang 2005: their data": "80 5,000 2,000 150",
        "words of Corel-5k and of the subsets": "260 144 174",
        "our threshold of a colour": "2%",
        "what counts as close": "0.02",
        "size of a panel in inches": "3.4 2.8",
    },
    "missing/page.py": {
        "Corel-5k, by its usual division and ours": "260 4,999 4,500 499 50 12 256",
        "sizes of the libraries and numbers of answers": "40 100 200 300 20 10%",
        "asked precisions and goals, set before measuring": "70% 80% 90% 78% 88% 0.78 0.88 0.04 25% 0.87 0.93 0.03",
        "bins of probability": "0.1 0.5 0.7 0.9 1e-09",
    },
    "missing/report.py": {"names of libraries": "40% 20%"},
    "shao/page.py": {
        "a claim of Shao et al. 2010": "30",
        "blobs of Barnard et al. 2003, and of the papers": "500 600",
        "our stopping rule": "1e-4",
    },
    "shao/work.py": {"a setting that was tried": "16"},
    "shared/published.py": {
        "Liu and Tang 2005, Table 1": "0.045 0.100 0.048 0.102 0.004 0.042 0.067 0.013 0.025",
        "Yang et al. 2010: gains, and k of the curves": "9.08% 15.04% 18.84% 22.79% 40",
        "a claim of Shao et al. 2010": "30",
    },
    "yang2010/claims.py": {
        "a claim of Yang et al. 2010": "40",
        "all training images": "1.0",
        "what counts as more stable, and as mostly zeros": "0.05 0.5",
    },
    "yang2010/page.py": {
        "training share of five folds": "0.8",
        "size of a panel in inches, width of a line": "4.2 3.0 0.9",
    },
    "yang2010/text.py": {
        "Yang et al. 2010: their data and settings": "2,359 93 4,053 291 500 200",
        "our data and settings": "2,500 1,000 46 40 10 60",
        "number of an equation": "10",
    },
}
# Modules whose numbers, too, go to a page; elsewhere numbers outside of strings are settings.
WRITERS = ("page.py", "text.py", "claims.py", "published.py", "summary.py", "tables.py", "reproducing.py")
# One digit and years say which, not how much; digits within names (LapVar1, Corel-5k) are part of them.
NUMBER = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?%?(?![\w-])")
HARMLESS = re.compile(r"\d|(19|20)\d\d")


def numbers_in(source: str, is_writer: bool) -> set[str]:
    """Numbers in the strings of a module, apart from docstrings and format specifications; and a writer's floats."""
    tree = ast.parse(source)
    skipped = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            skipped.add(id(body[0].value))
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            skipped |= {id(part) for part in ast.walk(node.format_spec)}
    constants = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in skipped]
    found = {number for n in constants if isinstance(n.value, str) for number in NUMBER.findall(n.value)}
    floats = {str(n.value) for n in constants if isinstance(n.value, float)} if is_writer else set()
    return {number for number in found if not HARMLESS.fullmatch(number)} | floats


MODULES = [path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.rglob("*.py"))]


@pytest.mark.parametrize("module", MODULES)
def test_no_measured_figure_stands_in_prose(module):
    allowed = {number for numbers in ALLOWED.get(module, {}).values() for number in numbers.split()}
    source = (PACKAGE / module).read_text(encoding="utf-8")
    assert numbers_in(source, module.endswith(WRITERS)) == allowed


def test_the_scan_finds_figures():
    text = '"""Doc 0.7."""\nA = f"leads by 11 to 15, 43% of {x:.3f}"\nB = {"accuracy": 0.302}\nC = "LapVar1 at 2010"\n'
    assert numbers_in(text, is_writer=True) == {"11", "15", "43%", "0.302"}
    assert numbers_in(text, is_writer=False) == {"11", "15", "43%"}


# --- Names ---------------------------------------------------------------------------------------------------------

DOCUMENT = re.compile(r"\b[A-Z]{4,}\.md\b|(?<![\w.])00\d_")
"""Files that a reader of the page does not have."""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_page_names_a_source_document(path):
    assert DOCUMENT.findall(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("module", [module for module in MODULES if module.endswith(WRITERS)])
def test_no_source_of_a_page_names_one(module):
    assert DOCUMENT.findall((PACKAGE / module).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", [*PAGES, DOCS / "tool.md"], ids=lambda path: path.name)
def test_commands_that_pages_name_are_there(path):
    named = set(re.findall(r"python -m (topicture_experiments[\w.]*\w)", path.read_text(encoding="utf-8")))
    for module in named - {"topicture_experiments"}:  # "topicture_experiments.<report>.report" names none
        assert callable(import_module(module).main), module
    if path.parent == RESULTS:
        assert named, "a page says what writes it"


@pytest.mark.parametrize("report", ["auto", "blei2003", "liu2005", "missing", "shao", "yang2010"])
def test_every_report_is_a_command(report, capsys):
    with pytest.raises(SystemExit) as end:
        import_module(f"topicture_experiments.{report}.report").main(["--help"])
    assert end.value.code == 0
    assert f"python -m topicture_experiments.{report}.report" in " ".join(capsys.readouterr().out.split())


# --- Committed pages -----------------------------------------------------------------------------------------------

WRITE = {
    "auto": auto_page.write_page,
    "blei2003": lambda evidence, out: blei2003_page.write_page(assembled(evidence), out),
    "liu2005": liu2005_page.write_page,
    "shao": shao_page.write_page,
    "yang2010": yang2010_page.write_page,
}


@pytest.mark.parametrize("report", WRITE)
def test_committed_pages_are_what_their_evidence_gives(report, tmp_path):
    """`python -m topicture_experiments.<report>.report --limit-seconds 0` writes them again."""
    for path in RESULTS.glob(f"{report}-*.json"):
        shutil.copy(path, tmp_path)
    evidence = json.loads((RESULTS / f"{report}.json").read_text(encoding="utf-8"))
    page = WRITE[report](evidence, tmp_path)
    assert page.read_text(encoding="utf-8") == (RESULTS / f"{report}.md").read_text(encoding="utf-8")


def test_the_committed_summary_is_that_of_the_evidence():
    assert summary_table(RESULTS, "results/") in (DOCS / "results.md").read_text(encoding="utf-8")
