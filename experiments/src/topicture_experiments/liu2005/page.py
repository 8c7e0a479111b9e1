"""The report on Liu & Tang 2005 as a page with a figure, from what `report.py` measured."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topicture.annotations.figures.style import legend, line_looks, panels, save_figure
from topicture_experiments.liu2005.models import (
    BASELINE,
    COMPONENTS,
    PUBLISHED,
    TITLES,
    Table,
    assembled,
    merged,
)
from topicture_experiments.shared.running import measured
from topicture_experiments.shared.tables import (
    columns_of_topics,
    markdown_table,
    verdict,
    with_error,
    write_parts,
)

__all__ = ["claims", "tables", "write_figure", "write_page"]

HEADINGS = {"colour": "Corel-5k, colour histograms", "blobs": "Corel subsets 1 to 7, blobs"}
PANELS = {"published": "as published", "validated": "by validation"}
SETTING_NAMES = {"published": "as published: Z = 3, map of 2 dimensions", "validated": "chosen by validation"}
CLOSE = 0.02  # scores of two models that are "very close"; the paper's differ by at most 0.004


class Kind(NamedTuple):
    """A kind of data under a setting."""

    data: str
    setting: str


# --- Numbers ----------------------------------------------------------------------------------------------------


def tables(evidence: dict[str, Any]) -> dict[Kind, Table]:
    """The tables of all kinds of data and settings, with the columns that were measured on every part."""
    found = {}
    for data in HEADINGS:
        shared = _cells(evidence, data, "baselines")
        parts = sorted({part for part, _ in shared})
        for setting in SETTING_NAMES:
            own = _cells(evidence, data, setting)
            cells = {
                (part, K): merged(shared[part, K], own[part, K])
                for K in COMPONENTS
                if all((part, K) in own and (part, K) in shared for part in parts)
                for part in parts
            }
            if cells:
                found[Kind(data, setting)] = assembled(cells)
    return found


def _cells(evidence: dict[str, Any], data: str, setting: str) -> dict[tuple[str, int], dict[str, Any]]:
    """(part, K) -> cell."""
    return {
        (part, int(K)): cell
        for (kind, part, name, K), cell in _by_key(evidence)
        if (kind, name) == (data, setting)
    }


def _by_key(evidence: dict[str, Any]) -> Iterable[tuple[list[str], dict[str, Any]]]:
    return ((key.split("/"), cell) for key, cell in evidence["found"].items())


class Finding(NamedTuple):
    """A statement of the paper about the scores of two rows of its table."""

    text: str
    better: str
    worse: str
    close: bool = False  # "as good as" instead of "better than"


FINDINGS = (
    Finding("LSA1 > PLSA", "LSA1", "PLSA"),
    Finding("LSA2 > PLSA", "LSA2", "PLSA"),
    Finding("LSA1 and LSA2 are very close", "LSA1", "LSA2", close=True),
    Finding("NLSA > LSA2", "NLSA", "LSA2"),
    Finding("NLSA+IWE > NLSA", "NLSA+IWE", "NLSA"),
    Finding("NLSA+IWE is the best of all", "NLSA+IWE", "every other"),
)


def claims(table: Table) -> list[tuple[str, str, str]]:
    """The paper's findings, the mean difference here with its standard error over parts, and whether that agrees."""
    return [(finding.text, *_judged(finding, table)) for finding in FINDINGS]


def _judged(finding: Finding, table: Table) -> tuple[str, str]:
    others = [title for title in PUBLISHED if title != finding.better]
    rivals = others if finding.worse == "every other" else [finding.worse]
    worse = np.max([table.scores[title] for title in rivals], axis=0)
    difference = table.scores[finding.better] - worse  # (parts, components)
    by_components = difference.mean(axis=0)
    agrees = np.abs(by_components) <= CLOSE if finding.close else by_components > 0
    return with_error(difference.mean(axis=1), sign="+"), verdict(agrees)


# --- Page -------------------------------------------------------------------------------------------------------


