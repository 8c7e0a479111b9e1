"""Figures: diagnostics, regions, maps, the papers' plots."""
