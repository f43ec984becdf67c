"""Kernels: how alike two points are."""
