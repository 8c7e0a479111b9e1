"""What the tool measures on photos, unless it is told otherwise."""

from topicture.vision.recipe import Recipe

__all__ = ["DEFAULT_RECIPE"]

DEFAULT_RECIPE = Recipe(("deep", "regions:deep", "visual_words:deep"), network="lite0", n_words=200)
