"""The only EM loop: passes over images, sums of statistics, exponential families, stochastic steps."""
