"""The report on Blei & Jordan 2003 as a page with figures, from what `report.py` measured."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from topicture.annotations.figures.plots import (
    likelihood_against_topics,
    perplexity_against_topics,
    precision_recall_curves,
    save_figure,
)
from topicture.annotations.measures.retrieval import PrecisionRecall
from topicture_experiments.blei2003.models import INDEPENDENT, MODELS
from topicture_experiments.shared.running import measured
from topicture_experiments.shared.tables import (
    columns_of_topics,
    markdown_table,
    verdict,
    with_error,
    write_parts,
)

__all__ = ["claims", "write_figures", "write_page"]

ESTIMATES = {"ml": "maximum likelihood", "eb": "smoothed"}
Rows = Sequence[dict[str, Any]]


# --- Numbers ----------------------------------------------------------------------------------------------------


def _values(rows: Rows, measure: str, **where: Any) -> np.ndarray:
    """The measure of the rows that agree with `where`, one value per start."""
    return np.array([row[measure] for row in rows if all(row[key] == value for key, value in where.items())])


def _mean(rows: Rows, measure: str, **where: Any) -> float:
    return float(_values(rows, measure, **where).mean())


def _topics(rows: Rows) -> list[int]:
    return sorted({row["n_topics"] for row in rows if row["model"] != INDEPENDENT})


def claims(evidence: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The paper's findings, what was found here, and whether that agrees."""
    rows, regions = evidence["corel"]["rows"], evidence["msrc"]["rows"]
    topics, msrc_topics = _topics(rows), _topics(regions)

    def perplexity(model: str, smoothing: str, K: int) -> float:
        return _mean(rows, "perplexity", model=model, smoothing=smoothing, n_topics=K)

    def best(model: str) -> float:
        return min(perplexity(model, "eb", K) for K in topics)

    order = [
        (perplexity("corr-lda", "eb", K), perplexity("gm-mixture", "eb", K), perplexity("gm-lda", "eb", K))
        for K in topics
    ]
    first, second = [a < b for a, b, _ in order], [b < c for _, b, c in order]
    ml = [perplexity("gm-mixture", "ml", K) for K in topics]
    eb = [perplexity("gm-mixture", "eb", K) for K in topics]
    gaps = [
        _mean(rows, "nll", model="corr-lda", smoothing="eb", n_topics=K)
        - _mean(rows, "nll", model="gm-lda", smoothing="eb", n_topics=K)
        for K in topics
    ]
    to_mixture = [
        _mean(rows, "nll", model="gm-mixture", smoothing="eb", n_topics=K)
        - _mean(rows, "nll", model="gm-lda", smoothing="eb", n_topics=K)
        for K in topics
    ]
    at_1 = {
        name: [_mean(regions, "region_accuracy_at_1", model=name, n_topics=K) for K in msrc_topics]
        for name in ("corr-lda", "gm-lda")
    }
    scores = {name: np.mean([r["scores"][name]["1"] for r in evidence["retrieval"]]) for name in MODELS}
    return [
        (
            "Smoothed perplexity: Corr-LDA < GM-Mixture",
            f"best over K {best('corr-lda'):.1f} and {best('gm-mixture'):.1f}; lower at {_of(first, topics)}",
            verdict(first),
        ),
        (
            "Smoothed perplexity: GM-Mixture < GM-LDA",
            f"best over K {best('gm-mixture'):.1f} and {best('gm-lda'):.1f}; lower at {_of(second, topics)}",
            verdict(second),
        ),
        (
            "GM-Mixture by maximum likelihood overfits as K grows",
            f"perplexity {_number(ml[0])} at K = {topics[0]}, {_number(ml[-1])} at K = {topics[-1]}",
            verdict([ml[-1] > ml[0]]),
        ),
        (
            "Smoothing repairs that",
            f"smoothed {eb[0]:.1f} at K = {topics[0]}, {eb[-1]:.1f} at K = {topics[-1]}; lower than by maximum "
            f"likelihood at {_of([e < m for e, m in zip(eb, ml, strict=True)], topics)}",
            verdict([e < m for e, m in zip(eb, ml, strict=True)]),
        ),
        (
            "Corr-LDA's joint likelihood is close to GM-LDA's",
            f"Corr-LDA costs {min(gaps):+.1f} to {max(gaps):+.1f} nats per image; GM-Mixture {min(to_mixture):+.1f} to "
            f"{max(to_mixture):+.1f}",
            verdict([abs(g) < 0.25 * abs(m) for g, m in zip(gaps, to_mixture, strict=True)]),
        ),
        (
            "Corr-LDA names regions better than GM-LDA",
            f"top 1 at K = {_listed(msrc_topics, 'd')}: {_listed(at_1['corr-lda'], '.3f')} against "
            f"{_listed(at_1['gm-lda'], '.3f')}",
            verdict([a > b for a, b in zip(at_1["corr-lda"], at_1["gm-lda"], strict=True)]),
        ),
        (
            "Corr-LDA retrieves best",
            "mean average precision of one-word queries "
            + ", ".join(f"{k} {v:.3f}" for k, v in scores.items()),
            verdict([scores["corr-lda"] > scores[name] for name in MODELS if name != "corr-lda"]),
        ),
    ]


