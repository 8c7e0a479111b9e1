"""Targets: what Topicture itself has stored, and something else has damaged: models, index, catalog."""

import base64
import contextlib
import io
import json
import random
import shutil
import sqlite3
import sys
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import typer
from corpora import make_tiny_corpus
from photo_folder import learn, make_library
from safetensors.numpy import load, save

import topicture as tp
from fuzz.harness import Target
from fuzz.mutate import ODD_VALUES, mutate_bytes, mutate_json
from topicture.app.cli import commands
from topicture.app.verbs.library import Library
from topicture.corpus import Vocabulary
from topicture.errors import TopictureError
from topicture.search.index import WordIndex

__all__ = ["targets"]

# Quick to fit, and of every kind: counts, neighbours, linear, network, mixture, factors.
MODELS: dict[str, dict[str, Any]] = {
    "empirical": {},
    "naive-bayes": {},
    "knn": {},
    "tagprop": {},
    "logistic": {},
    "companions": {},
    "ridge": {},
    "text-match": {},
    "lsa": {"n_components": 3},
    "network": {"n_hidden": 4, "n_networks": 1, "n_updates": 5},
    "mix-unigram": {"n_topics": 2, "n_init": 1, "max_iter": 5},
    "plsa": {"n_topics": 2, "n_init": 1, "max_iter": 5},
}
# Further kinds, each slower to fit: graphs, kernels, coordinates, a blend.
_EM = {"n_topics": 2, "n_init": 1, "max_iter": 3}
PAPERS: dict[str, dict[str, Any]] = {
    "nlsa": {"n_components": 3},
    "label-spreading": {},
    **dict.fromkeys(("lap-em", "lap-var1", "lap-var2"), _EM),
    "iwe": {"n_init": 1, "max_iter": 3},
    "auto": {"members": ["naive-bayes", "knn"]},
}
COMMANDS = (
    ["status"],
    ["tags"],
    ["tag", "photo-000.jpg"],
    ["search", "rose -sea"],
    ["similar", "photo-000.jpg"],
    ["review", "--list"],
    ["review", "--list", "--order", "teaching"],
    ["review", "--accept-above", "0.5", "--dry-run"],
    ["models", "--learned"],
    ["evaluate"],
    ["check"],
    ["export", "out.jsonl", "--suggestions", "0.1"],
    ["write", "--dry-run", "--no-regions"],
)


def targets(corpus: Path, scratch: Path) -> dict[str, Target]:
    """Name -> target; what they start from is made when it is first needed."""
    return {
        **{
            name: Target(partial(_make_model, kinds), partial(_use_model, scratch / "model"))
            for name, kinds in (("model", tuple(MODELS)), ("papers", tuple(PAPERS)))
        },
        "index": Target(_make_index(scratch), lambda content: _use_index(scratch, content)),
        "catalog": Target(lambda rng: _make_row(scratch, rng), lambda content: _use_row(scratch, content)),
    }


# --- Model files ------------------------------------------------------------------------------------------------------


@cache
def _corpus():
    return make_tiny_corpus(np.random.default_rng(0))


@cache
def _model_files(kinds: tuple[str, ...]) -> list[bytes]:
    files = []
    with tempfile.TemporaryDirectory() as folder:
        for name in kinds:
            path = Path(folder) / name
            tp.make_annotator(name, **{**MODELS, **PAPERS}[name]).fit(_corpus()).save(path)
            files.append(path.read_bytes())
    return files


def _make_model(kinds: tuple[str, ...], rng: random.Random) -> bytes:
    files = _model_files(kinds)
    if rng.random() < 0.4:
        return mutate_bytes(files, (b"null", b"-1", b"[]", b"1e999", b"\xff" * 8, b'"F64"', b'"I64"'), rng)
    content = rng.choice(files)
    length = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["topicture"])
    arrays = load(content)
    for _ in range(rng.choice((1, 1, 2))):
        if rng.random() < 0.5:
            header = mutate_json(header, rng)
        else:
            name = rng.choice(list(arrays))
            arrays[name] = _mutate_array(arrays[name], rng)
    return save(arrays, metadata={"topicture": json.dumps(header)})


def _mutate_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    match rng.randrange(7):
        case 0:
            changed = array[..., :-1] if array.ndim else array.reshape(1)
        case 1:
            changed = array[:0] if array.ndim else array.reshape(1)
        case 2:
            changed = array.reshape(-1)
        case 3:
            changed = array[None]
        case 4:
            changed = array.astype(rng.choice((np.float32, np.int64, np.uint8, np.bool_)))
        case 5:
            changed = array.T
        case _:
            changed = array.copy()
            if changed.size:
                value = rng.choice((-1, 0, 10**6, 1e300, float("nan"), float("inf"), -1e-300))
                with np.errstate(all="ignore"):
                    changed.reshape(-1)[rng.randrange(changed.size)] = np.array(value).astype(changed.dtype)
    return np.ascontiguousarray(changed)


