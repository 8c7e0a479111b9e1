"""Writes locked.txt and sbom.cdx.json out of constraints.txt: `make lock`, after every change of a pinned version.

locked.txt has the SHA-256 of every pinned package's file for this kind of machine and this Python, as the package index
tells it: `make install` takes no other file. sbom.cdx.json is the bill of materials that goes into the wheel
(CycloneDX 1.6, PEP 770): what Topicture is installed with, by name, version, hash and licence, and what needs what.
Both depend on nothing but the pins and the packages: no time, no address, no machine.
"""

import json
import re
import subprocess
import sys
import tomllib
import uuid
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
NOT_FOR_USERS = ("dev", "docs", "gpu", "papers")  # extras that the bill of materials leaves out
HEADER = """\
# Written by `make lock` out of constraints.txt: files for CPython {}.{} on Linux, x86-64. Not edited by hand.
"""


def pins() -> dict[str, str]:
    """Canonical name -> version."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def hashes() -> dict[str, str]:
    """Canonical name -> SHA-256 of the file that pip would install here; the index is asked."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--dry-run",
        "--no-deps",
        "--ignore-installed",
    ]
    command += ["--only-binary", ":all:", "--report", "-", "-r", str(ROOT / "constraints.txt")]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return {
        canonicalize_name(item["metadata"]["name"]): item["download_info"]["archive_info"]["hashes"]["sha256"]
        for item in report["install"]
    }


def needed(requirements: list[str]) -> dict[str, set[str]]:
    """Canonical name -> names it needs, of all that these requirements bring; from the packages installed here."""
    graph: dict[str, set[str]] = {}
    todo, seen = [Requirement(text) for text in requirements], set()
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        for extra in ("", *sorted(requirement.extras)):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            below = [Requirement(text) for text in distribution(name).requires or []]
            below = [r for r in below if r.marker is None or r.marker.evaluate({"extra": extra})]
            graph.setdefault(name, set()).update(canonicalize_name(r.name) for r in below)
            todo += below
    return graph


def licence(found: Distribution) -> dict[str, Any]:
    """An SPDX expression where the package has one, its own words otherwise."""
    expression = found.metadata.get("License-Expression")
    if expression:
        return {"expression": expression}
    short = found.metadata.get("License") or ""
    titles = [
        line.split(" :: ")[-1] for line in found.metadata.get_all("Classifier", []) if "License ::" in line
    ]
    name = ", ".join(titles) or (short if len(short) < 60 else "") or "see the package"
    return {"license": {"name": " ".join(name.split())}}


def bill(versions: dict[str, str], sha256: dict[str, str]) -> dict[str, Any]:
    """The bill of materials, as JSON values."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    extras = [text for name, texts in optional.items() if name not in NOT_FOR_USERS for text in texts]
    base = needed(project["dependencies"])
    graph = needed(project["dependencies"] + [text for text in extras if not text.startswith("topicture[")])
    own = f"pkg:pypi/{project['name']}@{project['version']}"
    reference = {name: f"pkg:pypi/{name}@{versions[name]}" for name in graph}
    first = sorted(canonicalize_name(Requirement(text).name) for text in project["dependencies"])
    content: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": project["name"],
                "version": project["version"],
                "licenses": [{"expression": project["license"]}],
                "purl": own,
            }
        },
        "components": [
            {
                "type": "library",
                "bom-ref": reference[name],
                "name": name,
                "version": versions[name],
                "scope": "required" if name in base else "optional",
                "hashes": [{"alg": "SHA-256", "content": sha256[name]}],
                "licenses": [licence(distribution(name))],
                "purl": reference[name],
            }
            for name in sorted(graph)
        ],
        "dependencies": [
            {"ref": own, "dependsOn": [reference[name] for name in first]},
            *(
                {"ref": reference[name], "dependsOn": sorted(reference[below] for below in graph[name])}
                for name in sorted(graph)
            ),
        ],
    }
    name = json.dumps(content, sort_keys=True)
    return {"serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, name)}", **content}


def main() -> None:
    """Write both files."""
    versions, sha256 = pins(), hashes()
    lines = [f"{name}=={versions[name]} --hash=sha256:{sha256[name]}\n" for name in sorted(versions)]
    text = HEADER.format(*sys.version_info[:2]) + "".join(lines)
    if re.search(r"https?:|file:", text):
        raise SystemExit("an address would be written into locked.txt")
    (ROOT / "locked.txt").write_text(text, encoding="utf-8")
    content = json.dumps(bill(versions, sha256), indent=1) + "\n"
    (ROOT / "sbom.cdx.json").write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
