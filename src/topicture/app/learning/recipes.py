"""What the tool measures on photos, unless it is told otherwise."""

from collections.abc import Sequence
from typing import Any

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
    """The default recipe with other views or another network; None where neither is given."""
    if not views and network is None:
        return None
    changes: dict[str, Any] = {}
    if views:
        changes["views"] = list(views)
    if network is not None:
        changes["network"] = network
    return {**DEFAULT_RECIPE.to_json(), **changes}