def _use_model(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    p = tp.load_annotator(path).annotate(_corpus())
    assert p.shape == (len(_corpus()), _corpus().n_words)
    assert np.isfinite(p).all()


# --- Index ------------------------------------------------------------------------------------------------------------


def _make_index(scratch: Path):
    @cache
    def files() -> dict[str, bytes]:
        p = np.random.default_rng(0).dirichlet(np.ones(4), size=5)
        words = Vocabulary(["tiger", "Tiger", "día", "grass"])
        WordIndex.build(scratch / "index", words, [f"photo {n}" for n in range(5)], [p])
        return {path.name: path.read_bytes() for path in sorted((scratch / "index").iterdir())}

    def make(rng: random.Random) -> bytes:
        name, content = rng.choice(list(files().items()))
        if name.endswith(".json") and rng.random() < 0.5:
            changed = json.dumps(mutate_json(json.loads(content), rng)).encode()
        elif name.endswith(".npy") and rng.random() < 0.5:
            array = np.load(scratch / "index" / name)
            np.save(scratch / "array.npy", _mutate_array(array, rng))
            changed = (scratch / "array.npy").read_bytes()
        else:
            changed = mutate_bytes(
                [content], (b"(4, 5)", b"'<f8'", b"'|O'", b"9" * 20, b"True", b"\xff" * 8), rng
            )
        whole = {key: base64.b64encode(value).decode() for key, value in {**files(), name: changed}.items()}
        return json.dumps(whole).encode()

    return make


def _use_index(scratch: Path, content: bytes) -> None:
    folder = scratch / "damaged"
    folder.mkdir(exist_ok=True)
    for name, text in json.loads(content).items():
        (folder / name).write_bytes(base64.b64decode(text))
    index = WordIndex.open(folder)
    for query in ("tiger -grass", "día"):
        for hit in index.search(query):
            assert hit.score <= 0


# --- Catalog ----------------------------------------------------------------------------------------------------------


@cache
def _library(scratch: Path) -> tuple[Library, Path]:
    """A small library, and a copy of its catalog."""
    library = make_library(scratch / "photos", n=10, tagged=8)
    learn(library)
    library.decide("photo-000.jpg", ["new"], "present")
    library.decide("photo-000.jpg", ["sea"], "rejected")
    shutil.copytree(library.folder, scratch / "whole")
    return library, scratch / "whole"


@cache
def _columns(scratch: Path) -> list[tuple[str, str]]:
    with contextlib.closing(sqlite3.connect(_library(scratch)[1] / "catalog.sqlite")) as database:
        tables = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        ).fetchall()
        return [
            (table, column[1])
            for (table,) in tables
            if database.execute(f'SELECT 1 FROM "{table}"').fetchone()
            for column in database.execute(f'PRAGMA table_info("{table}")').fetchall()
        ]


def _make_row(scratch: Path, rng: random.Random) -> bytes:
    value = rng.choice([value for value in ODD_VALUES if not isinstance(value, list | dict)])
    what = {
        "column": rng.choice(_columns(scratch)),
        "row": rng.randrange(1000),
        "value": value,
        "blob": rng.random() < 0.2,
        "commands": rng.sample(COMMANDS, 4),
    }
    return json.dumps(what).encode()


def _use_row(scratch: Path, content: bytes) -> None:
    what = json.loads(content)
    library, whole = _library(scratch)
    shutil.rmtree(library.folder)  # new files every time: a database knows its own by more than the name
    shutil.copytree(whole, library.folder)
    value = str(what["value"]).encode("utf-8", "surrogatepass") if what["blob"] else what["value"]
    if not _damage(library.folder / "catalog.sqlite", *what["column"], what["row"], value):
        return
    refusal = None
    for command in what["commands"]:
        sys.argv = ["topicture", *command, "--catalog", str(library.folder)]
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                assert _run_command() in (0, 1)
        except TopictureError as error:
            refusal = error
    if refusal is not None:
        raise refusal


@cache
def _program():
    """The commands put together: that takes longer than most of them."""
    return typer.main.get_command(commands.app)


_options = cache(commands._options)


def _run_command() -> int:
    known = _options()
    with patch.multiple(commands, app=_program(), _options=lambda: known):
        return commands.run()


def _damage(path: Path, table: str, column: str, row: int, value: Any) -> bool:
    """Set one column of one row; False where the database itself does not take the value."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        columns = database.execute(f'PRAGMA table_info("{table}")').fetchall()
        n = database.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
        if not n:
            return False
        key = ", ".join(f'"{c[1]}"' for c in columns if c[5]) or "rowid"
        chosen = f'SELECT {key} FROM "{table}" ORDER BY {key} LIMIT 1 OFFSET {row % n}'
        try:
            database.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE ({key}) IN ({chosen})', (value,))
        except (sqlite3.Error, UnicodeError, OverflowError):
            return False
        return True
