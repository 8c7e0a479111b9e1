"""
Ways to cut a photo into regions
================================

Models of regions need some. There are six ways to make them, from a plain grid to normalized cuts, as the papers had
them; `topicture.vision.segment` has them all, with the same limits on their number.
"""

from skimage.segmentation import mark_boundaries

from topicture.annotations.figures.photos import photo_grid
from topicture.demo.scenes import render_scene
from topicture.vision.segment import segment, segment_methods

photo = render_scene(0, 8).pixels
pictures, captions = [photo], ["the photo"]

# %%
# The same photo by each of them.

for method in segment_methods():
    regions = segment(photo, method)
    pictures.append(mark_boundaries(photo / 255, regions, color=(1, 1, 1), outline_color=(0, 0, 0)))
    captions.append(f"{method}: {regions.max() + 1} regions")
figure = photo_grid(pictures, captions, columns=3)
