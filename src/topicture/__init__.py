"""Topicture learns your words and finds them in your pictures.

The public names are loaded on first use, so that `import topicture` stays instant and does not start JAX.
"""

import sys
from importlib import import_module

from topicture.moved import Importer

__version__ = "0.1.0"

# Public name -> the module that defines it.
_PUBLIC = {
    "Annotator": "topicture.models.base",
    "AnnotatorClassifier": "topicture.annotations.sklearn_adapter",
    "Corpus": "topicture.corpus",
    "TopictureError": "topicture.errors",
    "Vocabulary": "topicture.corpus",
    "keep_compiled_code": "topicture.compiled",
    "load_annotator": "topicture.models.registry",
    "make_annotator": "topicture.models.registry",
    "model_names": "topicture.models.registry",
    "use_device": "topicture.devices",
}

__all__ = [
    "Annotator",
    "AnnotatorClassifier",
    "Corpus",
    "TopictureError",
    "Vocabulary",
    "keep_compiled_code",
    "load_annotator",
    "make_annotator",
    "model_names",
    "use_device",
]


if Importer not in sys.meta_path:  # for modules under the names of earlier versions
    sys.meta_path.append(Importer)


def __getattr__(name: str):
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'topicture' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
