"""What a network's text encoder says of words: vectors in the space of the network's pooled output.

A manifest names the encoder and its tokenizer (CLIP's kind), so that a word that comes up later has a vector, too; or a
table of vectors that somebody made with an encoder of any other kind: a safetensors file with one array `vectors`
(words, columns) and, as metadata, `words` (a JSON list, one word per row) and `network` (SHA-256 of the image model
that they belong to). A word that the table lacks has a row of zeros: nothing is known of it.
"""

import hashlib
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from topicture.errors import DataNotFound, ModelFileError
from topicture.vision.networks.deep import start_session
from topicture.vision.networks.manifest import NETWORKS, Manifest
from topicture.vision.networks.tokens import Tokenizer, read_tokenizer
from topicture.vision.workers import MEMORY_LIMIT, Failure, run_isolated

__all__ = ["check_texts", "word_vectors"]

MAX_TABLE_BYTES = 1 << 30  # 350,000 words of CLIP's larger encoders
LONGEST = 77  # pieces of a text for an encoder that takes any number: what CLIP was trained with
WORDS_PER_TASK = 64
TASK_SECONDS = 600.0


def check_texts(network: str | Path) -> None:
    """Raise, as `word_vectors` does, what can be known before anything is run; nothing for a network without texts."""
    manifest = _manifest(network)
    if manifest is not None and manifest.tokenizer:
        Encoder(str(network)).check()
    elif manifest is not None:
        _read_table(Path(network), manifest)


def word_vectors(network: str | Path, words: Sequence[str], *, workers: int = 1) -> np.ndarray | None:
    """Vectors (n_words, C) float32, rows of zeros for words that nothing is known of; None without texts.

    An encoder runs in a process of its own, unless `workers` is 0.

    Raises
    ------
    DataNotFound
        A file that the manifest names is not there.
    ModelFileError
        A file that can't be used, or belongs to another network; the message says why.
    """
    manifest = _manifest(network)
    if manifest is None:
        return None
    if not manifest.tokenizer:
        rows, vectors = _read_table(Path(network), manifest)
        found = [rows.get(_plain(word), -1) for word in words]
        return np.where(np.array(found)[:, None] < 0, np.float32(0), vectors[found])
    encoder = Encoder(str(Path(network).absolute()))
    encoder.check()
    tasks = [list(words[at : at + WORDS_PER_TASK]) for at in range(0, len(words), WORDS_PER_TASK)]
    parts: dict[int, np.ndarray] = {}
    memory = MEMORY_LIMIT + 4 * encoder.path.stat().st_size
    for task, part in run_isolated(encoder, tasks, min(workers, 1), TASK_SECONDS, memory=memory):
        if isinstance(part, Failure):
            raise ModelFileError(f"{manifest.text}: the text encoder does not run: {part.reason[:200]}")
        parts[task] = part
    if len({part.shape[1] for part in parts.values()}) > 1:
        raise ModelFileError(f"{manifest.text}: the text encoder gives vectors of several lengths")
    return np.concatenate([parts[task] for task in range(len(tasks))])


def _manifest(network: str | Path) -> Manifest | None:
    """The manifest of a network that says something of texts."""
    if str(network) in NETWORKS:
        return None
    manifest = Manifest.from_json(Path(network))
    return manifest if manifest.text else None


