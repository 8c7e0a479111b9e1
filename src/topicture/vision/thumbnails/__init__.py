"""Small pictures of photos: made by isolated workers, kept by the picture's identity."""

from topicture.vision.thumbnails.cache import PictureFacts, ThumbnailCache
from topicture.vision.thumbnails.making import SIZES, Made, make_thumbnails

__all__ = ["SIZES", "Made", "PictureFacts", "ThumbnailCache", "make_thumbnails"]
