"""Similarity graphs of images, and mixtures that are regularised by them: LapEM, LapVar."""