def write_page(evidence: dict[str, Any], folder: Path) -> Path:
    """Write liu2005.md."""
    found = tables(evidence)
    sections = [
        section
        for kind, table in found.items()
        for section in (
            f"## {HEADINGS[kind.data]}, {SETTING_NAMES[kind.setting]}",
            _score_table(table),
            _chosen(evidence, kind, table.components),
        )
    ]
    parts = [
        "# Learning an image-word embedding (Liu and Tang, MM 2005): our figures",
        "Written by `python -m topicture_experiments.liu2005.report`; "
        f"{measured(evidence)}. Maximum normalised score, mean ± standard error over the parts of the data; the "
        "threshold is the best one for the measured images, as in the paper. "
        + " ".join(evidence.get("notes", [])),
        "## The paper's findings",
        "The difference of the two scores, averaged over K, ± its standard error over parts, and whether the order is "
        "the paper's at every K (holds), at some (holds partly), at none (does not hold).",
        _findings(found),
        _explanation(evidence, found),
        "## What differs from the paper",
        DIFFERENCES.format(images=_images(evidence)),
        "## Published (Table 1)",
        markdown_table(
            ("", *columns_of_topics(COMPONENTS)),
            [(title, *(f"{score:.3f}" for score in row)) for title, row in PUBLISHED.items()],
        ),
        *sections,
        "![Maximum normalised score against the number of components](liu2005.png)",
    ]
    return write_parts(folder / "liu2005.md", parts)


def _explanation(evidence: dict[str, Any], found: dict[Kind, Table]) -> str:
    """Why the number of neighbours decides the order, with what was measured about it."""
    rows = [
        (
            HEADINGS[data],
            str(row["Z"]),
            f"{row['reached']:.2f}",
            f"{row['from_map']:.2f}",
            f"{row['from_frequencies']:.2f}",
        )
        for (data, _, setting, _), cell in _by_key(evidence)
        if setting == "reach"
        for row in cell["reach"]
    ]
    return "\n\n".join(
        [
            "**Why Z decides.** Three neighbours have few words: a true word that none of them has gets probability 0, "
            "and no threshold can predict it. The map gives every word near an image's place some probability, so IWE "
            "adds much to Z = 3. With many neighbours NLSA reaches nearly all true words by itself. Its answers are "
            "then broad, but a map learned from captions of about three words has hardly any place for a broad answer: "
            "in 2 dimensions the best-fitting place is farther from it than the word frequencies are, and IWE's answer "
            "is worse than the one it was given. More dimensions and larger ridges lose less.",
            markdown_table(
                (
                    "Data",
                    "Z",
                    "True words reached by NLSA",
                    "KL from the map's answer",
                    "KL from word frequencies",
                ),
                rows,
            ),
            "**LSA and PLSA.** No score with Z = 3 can be much above the share of true words reached, and that is "
            "below PLSA's score, since PLSA answers with a probability for every word. The paper's PLSA "
            f"({min(PUBLISHED['PLSA']):.3f} to {max(PUBLISHED['PLSA']):.3f}) scores like word frequencies alone "
            f"({_frequency_scores(found)} here); ours does better, so the baseline is harder to beat. With Z chosen, "
            "LSA2 and NLSA are above it. LSA1 has no Z: it takes the words of one image after the other, pools "
            "nothing, and gains less.",
        ]
    )


def _frequency_scores(found: dict[Kind, Table]) -> str:
    scores = {kind.data: table.scores[BASELINE].mean() for kind, table in found.items()}
    return ", ".join(f"{score:.3f} on {data}" for data, score in scores.items())


DIFFERENCES = """\
- **Data.** The paper had ten subsets of 80 Corel CDs with 5,000 training and 2,000 test images and 150 words each;
  their pictures are not available. {images}. Corel-5k has 260 words, the subsets 144 to 174. Divisions of Corel-5k
  share images, so their standard errors are too small for other collections.
- **Features.** Colour histograms of the centre, the upper and the lower part, as in the paper, which gives neither
  the parts' outlines nor the threshold: here the middle rectangle, the two halves, and colours of at least 2% of a
  part, as shares of its pixels. Blobs are present or absent. PLSA counts a colour once for every tenth of its part
  that it covers, begun or whole.
- **Not stated, chosen on held-out tagged images.** The weight of words against the visual part, and the ridges of the
  map (without a ridge E has no minimum). The bandwidth is the median distance.
- **As published**: Z = 3, a map of 2 dimensions, coordinates as printed, that is not centred. **Chosen by
  validation**: Z, dimensions; centred coordinates, which did better on held-out tagged images.
- **PLSA** is tempered and smoothed, from one start; the paper does not say how its own was learned.
- **Word frequency**, a row that the paper does not have, predicts the most frequent words for every image."""


