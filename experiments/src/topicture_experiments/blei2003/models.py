"""The experiments of Blei & Jordan 2003: GM-Mixture, GM-LDA and Corr-LDA against the number of topics.

For every model, estimate ("ml", "eb") and number of topics K: held-out joint negative log-likelihood (their Figure 4),
caption perplexity (Figure 5) and, where the true words of regions are known, how often a region's word is among the
first k (Figure 7 in numbers). One Gaussian and one multinomial for all images are the reference.
"""

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from topicture.annotations.measures.metrics import caption_perplexity, held_out_nll, region_accuracy
from topicture.annotations.measures.protocols import Part, with_training_words
from topicture.corpus import Corpus, Vocabulary
from topicture.errors import CorpusError
from topicture.models.registry import make_annotator

__all__ = ["INDEPENDENT", "MODELS", "QUICK", "compare_models"]

MODELS = ("gm-mixture", "gm-lda", "corr-lda")
INDEPENDENT = "independent"

# Settings for a first look; the defaults of the models take many times as long.
QUICK: dict[str, Any] = {"n_init": 1, "max_iter": 30, "tol": 1e-4, "precision": "float32"}


def compare_models(
    train: Corpus,
    test: Corpus,
    n_topics: Sequence[int],
    *,
    region_labels: Any = None,
    models: Sequence[str] = MODELS,
    smoothings: Sequence[str] = ("ml", "eb"),
    reference: bool = True,
    top_k: Sequence[int] = (1, 5),
    quick: bool = False,
    settings: dict[str, Any] | None = None,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> list[dict[str, Any]]:
    """A row for the independent reference, then one for every model, estimate and K.

    Parameters
    ----------
    train, test : Corpus
        With regions and captions. The vocabulary is cut to the words of the training captions.
    n_topics : sequence of int
    region_labels : int array (R,), optional
        True word (index into the vocabulary of `test`) of every region of `test`, as its regions are stacked;
        negative where it is not known.
    reference : bool
        Whether the first row is that of the independent reference.
    top_k : sequence of int
        A region counts as right if its word is among the first k.
    quick : bool
        Short fits (`QUICK`) for a first look.
    settings : dict, optional
        Parameters for all models, such as n_init, max_iter and seed; they go before `quick`.
    progress : callable, optional
        Told of each finished row.

    Returns
    -------
    list of dict
        model, smoothing, n_topics; nll (nats per image) over `nll_images` test images with caption and regions (an
        image without regions has no Corr-LDA likelihood); perplexity; region_accuracy_at_<k>, for models that
        label regions, of the regions whose word can be learned; n_iter, result and fit_seconds of the fit.

    Raises
    ------
    CorpusError
        If region_labels do not fit the regions of `test`, or the corpora can't be used.
    """
    part = with_training_words(Part("blei2003", train, test))
    labels = None if region_labels is None else _in_vocabulary(region_labels, test, part.hidden.vocabulary)
    chosen = {**(QUICK if quick else {}), **(settings or {})}
    rows = []
    for name, smoothing, K in _runs(models, smoothings, n_topics, reference):
        rows.append(_row(name, smoothing, K, part, labels, top_k, chosen))
        if progress is not None:
            progress(rows[-1])
    return rows


def _runs(
    models: Sequence[str], smoothings: Sequence[str], n_topics: Sequence[int], reference: bool
) -> Iterator[tuple[str, str, int]]:
    if reference:
        yield INDEPENDENT, "ml", 1
    for name in models:
        for smoothing in smoothings:
            for K in n_topics:
                yield name, smoothing, int(K)


def _row(
    name: str,
    smoothing: str,
    n_topics: int,
    part: Part,
    labels: np.ndarray | None,
    top_k: Sequence[int],
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Fit one model and measure it."""
    registered = "gm-mixture" if name == INDEPENDENT else name
    model: Any = make_annotator(registered, n_topics=n_topics, smoothing=smoothing)
    known = model.get_params()
    model.set_params(**{key: value for key, value in settings.items() if key in known})
    start = perf_counter()
    model.fit(part.tagged)
    fit_seconds = perf_counter() - start
    usable = part.hidden.tagged & (part.hidden.n_regions > 0)
    row = {
        "model": name,
        "smoothing": smoothing,
        "n_topics": n_topics,
        "nll": held_out_nll(model.log_likelihood(part.hidden)[usable]),
        "nll_images": int(usable.sum()),
        "perplexity": caption_perplexity(model.annotate(part.hidden), part.hidden.captions),
        "n_iter": model.n_iter_,
        "result": model.result_,
        "fit_seconds": fit_seconds,
    }
    if labels is not None and model.labels_regions:
        scores = np.concatenate(model.label_regions(part.hidden))
        row |= {f"region_accuracy_at_{k}": region_accuracy(scores, labels, k) for k in top_k}
    return row


def _in_vocabulary(region_labels: Any, test: Corpus, vocabulary: Vocabulary) -> np.ndarray:
    """Labels as indices into the training vocabulary, -1 where the word is not in it or not known."""
    labels = np.asarray(region_labels)
    if labels.shape != (int(test.n_regions.sum()),) or labels.max(initial=-1) >= test.n_words:
        raise CorpusError(
            f"region_labels: shape {labels.shape} with largest label {labels.max(initial=-1)} does not fit "
            f"{int(test.n_regions.sum())} regions and {test.n_words} words"
        )
    new = np.array([vocabulary.index(word) if word in vocabulary else -1 for word in test.vocabulary])
    return np.where(labels >= 0, new[np.maximum(labels, 0)], -1)
