"""Models of visual words and words: mixture of unigrams, pLSA, pLSA-Words, Link-LDA."""
