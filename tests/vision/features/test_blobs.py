import io
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import constant, gradient, noise, quadrants, stripes
from PIL import Image
from scipy.stats import spearmanr

from topicture.errors import CorpusError, ImageError
from topicture.vision.features.blobs import BLOBS, blob_features
from topicture.vision.segment import crop_dark_border, segment

TEXTURE = BLOBS.column_names[BLOBS.index("mean_dog_0.7") :]


def column(features, name):
    return features[:, BLOBS.index(name)]


def columns(features, names):
    return features[:, [BLOBS.index(name) for name in names]]


def drawn(inside):
    """Features of the one region `inside` (H, W) of a constant picture."""
    labels = np.where(inside, 0, -1).astype(np.int32)
    return blob_features(constant(*inside.shape), labels)


# --- Size, place and shape --------------------------------------------------------------------------------------


def test_quadrants_have_known_geometry():
    pixels, truth = quadrants(60, 60)
    features = blob_features(pixels, truth)
    assert features.shape == (4, 46)
    np.testing.assert_allclose(column(features, "area"), 0.25)
    np.testing.assert_allclose(column(features, "row"), [0.25, 0.25, 0.75, 0.75])
    np.testing.assert_allclose(column(features, "column"), [0.25, 0.75, 0.25, 0.75])
    np.testing.assert_allclose(column(features, "row_spread"), 0.5 / np.sqrt(12))
    np.testing.assert_allclose(column(features, "convexity"), 1)
    np.testing.assert_allclose(column(features, "extent"), 1)
    np.testing.assert_allclose(column(features, "elongation"), 0, atol=1e-7)
    np.testing.assert_allclose(column(features, "inertia"), np.sqrt(1 / 6))


def test_a_disc_has_the_shape_of_a_disc():
    row, column_ = np.mgrid[-50:51, -50:51]
    features = drawn(row**2 + column_**2 <= 40**2)
    assert column(features, "boundary")[0] == pytest.approx(4 * np.pi, rel=0.03)
    assert column(features, "convexity")[0] == pytest.approx(1, abs=0.03)
    assert column(features, "inertia")[0] == pytest.approx(1 / np.sqrt(2 * np.pi), rel=0.01)
    assert column(features, "extent")[0] == pytest.approx(np.pi / 4, rel=0.03)


def test_a_square_boundary_is_near_sixteen():
    inside = np.zeros((100, 100), dtype=bool)
    inside[20:80, 20:80] = True
    # Four directions underestimate sides that run along two of them by about five per cent.
    assert column(drawn(inside), "boundary")[0] == pytest.approx(16, rel=0.12)


def test_an_l_shape_is_not_convex_and_a_bar_is_long():
    shape = np.zeros((60, 60), dtype=bool)
    shape[10:50, 10:20] = shape[40:50, 10:50] = True
    bar = np.zeros((60, 60), dtype=bool)
    bar[28:32, 5:55] = True
    assert column(drawn(shape), "convexity")[0] == pytest.approx(700 / 1150)
    assert column(drawn(bar), "convexity")[0] == 1
    assert column(drawn(bar), "elongation")[0] == pytest.approx(np.sqrt(1 - (4 / 50) ** 2))


def test_a_longer_boundary_gives_a_larger_ratio():
    comb = np.ones((40, 40), dtype=bool)
    comb[:30, ::4] = False
    assert (
        column(drawn(comb), "boundary")[0] > 4 * column(drawn(np.ones((40, 40), dtype=bool)), "boundary")[0]
    )


# --- Colour -----------------------------------------------------------------------------------------------------


def test_colours_are_linear_light_and_lab():
    features = blob_features(constant(8, 8, (255, 0, 0)), np.zeros((8, 8), dtype=np.int32))
    np.testing.assert_allclose(
        columns(features, ["mean_red", "mean_green", "mean_blue"])[0], [1, 0, 0], atol=1e-6
    )
    np.testing.assert_allclose(
        columns(features, ["mean_L", "mean_a", "mean_b"])[0], [0.5324, 0.8009, 0.6720], atol=2e-3
    )
    middle_grey = blob_features(constant(8, 8, (188, 188, 188)), np.zeros((8, 8), dtype=np.int32))
    assert column(middle_grey, "mean_red")[0] == pytest.approx(0.5, abs=0.005)
    assert column(middle_grey, "mean_r_share")[0] == pytest.approx(1 / 3)


def test_spread_is_the_standard_deviation_inside_the_region():
    pixels = constant(10, 10, (0, 0, 0))
    pixels[:, 5:] = 255
    labels = np.repeat([[0, 1]], 10, axis=0).repeat(5, axis=1).astype(np.int32)
    halves = blob_features(pixels, labels)
    whole = blob_features(pixels, np.zeros((10, 10), dtype=np.int32))
    np.testing.assert_allclose(column(halves, "spread_red"), 0, atol=1e-9)
    np.testing.assert_allclose(column(whole, "spread_red"), 0.5)


# --- Texture ----------------------------------------------------------------------------------------------------


def test_a_flat_picture_has_no_texture():
    labels = segment(constant(40, 40), "grid")
    features = columns(blob_features(constant(40, 40), labels), TEXTURE)
    np.testing.assert_allclose(features, 0, atol=1e-6)


@pytest.mark.parametrize(("along_rows", "strongest"), [(True, "edge_0"), (False, "edge_90")])
def test_the_filter_along_the_stripes_answers_most(along_rows, strongest):
    pixels = stripes(64, 64, 3, along_rows)
    features = blob_features(pixels, np.zeros((64, 64), dtype=np.int32))
    edges = [name for name in BLOBS.column_names if name.startswith("edge_")]
    assert edges[np.argmax(columns(features, edges)[0])] == strongest


