"""Sums over the words of one image. Tables have one row per word, (size, K), so that a word's row lies together."""

from typing import Any

import jax
import jax.numpy as jnp

from topicture.corpus.batches import Tokens
from topicture.models.em.expfam import times_log

__all__ = ["tokens_log_density"]

_UNROLL = 16


def tokens_log_density(log_table: Any, tokens: Tokens) -> Any:
    """sum over an image's distinct words of count times log probability, (K,); count 0 adds nothing.

    Written as a sum of rows: XLA then runs along K, forty times faster on a CPU than reducing a gathered (n, K)
    array (0.6 against 27 ms for 5,000 images of 12 words, K = 100). Long bags go in pieces, so that compile time
    does not grow with them.
    """
    n, K = tokens.ids.shape[0], log_table.shape[1]

    def add_rows(total, piece):
        ids, counts = piece
        for i in range(ids.shape[0]):
            total = total + times_log(counts[i], log_table[ids[i]])
        return total

    total = jnp.zeros(K, log_table.dtype)
    whole = n - n % _UNROLL if n > 2 * _UNROLL else 0
    if whole:
        pieces = jax.tree.map(lambda x: x[:whole].reshape(-1, _UNROLL), tokens)
        total, _ = jax.lax.scan(lambda total, piece: (add_rows(total, piece), None), total, pieces)
    return add_rows(total, jax.tree.map(lambda x: x[whole:], tokens))
