"""How the experiment of Shao et al. gets its hyper-parameters: cross-validation within the tagged images.

For every model and every Corel subset the captions of one third of the TAGGED images are hidden after the other, the
model learns from everything else (the large untagged part included) and is judged on the hidden third. Captions of the
images that the experiment annotates take no part. Parameters are searched one after another (`choose_in_turn`) with
one number of topics and one start; what is chosen holds for all numbers of topics.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from topicture.annotations.choice.choose import Choice, choose_in_turn
from topicture.annotations.measures.protocols import PROTOCOLS, Part, with_training_words

__all__ = ["FIXED", "GRIDS", "N_TOPICS", "SHARED", "choose_settings"]

N_TOPICS = 50

_ENDS_EARLIER = {"tol": 1e-4}  # four times faster than the default of 1e-5
# Title -> what is not searched. Published pLSA-Words has neither tempering nor early stop.
FIXED: Mapping[str, Mapping[str, Any]] = {
    "pLSA-Words": {"power": 1.0, "fold_steps": 100},
    # It goes on improving its bound for hundreds of passes; accuracy settles long before.
    "Link-LDA": {"precision": "float32", "max_iter": 60},
    "LapEM": _ENDS_EARLIER,
    "LapVar1": _ENDS_EARLIER,
    "LapVar2 (LapMixUnigram)": _ENDS_EARLIER,
}
# Title -> the one whose choice it takes over: LapVar2 has the objective of LapVar1.
SHARED = {"LapVar2 (LapMixUnigram)": "LapVar1"}

_TOPICS_OF_A_MIXTURE: Sequence[Mapping[str, Sequence[Any]]] = (
    {"eta_visual": (0.3, 1.0, 3.0)},
    {"eta_words": (0.1, 0.3, 1.0)},
)
_GRAPHS = (
    None,  # at least three shared visual words, as published
    {"min_visual": 4},
    {"kind": "neighbours"},
)
# Title -> grids that are searched in turn.
GRIDS: Mapping[str, Sequence[Mapping[str, Sequence[Any]]]] = {
    "Empirical": (),
    "pLSA-Words": ({"eps": (0.1, 0.5, 1.0, 2.0)},),
    "pLSA-Words, tempered": (
        {"power": (0.7, 0.8, 0.9)},
        {"eps": (0.5, 1.0, 2.0)},
        {"fold_steps": (3, 100)},
    ),
    "Mixture of unigrams": (*_TOPICS_OF_A_MIXTURE, {"smoothing": ("vb", "map")}),
    "Link-LDA": ({"eta_visual": (0.05, 0.2, 0.5)}, {"eta_words": (0.05, 0.3)}),
    "LapEM": (
        {"max_smoothing": (3, 5, 10, 20)},
        {"graph": _GRAPHS},
        *_TOPICS_OF_A_MIXTURE,
        {"temperature": (1.0, 1.5, 2.0)},
    ),
    "LapVar1": (
        {"lam": (0.1, 0.3, 1.0)},
        {"graph": _GRAPHS},
        {"temperature": (1.0, 1.5, 2.0)},
        {"annealing": (1.0, 4.0)},
        *_TOPICS_OF_A_MIXTURE,
    ),
}


def choose_settings(
    title: str, name: str, part: Part, *, n_topics: int = N_TOPICS, n_grids: int | None = None
) -> Choice | None:
    """The candidates for one model on one part, the best first; None where there is nothing to choose.

    Only the tagged captions of the part are looked at. `n_grids`: only this many of the grids are searched.
    """
    if not GRIDS[title]:
        return None
    corpus = PROTOCOLS["semi-supervised"](with_training_words(part))
    grids = GRIDS[title][:n_grids]
    return choose_in_turn(name, corpus, grids, n_topics=n_topics, n_init=1, **FIXED.get(title, {}))
