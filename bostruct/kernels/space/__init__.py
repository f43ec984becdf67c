"""Kernels on points of a `Space`."""