def test_the_band_that_fits_the_stripes_answers_most():
    whole = np.zeros((128, 128), dtype=np.int32)
    fine, coarse = (blob_features(stripes(128, 128, period, True), whole) for period in (2, 16))
    bands = [name for name in BLOBS.column_names if name.startswith("spread_dog")]
    assert np.argmax(columns(fine, bands)[0]) < np.argmax(columns(coarse, bands)[0])


# --- Properties -------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(height=st.integers(1, 24), width=st.integers(1, 24), n=st.integers(1, 6), seed=st.integers(0, 999))
def test_features_are_finite_and_rows_follow_the_labels(height, width, n, seed):
    rng = np.random.default_rng(seed)
    labels = np.unique(rng.integers(0, n, (height, width)), return_inverse=True)[1].reshape(height, width)
    pixels = noise(height, width, seed)
    features = blob_features(pixels, labels)
    assert np.isfinite(features).all()
    order = rng.permutation(len(features))
    np.testing.assert_allclose(blob_features(pixels, order[labels])[order], features, atol=1e-12)


def test_mirroring_moves_columns_only():
    pixels, labels = noise(32, 48), segment(noise(32, 48), "slic")
    plain = blob_features(pixels, labels)
    mirrored = blob_features(pixels[:, ::-1].copy(), labels[:, ::-1].copy())
    np.testing.assert_allclose(column(mirrored, "column"), 1 - column(plain, "column"))
    np.testing.assert_allclose(column(mirrored, "edge_30"), column(plain, "edge_150"), rtol=1e-4)
    unmoved = [name for name in BLOBS.column_names if name != "column" and not name.startswith("edge_")]
    np.testing.assert_allclose(columns(mirrored, unmoved), columns(plain, unmoved), rtol=1e-4, atol=1e-6)


def test_doubling_the_picture_keeps_all_but_texture():
    pixels, labels = quadrants(40, 60)
    larger = (np.repeat(np.repeat(array, 2, axis=0), 2, axis=1) for array in (pixels, labels))
    kept = [name for name in BLOBS.column_names if name not in TEXTURE]
    np.testing.assert_allclose(
        columns(blob_features(*larger), kept),
        columns(blob_features(pixels, labels), kept),
        rtol=0.02,
        atol=1e-6,
    )


def test_ignored_pixels_do_not_count():
    pixels, labels = gradient(), np.zeros((60, 80), dtype=np.int32)
    labels[:, 40:] = -1
    features = blob_features(pixels, labels)
    assert column(features, "area")[0] == 0.5
    assert column(features, "mean_red")[0] < 0.2


def test_a_picture_without_regions_has_no_rows():
    assert blob_features(constant(4, 4), np.full((4, 4), -1)).shape == (0, 46)


def test_errors_are_clear():
    labels = np.zeros((4, 4), dtype=np.int32)
    with pytest.raises(ImageError, match="uint8"):
        blob_features(np.zeros((4, 4, 3)), labels)
    with pytest.raises(CorpusError, match=r"size \(4, 5\)"):
        blob_features(constant(4, 5), labels)
    with pytest.raises(CorpusError, match="every value present"):
        blob_features(constant(4, 4), labels + 1)


# --- The Corel region data --------------------------------------------------------------------------------------

COLOUR_PAIRS = {
    "mean_red": "R",
    "mean_green": "G",
    "mean_blue": "B",
    "mean_L": "L",
    "mean_a": "a",
    "mean_b": "b",
}
SPREAD_PAIRS = {
    "spread_red": "sdR",
    "spread_green": "sdG",
    "spread_blue": "sdB",
    "spread_L": "sdL",
    "spread_a": "sda",
    "spread_b": "sdb",
}
# The reference names its twelve energies oe_0 .. oe_330, but they are 15 degrees apart: our edge_0 ranks pictures as
# its oe_0, edge_15 as oe_30, and so on round the half turn.
EDGE_PAIRS = {f"edge_{15 * j}": f"oe_{30 * j}" for j in range(12)}


@pytest.fixture(scope="module")
def corel_correlations(data_folder):
    """Rank correlation, over the Corel-5k test pictures, of every column that the reference has too.

    Both sides are the area-weighted mean over a picture's regions; the regions themselves differ.
    """
    reference = np.load(data_folder / "corel5k" / "corel5k_test_regions.npz")
    names, starts = list(reference["feature_names"]), reference["indptr"]
    theirs, ours = [], []
    with zipfile.ZipFile(data_folder / "corel5k" / "corel5k_images.zip") as images:
        for i, image in enumerate(reference["image"]):
            if not image:  # the one test row without a picture
                continue
            regions = reference["X"][starts[i] : starts[i + 1]].astype(float)
            theirs.append(np.average(regions, axis=0, weights=regions[:, names.index("area")]))
            pixels = np.asarray(Image.open(io.BytesIO(images.read(f"{image}.jpeg"))).convert("RGB"))
            pixels = crop_dark_border(pixels)
            features = blob_features(pixels, segment(pixels, "slic"))
            ours.append(np.average(features, axis=0, weights=column(features, "area")))
    pairs = COLOUR_PAIRS | SPREAD_PAIRS | EDGE_PAIRS
    theirs, ours = np.array(theirs), np.array(ours)
    return {
        name: spearmanr(column(ours, name), theirs[:, names.index(other)]).statistic
        for name, other in pairs.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pairs", "least"),
    [(COLOUR_PAIRS, 0.95), (SPREAD_PAIRS, 0.9), (EDGE_PAIRS, 0.88)],
    ids=["colour", "spread", "edges"],
)
def test_columns_rank_pictures_as_the_corel_region_data_does(corel_correlations, pairs, least):
    low = {name: round(corel_correlations[name], 3) for name in pairs if corel_correlations[name] < least}
    assert not low
