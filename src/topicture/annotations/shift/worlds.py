r"""Two worlds that an untagged photo may live in: near the tagged photos, or in a shoot of which nothing is tagged.

Let s be what is seen of a photo: its likeness to the tagged photos most like it, and whether there are tagged photos in
its folder. Among tagged photos s has the density r(s) where only the photo itself is left out, and g(s) where its whole
group is (its folder, or a cluster of photos that look alike). The untagged photos are a mixture of both,

    q(s) = (1 - pi) r(s) + pi g(s),      far(s) = pi g(s) / q(s),

and EM finds pi, the share of photos that are far. Which groups are hidden is decided by the same likelihood: those that
make what is seen of the untagged photos most probable. Where tags are a random sample, r explains all, and pi is 0: a
second world must explain more than it does on samples that are drawn at random.

Symbol -> code, shape:  r, g -> histograms over 2 B bins, of photos in folders without tags and in others |
far(s) -> far 2 B, not rising with likeness | pi -> share
"""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.isotonic import IsotonicRegression

from topicture.corpus import Corpus
from topicture.models.look_alikes import runs
from topicture.models.neighbours import blocks, unit_rows

__all__ = [
    "FEWEST_UNTAGGED",
    "SHOOTS",
    "TAGS",
    "FarWorld",
    "Worlds",
    "centre_of",
    "far_groups",
    "find_worlds",
    "look_rows",
    "mixture_share",
]

Floats = NDArray[np.float64]

NEIGHBOURS = 3  # whose mean cosine is the likeness
N_BINS = 20
N_CLUSTERS = (6, 12, 24)
FEWEST_TAGGED, FEWEST_UNTAGGED, FEWEST_GROUPS = 30, 20, 3
LEAST_GAIN = 10.0  # twice the log-likelihood that a second world must add: chance hardly adds as much
EM_STEPS = 300
N_REDRAWN, MOST_REDRAWN = (
    59,
    1000,
)  # random samples that a second world must beat, and photos that they are drawn from
_CLUSTERS = "{} clusters of photos that look alike"
PAUSE = 3 * 3600.0  # seconds after which a new shoot begins
_LONG_AGO = -1e15
SHOOTS = "shoots"
TAGS = "tags"  # the kind of groups where no two tags occur together


class Worlds(NamedTuple):
    """How far a photo is from the tagged ones; what a model's folder keeps.

    Attributes
    ----------
    centre : (L,) of the view
    rows : (n, L) float32, the tagged photos' rows at length 1
    edges : (B - 1,) of the bins of likeness
    far : (2 B,) probability that a photo of such a likeness is far; first in folders without tags, then in others
    places : (k,) int64, the folders with tagged photos, hashed, ascending
    """

    centre: Floats
    rows: NDArray[np.float32]
    edges: Floats
    far: Floats
    places: NDArray[np.int64]

    def far_share(self, corpus: Corpus, places: Sequence[str] | None = None) -> Floats:
        """For every photo by itself, (D,), the probability that it is far from what is tagged.

        `places` (D,) are their folders, where those of the tagged photos were known.
        """
        likeness = _likeness(_unit(_view(corpus), self.centre), self.rows)
        here = np.ones(len(corpus), bool) if places is None else np.isin(_hashed(places), self.places)
        return self.far[_bins(self.edges, likeness, here)]


class FarWorld(NamedTuple):
    """What was found: the worlds, the groups to hide, and their share.

    Attributes
    ----------
    groups : (D,) photos that are hidden together; untagged ones are groups of their own
    kind : what the groups are, in words
    share : pi, of the untagged photos
    near, hidden : (D,) probability of being far for a tagged photo by itself, and with its group hidden; NaN for others
    """

    worlds: Worlds
    groups: NDArray[np.int64]
    kind: str
    share: float
    near: Floats
    hidden: Floats

    def at(self, rows: Any) -> "FarWorld":
        """The same for some of the photos."""
        return self._replace(groups=self.groups[rows], near=self.near[rows], hidden=self.hidden[rows])


def mixture_share(near: Floats, far: Floats, bins: NDArray[np.int64]) -> tuple[float, float]:
    """pi by EM for histograms (B,) and the bins of the untagged photos, and the log-likelihood that it reaches."""
    share = 0.5
    r, g = near[bins], far[bins]
    for _ in range(EM_STEPS):
        share = float(np.mean(share * g / (share * g + (1 - share) * r)))
    return share, float(np.log(share * g + (1 - share) * r).sum())


