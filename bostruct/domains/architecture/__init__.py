"""Neural network architectures as points: the value, its label families, its domains, its mutations."""
