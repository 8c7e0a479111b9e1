"""From raw measurements to the numbers in a Corpus: scalings, projections and codebooks, fitted once and then fixed.

They are learned from training photos only, and saved with the model: a new photo is described by the same numbers
as the photos the model was fitted on, and needs nothing else.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from topicture.errors import CorpusError, ModelFileError, TopictureError
from topicture.vision.features.quantise import Codebook, count_words, fit_codebook
from topicture.vision.networks.deep import unit_rows
from topicture.vision.recipe import VIEWS, Recipe

__all__ = ["Features", "Projection", "fit_features"]

MAX_FIT_PHOTOS = 5_000  # photos that scalings, projections and codebooks of regions are fitted on, at most
MAX_SIFT_PHOTOS = 500  # as in the paper: a thousand patches each are enough for a thousand words
N_RESTARTS = 5
BLOCK = 4096

Raw = Mapping[str, np.ndarray]
"""The raw measurements of one photo, by step."""


@dataclass(frozen=True, eq=False)
class Projection:
    """Columns moved, turned and scaled: (x - mean) @ axes, of shapes (F,) and (F, K), float32."""

    mean: np.ndarray
    axes: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """float32 (N, K) of raw rows (N, F)."""
        return (rows.astype(np.float32) - self.mean) @ self.axes


@dataclass(frozen=True, eq=False)
class Features:
    """A recipe and all that was learned for it: the fixed way from photos to a Corpus.

    Attributes
    ----------
    recipe : Recipe
    keys : dict
        Step -> key of the raw measurements it was fitted on; others do not fit.
    projections : dict
        View -> Projection, for the views of `regions:deep` and `regions:blobs`.
    codebooks : dict
        View -> Codebook, for `visual_words` views.
    """

    recipe: Recipe
    keys: Mapping[str, str]
    projections: Mapping[str, Projection] = field(default_factory=dict)
    codebooks: Mapping[str, Codebook] = field(default_factory=dict)

    def view(self, name: str, raw: Raw) -> np.ndarray | sparse.csr_array:
        """One photo's view: (L,) for a descriptor, (n_regions, F) for regions, counts (n_regions, U) for words."""
        if name == "deep":
            return unit_rows(raw["deep"][None])[0]
        if name == "colour-layout":
            return raw["colour-layout"]
        if name == "visual_words:sift":
            words = self.codebooks[name].assign(raw["sift"])
            return count_words(
                words, raw["sift-regions"], len(raw["region-areas"]), self.codebooks[name].n_words
            )
        rows = self.projections[name](raw[VIEWS[name].steps[0]])
        if VIEWS[name].field == "regions":
            return rows
        words = self.codebooks[name].assign(rows)
        return count_words(words, np.arange(len(words)), len(words), self.codebooks[name].n_words)

    def check_current(self) -> None:
        """Raise ModelFileError where this version, or this machine's network, would measure other numbers."""
        for step, key in self.recipe.keys().items():
            if self.keys.get(step) != key:
                fitted = self.keys.get(step)
                raise ModelFileError(
                    f"the model was fitted on {fitted!r}, here it would be {key!r}: learn again"
                )

    # --- Files ---------------------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Flat names -> arrays, for a model file; `spec` is the rest."""
        arrays = {}
        for view, projection in self.projections.items():
            arrays[f"projection/{view}/mean"] = projection.mean
            arrays[f"projection/{view}/axes"] = projection.axes
        for view, codebook in self.codebooks.items():
            arrays.update({f"codebook/{view}/{name}": value for name, value in codebook.to_arrays().items()})
        return arrays

    def spec(self) -> dict[str, Any]:
        """JSON values: the recipe and the keys of its measurements."""
        return {"recipe": self.recipe.to_json(), "keys": dict(self.keys)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], spec: Mapping[str, Any]) -> "Features":
        """What `to_arrays` and `spec` wrote; raises ModelFileError for anything else."""
        try:
            recipe = Recipe(**spec["recipe"])
            keys = {str(step): str(key) for step, key in spec["keys"].items()}
            features = cls(recipe=recipe, keys=keys)
            wanted = [view for view in recipe.views if _is_projected(view)]
            features = replace(
                features, projections={view: _load_projection(arrays, view) for view in wanted}
            )
            books = {view: _load_codebook(arrays, view) for view in recipe.views if _is_words(view)}
            return replace(features, codebooks=books)
        except ModelFileError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, TopictureError) as error:
            raise ModelFileError(f"features can't be read: {error or type(error).__name__}") from error