def _listed(values: Iterable[float], spec: str) -> str:
    return ", ".join(format(value, spec) for value in values)


def _number(value: float) -> str:
    return "infinite" if np.isinf(value) else f"{value:.1f}"


def _of(held: Sequence[bool], topics: Sequence[int]) -> str:
    return f"{sum(held)} of {len(topics)} K"


# --- Page and figures -------------------------------------------------------------------------------------------


def write_page(evidence: dict[str, Any], folder: Path) -> Path:
    """Write blei2003.md."""
    corel, msrc, retrieval = evidence["corel"], evidence["msrc"], evidence["retrieval"]
    settings = evidence["settings"]
    lengths = list(retrieval[0]["scores"]["corr-lda"])
    parts = [
        "# Modeling annotated data (Blei and Jordan, SIGIR 2003): our figures",
        "Written by `python -m topicture_experiments.blei2003.report`; "
        f"{measured(evidence)}. {' '.join([_starts(len(settings['seeds'])), *evidence.get('notes', [])])}",
        f"**Data.** Captions: Corel-5k from pixels, {corel['train']} training and {corel['test']} test images, 260 "
        "words, 46 blob features of 6 to 10 SLIC regions. Regions: MSRC v2, "
        f"{msrc['train']} training and {msrc['test']} test images, {msrc['regions']} test regions with a true word, "
        "same features. The paper had 7,000 Corel images, 168 words and 47 features of normalized-cut regions; that "
        "data is not available. "
        f"**Settings.** EM of at most {settings['max_iter']} iterations or a relative change of {settings['tol']:g}, "
        f"{settings['precision']} E-steps, k-means starts. Corrected equations: docs/models.md, section 5.",
        "## The paper's findings",
        markdown_table(("Finding", "Here", "Verdict"), claims(evidence)),
        *_without_near_copies(evidence),
        "## Perplexity of the held-out captions (Figure 5)",
        _against_topics(corel["rows"], "perplexity", 1),
        "![Perplexity against the number of topics](blei2003-perplexity.png)",
        "## Held-out negative log-likelihood, nats per image (Figure 4)",
        _against_topics(corel["rows"], "nll", 1),
        "![Likelihood against the number of topics](blei2003-likelihood.png)",
        "GM-Mixture's is exact; those of GM-LDA and Corr-LDA, and all smoothed ones, are bounds.",
        "## Words of regions (Figure 7, in numbers): MSRC v2, smoothed",
        _regions(msrc),
        "## Retrieval by text (Figure 8)",
        f"Mean average precision of all queries that at least two test images answer, K = {retrieval[0]['n_topics']}, "
        "smoothed; *empirical* gives every image the same words.",
        markdown_table(
            ("Model", *(f"{n} word{'s' if n != '1' else ''}" for n in lengths)),
            [
                (
                    name,
                    *(with_error(np.array([r["scores"][name][n] for r in retrieval]), 3) for n in lengths),
                )
                for name in retrieval[0]["scores"]
            ],
        ),
        "![Precision and recall](blei2003-retrieval.png)",
    ]
    return write_parts(folder / "blei2003.md", parts)


def _starts(n: int) -> str:
    return f"Means ± standard errors over {n} random starts." if n > 1 else "One random start of each model."


