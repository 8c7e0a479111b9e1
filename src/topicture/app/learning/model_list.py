"""The models of the registry, as rows of a table."""

from typing import Any

from topicture.models.registry import annotator_class, model_names

__all__ = ["list_models"]


def list_models() -> list[dict[str, Any]]:
    """Name, first line of the documentation, views needed, and whether regions are labelled."""
    return [
        {
            "name": name,
            "about": (annotator_class(name).__doc__ or "").strip().split("\n")[0],
            "needs": list(annotator_class(name).needs),
            "labels_regions": annotator_class(name).labels_regions,
        }
        for name in model_names()
    ]