def far_groups(
    rows: NDArray[np.float32],
    places: NDArray[np.int64] | None,
    captions: sparse.csr_array,
    seed: int = 0,
    shoots: NDArray[np.int64] | None = None,
) -> dict[str, NDArray[np.int64]]:
    """Ways to group the tagged photos (n, L): by place and shoot, where there are some, by looks, coarse and fine, and
    by tags.

    Tags that never occur together make groups of their own: an owner who marks a few things, each on some photos.
    """
    found: dict[str, NDArray[np.int64]] = {}
    # Photos and words are linked, not photos with one another: a frequent word would link half of all pairs.
    linked = sparse.block_array([[None, captions], [captions.T, None]])
    group = connected_components(linked, directed=False)[1][: captions.shape[0]]
    apart = group.max() + 1 >= FEWEST_GROUPS
    if apart:
        found[TAGS] = group.astype(np.int64)
    if places is not None:
        group = np.unique(places, return_inverse=True)[1]
        if group.max() + 1 >= FEWEST_GROUPS:
            found["folders"] = group
    if shoots is not None:
        group = np.unique(shoots, return_inverse=True)[1]
        if group.max() + 1 >= FEWEST_GROUPS and (places is None or group.max() + 1 > len(np.unique(places))):
            found[SHOOTS] = group
    for n in N_CLUSTERS:
        if 10 * n <= len(rows) and not apart:
            clusters = KMeans(n, n_init=1, random_state=seed).fit_predict(rows)
            found[_CLUSTERS.format(n)] = np.unique(clusters, return_inverse=True)[1]
    return found


def find_worlds(
    corpus: Corpus,
    places: Sequence[str] | None = None,
    *,
    seconds: ArrayLike | None = None,
    seed: int = 0,
) -> FarWorld | None:
    """Whether the untagged photos are far from the tagged ones; None where a random sample explains as much.

    `places` (D,) says where photos come from, such as their folders; `seconds` (D,) when they were taken, NaN where
    that is not known: a pause of hours begins a new shoot. The order of the photos does not matter.
    """
    order = np.argsort(corpus.image_ids, kind="stable")
    tagged, untagged = order[corpus.tagged[order]], order[~corpus.tagged[order]]
    view, centre = _view(corpus), centre_of(corpus)
    if centre is None or len(tagged) < FEWEST_TAGGED or len(untagged) < FEWEST_UNTAGGED:
        return None
    rows = _unit(view[tagged], centre)
    place = np.zeros(len(corpus), np.int64) if places is None else _hashed(places)
    shoot = None if seconds is None else _shoots(place, np.asarray(seconds, float))
    others = _likeness(_unit(view[untagged], centre), rows)
    edges = np.quantile(others, np.linspace(0, 1, N_BINS + 1)[1:-1])
    bins = _bins(edges, others, np.isin(place[untagged], place[tagged]))

    def seen(group: NDArray[np.int64]) -> NDArray[np.int64]:
        return _bins(edges, _likeness(rows, rows, group), _has_others(place[tagged], group))

    by_itself = seen(np.arange(len(rows)))
    near = _histogram(by_itself)
    best, highest = None, float(np.log(near[bins]).sum()) + LEAST_GAIN / 2
    own = None if places is None else place[tagged]
    shot = None if shoot is None else shoot[tagged]
    for kind, group in far_groups(rows, own, sparse.csr_array(corpus.captions[tagged]), seed, shot).items():
        apart = seen(group)
        hidden = _histogram(apart)
        share, log_likelihood = mixture_share(near, hidden, bins)
        if log_likelihood > highest:
            best, highest = (kind, group, apart, hidden, share), log_likelihood + LEAST_GAIN / 2
    if best is None:
        return None
    whole = shoot if best[0] == SHOOTS else place
    if best[0] != TAGS and not _beats_random_samples(corpus, order, place, whole, best[0], seed):
        return None
    kind, group, apart, hidden, share = best
    far = _falling(share * hidden / (share * hidden + (1 - share) * near))
    groups = np.arange(len(corpus)) + len(tagged)
    groups[tagged] = group
    tables = [np.full(len(corpus), np.nan) for _ in range(2)]
    for table, at in zip(tables, (by_itself, apart), strict=True):
        table[tagged] = far[at]
    return FarWorld(Worlds(centre, rows, edges, far, np.unique(place[tagged])), groups, kind, share, *tables)


def _beats_random_samples(
    corpus: Corpus,
    order: NDArray[np.int64],
    place: NDArray[np.int64],
    whole: NDArray[np.int64] | None,
    kind: str,
    seed: int,
) -> bool:
    """Whether groups of a kind explain more than they do where as many photos are tagged at random.

    Histograms of few photos are noisy, and a second one always explains some of the noise. How much, random samples
    tell: none of them may gain as much.
    """
    random = np.random.default_rng(seed)
    some = np.sort(random.permutation(len(order))[:MOST_REDRAWN])
    order = order[some]
    view, centre = _view(corpus), centre_of(corpus)
    assert centre is not None
    assert whole is not None
    rows, tagged = _unit(view[order], centre), corpus.tagged[order]
    known = (place[order], whole[order], kind, seed)
    gain = _gain(rows, tagged, *known)
    return all(gain > _gain(rows, random.permutation(tagged), *known) for _ in range(N_REDRAWN))


