"""The scripts of the pages as a browser gets them: few, and small.

They are written as modules of one concept each and served in two parts: what several pages share, which a browser
keeps, and what a page has for itself. Each module becomes a function that returns what it exports, and does its work
once, when it is first imported. Comments and indentation stay here. No other tool takes part, and the modules
themselves can be asked for as well.
"""

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from topicture.app.web.addresses import PAGES
from topicture.app.web.shell import STATIC

__all__ = ["ROUTE", "SPACED", "Script", "scripts"]

SHARED = "shared"
_ONCE = "const once = (make, made) => () => (made ??= make());\n"

_IMPORT = re.compile(r'^import (?:\{ ([^}]+) \} from )?"(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|class|function) (\w+))", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?:/\*\*.*?\*/|//[^\n]*)[ \t]*\n", re.MULTILINE | re.DOTALL)
# At the end of a line only where it can't be within a text.
_REMARK = re.compile(r"""(?<=[;,{}]) // [^"'`\n]*$""", re.MULTILINE)
# No text of ours has them in it, but for programs of the graphics card, which need no spaces either.
SPACED = re.compile(r" ([=<>!]?==?|=>|&&|\?\?|\|\||\+=?|-=|\*) ")
_INDENT = re.compile(r"^\s+", re.MULTILINE)


@dataclass(frozen=True)
class Script:
    """A script, as it is and compressed."""

    text: bytes
    packed: bytes
    tag: str


@cache
def scripts() -> dict[str, Script]:
    """Name -> script, of every page and of what they share."""
    pages = [STATIC / "pages" / f"{name}.js" for name, _ in PAGES.values()]
    needs = {page: _needed(page) for page in pages}
    frame = STATIC / "js" / "frame.js"
    always = _needed(frame)
    shared = [
        module
        for module in _in_order(always.union(*needs.values()))
        if module in always or sum(module in needed for needed in needs.values()) > 1
    ]
    found = {SHARED: _ONCE + "".join(map(_as_function, shared)) + f"export{{once,{_names(shared)}}};\n"}
    for page, needed in needs.items():
        own = [module for module in _in_order(needed) if module not in shared]
        taken = [
            module for module in shared if module == frame or any(module in _imports(each) for each in own)
        ]
        start = f'import{{once,{_names(taken)}}}from "./{SHARED}.js";\n{_name(frame)}();\n'
        found[page.stem] = start + "".join(map(_as_function, own[:-1])) + _body(page)
    return {name: _script(text) for name, text in found.items()}


def _needed(module: Path) -> set[Path]:
    """A module and all that it imports."""
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        if (each := waiting.pop()) not in found:
            found.add(each)
            waiting += _imports(each)
    return found


def _imports(module: Path) -> list[Path]:
    return [(module.parent / match[2]).resolve() for match in _IMPORT.finditer(module.read_text("utf-8"))]


def _in_order(modules: set[Path]) -> list[Path]:
    """Each after those that it imports; a ring raises CycleError."""
    return list(TopologicalSorter({each: sorted(_imports(each)) for each in sorted(modules)}).static_order())


def _as_function(module: Path) -> str:
    exported = ",".join(_EXPORT.findall(module.read_text("utf-8")))
    return f"const {_name(module)}=once(()=>{{\n{_body(module)}return{{{exported}}}}})\n"


def _body(module: Path) -> str:
    """A module whose imports are calls of the functions that others became."""

    def taken(match: re.Match) -> str:
        values = f"{_name((module.parent / match[2]).resolve())}();\n"
        return values if match[1] is None else f"const{{{match[1].replace(' ', '')}}}={values}"

    text = _EXPORT.sub("", _IMPORT.sub(taken, module.read_text("utf-8")))
    squeezed = _INDENT.sub("", _REMARK.sub("", _COMMENT.sub("", text)))
    return SPACED.sub(r"\1", squeezed)


def _name(module: Path) -> str:
    return "$" + module.stem.replace("-", "_")


def _names(modules: list[Path]) -> str:
    return ",".join(map(_name, modules))


def _script(text: str) -> Script:
    plain = text.encode()
    return Script(plain, gzip.compress(plain, 9, mtime=0), f'"{hashlib.sha256(plain).hexdigest()[:32]}"')


def _answer(request: Request) -> Response:
    script = scripts().get(request.path_params["name"])
    if script is None:
        return Response(status_code=404)
    headers = {"etag": script.tag, "vary": "accept-encoding"}
    if request.headers.get("if-none-match") == script.tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(
            script.packed, media_type="text/javascript", headers={**headers, "content-encoding": "gzip"}
        )
    return Response(script.text, media_type="text/javascript", headers=headers)


ROUTE = Route("/static/scripts/{name:str}.js", _answer, methods=["GET"])
