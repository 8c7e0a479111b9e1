"""Which models there are: registry name -> class, imported on first use."""

from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from topicture.errors import ModelFileError, UnknownModel
from topicture.models.base import Annotator
from topicture.models.files import read_model

__all__ = ["annotator_class", "load_annotator", "make_annotator", "model_names"]

# name -> (module, class, parameters that the name implies)
_MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "empirical": ("empirical", "Empirical", {}),
    "mix-unigram": ("mix_unigram", "MixUnigram", {}),
    "gm-mixture": ("gm_mixture", "GMMixture", {}),
    "gm-lda": ("gm_lda", "GMLDA", {}),
    "corr-lda": ("corr_lda", "CorrLDA", {}),
    "plsa": ("plsa", "PLSA", {}),
    "plsa-words": ("plsa_words", "PLSAWords", {}),
    "link-lda": ("link_lda", "LinkLDA", {}),
    "lap-em": ("lap_em", "LapEM", {}),
    "lap-var1": ("lap_mix_unigram", "LapMixUnigram", {"algorithm": "lap-var1"}),
    "lap-var2": ("lap_mix_unigram", "LapMixUnigram", {"algorithm": "lap-var2"}),
    "lsa": ("lsa", "LSA", {}),
    "nlsa": ("nlsa", "NLSA", {}),
    "iwe": ("iwe", "IWE", {}),
    "dba": ("dba", "DBA", {}),
    "emm-ml": ("emm", "EMM", {}),
    "emm-margin": ("emm_margin", "EMMMargin", {}),
    "naive-bayes": ("naive_bayes", "NaiveBayes", {}),
    "knn": ("knn", "KNN", {}),
    "tagprop": ("tagprop", "TagProp", {}),
    "logistic": ("logistic", "Logistic", {}),
    "label-spreading": ("label_spreading", "LabelSpreading", {}),
    "network": ("network", "Network", {}),
    "matching": ("matching", "Matching", {}),
    "auto": ("auto", "Auto", {}),
}


def model_names() -> tuple[str, ...]:
    """The names that `make_annotator` takes."""
    return tuple(_MODELS)


def annotator_class(name: str) -> type[Annotator]:
    """The class behind a registry name."""
    module, cls, _ = _entry(name)
    return getattr(import_module(f"topicture.models.{module}"), cls)


def make_annotator(name: str, **params: Any) -> Annotator:
    """A new, unfitted annotator, for example `make_annotator("mix-unigram", n_topics=100)`.

    Every name takes a `seed`; a model that draws nothing at random has no such parameter, and goes without.
    """
    cls = annotator_class(name)
    if "seed" in params and "seed" not in signature(cls).parameters:
        params = {key: value for key, value in params.items() if key != "seed"}
    return cls(**{**_entry(name)[2], **params})


def load_annotator(path: str | Path) -> Annotator:
    """A fitted annotator of whatever kind the model file holds."""
    header, arrays = read_model(path)
    name = header.get("model")
    if not isinstance(name, str) or name not in _MODELS:
        raise ModelFileError(f"{path}: holds a model called {name!r}, which this version does not know")
    return annotator_class(name).from_state(header, arrays, source=str(path))


def _entry(name: str) -> tuple[str, str, dict[str, Any]]:
    try:
        return _MODELS[name]
    except KeyError:
        raise UnknownModel(f"there is no model {name!r}; there are: {', '.join(_MODELS)}") from None
