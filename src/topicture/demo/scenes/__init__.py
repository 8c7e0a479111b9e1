"""The sample collection: photo-like scenes that the package renders itself, with captions and regions.

A collection is known by its seed. Image `index` of a seed is always the same picture, however many
others are rendered and by however many processes. Every picture comes with a caption (2 to 6 words, as a
person might write it), with all the words that are true of it, and with a label map that says which word
each pixel belongs to. Words of `SCENE_WORDS` (night, rain, beach, ...) describe the whole picture and have
no pixels of their own. Where several things overlap, a pixel belongs to the nearest.
"""

from topicture.demo.scenes.render import Scene, render_scene
from topicture.demo.scenes.stream import render_scenes
from topicture.demo.scenes.vocabulary import SCENE_WORDS, VOCABULARY
from topicture.demo.scenes.write import write_collection

__all__ = ["SCENE_WORDS", "VOCABULARY", "Scene", "render_scene", "render_scenes", "write_collection"]
