"""The arrays of every model file: how long, of which kind. What does not fit is refused before it is used.

A table entry gives the axes of an array by letter. V is the number of words, L that of the columns of the model's only
view, a view's name the number of its columns, I that of a network's inputs; any other letter stands for one length in
all arrays of the file. "N+1" is a sum, "int" says that whole numbers are stored, "or nothing" that the array may be
empty. Members of a model (`base.`, `member0.`) are files of their own within the file, and checked as such.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["ARRAYS", "check_arrays"]

_EM = {"restarts": "starts", "objective_trace": "steps"}
_IDS = {"image_ids.text": "int bytes", "image_ids.ends": "int ids"}
_CAPTIONS = {"captions.counts": "pairs", "captions.words": "int pairs", "captions.ends": "int N+1"}
_VIEW = {"p_w": "V", "objective_trace": "steps"}
_INPUTS = {"axes": "L I or nothing", "centre": "L or nothing"}
_UNIGRAM = {
    **_EM,
    "params.a": "K",
    **dict.fromkeys(("params.B", "params.rB"), "K visual_words"),
    **dict.fromkeys(("params.Phi", "params.rPhi"), "K V"),
}
_GAUSSIAN = {
    **_EM,
    **dict.fromkeys(("params.pi", "params.alpha"), "K"),
    **dict.fromkeys(("params.mu", "params.s2"), "K regions"),
    **dict.fromkeys(("params.beta", "params.rho"), "K V"),
    "params.eta": "scalar",
}
_PLSA = {**_EM, "params.p_z": "K", "params.phiW": "K V", "params.phiF": "K visual_words"}
_GRAPH = {
    **_UNIGRAM,
    **_IDS,
    "visual.data": "cells",
    "visual.indices": "int cells",
    "visual.indptr": "int N+1",
    "descriptor": "N columns",
    "posteriors": "N K",
}
_LATENT = {**_VIEW, **_CAPTIONS, "features": "N K"}
_CLASSES = {
    **_EM,
    "params.mu": "V region_words",
    **dict.fromkeys(("params.alpha", "params.lam", "params.w"), "V"),
    "params.eta": "scalar",
}
_BEFORE = {"before.words": "int asked", "before.weights": "L asked", "before.offset": "asked"}
_NEIGHBOURS = {**_VIEW, **_CAPTIONS, "centre": "L", "weight": "L", "rows": "N L"}
_ANSWERED = {
    "answers.rows": "A L",
    "answers.said": "asked",
    "answers.words": "int asked",
    "answers.ends": "int A+1",
}

ARRAYS: dict[str, dict[str, str]] = {
    "empirical": _VIEW,
    "mix-unigram": _UNIGRAM,
    "gm-mixture": _GAUSSIAN,
    "gm-lda": _GAUSSIAN,
    "corr-lda": _GAUSSIAN,
    "region-logistic": {**_VIEW, "weights": "regions classes", "offset": "classes", "centre": "regions"},
    "plsa": _PLSA,
    "plsa-words": _PLSA,
    "link-lda": {
        **_EM,
        "params.alpha": "K",
        "params.rB": "K visual_words",
        "params.rPhi": "K V",
        "params.eta_b": "scalar",
        "params.eta_phi": "scalar",
    },
    "lap-em": _GRAPH,
    "lap-var1": _GRAPH,
    "lap-var2": _GRAPH,
    "lsa": {**_LATENT, "space.words": "V K", "space.visual": "L K"},
    "nlsa": {**_LATENT, "space.anchors": "A V+L", "space.directions": "A K", "space.offset": "K"},
    "iwe": {
        **_EM,
        **_IDS,
        "word_coordinates": "V dimensions",
        "word_counts": "V",
        "image_coordinates": "N dimensions",
    },
    "dba": _CLASSES,
    "emm-ml": _CLASSES,
    "emm-margin": {**_CLASSES, "loss_trace": "rounds", "n_cuts": "int cuts"},
    "naive-bayes": {**_VIEW, "log_p_b": "V visual_words"},
    "knn": {**_NEIGHBOURS, **_ANSWERED},
    "tagprop": {**_NEIGHBOURS, "weights": "ranks", "slope": "V", "offset": "V"},
    "ridge": {
        **_VIEW,
        **_BEFORE,
        "weights": "L V",
        "offset": "V",
        "row_centre": "L",
        "centre": "L",
        "weight": "L",
    },
    "logistic": {**_VIEW, **_BEFORE, "weights": "L V", "offset": "V", "centre": "L"},
    "companions": {**_VIEW, **_BEFORE, "weights": "L V", "offset": "V", "centre": "L"},
    "label-spreading": {
        **_VIEW,
        **_CAPTIONS,  # in place of a large dense table
        "centre": "L",
        "weight": "L",
        "rows": "N L",
        "spread": "N V",
        "root_degree": "N",
    },
    "network": {
        **_VIEW,
        **_INPUTS,
        "net.hidden": "networks I H",
        "net.hidden_offset": "networks H",
        "net.words": "networks H V",
        "net.words_offset": "networks V",
    },
    "matching": {
        **_VIEW,
        **_CAPTIONS,
        **_INPUTS,
        "space.mapping": "spaces I H",
        "space.offset": "spaces H",
        **dict.fromkeys(("space.log_sharpness", "space.length_power", "space.background_logit"), "spaces 1"),
        "images": "spaces N H",
        "log_lengths": "N",
    },
    "text-match": {
        **_VIEW,
        "centre": "L",
        "vectors": "V L",
        "weights": "L V",
        **dict.fromkeys(("text_weights", "top", "offset"), "V"),
        "pi": "33",
        "ratio": "V 33",
    },
    "auto": {**_VIEW, "weights": "members", "backgrounds": "members"},
}

# Sparse tables: where columns and ends of rows stand, and how many columns there are.
_SPARSE = (
    ("captions.words", "captions.ends", "V"),
    ("answers.words", "answers.ends", "V"),
    ("visual.indices", "visual.indptr", "visual_words"),
)


def check_arrays(
    model: str,
    arrays: Mapping[str, np.ndarray],
    n_words: int,
    columns: Mapping[str, int],
    facts: Mapping[str, Any],
) -> None:
    """Raise ValueError where an array of a model file does not fit the others, the vocabulary or the views."""
    sizes = {"V": n_words, **columns}
    if len(columns) == 1:
        (sizes["L"],) = columns.values()
    if "members" in facts:
        sizes["members"] = len(facts["members"])
    if "axes" not in arrays or not arrays["axes"].size:  # inputs are the columns themselves
        sizes["I"] = sizes.get("L", 0)
    for name, axes in ARRAYS.get(model, {}).items():  # a model of the user's own has none
        if name in arrays and not _fits(arrays[name], axes, sizes):
            raise ValueError(f"the array '{name}' is {arrays[name].dtype} {arrays[name].shape}")
    for indices, ends, n_columns in _SPARSE:
        if indices in arrays and not _are_rows(arrays[indices], arrays[ends], sizes[n_columns]):
            raise ValueError(f"'{indices}' and '{ends}' are not the rows of a table")


def _fits(array: np.ndarray, axes: str, sizes: dict[str, int]) -> bool:
    """Whether an array has these axes; notes the lengths that were open."""
    if axes.endswith(" or nothing"):
        if array.size == 0:
            return True
        axes = axes.removesuffix(" or nothing")
    if axes == "scalar":
        return array.dtype.kind == "f" and array.shape in ((), (1,))
    kinds = "iu" if axes.startswith("int ") else "f"
    names = axes.removeprefix("int ").split()
    if array.dtype.kind not in kinds or array.ndim != len(names):
        return False
    return all(_is_length(length, name, sizes) for name, length in zip(names, array.shape, strict=True))


def _is_length(length: int, name: str, sizes: dict[str, int]) -> bool:
    if name.isdigit():
        return length == int(name)
    first, _, rest = name.partition("+")
    if rest:
        length -= int(rest) if rest.isdigit() else sizes[rest]
    return length >= 0 and sizes.setdefault(first, length) == length


def _are_rows(indices: np.ndarray, ends: np.ndarray, n_columns: int) -> bool:
    """What a sparse table needs so that no index leads outside it."""
    return (
        ends.size > 0
        and ends[0] == 0
        and ends[-1] == len(indices)
        and bool((ends[1:] >= ends[:-1]).all())
        and bool(((indices >= 0) & (indices < n_columns)).all())
    )
