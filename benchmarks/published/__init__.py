"""The published benchmarks of COMBO: every configuration of its paper, compared with its tables."""
