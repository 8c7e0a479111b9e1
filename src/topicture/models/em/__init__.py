"""The only EM loop: passes over images, sums of statistics, exponential families, stochastic steps."""

from topicture.moved import moved

__getattr__ = moved(__name__)  # names of earlier versions
