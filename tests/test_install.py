"""What is installed: pins, their hashes, the bill of materials, and a wheel that is the same every time."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def pins():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def bill():
    return json.loads((ROOT / "sbom.cdx.json").read_text(encoding="utf-8"))


def test_the_lock_has_the_pins_and_a_hash_for_each():
    text = (ROOT / "locked.txt").read_text(encoding="utf-8")
    locked = dict(re.findall(r"^(\S+)==(\S+) --hash=sha256:[0-9a-f]{64}$", text, flags=re.MULTILINE))
    assert locked == pins(), "run `make lock`"
    assert not re.search(r"://|--(extra-)?index|--find-links", text)


def test_every_dependency_is_pinned():
    asked = [*PROJECT["dependencies"], *(text for name in EXTRAS if name != "gpu" for text in EXTRAS[name])]
    names = {canonicalize_name(Requirement(text).name) for text in asked} - {
        "topicture",
        "topicture-experiments",
    }
    assert names <= pins().keys()


def test_pins_are_complete_and_agree_with_one_another():
    """`make install` asks for exactly these files, without looking what they need."""
    versions, missing = pins(), []
    for name in versions:
        for requirement in map(Requirement, distribution(name).requires or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                version = versions.get(canonicalize_name(requirement.name))
                if version is None or not requirement.specifier.contains(version, prereleases=True):
                    missing.append((name, str(requirement), version))
    assert missing == []


def test_the_bill_of_materials_lists_what_users_install():
    components = {part["name"]: part for part in bill()["components"]}
    assert {name: part["version"] for name, part in components.items()}.items() <= pins().items(), (
        "run `make lock`"
    )
    base = {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]}
    required = {name for name, part in components.items() if part["scope"] == "required"}
    assert base <= required
    assert {"numpy", "jaxlib", "protobuf"} <= required
    assert {"opencv-python-headless", "onnx", "matplotlib", "faiss-cpu"}.isdisjoint(required)
    assert {"rawpy", "pi-heif", "opencv-python-headless"} <= components.keys() - required
    assert "pytest" not in components
    refs = {part["bom-ref"] for part in components.values()}
    assert all(set(entry["dependsOn"]) <= refs for entry in bill()["dependencies"])
    # The GNU licences that ask for more than the source of a library itself.
    copyleft = [n for n, p in components.items() if re.search(r"\bA?GPL", json.dumps(p["licenses"]))]
    assert copyleft == []


def test_no_module_that_everybody_loads_needs_an_extra():
    """Every import that stands at the top of a module of ours is of a package of the base install, or of a figure."""
    optional = ("cv2", "dask", "distributed", "faiss", "matplotlib", "onnx", "pi_heif", "rawpy")
    pattern = re.compile(rf"^(?:import|from) ({'|'.join(optional)})\b", flags=re.MULTILINE)
    figures = ROOT / "src" / "topicture" / "annotations" / "figures"
    found = {
        str(path.relative_to(ROOT)): pattern.findall(path.read_text(encoding="utf-8"))
        for path in (ROOT / "src").rglob("*.py")
        if figures not in path.parents
    }
    assert {path: names for path, names in found.items() if names} == {}


def test_the_tests_need_nothing_that_is_not_installed_for_them():
    """A package that once was put here by hand would hide that it is missing everywhere else."""
    providers, known = packages_distributions(), pins().keys()
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").rglob("*.py")}
    for path, tree in trees.items():
        nodes = list(ast.walk(tree))
        names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
        for name in sorted({name.partition(".")[0] for name in names}):
            found = {canonicalize_name(provider) for provider in providers.get(name, [])}
            assert not found or found & known or found <= {"topicture", "topicture-experiments"}, (path, name)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Two wheels of two copies of the tree: other folders, other times of the files, other permissions."""
    built = []
    for number in (1, 2):
        copy, out = tmp_path_factory.mktemp(f"tree{number}"), tmp_path_factory.mktemp(f"out{number}")
        shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE", "sbom.cdx.json"):
            shutil.copy(ROOT / name, copy / name)
        for path in copy.rglob("*.py"):
            path.chmod(0o600 if number == 1 else 0o664)
            os.utime(path, (1e9 * number, 1e9 * number))
        environment = {key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"}
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
        subprocess.run(command, cwd=copy, env=environment, check=True, capture_output=True, timeout=120)
        (wheel,) = out.glob("*.whl")
        built.append(wheel)
    return built


def test_two_builds_are_byte_identical(wheels):
    assert wheels[0].name == wheels[1].name
    assert wheels[0].read_bytes() == wheels[1].read_bytes()


def test_the_wheel_has_everything_and_nothing_else(wheels):
    with zipfile.ZipFile(wheels[0]) as archive:
        names = archive.namelist()
        info = f"topicture-{PROJECT['version']}.dist-info"
        assert json.loads(archive.read(f"{info}/sboms/sbom.cdx.json")) == bill()
        assert archive.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    sources = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "topicture").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {
        "topicture/py.typed",
        "topicture/__main__.py",
        "topicture/app/pages/templates/demo.html",
    } <= sources
    assert {name for name in names if not name.startswith(info)} == sources


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="what was left out of a source archive is not in it")
def test_the_source_archive_has_all_that_tests_and_pages_read(tmp_path):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (path,) = tmp_path.iterdir()
    with tarfile.open(path) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    # A file that was deleted and not committed yet is still listed.
    assert {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()} - packed == set()
