"""Padding: every image exactly once and unchanged, few shapes, bounded memory."""

import numpy as np
import pytest
from corpora import make_tiny_corpus
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from topicture.corpus import Corpus, batches
from topicture.corpus.batches import VIEWS, Batches, Image, Tokens
from topicture.errors import CorpusError

N_VISUAL = 40


def make_corpus(sizes, seed=0):
    """Images with the given (caption words, regions, visual words of a region), at most 6, any, N_VISUAL."""
    rng = np.random.default_rng(seed)
    captions = np.zeros((len(sizes), 6))
    bags = []
    for row, (n_words, n_regions, n_bag) in zip(captions, sizes, strict=True):
        row[rng.permutation(6)[:n_words]] = rng.integers(1, 4, n_words)
        bag = np.zeros((n_regions, N_VISUAL))
        for region in bag:
            region[rng.permutation(N_VISUAL)[:n_bag]] = rng.integers(1, 4, n_bag)
        bags.append(bag)
    n_rows = sum(len(bag) for bag in bags)
    return Corpus.from_arrays(
        captions=captions,
        region_words=sparse.csr_array(np.concatenate(bags)),
        region_offsets=np.concatenate([[0], np.cumsum([len(bag) for bag in bags])]).astype(int),
        regions=rng.normal(size=(n_rows, 3)),
        descriptor=rng.normal(size=(len(sizes), 2)),
    )


def counts_of(tokens, n_columns):
    """A bag of words as a row of counts; ids of padding must not matter."""
    row = np.zeros(n_columns)
    np.add.at(row, tokens.ids.ravel(), tokens.counts.ravel())
    return row


def images(batches):
    """(position in the corpus, image without its leading axes) of every image that is not padding."""
    for chunk in batches:
        flat = flatten(chunk.image)
        for i, weight in enumerate(flat.weight):
            if weight:
                yield int(chunk.rows[i]), take(flat, i)
            else:
                assert i >= len(chunk.rows)


def flatten(image):
    def join(a):
        return a.reshape(a.shape[0] * a.shape[1], *a.shape[2:])

    return Image(
        *(None if a is None else Tokens(*map(join, a)) if isinstance(a, Tokens) else join(a) for a in image)
    )


def take(image, i):
    return Image(
        *(
            None if a is None else Tokens(a.ids[i], a.counts[i]) if isinstance(a, Tokens) else a[i]
            for a in image
        )
    )


sizes_of_image = st.tuples(st.integers(0, 6), st.integers(0, 5), st.integers(0, 12))
# Half of the corpora are small enough for one group, half are cut into several.
size_lists = st.one_of(
    st.lists(sizes_of_image, min_size=1, max_size=20), st.lists(sizes_of_image, min_size=64, max_size=100)
)


@given(
    size_lists,
    st.integers(1, 30),
    st.integers(1, 40),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=60, deadline=None)
def test_padding_round_trips(sizes, block, chunk_images, max_shapes, multiple, dtype):
    corpus = make_corpus(sizes)
    batches = Batches(
        corpus,
        VIEWS,
        dtype=dtype,
        block_images=lambda sizes: block,
        chunk_images=chunk_images,
        max_shapes=max_shapes,
        multiple=multiple,
    )
    assert len(batches.shapes) <= max_shapes
    for chunk in batches:
        n_blocks, n_images = chunk.image.weight.shape
        assert n_images <= block
        assert n_blocks * n_images <= max(chunk_images, multiple)
        assert n_blocks % multiple == 0
    seen = []
    for d, image in images(batches):
        seen.append(d)
        check_image(corpus, d, image, dtype)
    assert sorted(seen) == list(range(len(corpus)))


def check_image(corpus, d, image, dtype):
    rows = slice(corpus.region_offsets[d], corpus.region_offsets[d + 1])
    real = image.region_mask > 0
    assert image.tagged == corpus.tagged[d]
    assert image.regions.dtype == image.words.counts.dtype == dtype
    np.testing.assert_array_equal(counts_of(image.words, 6), corpus.captions[[d]].toarray()[0])
    np.testing.assert_array_equal(counts_of(image.visual, N_VISUAL), corpus.visual_words[[d]].toarray()[0])
    np.testing.assert_array_equal(image.regions[real], corpus.regions[rows].astype(dtype))
    assert not image.regions[~real].any()
    assert not image.bags.counts[~real].any()
    bags = [
        counts_of(Tokens(*bag), N_VISUAL) for bag in zip(*(part[real] for part in image.bags), strict=True)
    ]
    np.testing.assert_array_equal(np.reshape(bags, (-1, N_VISUAL)), corpus.region_words[rows].toarray())
    np.testing.assert_array_equal(image.descriptor, corpus.descriptor[d].astype(dtype))


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=2000), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_any_sizes_give_few_shapes(sizes, max_shapes):
    """Planning alone: the sizes of adversarial images, up to a million distinct words, without their arrays."""
    batches = planned(np.array(sizes), max_shapes=max_shapes)
    assert 1 <= len(batches.shapes) <= max_shapes
    rows = np.concatenate([plan.rows for plan in batches._plans])
    assert sorted(rows.tolist()) == list(range(len(sizes)))
    for plan in batches._plans:
        assert max(sizes[row] for row in plan.rows) <= plan.sizes.visual


