"""The search-space language: a domain of programs with hyperparameters and structural choices."""
