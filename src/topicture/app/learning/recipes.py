"""What the tool measures on photos, unless it is told otherwise."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from topicture.vision.networks.manifest import NETWORKS, network_key
from topicture.vision.networks.word_vectors import check_texts
from topicture.vision.recipe import Recipe

__all__ = ["DEFAULT_RECIPE", "custom_recipe"]

DEFAULT_RECIPE = Recipe(
    ("deep", "regions:deep", "visual_words:deep"),
    network="lite0",
    segmentation="deep",
    max_regions=20,
    components=100,
    n_words=200,
)


def custom_recipe(views: Sequence[str] | None, network: str | None) -> dict[str, Any] | None:
    """The default recipe with other views or another network; None where neither is given.

    A network of one's own is known by its absolute path, whatever folder the next command is given in. Raises
    DataNotFound or ModelFileError, before there is a catalog, where it can't be used.
    """
    if not views and network is None:
        return None
    changes: dict[str, Any] = {}
    if views:
        changes["views"] = list(views)
    if network is not None:
        changes["network"] = network if network in NETWORKS else str(Path(network).absolute())
        network_key(changes["network"])
        check_texts(changes["network"])
    return {**DEFAULT_RECIPE.to_json(), **changes}