def _findings(found: dict[Kind, Table]) -> str:
    judged = {kind: claims(table) for kind, table in found.items()}
    heading = ("Finding", *(f"{kind.data}, {PANELS[kind.setting]}" for kind in found))
    rows = [
        (finding.text, *(f"{judged[kind][n][2]} ({judged[kind][n][1]})" for kind in found))
        for n, finding in enumerate(FINDINGS)
    ]
    return markdown_table(heading, rows)


def _score_table(table: Table) -> str:
    rows = [
        (title, *(with_error(table.scores[title][:, k]) for k in range(len(table.components))))
        for title in TITLES
        if title in table.scores
    ]
    return markdown_table(("", *columns_of_topics(table.components)), rows)


def _chosen(evidence: dict[str, Any], kind: Kind, components: Sequence[int]) -> str:
    """What was used, with how often; and which columns are missing."""
    cells = [cell["chosen"] for (_, K), cell in _cells(evidence, *kind).items() if K in components]
    neighbours = {title: Counter(cell[title]["Z"] for cell in cells) for title in ("LSA2", "NLSA")}
    dims = Counter(cell["NLSA+IWE"]["n_dims"] for cell in cells)
    ridges = Counter((cell["NLSA+IWE"]["images"], cell["NLSA+IWE"]["words"]) for cell in cells)
    lines = [f"Z of {title}: {_counts(values)}." for title, values in neighbours.items()]
    lines += [f"Dimensions of the map: {_counts(dims)}. Ridges of images and words: {_counts(ridges)}."]
    left_out = [str(K) for K in COMPONENTS if K not in components]
    if left_out:
        lines += [f"Not measured on every part, and left out: K = {', '.join(left_out)}."]
    return "Used (times): " + " ".join(lines)


def _counts(values: Counter) -> str:
    return ", ".join(
        f"{' and '.join(map(str, value)) if isinstance(value, tuple) else value} ({times})"
        for value, times in values.most_common()
    )


def _images(evidence: dict[str, Any]) -> str:
    """Tagged and hidden images of the parts, smallest to largest."""
    texts = []
    for data, heading in HEADINGS.items():
        sizes = np.array([cell["images"] for key, cell in _by_key(evidence) if key[0] == data])
        if len(sizes):
            (tagged_min, hidden_min), (tagged_max, hidden_max) = sizes.min(axis=0), sizes.max(axis=0)
            texts.append(
                f"{heading}: {tagged_min} to {tagged_max} tagged, {hidden_min} to {hidden_max} hidden"
            )
    return "; ".join(texts)


# --- Figure -----------------------------------------------------------------------------------------------------


def write_figure(evidence: dict[str, Any], folder: Path) -> Path:
    """Draw liu2005.png: the published curves and ours, one panel per table."""
    found = tables(evidence)
    titles = ["the paper's Table 1", *(f"{kind.data}, {PANELS[kind.setting]}" for kind in found)]
    figure, axes = panels(titles, (3.4, 2.8), share_y=True)
    looks = line_looks(TITLES)
    for title, row in PUBLISHED.items():
        axes[0].plot(COMPONENTS, row, label=title, **looks[title])
    for axis, table in zip(axes[1:], found.values(), strict=True):
        means, errors = table.mean(), table.standard_error()
        for title in means:
            axis.errorbar(
                table.components,
                means[title],
                np.nan_to_num(errors[title]),
                label=title,
                capsize=2,
                **looks[title],
            )
    for axis in axes:
        axis.set_xlabel("latent components K")
        axis.set_xticks(COMPONENTS)
        axis.set_xlim(COMPONENTS[0] - 5, COMPONENTS[-1] + 5)
    axes[0].set_ylabel("maximum normalised score")
    legend(figure, axes)
    return save_figure(figure, folder / "liu2005.png")
