"""Deep networks: which there are, how they are fed, and how they run."""

from topicture.vision.networks.manifest import Manifest

__all__ = ["Manifest"]
