"""Surrogates: what the data say about the objective."""
