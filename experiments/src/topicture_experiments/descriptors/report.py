"""The comparison of descriptors as a Markdown page."""

from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from platform import python_version

from topicture_experiments.descriptors.images import REFERENCE_RULE, ImageRow
from topicture_experiments.descriptors.regions import RegionRow
from topicture_experiments.shared.knn_vote import Rule
from topicture_experiments.shared.tables import markdown_table

__all__ = ["PUBLISHED", "markdown"]

# Method -> precision, recall, N+ on Corel-5k, and who measured them.
PUBLISHED = {
    "TagProp": ("0.33", "0.42", "160", "Guillaumin et al., ICCV 2009"),
    "2PKNN + metric learning": ("0.44", "0.46", "191", "Verma and Jawahar, ECCV 2012"),
    "CCA-KNN": ("0.42", "0.52", "201", "Murthy, Maji and Manmatha, ICMR 2015"),
}
LIBRARIES = (
    "topicture",
    "numpy",
    "onnxruntime",
    "opencv-python-headless",
    "scikit-image",
    "faiss-cpu",
    "jax",
)


def markdown(
    images: Sequence[ImageRow],
    regions: Sequence[RegionRow],
    *,
    command: str,
    facts: Sequence[str] = (),
    day: date | None = None,
) -> str:
    """The page: how it was made, then the tables that have rows; `facts` are sentences on the data and settings."""
    parts = [
        "# What each descriptor buys",
        f"Written by `{command}` on {(day or date.today()).isoformat()}; Python {python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
        + ". "
        + " ".join(facts),
    ]
    if images:
        parts += _images(images)
    if regions:
        parts += _regions(regions)
    return "\n\n".join(parts) + "\n"


# --- Tables -----------------------------------------------------------------------------------------------------


def _images(rows: Sequence[ImageRow]) -> list[str]:
    n_words = rows[0].measures.n_words
    heading = ("Descriptor", "Columns", "Annotator", "k", "s", "Precision", "Recall", "F1", "N+")
    ours = [
        (
            row.descriptor,
            str(row.n_columns),
            row.annotator,
            *_rule(row.rule),
            f"{row.measures.precision:.3f}",
            f"{row.measures.recall:.3f}",
            f"{row.measures.f1:.3f}",
            str(row.measures.n_plus),
        )
        for row in rows
    ]
    printed = [(name, where, p, r, n_plus) for name, (p, r, n_plus, where) in PUBLISHED.items()]
    return [
        "## Words of images: Corel-5k from pixels",
        f"Five words per image; means over the {n_words} words of the test images; F1 of the two means; N+ counts the "
        "words found at least once. *vote*: the k nearest training images by cosine vote with exp(s cosine); k and s "
        "are chosen for each descriptor by F1 on the training images, asked in folds of the size of the test set (a "
        "size settled on after test figures with five larger folds had been seen). *vote, fixed rule*: "
        f"k = {REFERENCE_RULE.n_neighbours} and s = {REFERENCE_RULE.sharpness:g} for all descriptors; it was not "
        "chosen on the training images, so its rows are a check of the features and no estimate. Pictures described "
        "by their regions are compared by the mean of these, or by the bag of their words; Corr-LDA sees the regions "
        "themselves.",
        markdown_table(heading, ours),
        "Measured by others on the same division and words:",
        markdown_table(("Method", "Source", "Precision", "Recall", "N+"), printed),
    ]


def _regions(rows: Sequence[RegionRow]) -> list[str]:
    heading = ("Descriptor", "Columns", "Learned from", "k", "s", "Top 1", "Top 3", "Pixels", "Ceiling")
    ours = [
        (
            row.descriptor,
            str(row.n_columns),
            row.annotator,
            *_rule(row.rule),
            *(f"{value:.3f}" for value in (row.top_1, row.top_3, row.pixels, row.ceiling)),
        )
        for row in rows
    ]
    counts = {row.descriptor.split("(")[-1].rstrip(")"): row.n_regions for row in rows}
    numbers = " and ".join(f"{n} ({method})" for method, n in counts.items())
    return [
        "## Words of regions: MSRC v2",
        f"Test regions with a true word, that of most of their labelled pixels: {numbers}. Top 1 and top 3: share of "
        "the regions whose true word is their best, or among their best three. Pixels: share of the labelled pixels "
        "that are right when each region is given its best word. Ceiling: the same when each region is given its true "
        "word. *vote of true words* learns from training regions with true words; the rows below it learn from the "
        "captions of images alone.",
        markdown_table(heading, ours),
    ]


def _rule(rule: Rule | None) -> tuple[str, str]:
    return ("", "") if rule is None else (str(rule.n_neighbours), f"{rule.sharpness:g}")
