"""What to measure on a photo, and how: the views that fill a Corpus, and the recipe that names them."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from topicture.errors import TopictureError
from topicture.extras import optional_module
from topicture.vision.deep_regions import DEEP, DEEP_REGIONS_VERSION
from topicture.vision.features.blobs import BLOBS
from topicture.vision.features.colour import COLOUR_LAYOUT
from topicture.vision.features.sift import SIFT
from topicture.vision.networks.manifest import network_key
from topicture.vision.read import READ_VERSION
from topicture.vision.segment import SEGMENT_VERSION, segment_methods

__all__ = ["OF_REGIONS", "REGION_PARTS", "VIEWS", "Recipe", "View"]


class View(NamedTuple):
    """A named visual view: the field of a Corpus that it fills, and the raw measurements it is made of."""

    field: Literal["descriptor", "regions", "region_words"]
    steps: tuple[str, ...]


VIEWS = {
    "deep": View("descriptor", ("deep",)),
    "colour-layout": View("descriptor", ("colour-layout",)),
    "regions:deep": View("regions", ("regions:deep",)),
    "regions:blobs": View("regions", ("regions:blobs",)),
    "visual_words:deep": View("region_words", ("regions:deep",)),
    "visual_words:blobs": View("region_words", ("regions:blobs",)),
    "visual_words:sift": View("region_words", ("sift", "sift-regions", "region-areas")),
}
"""Views by name. A recipe takes at most one for each field of a Corpus."""

REGION_PARTS = ("region-parts", "region-edges")
"""Raw measurements that no view is made of: where the regions lie (see `region_parts`)."""

OF_REGIONS = ("regions:deep", "regions:blobs", "sift-regions", "region-areas", *REGION_PARTS)
"""Raw measurements that need the regions."""


@dataclass(frozen=True)
class Recipe:
    """What to measure, and how.

    Attributes
    ----------
    views : tuple of str, or one str
        Names in `VIEWS`, no two for the same field of a Corpus.
    network : str
        "lite2", "lite0" (faster), or the path of a manifest (see `deep.Manifest`).
    max_side : int
        Photos are reduced to this longest side, in pixels, before anything else.
    border : int or "dark"
        Pixels to cut off every side after that; "dark" cuts the dark frame of a slide, if there is one.
    segmentation, min_regions, max_regions : see `segment.segment`; "deep" merges by the network's map (`deep_regions`)
    map_side : int
        Side of the network's square input for regions; 0 takes the network's own. More shows smaller things and costs
        a run of the network of its own; a network of one's own must take such an input.
    n_patches : int
        SIFT patches per photo.
    components : int
        Columns of `regions:deep` after projection on the principal axes.
    n_words : int
        Size of the codebook of a `visual_words` view.
    seed : int
        Fixes what is drawn at random: patches, k-means starts, the samples that transforms are fitted on.
    """

    views: tuple[str, ...] = ("deep",)
    network: str = "lite2"
    max_side: int = 512
    border: int | Literal["dark"] = 0
    segmentation: str = "slic"
    min_regions: int = 6
    max_regions: int = 10
    map_side: int = 0
    n_patches: int = 1000
    components: int = 40
    n_words: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        # A single name, a list as JSON gives it, a Path: all are made the declared type.
        object.__setattr__(self, "views", (self.views,) if isinstance(self.views, str) else tuple(self.views))
        object.__setattr__(self, "network", str(self.network))
        unknown = [view for view in self.views if view not in VIEWS]
        if unknown or not self.views:
            raise TopictureError(
                f"no view called {', '.join(unknown) or 'nothing'}: choose from {', '.join(VIEWS)}"
            )
        fields = [VIEWS[view].field for view in self.views]
        for name in fields:
            if fields.count(name) > 1:
                rivals = [view for view in self.views if VIEWS[view].field == name]
                raise TopictureError(f"views {' and '.join(rivals)} both fill a corpus's {name}: choose one")
        if self.segmentation not in (*segment_methods(), DEEP):
            methods = ", ".join((*segment_methods(), DEEP))
            raise TopictureError(f"no segmentation called {self.segmentation!r}: choose from {methods}")
        if self.border != "dark" and not (isinstance(self.border, int) and self.border >= 0):
            raise TopictureError(f'border must be a number of pixels or "dark", not {self.border!r}')
        if self.map_side and not 32 <= self.map_side <= 2048:
            raise TopictureError(f"map_side must be 0 or 32 to 2048 pixels, not {self.map_side!r}")
        if min(self.max_side, self.n_patches, self.components, self.n_words) < 1:
            raise TopictureError("max_side, n_patches, components and n_words must be at least 1")

    @property
    def steps(self) -> tuple[str, ...]:
        """The raw measurements that the views need, each once."""
        return tuple(dict.fromkeys(step for view in self.views for step in VIEWS[view].steps))

    @property
    def has_regions(self) -> bool:
        """Whether photos are divided into regions."""
        return any(step in OF_REGIONS for step in self.steps)

    def check_installed(self) -> None:
        """Raises MissingExtra where a view needs a package that not everybody has: once, and not for every photo."""
        if {"regions:blobs", "sift"} & set(self.steps):
            optional_module("cv2", "visual-words", "the views with blobs or sift")

    def keys(self, extra: Iterable[str] = ()) -> dict[str, str]:
        """Step -> key under which a cache keeps it: all that the numbers depend on, besides the photo, in one line.

        `extra` are steps besides those of the views.
        """
        pixels = f"read{READ_VERSION} side{self.max_side} border{self.border}"
        regions = f"{self.segmentation}{SEGMENT_VERSION} {self.min_regions}-{self.max_regions} regions seed{self.seed}"
        by_map = self.segmentation == DEEP and self.has_regions
        network = network_key(self.network) if by_map or {"deep", "regions:deep"} & set(self.steps) else ""
        maps = f"{network} map{self.map_side}" if self.map_side else network
        if self.segmentation == DEEP:
            regions = f"{DEEP}{DEEP_REGIONS_VERSION} {self.min_regions}-{self.max_regions} regions by {maps}"
        patches = f"{SIFT.key} {self.n_patches} patches seed{self.seed}"
        ways = {
            "deep": network,
            "regions:deep": maps,
            "regions:blobs": BLOBS.key,
            "colour-layout": COLOUR_LAYOUT.key,
            "sift": patches,
            "sift-regions": patches,
            "region-areas": "",
            **dict.fromkeys(REGION_PARTS, ""),
        }
        return {
            step: " ".join(filter(None, [step, ways[step], pixels, regions if step in OF_REGIONS else ""]))
            for step in (*self.steps, *extra)
        }

    def to_json(self) -> dict[str, Any]:
        """Plain values that `Recipe(**values)` takes."""
        return {**asdict(self), "views": list(self.views)}
