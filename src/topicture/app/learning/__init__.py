"""Learning from a collection and suggesting for it: training tags, models on disk, answers."""

from topicture.moved import moved

__getattr__ = moved(__name__)  # names of earlier versions
