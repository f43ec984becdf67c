"""The published benchmarks of COMBO: every configuration of its paper, beside its tables."""