def planned(sizes, **settings):
    """Batches of images with so many visual words; the words of an image are those with the lowest ids."""
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    base = np.broadcast_to(np.float64(1), int(indptr[-1]))  # no memory behind it
    matrix = sparse.csr_array((len(sizes), int(max(sizes, default=0)) + 1))
    matrix.indptr, matrix.data, matrix.indices = indptr, base, np.broadcast_to(np.int32(0), len(base))
    corpus = make_tiny_corpus(np.random.default_rng(0), n_images=3)
    stub = object.__new__(Corpus)
    values = {"image_ids": np.arange(len(sizes)), "vocabulary": corpus.vocabulary, "visual_words": matrix}
    for name in ("captions", "regions", "region_offsets", "region_words", "descriptor"):
        values[name] = None
    for name, value in values.items():
        object.__setattr__(stub, name, value)
    return Batches(stub, ["visual_words"], **settings)


def padded_numbers(batches):
    return sum(plan.n_blocks * plan.block * plan.sizes.visual for plan in batches._plans)


def test_one_huge_image_does_not_pad_the_others():
    sizes = np.random.default_rng(0).integers(5, 16, 5000)
    sizes[1234] = 100_000
    # It is alone in its group, which is rounded up to four images; all others together need less than twice their size.
    assert padded_numbers(planned(sizes)) < 4 * 1.1 * 100_000 + 2 * (sizes.sum() - 100_000)


@pytest.mark.parametrize("n_images", [64, 65, 513, 3000, 8193, 10_000, 50_000])
def test_little_is_spent_on_padding_images(n_images):
    """Images that are only padding cost a pass as much as real ones."""
    batches = planned(np.full(n_images, 12))
    padded = sum(plan.n_blocks * plan.block for plan in batches._plans)
    assert padded <= (1.2 if n_images > 512 else 1.5) * n_images + 64


def test_memory_of_a_chunk_is_bounded():
    batches = planned(np.full(1000, 10_000), chunk_bytes=10 << 20)
    token = 4 + 8
    assert all(plan.n_blocks * plan.block * plan.sizes.visual * token <= 10 << 20 for plan in batches._plans)
    assert len(batches) >= 1000 * 10_000 * token / (10 << 20)


def test_similar_corpora_share_shapes():
    """Thirty corpora of every size up to five hundred images: their passes are compiled a few times, not thirty."""
    rng = np.random.default_rng(0)
    corpora = [rng.poisson(12, rng.integers(1, 500)) for _ in range(30)]
    shapes = set().union(*(planned(sizes).shapes for sizes in corpora))
    assert len(shapes) <= 24


def test_small_corpora_are_not_cut():
    assert len(planned(np.arange(63)).shapes) == 1


# --- Kept or padded again --------------------------------------------------------------------------------------


def test_chunks_that_are_not_kept_are_the_same(tiny_corpus):
    settings = {"chunk_images": 5, "block_images": lambda sizes: 2}
    kept = Batches(tiny_corpus, VIEWS, **settings)
    again = Batches(tiny_corpus, VIEWS, **settings, keep_bytes=0)
    assert kept.in_memory
    assert not again.in_memory
    assert len(kept) == len(again) > 1
    for a, b in zip(kept, again, strict=True):
        np.testing.assert_array_equal(a.rows, b.rows)
        for x, y in zip(a.image, b.image, strict=True):
            for part_x, part_y in zip(np.atleast_1d(x), np.atleast_1d(y), strict=True):
                np.testing.assert_array_equal(part_x, part_y)


def test_padding_is_done_once_or_every_time(tiny_corpus):
    kept, again = Batches(tiny_corpus, VIEWS), Batches(tiny_corpus, VIEWS, keep_bytes=0)
    assert [id(chunk) for chunk in kept] == [id(chunk) for chunk in kept]
    first, second = next(iter(again)), next(iter(again))
    assert first.image.weight is not second.image.weight


# --- Views -------------------------------------------------------------------------------------------------------


def test_only_what_was_asked_for_is_padded(tiny_corpus):
    (chunk,) = Batches(tiny_corpus, ["captions", "descriptor"])
    assert chunk.image.words is not None
    assert chunk.image.descriptor is not None
    assert [chunk.image.visual, chunk.image.regions, chunk.image.region_mask, chunk.image.bags] == [None] * 4


def test_bags_without_features_have_a_mask(tiny_corpus):
    (chunk,) = Batches(tiny_corpus, ["region_words"])
    assert chunk.image.regions is None
    assert chunk.image.region_mask.sum() == tiny_corpus.n_regions.sum()


def test_no_words_at_all(tiny_corpus):
    (chunk,) = Batches(tiny_corpus.without_captions(), ["captions"])
    assert chunk.image.words.ids.shape[-1] == 0
    assert not chunk.image.tagged.any()


@pytest.mark.parametrize("view", ["visual_words", "regions", "region_words", "descriptor"])
def test_a_missing_view_is_named_with_what_to_do(view):
    bare = Corpus.from_arrays(captions=np.eye(3))
    with pytest.raises(CorpusError, match=f"needs the view '{view}'.*{view}="):
        Batches(bare, ["captions", view])


def test_an_unknown_view_is_refused(tiny_corpus):
    with pytest.raises(CorpusError, match="no view 'pixels'"):
        Batches(tiny_corpus, ["pixels"])


def test_images_whose_smallest_sizes_are_large_are_cut_into_groups(rng):
    """As captions are where what they probably lack is filled in."""
    sizes = np.column_stack([rng.integers(20, 200, 100), np.zeros((100, 3), np.int64)])
    groups = batches._cut(sizes, 4)
    assert sorted(np.concatenate(groups)) == list(range(100))
    assert 1 < len(groups) <= 4
