"""Noise, failures, limits, several objectives and batches: `auto` beside other methods, and what that costs."""