def fit_features(
    recipe: Recipe,
    n_photos: int,
    raw_of: Callable[[int, Sequence[str]], Raw],
    keys: Mapping[str, str] | None = None,
) -> Features:
    """Learn what the recipe's views need from training photos.

    Parameters
    ----------
    n_photos : int
        Number of training photos.
    raw_of : callable
        (photo, steps) -> raw measurements of training photo 0 .. n_photos - 1. Only an even sample of photos is asked
        for (`MAX_FIT_PHOTOS`, `MAX_SIFT_PHOTOS`), so memory does not grow with the collection.

    Raises
    ------
    CorpusError
        Something is to be learned, and no training photo has a region.
    """
    keys = recipe.keys()
    projections: dict[str, Projection] = {}
    codebooks: dict[str, Codebook] = {}
    for view in recipe.views:
        step = VIEWS[view].steps[0]
        if not (_is_projected(view) or _is_words(view)):
            continue
        chosen = _evenly(n_photos, MAX_SIFT_PHOTOS if step == "sift" else MAX_FIT_PHOTOS)
        rows = _stack((raw_of(photo, [step])[step] for photo in chosen), view)
        if step == "regions:blobs":
            projections[view] = _standardise(rows)
        elif step == "regions:deep":
            # Not scaled: words are clustered by distance and regressions have a ridge, where an axis must weigh by its
            # spread; Gaussian models don't mind.
            projections[view] = _principal_axes(rows, recipe.components)
        if _is_words(view):
            points = projections[view](rows) if view in projections else rows
            codebooks[view] = fit_codebook(
                points, recipe.n_words, descriptor=keys[step], n_restarts=N_RESTARTS, seed=recipe.seed
            )
    return Features(recipe, keys, projections, codebooks)


# --- Fitting --------------------------------------------------------------------------------------------


def _is_projected(view: str) -> bool:
    return VIEWS[view].steps[0] in ("regions:deep", "regions:blobs")


def _is_words(view: str) -> bool:
    return VIEWS[view].field == "region_words"


def _evenly(n_photos: int, n_wanted: int) -> np.ndarray:
    """Up to `n_wanted` photos, spread evenly over the collection's order."""
    return np.unique(np.linspace(0, n_photos - 1, min(n_photos, n_wanted)).round().astype(int))


def _stack(parts: Iterable[np.ndarray], view: str) -> np.ndarray:
    stacked = [part for part in parts if len(part)]
    if not stacked:
        raise CorpusError(f"{view} can't be fitted: no training photo was read, or none has a region")
    return np.concatenate(stacked)


def _standardise(rows: np.ndarray) -> Projection:
    """Every column to mean 0 and standard deviation 1; constant columns to 0."""
    mean = rows.mean(axis=0, dtype=np.float64)
    spread = rows.std(axis=0, dtype=np.float64)
    constant = spread <= 1e-6 * np.maximum(np.abs(mean), 1e-6)  # float32 rounding of a constant
    gain = np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, spread))
    return Projection(mean.astype(np.float32), np.diag(gain).astype(np.float32))


def _principal_axes(rows: np.ndarray, n_axes: int) -> Projection:
    """The directions of largest variance. Signs are fixed: largest entry positive.

    Axes without variance are left out, so fewer than `n_axes` may remain; one at least.
    """
    mean = rows.mean(axis=0, dtype=np.float64)
    variance, axes = _by_columns(rows, mean) if len(rows) >= rows.shape[1] else _by_rows(rows, mean)
    variance, axes = variance[:n_axes], axes[:, :n_axes]
    useful = max(1, int(np.sum(variance > 1e-9 * max(variance[0], 1e-30))))
    variance, axes = variance[:useful], axes[:, :useful]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), np.arange(useful)] < 0, -1.0, 1.0)
    return Projection(mean.astype(np.float32), axes.astype(np.float32))


def _by_columns(rows: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variances and axes from the covariance (F, F), which is summed in blocks: rows may be many."""
    covariance = np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, len(rows), BLOCK):
        centred = rows[start : start + BLOCK] - mean
        covariance += centred.T @ centred
    variance, axes = np.linalg.eigh(covariance / len(rows))
    return variance[::-1], axes[:, ::-1]


def _by_rows(rows: np.ndarray, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for fewer rows than columns: a thin singular value decomposition costs less."""
    _, singular, axes = np.linalg.svd(rows - mean, full_matrices=False)
    return singular**2 / len(rows), axes.T


# --- Loading ------------------------------------------------------------------------------------------


def _load_projection(arrays: Mapping[str, np.ndarray], view: str) -> Projection:
    mean, axes = (np.asarray(arrays[f"projection/{view}/{part}"], np.float32) for part in ("mean", "axes"))
    if mean.ndim != 1 or axes.ndim != 2 or axes.shape[0] != len(mean):
        raise ModelFileError(
            f"features: the projection of {view} has odd shapes {mean.shape} and {axes.shape}"
        )
    if not (np.isfinite(mean).all() and np.isfinite(axes).all()):
        raise ModelFileError(f"features: the projection of {view} has values that are not finite")
    return Projection(mean, axes)


def _load_codebook(arrays: Mapping[str, np.ndarray], view: str) -> Codebook:
    prefix = f"codebook/{view}/"
    return Codebook.from_arrays(
        {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
    )
