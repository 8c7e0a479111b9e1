"""Deep networks: which there are, how they are fed, and how they run."""

from topicture.moved import moved
from topicture.vision.networks.manifest import Manifest

__all__ = ["Manifest"]

__getattr__ = moved(__name__)  # names of earlier versions
