"""Benchmark problems: each a domain, an objective, its known optimum and its source."""
