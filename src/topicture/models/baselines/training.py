"""What small networks need to learn: rows on the device, inputs dropped at random, Adam, several side by side.

A model is a loss, the weights that it starts from, and draws; `descend` differentiates the loss and follows it. Of the
networks only this module calls `jax.jit`. Numbers of rows are rounded up, so that folds of nearly one size are compiled
once; random numbers are NumPy's, so that a seed means the same on every device. All is float32.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from scipy import sparse

from topicture.errors import TopictureError
from topicture.threads import side_by_side

__all__ = [
    "Slots",
    "Walk",
    "batches",
    "check_updates",
    "dense",
    "descend",
    "in_order",
    "keep_mask",
    "on_device",
    "product",
    "rounded_up",
    "take",
    "weighted_sums",
    "width",
    "without_some",
]

Source = TypeVar("Source")
Learned = TypeVar("Learned")

# Steps between two looks at the clock; fewer where their draws would take more memory than this.
_MOST_STEPS, _MOST_BYTES = 16, 32e6
# Sparse products pay off on a CPU where a row has an entry in this many columns at most (measured: 14 to 30).
_COLUMNS_PER_ENTRY = 32
# Of eight slots at a time the sums are made in one go.
_UNROLL = 8

# Several threads that ask for the same program would each compile it.
_FIRST_STEP = Lock()


# --- Rows ---------------------------------------------------------------------------------------------------------


class Slots(NamedTuple):
    """Sparse rows, padded to the same number of entries; an empty slot has value 0 and a column beyond the last."""

    columns: Any  # (N, S) int32
    values: Any  # (N, S) float32


def rounded_up(n: int) -> int:
    """The next size of which programs are compiled: at most an eighth more."""
    step = 1 << max(n.bit_length() - 4, 0)
    return -(-n // step) * step


def on_device(rows: Any) -> Any:
    """Sparse or dense rows (N, L) as Slots or an array, of which there are rounded_up(N); the last are 0."""
    n_rows = rounded_up(rows.shape[0])
    if not sparse.issparse(rows):
        padded = np.zeros((n_rows, rows.shape[1]), np.float32)
        padded[: rows.shape[0]] = rows
        return jax.device_put(padded)
    rows = sparse.csr_array(rows)
    lengths = np.diff(rows.indptr)
    n_slots = rounded_up(max(int(lengths.max(initial=0)), 1))
    columns = np.tile(np.arange(rows.shape[1], rows.shape[1] + n_slots, dtype=np.int32), (n_rows, 1))
    values = np.zeros((n_rows, n_slots), np.float32)
    row = np.repeat(np.arange(len(lengths)), lengths)
    slot = np.arange(rows.nnz) - np.repeat(rows.indptr[:-1], lengths)
    columns[row, slot], values[row, slot] = rows.indices, rows.data
    return jax.device_put(Slots(columns, values))


def width(rows: Any) -> int:
    """Numbers of a row that can be dropped."""
    return (rows.values if isinstance(rows, Slots) else rows).shape[1]


def take(tree: Any, chosen: Any) -> Any:
    """Some of the rows of every array."""
    return jax.tree.map(lambda a: a[chosen], tree)


def without_some(rows: Any, mask: Any, drop: Any) -> Any:
    """Inputs of which those outside the mask are dropped and the others enlarged."""
    if isinstance(rows, Slots):
        return rows._replace(values=without_some(rows.values, mask, drop))
    return jnp.where(mask, rows / (1 - drop), 0)


def dense(rows: Any, n_columns: int) -> Any:
    """Rows (N, L) as an array."""
    if not isinstance(rows, Slots):
        return rows
    n = rows.values.shape[0]
    empty = jnp.zeros((n, n_columns), rows.values.dtype)
    at = empty.at[jnp.arange(n)[:, None], rows.columns]
    return at.set(rows.values, mode="drop", unique_indices=True)


def product(rows: Any, matrix: Any) -> Any:
    """rows (N, L) @ matrix (L, H)."""
    if not _stays_sparse(rows, len(matrix)):
        return dense(rows, len(matrix)) @ matrix

    def add(total, slot):
        columns, values = slot
        return total + values[:, None] * jnp.take(matrix, columns, axis=0, mode="clip"), None

    none = jnp.zeros((len(rows.values), matrix.shape[1]), matrix.dtype)
    return jax.lax.scan(add, none, (rows.columns.T, rows.values.T), unroll=_UNROLL)[0]


def weighted_sums(weights: Any, rows: Any, n_columns: int) -> Any:
    """weights (B, N) @ rows (N, L)."""
    if not _stays_sparse(rows, n_columns):
        return weights @ dense(rows, n_columns)

    def add(total, slot):
        columns, values = slot
        return total.at[columns].add(values[:, None] * weights.T, mode="drop"), None

    none = jnp.zeros((n_columns, len(weights)), weights.dtype)
    return jax.lax.scan(add, none, (rows.columns.T, rows.values.T), unroll=_UNROLL)[0].T


def _stays_sparse(rows: Any, n_columns: int) -> bool:
    """Never on a GPU, which is fast at dense products and adds scattered numbers in an order that varies."""
    few = isinstance(rows, Slots) and _COLUMNS_PER_ENTRY * rows.values.shape[1] <= n_columns
    return few and jax.default_backend() == "cpu"


# --- Draws --------------------------------------------------------------------------------------------------------


def batches(n: int, size: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of one batch after the other, every row once a round, and which of them count.

    All batches have one size. The last of a round is filled up with rows that do not count.
    """
    padded = rounded_up(min(n, size))
    while True:
        order = rng.permutation(n)
        for start in range(0, n, size):
            rows = order[start : start + size]
            chosen = np.zeros(padded, np.int32)
            chosen[: len(rows)] = rows
            yield chosen, np.arange(padded) < len(rows)


