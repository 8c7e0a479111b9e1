"""The page of public names: those of the packages, those of the models, and the modules that the gallery uses."""

import importlib
from collections.abc import Iterable

from topicture import make_annotator, model_names

HEAD = """# The library

Public names, each with a page of its own and the gallery scripts that use it. What is not here is not promised to stay;
names of earlier versions keep working. This page is written by `python docs/site/make_reference.py`.
"""
PACKAGES = {
    "topicture": "The front door: what most programs need. Names are loaded on first use, so importing it is instant.",
    "topicture.search": "From words to ranked photos.",
    "topicture.store": "The catalog: what is known about a collection, crash-safe.",
    "topicture.collection.formats": "Annotations in the formats of other tools, in and out.",
    "topicture.collection.sidecar": "Standard metadata beside the photos.",
    "topicture.vision.networks": "A network of your own, by a manifest.",
    "topicture.vision.thumbnails": "Small pictures, made by isolated workers.",
    "topicture.demo.scenes": "Rendered photos with captions and true regions.",
    "topicture.atomic": "Files and folders that appear whole or not at all.",
}
MODULES = {
    "topicture.demo.sample": "The sample collection as a corpus.",
    "topicture.vision.pipeline": "From photos to a corpus.",
    "topicture.vision.recipe": "What to measure.",
    "topicture.annotations.predict": "From probabilities to suggestions.",
    "topicture.annotations.measures.metrics": "How good answers are.",
    "topicture.annotations.measures.retrieval": "How good searches are.",
    "topicture.annotations.choice.choose": "Settings by held-out measures.",
    "topicture.annotations.choice.quality_curves": "What more tags would buy.",
    "topicture.annotations.choice.presence": "Probabilities that mean what they say.",
    "topicture.annotations.shift.completeness": "Tags that were left out.",
    "topicture.models.completion": "What captions probably lack, for a corpus that says how complete they are.",
    "topicture.annotations.diagnostics": "Word by word.",
    "topicture.annotations.teaching": "What to tag next.",
    "topicture.annotations.one_word": "One word from a few clicks.",
    "topicture.annotations.topics": "The topics of any model.",
    "topicture.annotations.figures.plots": "Curves and topics.",
    "topicture.annotations.figures.regions": "Photos with their regions.",
    "topicture.annotations.figures.photos": "Photos in rows.",
    "topicture.annotations.figures.diagnostics": "Trust in pictures.",
    "topicture.annotations.figures.embedding_map": "Maps.",
    "topicture.models.graphs.graph": "Graphs of similar photos.",
}


def api_page() -> str:
    """The page as Markdown."""
    parts = [HEAD]
    for level, modules in (("##", PACKAGES), ("###", MODULES)):
        if level == "###":
            parts.append(
                "## Models\n\nAll of them by name, with `make_annotator`; [their settings](settings.md), "
                f"[their mathematics](models.md).\n\n{listed(model_classes())}"
            )
            parts.append("## Parts\n\nThe modules that the gallery uses.\n")
        for module, about in modules.items():
            parts.append(f"{level} {module}\n\n{about}\n\n{names_of(module)}")
    return "\n".join(parts)


def names_of(module: str) -> str:
    """The list of a module's public names; a constant has no page of its own, and is told in a line."""
    imported = importlib.import_module(module)
    names = {name: getattr(imported, name) for name in imported.__all__}
    constants = [name for name, value in names.items() if not callable(value)]
    told = "Constants: " + ", ".join(f"`{module}.{name}`" for name in constants) + ".\n" if constants else ""
    return listed(f"{module}.{name}" for name in names if name not in constants) + told


def model_classes() -> Iterable[str]:
    kinds = [type(make_annotator(name)) for name in model_names()]
    return dict.fromkeys(f"{kind.__module__}.{kind.__name__}" for kind in kinds)


def listed(names: Iterable[str]) -> str:
    rows = "\n".join(f"   {name}" for name in names)
    return (
        f"```{{eval-rst}}\n.. autosummary::\n   :toctree: _api\n   :nosignatures:\n\n{rows}\n```\n\n"
        if rows
        else ""
    )
