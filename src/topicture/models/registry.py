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
    "mix-unigram": ("counts.mix_unigram", "MixUnigram", {}),
    "gm-mixture": ("regions.gm_mixture", "GMMixture", {}),
    "gm-lda": ("regions.gm_lda", "GMLDA", {}),
    "corr-lda": ("regions.corr_lda", "CorrLDA", {}),
    "region-logistic": ("regions.region_logistic", "RegionLogistic", {}),
    "plsa": ("counts.folded_topics", "PLSA", {}),
    "plsa-words": ("counts.plsa_words", "PLSAWords", {}),
    "link-lda": ("counts.link_lda", "LinkLDA", {}),
    "lap-em": ("graphs.lap_em", "LapEM", {}),
    "lap-var1": ("graphs.lap_mix_unigram", "LapMixUnigram", {"algorithm": "lap-var1"}),
    "lap-var2": ("graphs.lap_mix_unigram", "LapMixUnigram", {"algorithm": "lap-var2"}),
    "lsa": ("spaces.lsa", "LSA", {}),
    "nlsa": ("spaces.nlsa", "NLSA", {}),
    "iwe": ("spaces.iwe", "IWE", {}),
    "dba": ("classes.dba", "DBA", {}),
    "emm-ml": ("classes.emm", "EMM", {}),
    "emm-margin": ("classes.emm_margin", "EMMMargin", {}),
    "naive-bayes": ("baselines.naive_bayes", "NaiveBayes", {}),
    "knn": ("baselines.knn", "KNN", {}),
    "tagprop": ("baselines.tagprop", "TagProp", {}),
    "logistic": ("baselines.logistic", "Logistic", {}),
    "companions": ("baselines.companions", "Companions", {}),
    "ridge": ("baselines.ridge", "Ridge", {}),
    "label-spreading": ("baselines.label_spreading", "LabelSpreading", {}),
    "network": ("baselines.network", "Network", {}),
    "matching": ("baselines.matching", "Matching", {}),
    "text-match": ("baselines.text_match", "TextMatch", {}),
    "auto": ("blends.auto", "Auto", {}),
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
