"""When to stop folding an image into the topics of pLSA: the number of steps that suits held-out captions best.

Proportions that follow the visual words of one image to the end overfit its few tokens (untempered pLSA above all).
So some tagged images are set aside, the model learns from the others, and the held-out captions say after how many
steps of fold-in they are predicted best.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from topicture.corpus import Corpus
from topicture.corpus.batches import Image
from topicture.models.counts.plsa import Settings, model
from topicture.models.em import loop as em
from topicture.models.em.expfam import xlogy
from topicture.models.folds import folds_of
from topicture.models.interrupts import all_or_nothing

__all__ = ["caption_path", "steps_on_held_out"]

LARGEST = 100
_HELD_OUT = 10  # one image in this many


@lru_cache(maxsize=16)
def caption_path(n_steps: int, power: float) -> Callable[[Any, Image], Any]:
    """tables, image -> log p(caption) after 1, 2, ..., n_steps steps of fold-in on its visual words, (n_steps,)."""
    fold = model(Settings(modalities=("visual",), learn=("theta",), power=power))

    def path(tables: Any, image: Image) -> Any:
        tables_, _, phiW = tables

        def step(q, _):
            q = fold.e_step(tables_, image, q)[0]
            p_w = q.next @ phiW
            known = p_w[image.words.ids] / jnp.sum(p_w)
            return q, jnp.sum(xlogy(image.words.counts, jnp.maximum(known, 1e-30)))

        return jax.lax.scan(step, fold.init_posterior(tables_, image), length=n_steps)[1]

    return path


def steps_on_held_out(annotator: Any, corpus: Corpus) -> int:
    """The number of fold-in steps for which held-out captions of a tagged corpus are most likely."""
    is_held_out = folds_of(corpus, _HELD_OUT, seed=annotator.seed) == 0
    if is_held_out.all():
        return LARGEST
    trial = type(annotator)(**{**annotator.get_params(deep=False), "fold_steps": LARGEST, "n_init": 1})
    with all_or_nothing():
        trial.fit(corpus[~is_held_out])
    path = caption_path(LARGEST, annotator.power)
    batches = trial._batches(corpus[is_held_out], ("captions", "visual_words"))
    total = sum(values.sum(axis=0) for _, values in em.map_images(path, trial._tables_for_use(), batches))
    return 1 + int(np.argmax(total))
