"""Models of real-valued regions and words: GM-Mixture, GM-LDA, Corr-LDA."""
