"""Words of regions from captions alone: every region model on MSRC v2."""
