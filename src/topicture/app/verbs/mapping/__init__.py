"""The map: photos and words as points of one plane."""
