import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import constant, noise, quadrants

from topicture.errors import ImageError, TopictureError
from topicture.vision.features.colour import COLOUR_LAYOUT, colour_layout


def parts(layout):
    return dict(zip(("centre", "upper", "lower"), layout.reshape(3, 216), strict=True))


def test_a_constant_picture_has_one_colour_in_every_part():
    layout = colour_layout(constant(30, 40, (255, 128, 0)))
    present = {COLOUR_LAYOUT.columns[j].name for j in np.flatnonzero(layout)}
    assert present == {"centre_530", "upper_530", "lower_530"}
    np.testing.assert_array_equal(layout[layout > 0], 1.0)


def test_quadrants_are_where_they_are():
    layout = parts(colour_layout(quadrants()[0]))
    np.testing.assert_allclose(np.sort(layout["centre"])[-4:], 0.25)
    for half in ("upper", "lower"):
        np.testing.assert_allclose(np.sort(layout[half])[-2:], 0.5)
    assert not np.any(layout["upper"] * layout["lower"])


def test_flipping_the_picture_swaps_upper_and_lower():
    pixels = noise(16, 20) // 64 * 64
    plain, flipped = parts(colour_layout(pixels)), parts(colour_layout(pixels[::-1]))
    np.testing.assert_array_equal(plain["upper"], flipped["lower"])
    np.testing.assert_array_equal(plain["centre"], flipped["centre"])


def test_rare_colours_are_dropped_and_the_commonest_stays():
    pixels = constant(100, 100, (0, 0, 0))
    pixels[0, :99] = 255  # 99 of the 5,000 pixels of the upper half: just under 2 %
    white = COLOUR_LAYOUT.index("upper_555")
    assert colour_layout(pixels)[white] == 0
    pixels[0] = 255
    assert colour_layout(pixels)[white] == pytest.approx(0.02)
    assert np.all(colour_layout(noise(64, 64), dominant_share=1).reshape(3, 216).max(axis=1) > 0)


@given(height=st.integers(1, 12), width=st.integers(1, 12), seed=st.integers(0, 99))
def test_shares_sum_to_one_without_a_threshold_and_ignore_scale(height, width, seed):
    pixels = noise(height, width, seed)
    layout = colour_layout(pixels, dominant_share=0)
    assert layout.shape == (648,)
    np.testing.assert_allclose(layout.reshape(3, 216).sum(axis=1), 1)
    if height % 4 == width % 4 == 0:  # the parts then fall on the same pixels
        larger = np.repeat(np.repeat(pixels, 2, axis=0), 2, axis=1)
        np.testing.assert_allclose(colour_layout(larger, dominant_share=0), layout)


def test_errors_are_clear():
    with pytest.raises(ImageError, match="uint8"):
        colour_layout(np.zeros((4, 4), dtype=np.uint8))
    with pytest.raises(TopictureError, match="dominant_share"):
        colour_layout(constant(4, 4), dominant_share=2)
