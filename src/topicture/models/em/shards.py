"""The seam between the EM loop and the hardware.

`em.fit` holds the parameters and decides; shards hold images and their posteriors, wherever those are. A pass is `run`;
what it found for the images is provisional until `keep`, and `roll_back` forgets it.

Sums must not depend on who works: every shard's statistics are float64, and are added in the order of the shards, as a
fixed tree (passes.TreeSum). So 1, 2 or 16 workers give the same bits, and work done again after a failure does, too.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from topicture.models.em.passes import Model

__all__ = ["Shards"]


class Shards(ABC):
    """The images of one fit and their posteriors. Implemented by `em.LocalShards`; docs/decisions/0012-shards.md.

    A model's functions are a compilation key and do not travel: where shards are on other machines, each of them makes
    the model from the estimator's settings, as `EMAnnotator._model` does, and only tables and statistics travel.
    """

    dtype: np.dtype  # precision of the E-step

    @abstractmethod
    def start(self) -> None:
        """Begin a fit: the next `run` starts all posteriors. Shards serve one restart after the other."""

    @abstractmethod
    def run(self, model: Model, tables: Any) -> tuple[Any, float]:
        """One E-step of every image, from its kept posterior: statistics and bound, summed over all images."""

    @abstractmethod
    def keep(self) -> None:
        """The posteriors that the last `run` found are those to go on from."""

    @abstractmethod
    def roll_back(self) -> None:
        """Forget what was found since the last `keep`."""

    def posteriors(self) -> list[Any]:
        """The kept posteriors, one entry per chunk; none where they stay elsewhere."""
        return []

    def replace(self, posteriors: Sequence[Any]) -> None:
        """Posteriors for the next `run`, until `keep` or `roll_back`."""
        raise NotImplementedError(f"{type(self).__name__} does not let posteriors be replaced")
