"""Figures of how the package is built and worded, beside their limits."""