def keep_mask(shape: tuple[int, ...], drop: float, rng: np.random.Generator) -> np.ndarray:
    """What is kept when inputs are dropped at random: False with probability `drop`."""
    return rng.integers(1 << 16, size=shape, dtype=np.uint16) >= round(drop * (1 << 16))


# --- Learn --------------------------------------------------------------------------------------------------------


class Walk(NamedTuple):
    """How far a descent goes: the rate at the start, which falls to 0 like a cosine."""

    rate: float
    n_updates: int


def descend(
    loss: Callable[[Any, Any, Any], Any],
    start: Any,
    data: Any,
    draws: Iterator[Any],
    walk: Walk,
    after_step: Callable[[], None] = lambda: None,
) -> Any:
    """Weights after the steps of Adam [kingma2015adam] down `loss(weights, data, draw)`, one step for every draw.

    `loss` must be a module-level function: it is a compilation key. Draws are NumPy arrays of the same shapes.
    """
    weights = jax.tree.map(jnp.array, start)
    state = _adam(walk).init(weights)
    draws = islice(draws, walk.n_updates)
    first = next(draws, None)
    if first is None:
        return start
    most = max(1, min(_MOST_STEPS, int(_MOST_BYTES / sum(a.nbytes for a in jax.tree.leaves(first)))))
    chunk = [first]
    with jax.default_matmul_precision("highest"):  # TF32 has three digits
        while chunk:
            drawn = jax.tree.map(lambda *a: np.stack(a), *chunk, *chunk[:1] * (most - len(chunk)))
            with _FIRST_STEP if chunk[0] is first else nullcontext():
                weights, state = jax.block_until_ready(
                    _steps(loss, weights, state, data, drawn, len(chunk), walk)
                )
            for _ in chunk:
                after_step()
            chunk = list(islice(draws, most))
    return jax.tree.map(np.asarray, weights)


@partial(jax.jit, static_argnames="loss")
def _steps(loss, weights, state, data, drawn, n_steps, walk):
    def step(number, carry):
        weights, state = carry
        slope = jax.grad(loss)(weights, data, take(drawn, number))
        updates, state = _adam(walk).update(slope, state)
        return optax.apply_updates(weights, updates), state

    return jax.lax.fori_loop(0, n_steps, step, (weights, state))


def _adam(walk: Walk) -> optax.GradientTransformation:
    """The schedule counts in shares of the way, so that its length is no compilation key."""
    cosine = optax.cosine_decay_schedule(1.0, 1)
    return optax.adam(lambda step: walk.rate * cosine(step / walk.n_updates), eps=1e-7)


def in_order(learn: Callable[[Source], Learned], sources: Sequence[Source]) -> list[Learned]:
    """learn(source) for every source, several at a time, each on one thread: their products are small.

    Products of this size that are split over threads take longer, on a busy machine ten times as long.
    """
    found: dict[int, Learned] = {}

    def one(number: int) -> None:
        found[number] = learn(sources[number])

    with side_by_side() as for_each:
        for_each(one, range(len(sources)))
    return [found[number] for number in range(len(sources))]


def check_updates(name: str, n_updates: int | str) -> None:
    """Raise TopictureError where the number of steps is none."""
    if n_updates != "auto" and not (isinstance(n_updates, int) and n_updates > 0):
        raise TopictureError(f"{name}: n_updates must be a positive whole number or auto, not {n_updates!r}")