def _against_topics(rows: Rows, measure: str, digits: int) -> str:
    topics = _topics(rows)
    reference = with_error(_values(rows, measure, model=INDEPENDENT), digits)
    lines = [("one Gaussian, one multinomial", "", *(reference for _ in topics))]
    for model in MODELS:
        for smoothing, title in ESTIMATES.items():
            cells = [_values(rows, measure, model=model, smoothing=smoothing, n_topics=K) for K in topics]
            lines.append((model, title, *(with_error(values, digits) for values in cells)))
    return markdown_table(("Model", "Estimate", *columns_of_topics(topics)), lines)


def _without_near_copies(evidence: dict[str, Any]) -> list[str]:
    """Is it the series of near copies that GM-Mixture gains from? Corr-LDA's lead with whole series hidden."""
    rows, corel = evidence["series"]["rows"], evidence["corel"]["rows"]
    topics = _topics(rows)

    def lead(rows: Rows, K: int) -> np.ndarray:
        mixture, corr = (
            _values(rows, "perplexity", model=name, smoothing="eb", n_topics=K)
            for name in ("gm-mixture", "corr-lda")
        )
        return mixture - corr

    reference = with_error(_values(rows, "perplexity", model=INDEPENDENT), 1)
    lines = [("one multinomial", *(reference for _ in topics))]
    for model in ("gm-mixture", "corr-lda"):
        values = [_values(rows, "perplexity", model=model, smoothing="eb", n_topics=K) for K in topics]
        lines.append((model, *(with_error(value, 1) for value in values)))
    lines.append(("Corr-LDA's lead", *(with_error(lead(rows, K), 1) for K in topics)))
    common = [K for K in topics if K in _topics(corel)]
    lines.append(
        (
            "its lead with near copies",
            *(with_error(lead(corel, K), 1) if K in common else "" for K in topics),
        )
    )
    grows = [lead(rows, K).mean() > lead(corel, K).mean() for K in common]
    return [
        "## Without near copies",
        "Corel's pictures come in series of near copies with nearly the same caption, and the usual test images have "
        "their series among the training images. One cluster per image, as in GM-Mixture, can keep a series together. "
        f"Here {evidence['series']['hidden']:.0%} of the series were hidden whole (smoothed perplexity; a lead is "
        f"GM-Mixture's minus Corr-LDA's). Against GM-Mixture, Corr-LDA does better than with near copies at "
        f"{_of(grows, common)}.",
        markdown_table(("Model", *columns_of_topics(topics)), lines),
    ]


def _regions(msrc: dict[str, Any]) -> str:
    topics = _topics(msrc["rows"])
    lines = [("most frequent word", "1", *(f"{msrc['most_frequent']:.3f}" for _ in topics))]
    for model in ("gm-lda", "corr-lda"):
        for k in (1, 3):
            cells = [
                _values(msrc["rows"], f"region_accuracy_at_{k}", model=model, n_topics=K) for K in topics
            ]
            lines.append((model, str(k), *(with_error(values, 3) for values in cells)))
    return markdown_table(("Model", "Among the first", *columns_of_topics(topics)), lines)


def write_figures(evidence: dict[str, Any], folder: Path) -> None:
    """Write the three figures beside the page."""
    rows = evidence["corel"]["rows"]
    topics = _topics(rows)
    drawings: tuple[tuple[str, str, Callable[..., Any]], ...] = (
        ("nll", "likelihood", likelihood_against_topics),
        ("perplexity", "perplexity", perplexity_against_topics),
    )
    for measure, name, draw in drawings:
        curves = {
            title: {
                model: [_mean(rows, measure, model=model, smoothing=smoothing, n_topics=K) for K in topics]
                for model in MODELS
            }
            for smoothing, title in ESTIMATES.items()
        }
        level = {"independent": _mean(rows, measure, model=INDEPENDENT)}
        save_figure(draw(topics, curves, levels=level), folder / f"blei2003-{name}.png")
    retrieval = {
        query: {
            model: PrecisionRecall(*(np.array(part) for part in curve)) for model, curve in models.items()
        }
        for query, models in evidence["retrieval"][0]["curves"].items()
    }
    save_figure(precision_recall_curves(retrieval), folder / "blei2003-retrieval.png")