def _gain(
    rows: NDArray[np.float32],
    tagged: NDArray[np.bool_],
    place: NDArray[np.int64],
    whole: NDArray[np.int64],
    kind: str,
    seed: int,
) -> float:
    """Log-likelihood that a second world adds where these photos are tagged; `whole` (n,) are folders or shoots."""
    mine = rows[tagged]
    if kind in (_clusters := {_CLUSTERS.format(n): n for n in N_CLUSTERS}):
        group = KMeans(min(_clusters[kind], len(mine)), n_init=1, random_state=seed).fit_predict(mine)
    else:
        group = np.unique(whole[tagged], return_inverse=True)[1]
    likeness = _likeness(rows[~tagged], mine)
    edges = np.quantile(likeness, np.linspace(0, 1, N_BINS + 1)[1:-1])
    bins = _bins(edges, likeness, np.isin(place[~tagged], place[tagged]))
    near, hidden = (
        _histogram(_bins(edges, _likeness(mine, mine, each), _has_others(place[tagged], each)))
        for each in (np.arange(len(mine)), group)
    )
    return mixture_share(near, hidden, bins)[1] - float(np.log(near[bins]).sum())


def _shoots(place: NDArray[np.int64], seconds: Floats) -> NDArray[np.int64]:
    """Photos (D,) of one place without a pause of hours between them; those of unknown time are one shoot."""
    return runs(place, np.where(np.isnan(seconds), _LONG_AGO, seconds), PAUSE)


# --- What is seen of a photo --------------------------------------------------------------------------------------


def _bins(edges: Floats, likeness: Floats, in_tagged_place: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.searchsorted(edges, likeness) + N_BINS * in_tagged_place


def _histogram(bins: NDArray[np.int64]) -> Floats:
    return (np.bincount(bins, minlength=2 * N_BINS) + 0.5) / (len(bins) + N_BINS)


def _falling(far: Floats) -> Floats:
    """A photo that is more like the tagged ones is not farther from them."""
    return np.concatenate(
        [
            IsotonicRegression(increasing=False).fit_transform(np.arange(N_BINS), part)
            for part in np.split(far, 2)
        ]
    )


def _has_others(place: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether there are photos of another group in the photo's place."""
    place = np.unique(place, return_inverse=True)[1]
    both = np.unique(place * (group.max() + 1) + group)
    return np.bincount(both // (group.max() + 1))[place] > 1


def _hashed(places: Sequence[str]) -> NDArray[np.int64]:
    names, position = np.unique(np.asarray(places, np.str_), return_inverse=True)
    numbers = [hashlib.blake2b(str(name).encode("utf-8", "surrogateescape"), digest_size=7) for name in names]
    return np.array([int.from_bytes(number.digest(), "big") for number in numbers], np.int64)[position]


def centre_of(corpus: Corpus) -> Floats | None:
    """Mean (L,) of the view that says what photos look like; None where there is none."""
    view = _view(corpus)
    return None if view is None else np.asarray(view.mean(axis=0), np.float64).ravel()


def look_rows(corpus: Corpus, centre: Floats) -> NDArray[np.float32]:
    """What photos look like, (D, L): their view less the mean, at length 1."""
    return _unit(_view(corpus), centre)


def _view(corpus: Corpus) -> Any:
    return corpus.descriptor if corpus.descriptor is not None else corpus.visual_words


def _unit(view: Any, centre: Floats) -> NDArray[np.float32]:
    dense = view.toarray() if sparse.issparse(view) else np.asarray(view)
    return unit_rows((dense - centre).astype(np.float32))


def _likeness(
    rows: NDArray[np.float32], tagged: NDArray[np.float32], groups: NDArray[np.int64] | None = None
) -> Floats:
    """Mean cosine of each row and its nearest tagged ones, (D,); `groups` (D,) are left out for their own members."""
    n = min(NEIGHBOURS, len(tagged))
    found = np.zeros(len(rows))
    for block in blocks(len(rows), 8 * len(tagged)):
        cosines = rows[block] @ tagged.T
        if groups is not None:
            cosines[groups[block][:, None] == groups] = -1.0
        found[block] = np.partition(cosines, -n, axis=1)[:, -n:].mean(axis=1)
    return np.round(found, 5)  # so that a photo's bin does not depend on how the product was cut
