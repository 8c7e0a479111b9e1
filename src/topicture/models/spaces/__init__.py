"""Latent spaces of images and words: LSA, NLSA, image-word embedding."""