# --- A text encoder -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Encoder:
    """The text encoder that a manifest names: a list of words to vectors; loaded where and when it is first called."""

    network: str

    def __call__(self, words: Sequence[str]) -> np.ndarray:
        return np.concatenate([self._vector(self._manifest.prompt.replace("{}", word)) for word in words])

    def check(self) -> None:
        """Raise where a file is missing, or the tokenizer is of no use."""
        if not self.path.is_file():
            raise DataNotFound(
                f"{Path(self.network).name} names {self._manifest.text}, which is not beside it"
            )
        assert self._tokenizer is not None

    @property
    def path(self) -> Path:
        return Path(self.network).parent / self._manifest.text

    @cached_property
    def _manifest(self) -> Manifest:
        return Manifest.from_json(Path(self.network))

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return read_tokenizer(Path(self.network).parent / self._manifest.tokenizer)

    @cached_property
    def _session(self) -> Any:
        return start_session(self.path.read_bytes(), self._manifest.text, threads=1)

    def __getstate__(self) -> dict[str, str]:
        return {"network": self.network}  # what was loaded stays here

    def _vector(self, text: str) -> np.ndarray:
        """(1, C). One text at a time: then nothing need be filled up, which encoders do in different ways."""
        inputs = {one.name: one for one in self._session.get_inputs()}
        name = "input_ids" if "input_ids" in inputs else next(iter(inputs))
        length = inputs[name].shape[-1]
        ids = self._tokenizer(text, length if isinstance(length, int) else LONGEST)
        filled = length - len(ids) if isinstance(length, int) else 0
        values = {name: [*ids, *[self._tokenizer.padding] * filled]}
        if "attention_mask" in inputs:
            values["attention_mask"] = [1] * len(ids) + [0] * filled
        given = {
            key: np.array([value], np.int32 if inputs[key].type == "tensor(int32)" else np.int64)
            for key, value in values.items()
        }
        wanted = self._manifest.text_output or self._session.get_outputs()[0].name
        try:
            (vector,) = self._session.run([wanted], given)
        except Exception as error:  # onnxruntime has no public exception family
            reason = " ".join(str(error).split())
            raise ModelFileError(
                f"text encoder {self._manifest.text} does not run: {reason[:200]}"
            ) from error
        if vector.ndim != 2 or len(vector) != 1 or not np.isfinite(vector).all():
            raise ModelFileError(
                f"text encoder {self._manifest.text}: output {wanted} is no vector of finite numbers for each text"
            )
        return vector.astype(np.float32)


# --- A table --------------------------------------------------------------------------------------------------------


def _read_table(network: Path, manifest: Manifest) -> tuple[dict[str, int], np.ndarray]:
    """Row of every word, by its plain form, and the vectors."""
    path = network.parent / manifest.text
    if not path.is_file():
        raise DataNotFound(f"{network.name} names {manifest.text}, which is not beside it")
    if path.stat().st_size > MAX_TABLE_BYTES:
        raise ModelFileError(
            f"{path.name}: larger than {MAX_TABLE_BYTES >> 20} MB; keep the words of the collection"
        )
    try:
        with safe_open(path, framework="numpy") as file:
            facts, vectors = file.metadata() or {}, file.get_tensor("vectors")
        words = json.loads(facts["words"])
        owner = facts["network"]
    except (SafetensorError, OSError, KeyError, ValueError, TypeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise ModelFileError(f"{path.name}: not a table of word vectors ({reason[:200]})") from None
    with (network.parent / manifest.model).open("rb") as model:
        if owner != hashlib.file_digest(model, "sha256").hexdigest():
            raise ModelFileError(f"{path.name}: made for another network than {manifest.model}")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ModelFileError(f"{path.name}: 'words' is not a list of words")
    if vectors.dtype.kind != "f" or vectors.ndim != 2 or not vectors.size or len(vectors) != len(words):
        raise ModelFileError(
            f"{path.name}: 'vectors' is {vectors.dtype} {vectors.shape}, not one row for each of {len(words)} words"
        )
    with np.errstate(over="ignore"):
        vectors = vectors.astype(np.float32)
    rows = {_plain(word): row for row, word in enumerate(words)}
    if len(rows) < len(words):
        twice = next(word for row, word in enumerate(words) if rows[_plain(word)] != row)
        raise ModelFileError(
            f"{path.name}: the word {twice!r} occurs twice (upper and lower case count as one)"
        )
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if bad.size:
        raise ModelFileError(f"{path.name}: the vector of {words[bad[0]]!r} is not of finite numbers")
    return rows, vectors


def _plain(word: str) -> str:
    """A word as tables are looked up: encoders do not tell upper from lower case."""
    return unicodedata.normalize("NFC", word).casefold()
